#include "sim/core/console.h"
#include <string.h>
#include "sim/core/world.h"

#define DRIVER "550.90.07"
#define KEYS_A_LINE 140

/* In the order of raygpu's start script; `gpu`: only on machines with GPUs; `asked`: only if a
 * fault names it, because most specs have no such step; without `more`: that of print_gpus. */
static const struct {
	const char *step, *state, *more;
	bool gpu, asked;
} reports[] = {
	{"start", "booted", "", false},
	{"initialization", "doing", "", false, true},
	{"docker", "doing", "", false},
	{"driver", "doing", "", true},
	{"driver", "driver", " driver=" DRIVER, true},
	{"gpus", "doing", "", true},
	{"gpus", "gpus", NULL, true},
	{"gate", "doing", "", true},
	{"identity", "doing", "", false},
	{"mount", "doing", "", false, true},
	{"pull", "pulling", " image=rayproject/ray", false},
	{"pull", "pulled", "", false},
	{"token", "doing", "", false},
	{"setup", "doing", "", false, true},
	{"ray", "doing", "", false},
};

static const char *const faults[] = {
	"fail", "retry", "hang", "silent", "impaired", "scheduled", "no-capacity", NULL};

/* ---- faults */

bool rg_sim_are_node_faults(const json_t *value)
{
	rg_json_foreach (rule, value) {
		if (json_unpack_ex(rule, NULL, JSON_VALIDATE_ONLY | JSON_STRICT,
			    "{s?s, s?I, s:s, s?s, s?s, s?I, s?s}", "type", "count", "how", "step",
			    "reason", "gpu", "event") ||
			!g_strv_contains(faults, doc_str(rule, "how")))
			return false;
	}
	return json_is_array(value);
}

json_t *rg_sim_node_fault(const RgSimPlace *place, unsigned kind, const char *type)
{
	rg_json_foreach (rule, json_object_get(place->sim->knobs, "node_faults")) {
		if (g_pattern_match_simple(rg_json_str(rule, "type", "*"), type) &&
			rg_sim_count(place, kind, RG_SIM_FAULT, rule) <
				rg_json_int(rule, "count", G_MAXINT64))
			return rule;
	}
	return NULL;
}

static bool has_fault(const RgSimNode *node, const char *how)
{
	return g_str_equal(doc_str(node->fault, "how"), how);
}

/* Nothing keeps it from joining Ray. */
static bool does_work(const RgSimNode *node)
{
	return !node->fault || has_fault(node, "scheduled");
}

static char *gpu_uuid(const RgSimNode *node, gint64 gpu)
{
	g_autofree char *name = g_strdup_printf("%s %" G_GINT64_FORMAT, node->host, gpu);
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
	return g_strdup_printf(
		"GPU-%.8s-%.4s-%.4s-%.4s-%.12s", sum, sum + 8, sum + 12, sum + 16, sum + 20);
}

/* ---- what is printed */

typedef struct {
	const RgSim *sim;
	const RgSimNode *node;
	const GArray *nodes;
	GString *text;
	char boot[9];
} Printing;

/* Its script ran to the end, so its Ray would join. */
static bool is_up(const Printing *printing, const RgSimNode *node)
{
	const RgSim *sim = printing->sim;
	return node->runs && does_work(node) &&
	       sim->now_ms - node->booted_ms >= doc_int(sim->knobs, "join_ms");
}

static bool has_head(const Printing *printing)
{
	for (guint i = 0; i < printing->nodes->len; i++) {
		const RgSimNode *other = &g_array_index(printing->nodes, RgSimNode, i);
		if (other->is_head && is_up(printing, other))
			return true;
	}
	return false;
}

static void print_report(
	const Printing *printing, const char *state, const char *step, const char *more)
{
	g_string_append_printf(printing->text, "raygpu: v1 %s boot=%s step=%s%s end\r\n", state,
		printing->boot, step, more);
}

/* The GPU at fault, as raygpu's gate names it. */
static void append_bad_gpu(const Printing *printing, GString *more)
{
	gint64 gpu = rg_json_int(printing->node->fault, "gpu", -1);
	if (gpu < 0)
		return;
	g_autofree char *uuid = gpu_uuid(printing->node, gpu);
	g_string_append_printf(more, " gpu=%s serial=13205240%.4s", uuid, uuid + strlen("GPU-"));
}

static void print_failure(const Printing *printing, const char *step)
{
	const json_t *fault = printing->node->fault;
	bool retries = g_str_equal(doc_str(fault, "how"), "retry");
	const char *reason = rg_json_str(fault, "reason", "it does not work");
	g_autoptr(GString) more = g_string_new(NULL);
	g_string_append_printf(more, " code=%d reason=\"%s\"", retries ? 1 : 78, reason);
	append_bad_gpu(printing, more);
	g_string_append_printf(printing->text, "[   41.250000] start-ray[812]: raygpu: %s%s\r\n",
		reason, retries ? "; trying again" : "");
	print_report(printing, "failed", step, more->str);
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
	for (guint i = 0; i < printing->nodes->len; i++) {
		const RgSimNode *node = &g_array_index(printing->nodes, RgSimNode, i);
		if (!is_up(printing, node))
			continue;
		gpointer gpus = GSIZE_TO_POINTER((gsize)node->gpus);
		GPtrArray *ids = g_hash_table_lookup(members, gpus);
		if (!ids)
			g_hash_table_insert(members, gpus, ids = g_ptr_array_new());
		g_ptr_array_add(ids, (char *)(uintptr_t)node->id);
		++*n;
	}
	return members;
}

