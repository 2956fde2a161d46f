/* What machines print on their consoles, and whether their status checks pass. Machines that raygpu
 * created report their steps in the form of raygpu's src/boot/README.md ("Reports"), which is a
 * contract here: this code shares nothing with the code that reads it. Computed on request, from
 * the time since the machine started. */
#include "aws/sim/resources.h"
#include <string.h>

#define TEXT_MAX (64 * 1024) /* EC2 API reference, GetConsoleOutput: the most recent 64 KB */
#define DRIVER "550.90.07"
#define KEYS_A_LINE 140

/* In the order of raygpu's start script; `gpu`: only on machines with GPUs. */
static const struct {
	const char *step, *state, *more;
	bool gpu;
} reports[] = {
	{"docker", "booted", "", false},
	{"driver", "doing", "", true},
	{"driver", "driver", " driver=" DRIVER, true},
	{"gpus", "doing", "", true},
	{"identity", "doing", "", false},
	{"pull", "pulling", " image=rayproject/ray", false},
	{"pull", "pulled", "", false},
	{"token", "doing", "", false},
	{"ray", "doing", "", false},
};

static const char *const faults[] = {"fail", "retry", "hang", "silent", "impaired", NULL};

bool ec2_are_node_faults(const json_t *value)
{
	size_t i;
	json_t *rule;
	json_array_foreach (value, i, rule) {
		if (json_unpack_ex(rule, NULL, JSON_VALIDATE_ONLY | JSON_STRICT,
			    "{s?s, s?I, s:s, s?s, s?s}", "type", "count", "how", "step",
			    "reason") ||
			!g_strv_contains(faults, doc_str(rule, "how")))
			return false;
	}
	return json_is_array(value);
}

/* ---- at launch: the fault that a machine has while it exists */

static gint64 count_with(const RgSimPlace *region, const json_t *rule)
{
	gint64 n = 0;
	const json_t *instance;
	for (unsigned at = 0; (instance = rg_sim_next(region, EC2_INSTANCE, &at));)
		n += json_equal(json_object_get(instance, "_fault"), rule);
	return n;
}

void ec2_console_give_fault(const RgSimCall *call, json_t *instance)
{
	size_t i;
	json_t *rule;
	json_array_foreach (json_object_get(call->sim->knobs, "node_faults"), i, rule) {
		const char *type = rg_json_str(rule, "type", "*");
		if (!g_pattern_match_simple(type, doc_str(instance, "instanceType")) ||
			count_with(call->place, rule) >= rg_json_int(rule, "count", G_MAXINT64))
			continue;
		json_object_set(instance, "_fault", rule);
		return;
	}
}

static const char *fault_of(const json_t *instance)
{
	return doc_str(json_object_get(instance, "_fault"), "how");
}

bool ec2_is_impaired(const json_t *instance)
{
	return g_str_equal(fault_of(instance), "impaired");
}

/* ---- the nodes of a cluster */

static const char *tag_of(const json_t *instance, const char *key)
{
	return doc_str(rg_sim_entry(json_object_get(instance, "tagSet"), "key", key), "value");
}

static gint64 gpus_of(const RgSimPlace *region, const json_t *instance)
{
	const json_t *type = ec2_type_find(region, doc_str(instance, "instanceType"));
	const json_t *gpus = json_object_get(json_object_get(type, "gpuInfo"), "gpus");
	return doc_int(json_array_get(gpus, 0), "count");
}

/* Its script ran to the end, so its Ray would join. */
static bool is_up(const RgSimPlace *region, const json_t *instance)
{
	return g_str_equal(ec2_instance_state(instance), "running") && !*fault_of(instance) &&
	       region->sim->now_ms - doc_int(instance, "_bootedMs") >=
		       doc_int(region->sim->knobs, "join_ms");
}

static bool is_head(const json_t *instance)
{
	return g_str_equal(tag_of(instance, "raygpu:name"), "head");
}

