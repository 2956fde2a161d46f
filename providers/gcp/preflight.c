/* preflight: quotas of the region and of the project (regions.get, projects.get), and whether nodes
 * without a public address have a way out (routers.list). What could not be asked is one note. */
#include <string.h>
#include "gcp/data.h"
#include "gcp/kinds.h"
#include "gcp/machine.h"

#define ALL_REGIONS "GPUS_ALL_REGIONS"
#define PER_FAMILY "GPUS_PER_GPU_FAMILY"
#define MORE "request a higher limit: https://console.cloud.google.com/iam-admin/quotas"

enum { ACCELERATOR, QUOTA, SPOT_QUOTA, FIELDS };
enum { REGION, PROJECT, ROUTERS, SUBNETWORK, QUESTIONS };

typedef struct {
	const GcpCall *call;
	const json_t *creates;
	const json_t *closed;	    /* the first of nodes without a public address; NULL: none */
	GPtrArray *rows;	    /* of quotas.csv, GStrv */
	json_t *answers[QUESTIONS]; /* NULL: unknown */
	GString *unchecked;
	json_t *needs;	/* {quota: GPUs} */
	json_t *first;	/* {quota: index of the first create} */
	json_t *parts;	/* {quota: "4 for train"} */
	json_t *hidden; /* {machine type: index of the first create} whose quota can't be read */
	rgp_status status;
} Preflight;

typedef struct {
	const char *severity;
	int32_t class_;
	const json_t *create; /* or NULL */
	const char *attribute, *detail, *hint, *origin, *code;
} Finding;

static void find_out(Preflight *preflight, const Finding *finding, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
static void find_out(Preflight *preflight, const Finding *finding, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	json_t *value = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*}", "severity",
		finding->severity, "class", mod_class_name(finding->class_), "message", message,
		"attribute", finding->attribute, "detail", finding->detail, "hint", finding->hint,
		"origin", finding->origin, "code", finding->code);
	const json_t *addresses = json_object_get(finding->create, "addresses");
	if (json_array_size(addresses))
		json_object_set(value, "address", json_array_get(addresses, 0));
	if (preflight->status == RGP_OK)
		preflight->status = mod_give(&preflight->call->talk, "finding", value);
	else
		json_decref(value);
}

/* ---- questions */

/* "projects/p/regions/r/subnetworks/s" of the nodes without a public address */
static const char *subnetwork_of(const Preflight *preflight)
{
	return mod_str(json_object_get(preflight->closed, "attributes"), "subnetwork");
}

/* The routers of a shared VPC are in its own project, as its subnetwork is. */
static char *routers_url(const Preflight *preflight)
{
	const char *subnetwork = subnetwork_of(preflight),
		   *end = strstr(subnetwork, "/subnetworks/");
	return g_strdup_printf("%.*s/routers?maxResults=500&fields=items(network,nats(type,"
			       "endpointTypes,sourceSubnetworkIpRangesToNat,subnetworks(name,"
			       "sourceIpRangesToNat)))",
		end ? (int)(end - subnetwork) : 0, subnetwork);
}

