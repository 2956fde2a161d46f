#include "gcp/resolve.h"
#include <string.h>
#include "gcp/kinds.h"
#include "gcp/machine.h"

#define TYPES_MAX 60 /* names in one filter */

static void question_free(gpointer data)
{
	GcpQuestion *question = data;
	g_free(question->url);
	g_free(question->about);
	mod_rest_answer_clear(&question->answer);
	g_free(question);
}

static rgp_status send_all(const GcpAsking *asking)
{
	guint n = asking->questions->len;
	g_autofree ModRestRequest *requests = g_new0(ModRestRequest, n + 1);
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, n + 1);
	for (guint i = 0; i < n; i++)
		requests[i] = ((GcpQuestion *)asking->questions->pdata[i])->request;
	rgp_status status = mod_rest_send_all(
		&asking->call->talk, &asking->call->inst->rest, requests, n, answers);
	for (guint i = 0; i < n; i++) {
		GcpQuestion *question = asking->questions->pdata[i];
		question->answer = answers[i];
		if (status == RGP_OK && question->is_list)
			status = gcp_complete(asking->call, &question->request, &question->answer);
	}
	return status;
}

/* ---- the region's zones */

static rgp_status read_zones(const GcpCall *call, json_t *zones)
{
	const char *project = gcp_project(call);
	if (!project)
		return RGP_FAIL;
	g_autofree char *url = g_strdup_printf(
		"projects/%s/regions/%s?fields=zones,status", project, call->inst->region);
	const ModRestRequest request = gcp_get(call, "regions.get", url);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, &request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ == RGP_CLASS_GONE)
		return mod_refuse(call, "/provider/region",
			"`gcloud compute regions list` shows the regions and whether the project "
			"exists",
			"project %s has no region %s", project, call->inst->region);
	if (answer.failure.class_ != RGP_CLASS_OK)
		return gcp_report(call, "regions.get", &answer);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	mod_foreach (zone, json_object_get(answer.body, "zones"))
		if (json_is_string(zone))
			g_ptr_array_add(
				names, (char *)(uintptr_t)gcp_last_of(json_string_value(zone)));
	g_ptr_array_sort(names, mod_compare_texts);
	for (guint n = 0; n < names->len; n++)
		json_array_append_new(zones, json_string(names->pdata[n]));
	return RGP_OK;
}

/* ---- which zones have a machine type and its accelerators */

static void ask_names(GcpAsking *asking, const char *zone, const char *collection, GPtrArray *names)
{
	for (guint at = 0; at < names->len; at += TYPES_MAX) {
		g_autoptr(GString) filter = g_string_new(NULL);
		guint end = MIN(at + TYPES_MAX, names->len);
		for (guint i = at; i < end; i++)
			g_string_append_printf(filter,
				end - at == 1 ? "%sname = \"%s\"" : "%s(name = \"%s\")",
				i > at ? " OR " : "", (char *)names->pdata[i]);
		g_autofree char *escaped = gcp_escape(filter->str);
		GcpQuestion *question = gcp_ask_list(asking,
			g_str_equal(collection, "machineTypes") ? "machineTypes.list"
								: "acceleratorTypes.list",
			g_strdup_printf("projects/%s/zones/%s/%s?filter=%s&maxResults=500&fields="
					"kind,items(name),nextPageToken",
				gcp_project(asking->call), zone, collection, escaped),
			NULL);
		question->about = g_strdup(zone);
	}
}

/* Lists have no custom machine types, but each can be read. */
static void ask_custom(GcpAsking *asking, const char *zone, const char *name)
{
	GcpQuestion *question = gcp_ask(asking, "machineTypes.get",
		g_strdup_printf("projects/%s/zones/%s/machineTypes/%s?fields=name",
			gcp_project(asking->call), zone, name),
		NULL);
	question->about = g_strdup(zone);
}

static void add_name(GPtrArray *names, const char *name)
{
	if (name && !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
		g_ptr_array_add(names, g_strdup(name));
}

static void ask_types(GcpAsking *asking, const json_t *types, const json_t *zones)
{
	g_autoptr(GPtrArray) machines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) accelerators = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) custom = g_ptr_array_new_with_free_func(g_free);
	mod_foreach (type, types) {
		g_auto(GcpMachine) machine = {0};
		gcp_machine_parse(json_string_value(type), &machine);
		if (strpbrk(machine.type, "\"\\"))
			continue;
		add_name(gcp_machine_is_custom(&machine) ? custom : machines, machine.type);
		add_name(accelerators, machine.accelerator);
	}
	mod_foreach (zone, zones) {
		ask_names(asking, json_string_value(zone), "machineTypes", machines);
		ask_names(asking, json_string_value(zone), "acceleratorTypes", accelerators);
		for (guint k = 0; k < custom->len; k++)
			ask_custom(asking, json_string_value(zone), custom->pdata[k]);
	}
}