static bool is_same_cluster(const json_t *a, const json_t *b)
{
	return g_str_equal(tag_of(a, "raygpu:lineage"), tag_of(b, "raygpu:lineage"));
}

static bool has_head(const RgSimPlace *region, const json_t *node)
{
	const json_t *other;
	for (unsigned at = 0; (other = rg_sim_next(region, EC2_INSTANCE, &at));) {
		if (is_head(other) && is_same_cluster(node, other) && is_up(region, other))
			return true;
	}
	return false;
}

/* ---- what is printed */

typedef struct {
	const RgSimPlace *region;
	const json_t *instance;
	GString *text;
	char boot[9];
} Printing;

static void print_report(
	const Printing *printing, const char *state, const char *step, const char *more)
{
	g_string_append_printf(printing->text, "raygpu: v1 %s boot=%s step=%s%s end\r\n", state,
		printing->boot, step, more);
}

static void print_failure(const Printing *printing, const char *step)
{
	const json_t *fault = json_object_get(printing->instance, "_fault");
	bool retries = g_str_equal(doc_str(fault, "how"), "retry");
	const char *reason = rg_json_str(fault, "reason", "it does not work");
	g_autofree char *more = g_strdup_printf(" code=%d reason=\"%s\"", retries ? 1 : 78, reason);
	g_string_append_printf(printing->text, "[   41.250000] start-ray[812]: raygpu: %s%s\r\n",
		reason, retries ? "; trying again" : "");
	print_report(printing, "failed", step, more);
}

/* The key of raygpu's "nodes" reports. */
static void append_key(GString *keys, const char *id, gsize width)
{
	guint8 digest[32];
	gsize len = sizeof(digest);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)id, -1);
	g_checksum_get_digest(sum, digest, &len);
	g_autofree char *key = g_base64_encode(digest, len);
	g_string_append_len(keys, key, (gssize)width);
}