static rgp_status ask(Preflight *preflight)
{
	static const char *const about[] = {"quotas of the region", "quotas of the project",
		"whether Cloud NAT serves the network", "the network of the subnetwork"};
	static const char *const whats[] = {
		"regions.get", "projects.get", "routers.list", "subnetworks.get"};
	const GcpCall *call = preflight->call;
	const char *project = gcp_project(call), *region = call->inst->region;
	ModRestRequest requests[QUESTIONS];
	ModRestAnswer answers[QUESTIONS] = {{0}};
	char *urls[QUESTIONS];
	size_t n = preflight->closed ? QUESTIONS : ROUTERS;
	if (!project)
		return RGP_FAIL;
	urls[REGION] = g_strdup_printf("projects/%s/regions/%s?fields=quotas", project, region);
	urls[PROJECT] = g_strdup_printf("projects/%s?fields=quotas", project);
	urls[ROUTERS] = routers_url(preflight);
	urls[SUBNETWORK] = g_strdup_printf("%s?fields=network", subnetwork_of(preflight));
	for (size_t i = 0; i < n; i++)
		requests[i] = gcp_get(call, whats[i], urls[i]);
	rgp_status status = mod_rest_send_all(&call->talk, &call->inst->rest, requests, n, answers);
	for (size_t i = 0; i < n; i++) {
		const ModFailure *failure = &answers[i].failure;
		if (answers[i].status && failure->class_ == RGP_CLASS_OK)
			preflight->answers[i] = json_incref(answers[i].body);
		else
			g_string_append_printf(preflight->unchecked, "%s%s: %s: %s",
				preflight->unchecked->len ? "\n" : "", about[i], whats[i],
				failure->message ? failure->message : "no answer");
		mod_rest_answer_clear(&answers[i]);
	}
	for (size_t i = 0; i < QUESTIONS; i++)
		g_free(urls[i]);
	return status;
}

/* ---- quotas */

static const char *quota_of(const Preflight *preflight, const GcpMachine *machine, bool spot)
{
	for (guint i = 0; i < preflight->rows->len; i++) {
		char **fields = preflight->rows->pdata[i];
		if (g_strv_length(fields) <= SPOT_QUOTA)
			continue;
		if (machine->accelerator ? g_str_equal(fields[ACCELERATOR], machine->accelerator)
					 : g_str_has_prefix(machine->type, fields[ACCELERATOR]))
			return fields[spot ? SPOT_QUOTA : QUOTA];
	}
	return NULL;
}

/* "2g" of a2-ultragpu-2g; the GPUs of g2-standard-N follow from its vCPUs (GPU docs 2026-04-14). */
static int gpus_of(const GcpMachine *machine)
{
	static const struct {
		const char *type;
		int gpus;
	} others[] = {{"g2-standard-24", 2}, {"g2-standard-48", 4}, {"g2-standard-96", 8}};
	if (machine->accelerator)
		return machine->count;
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		if (g_str_equal(machine->type, others[i].type))
			return others[i].gpus;
	const char *dash = strrchr(machine->type, '-');
	return dash && g_str_has_suffix(dash, "g") ? (int)g_ascii_strtoll(dash + 1, NULL, 10) : 1;
}

static void need(Preflight *preflight, const char *quota, size_t create, json_int_t gpus)
{
	const json_t *one = json_array_get(preflight->creates, create);
	const char *pool = *mod_str(one, "group") ? mod_str(one, "group") : "head";
	json_int_t before = mod_int(preflight->needs, quota);
	const char *parts = mod_str(preflight->parts, quota);
	json_object_set_new(preflight->needs, quota, json_integer(before + gpus));
	if (!json_object_get(preflight->first, quota))
		json_object_set_new(preflight->first, quota, json_integer((json_int_t)create));
	json_object_set_new(preflight->parts, quota,
		json_sprintf("%s%s%" JSON_INTEGER_FORMAT " for %s", parts, *parts ? ", " : "", gpus,
			pool));
}

/* A replaced node gives back what the new one takes. */
static void add_up(Preflight *preflight)
{
	g_autoptr(GcpSeriesTable) series = gcp_series_open();
	size_t i;
	const json_t *create;
	json_array_foreach (preflight->creates, i, create) {
		const json_t *attributes = json_object_get(create, "attributes");
		bool spot = g_str_equal(mod_str(attributes, "market"), "spot");
		g_auto(GcpMachine) machine = {0};
		gcp_machine_parse(mod_str(attributes, "instance_type"), &machine);
		if (strcmp(mod_str(create, "kind"), GCP_INSTANCE) ||
			json_is_true(json_object_get(create, "replaces")) ||
			!gcp_machine_has_gpus(series, &machine))
			continue;
		json_int_t gpus = mod_int(create, "count") * gpus_of(&machine);
		const char *quota = quota_of(preflight, &machine, spot);
		if (quota)
			need(preflight, quota, i, gpus);
		else if (!json_object_get(preflight->hidden, machine.type))
			json_object_set_new(
				preflight->hidden, machine.type, json_integer((json_int_t)i));
		need(preflight, ALL_REGIONS, i, gpus);
	}
}