static void print_members(const Printing *printing)
{
	unsigned n = 0, part = 0, parts = 0;
	g_autoptr(GHashTable) members = members_of(printing, &n);
	gsize width = n <= 2500 ? 6 : 4;
	rg_hash_values (GPtrArray, list, members)
		parts += (list->len + KEYS_A_LINE - 1) / KEYS_A_LINE;
	rg_hash_foreach (gpus, const GPtrArray, ids, members) {
		for (guint i = 0; i < ids->len; i += KEYS_A_LINE) {
			g_autoptr(GString) more = g_string_new(NULL);
			g_string_append_printf(more,
				" at=%" G_GINT64_FORMAT
				" part=%u parts=%u width=%zu gpus=%zu driver=%s ids=",
				printing->sim->now_ms / 1000, ++part, parts, width,
				GPOINTER_TO_SIZE(gpus), gpus ? DRIVER : "\"\"");
			for (guint k = i; k < ids->len && k < i + KEYS_A_LINE; k++)
				append_key(more, ids->pdata[k], width);
			print_report(printing, "nodes", "ray", more->str);
		}
	}
}

static void print_gpus(const Printing *printing)
{
	const RgSimNode *node = printing->node;
	g_autoptr(GString) more = g_string_new(NULL);
	g_string_append_printf(more, " seen=%" G_GINT64_FORMAT " gpu=", node->gpus);
	for (gint64 i = 0; i < node->gpus; i++) {
		g_autofree char *uuid = gpu_uuid(node, i);
		g_string_append_printf(more, "%s%s", i ? "," : "", uuid);
	}
	print_report(printing, "gpus", "gpus", more->str);
}

static void print_joined(const Printing *printing)
{
	const RgSimNode *node = printing->node;
	g_autofree char *more = g_strdup_printf(" instance=%s gpus=%" G_GINT64_FORMAT " driver=%s",
		node->id, node->gpus, node->gpus ? DRIVER : "\"\"");
	print_report(printing, "joined", "ray", more);
	if (node->is_head)
		print_members(printing);
}

/* As far as the machine has got: its steps are spread over the knob join_ms. */
static void print_steps(const Printing *printing)
{
	const RgSimNode *node = printing->node;
	const char *broken = rg_json_str(node->fault, "step", "docker");
	gint64 join_ms = doc_int(printing->sim->knobs, "join_ms");
	gint64 passed_ms = printing->sim->now_ms - node->booted_ms;
	for (gsize i = 0; i < G_N_ELEMENTS(reports); i++) {
		if ((reports[i].gpu && !node->gpus) ||
			(reports[i].asked && !g_str_equal(reports[i].step, broken)))
			continue;
		if (passed_ms < join_ms * (gint64)i / (gint64)G_N_ELEMENTS(reports))
			return;
		if (reports[i].more)
			print_report(printing, reports[i].state, reports[i].step, reports[i].more);
		else
			print_gpus(printing);
		if (does_work(node) || !g_str_equal(reports[i].step, broken))
			continue;
		if (!has_fault(node, "hang"))
			print_failure(printing, broken);
		return;
	}
	if (passed_ms >= join_ms && has_head(printing))
		print_joined(printing);
}

static GArray *cluster_of(
	const RgSimPlace *place, unsigned kind, RgSimNodeOf node_of, const char *lineage)
{
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(RgSimNode));
	rg_sim_foreach (machine, place, kind) {
		RgSimNode node = node_of(place, machine);
		if (g_str_equal(node.lineage, lineage))
			g_array_append_val(nodes, node);
	}
	return nodes;
}

void rg_sim_console_print(const RgSim *sim, const RgSimPlace *place, unsigned kind,
	RgSimNodeOf node_of, const json_t *machine, GString *text)
{
	RgSimNode node = node_of(place, machine);
	if (!node.booted_ms) /* it never ran, or comes from an older world */
		return;
	g_string_append(text, "[    0.000000] Linux version 6.1.0 (raygpu-sim)\r\n"
			      "[    8.500000] cloud-init[611]: Cloud-init v. 22.4.2 running\r\n");
	if (!*node.lineage || has_fault(&node, "silent") || has_fault(&node, "impaired"))
		return;
	g_autoptr(GArray) nodes = cluster_of(place, kind, node_of, node.lineage);
	Printing printing = {.sim = sim, .node = &node, .nodes = nodes, .text = text};
	g_autofree char *seed = g_strdup_printf("%s %" G_GINT64_FORMAT, node.id, node.booted_ms);
	g_snprintf(printing.boot, sizeof(printing.boot), "%08x", g_str_hash(seed));
	print_steps(&printing);
}