/* The ids of everything that the head's Ray sees, by their number of GPUs. */
static GHashTable *members_of(const Printing *printing, unsigned *n)
{
	GHashTable *members = g_hash_table_new_full(
		g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	const json_t *node;
	for (unsigned at = 0; (node = rg_sim_next(printing->region, EC2_INSTANCE, &at));) {
		if (!is_same_cluster(node, printing->instance) || !is_up(printing->region, node))
			continue;
		gpointer gpus = GSIZE_TO_POINTER((gsize)gpus_of(printing->region, node));
		GPtrArray *ids = g_hash_table_lookup(members, gpus);
		if (!ids)
			g_hash_table_insert(members, gpus, ids = g_ptr_array_new());
		g_ptr_array_add(ids, (char *)(uintptr_t)doc_str(node, "instanceId"));
		++*n;
	}
	return members;
}

static void print_members(const Printing *printing)
{
	unsigned n = 0, part = 0, parts = 0;
	g_autoptr(GHashTable) members = members_of(printing, &n);
	gsize width = n <= 2500 ? 6 : 4;
	GHashTableIter iter;
	gpointer gpus, list;
	g_hash_table_iter_init(&iter, members);
	while (g_hash_table_iter_next(&iter, NULL, &list))
		parts += (((GPtrArray *)list)->len + KEYS_A_LINE - 1) / KEYS_A_LINE;
	g_hash_table_iter_init(&iter, members);
	while (g_hash_table_iter_next(&iter, &gpus, &list)) {
		const GPtrArray *ids = list;
		for (guint i = 0; i < ids->len; i += KEYS_A_LINE) {
			g_autoptr(GString) more = g_string_new(NULL);
			g_string_append_printf(more,
				" at=%" G_GINT64_FORMAT
				" part=%u parts=%u width=%zu gpus=%zu driver=%s ids=",
				printing->region->sim->now_ms / 1000, ++part, parts, width,
				GPOINTER_TO_SIZE(gpus), gpus ? DRIVER : "\"\"");
			for (guint k = i; k < ids->len && k < i + KEYS_A_LINE; k++)
				append_key(more, ids->pdata[k], width);
			print_report(printing, "nodes", "ray", more->str);
		}
	}
}

static void print_joined(const Printing *printing)
{
	gint64 gpus = gpus_of(printing->region, printing->instance);
	g_autofree char *more = g_strdup_printf(" instance=%s gpus=%" G_GINT64_FORMAT " driver=%s",
		doc_str(printing->instance, "instanceId"), gpus, gpus ? DRIVER : "\"\"");
	print_report(printing, "joined", "ray", more);
	if (is_head(printing->instance))
		print_members(printing);
}

/* As far as the machine has got: its steps are spread over the knob join_ms. */
static void print_steps(const Printing *printing)
{
	const json_t *fault = json_object_get(printing->instance, "_fault");
	const char *broken = rg_json_str(fault, "step", "docker");
	gint64 gpus = gpus_of(printing->region, printing->instance);
	gint64 join_ms = doc_int(printing->region->sim->knobs, "join_ms");
	gint64 passed_ms = printing->region->sim->now_ms - doc_int(printing->instance, "_bootedMs");
	for (gsize i = 0; i < G_N_ELEMENTS(reports); i++) {
		if (reports[i].gpu && !gpus)
			continue;
		if (passed_ms < join_ms * (gint64)i / (gint64)G_N_ELEMENTS(reports))
			return;
		print_report(printing, reports[i].state, reports[i].step, reports[i].more);
		if (!fault || !g_str_equal(reports[i].step, broken))
			continue;
		if (!g_str_equal(doc_str(fault, "how"), "hang"))
			print_failure(printing, broken);
		return;
	}
	if (passed_ms >= join_ms && has_head(printing->region, printing->instance))
		print_joined(printing);
}

static void print_console(const RgSimPlace *region, const json_t *instance, GString *text)
{
	const char *how = fault_of(instance);
	gint64 booted_ms = doc_int(instance, "_bootedMs");
	if (!booted_ms) /* it never ran, or comes from an older world */
		return;
	g_string_append(text, "[    0.000000] Linux version 6.1.0 (raygpu-sim)\r\n"
			      "[    8.500000] cloud-init[611]: Cloud-init v. 22.4.2 running\r\n");
	if (!*tag_of(instance, "raygpu:lineage") || g_str_equal(how, "silent") ||
		g_str_equal(how, "impaired"))
		return;
	Printing printing = {.region = region, .instance = instance, .text = text};
	g_autofree char *seed =
		g_strdup_printf("%s %" G_GINT64_FORMAT, doc_str(instance, "instanceId"), booted_ms);
	g_snprintf(printing.boot, sizeof(printing.boot), "%08x", g_str_hash(seed));
	print_steps(&printing);
}

/* ---- GetConsoleOutput */

static bool has_latest(const RgSimCall *call, const json_t *instance)
{
	const json_t *type = ec2_type_find(call->place, doc_str(instance, "instanceType"));
	return !g_str_equal(doc_str(type, "hypervisor"), "xen");
}

static bool get_console_output(RgSimCall *call)
{
	const char *id = call_str(call, "InstanceId");
	const json_t *instance = ec2_find(call, EC2_INSTANCE, id);
	if (!instance)
		return false;
	if (call_bool(call, "Latest", false) && !has_latest(call, instance))
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"This instance type does not support retrieving the latest console logs. "
			"Supported instance types include all Nitro-based instances.");
	if (!ec2_go(call))
		return false;
	g_autoptr(GString) text = g_string_new(NULL);
	print_console(call->place, instance, text);
	gsize skipped = text->len > TEXT_MAX ? text->len - TEXT_MAX : 0;
	g_autofree char *output =
		g_base64_encode((const guchar *)text->str + skipped, text->len - skipped);
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	ec2_xml_text(call->body, "instanceId", id);
	ec2_xml_text(call->body, "timestamp", now);
	if (*output)
		ec2_xml_text(call->body, "output", output);
	return true;
}

const RgSimAction ec2_console_actions[] = {
	{"GetConsoleOutput", get_console_output, false, "DryRun InstanceId Latest"},
	{NULL},
};