static const json_t *limit_of(const json_t *answer, const char *metric)
{
	size_t i;
	const json_t *quota;
	json_array_foreach (json_object_get(answer, "quotas"), i, quota)
		if (g_str_equal(mod_str(quota, "metric"), metric))
			return quota;
	return NULL;
}

static void check_quotas(Preflight *preflight)
{
	const char *metric;
	json_t *wanted;
	json_object_foreach (preflight->needs, metric, wanted) {
		bool all = g_str_equal(metric, ALL_REGIONS);
		const json_t *quota = limit_of(preflight->answers[all ? PROJECT : REGION], metric);
		double limit = json_number_value(json_object_get(quota, "limit"));
		double usage = json_number_value(json_object_get(quota, "usage"));
		size_t first = (size_t)mod_int(preflight->first, metric);
		if (!quota || usage + (double)json_integer_value(wanted) <= limit)
			continue;
		const Finding finding = {.severity = "error",
			.class_ = RGP_CLASS_QUOTA,
			.create = json_array_get(preflight->creates, first),
			.attribute = "instance_type",
			.detail = mod_str(preflight->parts, metric),
			.hint = MORE,
			.code = metric};
		find_out(preflight, &finding,
			"the quota %s of %s %s is %g GPUs, %g are in use, and the plan adds "
			"%" JSON_INTEGER_FORMAT,
			metric, all ? "project" : "region",
			all ? gcp_project(preflight->call) : preflight->call->inst->region, limit,
			usage, json_integer_value(wanted));
	}
}

/* H100 Mega, H200, B200 and later: a quota per GPU family and region, which regions.get has not. */
static void note_hidden(Preflight *preflight)
{
	const char *type;
	const json_t *first;
	json_object_foreach (preflight->hidden, type, first) {
		const Finding finding = {.severity = "note",
			.class_ = RGP_CLASS_QUOTA,
			.create = json_array_get(
				preflight->creates, (size_t)json_integer_value(first)),
			.attribute = "instance_type",
			.hint = "look for " PER_FAMILY " of the region at "
				"https://console.cloud.google.com/iam-admin/quotas"};
		find_out(preflight, &finding,
			"the GPU quota of %s was not checked: it is kept per GPU family, which the "
			"Compute Engine API does not show",
			type);
	}
}

/* ---- the way out */

static bool has_text(const json_t *list, const char *text)
{
	size_t i;
	const json_t *one;
	json_array_foreach (list, i, one)
		if (!g_strcmp0(json_string_value(one), text))
			return true;
	return false;
}

/* Primary addresses of the subnetwork; private NAT leads to other networks only (compute.v1,
 * schemas RouterNat, RouterNatSubnetworkToNat). */
static bool nat_serves(const json_t *nat, const char *subnetwork)
{
	const char *ranges = mod_str(nat, "sourceSubnetworkIpRangesToNat");
	const json_t *types = json_object_get(nat, "endpointTypes"), *one;
	size_t i;
	if (g_str_equal(mod_str(nat, "type"), "PRIVATE") ||
		(json_array_size(types) && !has_text(types, "ENDPOINT_TYPE_VM")))
		return false;
	if (g_str_has_prefix(ranges, "ALL_SUBNETWORKS_"))
		return true;
	json_array_foreach (json_object_get(nat, "subnetworks"), i, one) {
		const json_t *parts = json_object_get(one, "sourceIpRangesToNat");
		if (g_str_equal(gcp_path_of(mod_str(one, "name")), subnetwork) &&
			(has_text(parts, "ALL_IP_RANGES") || has_text(parts, "PRIMARY_IP_RANGE")))
			return true;
	}
	return false;
}