/* "us-central1-a/n1-standard-8" of every answer. */
static rgp_status collect_types(const GcpAsking *asking, guint first, GHashTable *there)
{
	for (guint q = first; q < asking->questions->len; q++) {
		const GcpQuestion *question = asking->questions->pdata[q];
		bool exists;
		if (gcp_answered(asking->call, question, &exists) != RGP_OK)
			return RGP_FAIL;
		if (!question->is_list && exists)
			g_hash_table_add(
				there, g_strconcat(question->about, "/",
					       mod_str(question->answer.body, "name"), NULL));
		mod_foreach (type, json_object_get(question->answer.body, "items"))
			g_hash_table_add(there,
				g_strconcat(question->about, "/", mod_str(type, "name"), NULL));
	}
	return RGP_OK;
}

static bool has_type(GHashTable *there, const char *zone, const GcpMachine *machine)
{
	g_autofree char *type = g_strconcat(zone, "/", machine->type, NULL);
	g_autofree char *accelerator =
		g_strconcat(zone, "/", machine->accelerator ? machine->accelerator : "", NULL);
	return g_hash_table_contains(there, type) &&
	       (!machine->accelerator || g_hash_table_contains(there, accelerator));
}

static json_t *offerings_of(const json_t *types, const json_t *zones, GHashTable *there)
{
	json_t *offerings = json_object();
	mod_foreach (type, types) {
		g_auto(GcpMachine) machine = {0};
		json_t *list = json_array();
		gcp_machine_parse(json_string_value(type), &machine);
		mod_foreach (zone, zones)
			if (has_type(there, json_string_value(zone), &machine))
				json_array_append(list, zone);
		json_object_set_new(offerings, json_string_value(type), list);
	}
	return offerings;
}

/* Everything after the zones, in one round. */
static rgp_status run_round(
	const GcpCall *call, const json_t *input, const json_t *zones, json_t *facts)
{
	const json_t *types = json_object_get(input, "instance_types");
	bool place = json_is_true(json_object_get(input, "place"));
	g_autoptr(GPtrArray) questions = g_ptr_array_new_with_free_func(question_free);
	g_autoptr(GPtrArray) images = NULL;
	GcpAsking asking = {call, questions};
	rgp_status status = gcp_images_ask(&asking, json_object_get(input, "images"), &images);
	GcpQuestion *network = place && status == RGP_OK ? gcp_network_ask(&asking) : NULL;
	const json_t *reservations = json_object_get(input, "reservations");
	guint reserved = questions->len;
	gcp_reservations_ask(&asking, reservations, zones);
	guint first = questions->len;
	if (status != RGP_OK || (place && !network))
		return RGP_FAIL;
	ask_types(&asking, types, zones);
	status = send_all(&asking);
	if (status != RGP_OK)
		return status;
	g_autoptr(GHashTable) there = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	status = gcp_images_take(call, images, json_object_get(facts, "images"));
	if (network && gcp_network_take(call, network, facts) != RGP_OK)
		status = RGP_FAIL;
	if (gcp_reservations_take(call, &asking, reserved, first, reservations, facts) != RGP_OK)
		status = RGP_FAIL;
	if (status != RGP_OK || collect_types(&asking, first, there) != RGP_OK)
		return RGP_FAIL;
	json_object_set_new(facts, "offerings", offerings_of(types, zones, there));
	return RGP_OK;
}

/* Descriptions of types are for all zones, whichever there are. */
static bool needs_zones(const json_t *input)
{
	static const char *const members[] = {"images", "instance_types", "reservations"};
	bool needed = json_is_true(json_object_get(input, "place"));
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		needed |= json_array_size(json_object_get(input, members[i])) > 0;
	return needed || !json_array_size(json_object_get(input, "types"));
}

rgp_status gcp_resolve(const GcpCall *call, const json_t *input)
{
	json_auto_t *zones = json_array(), *facts = json_pack("{s:{}}", "images");
	const json_t *types = json_object_get(input, "types");
	if (!mod_are_texts(json_object_get(input, "instance_types")))
		return mod_refuse(call, NULL, NULL, "instance_types of resolve must be texts");
	rgp_status status = RGP_OK;
	if (needs_zones(input)) {
		status = read_zones(call, zones);
		if (status == RGP_OK)
			status = run_round(call, input, zones, facts);
	}
	if (status == RGP_OK && json_array_size(types))
		status = gcp_types_read(call, types, facts);
	if (status != RGP_OK)
		return status;
	if (json_is_true(json_object_get(input, "place")))
		json_object_set(facts, "zones", zones);
	return mod_give(&call->talk, "facts", json_incref(facts));
}