static bool has_nat(const Preflight *preflight)
{
	const char *network = gcp_path_of(mod_str(preflight->answers[SUBNETWORK], "network"));
	const json_t *router, *nat;
	size_t i, n;
	json_array_foreach (json_object_get(preflight->answers[ROUTERS], "items"), i, router) {
		if (strcmp(gcp_path_of(mod_str(router, "network")), network))
			continue;
		json_array_foreach (json_object_get(router, "nats"), n, nat)
			if (nat_serves(nat, subnetwork_of(preflight)))
				return true;
	}
	return false;
}

/* Without a public address, nodes reach their container image only through Cloud NAT or a proxy. */
static void check_ways(Preflight *preflight)
{
	if (!preflight->answers[ROUTERS] || !preflight->answers[SUBNETWORK] || has_nat(preflight))
		return;
	const Finding finding = {.severity = "warning",
		.class_ = RGP_CLASS_INVALID,
		.create = preflight->closed,
		.attribute = "public_ip",
		.hint = "add Cloud NAT to a router of the network (gcloud compute routers nats "
			"create), or set `public_ip: true`; Private Google Access does not reach "
			"other registries than Google's"};
	find_out(preflight, &finding,
		"nodes have no public address, and no Cloud NAT serves the subnetwork %s of "
		"network "
		"%s: they may not reach their container image",
		gcp_last_of(subnetwork_of(preflight)),
		gcp_last_of(mod_str(preflight->answers[SUBNETWORK], "network")));
}

static void note_unchecked(Preflight *preflight)
{
	if (!preflight->unchecked->len)
		return;
	const Finding finding = {.severity = "note",
		.class_ = RGP_CLASS_DENIED,
		.detail = preflight->unchecked->str,
		.hint = "`raygpu iam` prints the role that the caller needs; `apply` finds out "
			"otherwise"};
	find_out(preflight, &finding, "not everything could be checked beforehand");
}

/* The first create of nodes; `closed`: of those without a public address. */
static const json_t *find_nodes(const json_t *creates, bool closed)
{
	size_t i;
	const json_t *create;
	json_array_foreach (creates, i, create) {
		const json_t *attributes = json_object_get(create, "attributes");
		if (g_str_equal(mod_str(create, "kind"), GCP_INSTANCE) &&
			!(closed && json_is_true(json_object_get(attributes, "public_ip"))))
			return create;
	}
	return NULL;
}

rgp_status gcp_preflight(const GcpCall *call, const json_t *input)
{
	const json_t *permissions = json_object_get(input, "permissions");
	if (permissions)
		return gcp_permissions_test(call, permissions);
	json_auto_t *needs = json_object(), *first = json_object(), *parts = json_object(),
		    *hidden = json_object();
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_autoptr(GString) unchecked = g_string_new(NULL);
	g_auto(GStrv) lines = g_strsplit(gcp_data_find("quotas.csv")->data, "\n", -1);
	Preflight preflight = {.call = call,
		.creates = json_object_get(input, "creates"),
		.rows = rows,
		.unchecked = unchecked,
		.needs = needs,
		.first = first,
		.parts = parts,
		.hidden = hidden};
	preflight.closed = find_nodes(preflight.creates, true);
	if (!find_nodes(preflight.creates, false))
		return RGP_OK;
	for (size_t i = 1; lines[0] && lines[i] && *lines[i]; i++)
		g_ptr_array_add(rows, g_strsplit(lines[i], ",", FIELDS + 1));
	rgp_status status = ask(&preflight);
	if (status == RGP_OK) {
		add_up(&preflight);
		check_quotas(&preflight);
		note_hidden(&preflight);
		check_ways(&preflight);
		note_unchecked(&preflight);
		status = preflight.status;
	}
	for (size_t i = 0; i < QUESTIONS; i++)
		json_decref(preflight.answers[i]);
	return status;
}
