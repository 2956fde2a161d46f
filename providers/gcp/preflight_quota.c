/* Quotas of the region and of the project: what the plan adds, against what is free. quotas.csv has
 * the metrics by GPU, series of machines and disk type. */
#include "gcp/preflight.h"
#include <string.h>
#include "gcp/data.h"
#include "gcp/machine.h"

#define ALL_GPUS "GPUS_ALL_REGIONS"
#define ALL_VCPUS "CPUS_ALL_REGIONS"
#define SPOT_VCPUS "PREEMPTIBLE_CPUS"
#define PER_FAMILY "GPUS_PER_GPU_FAMILY"
#define MORE "request a higher limit: https://console.cloud.google.com/iam-admin/quotas"

enum { WHAT, OF, QUOTA, SPOT_QUOTA, FIELDS };
enum { INSTANCE_TYPE, FAMILY, ARCH, VCPUS };

/* What the plan adds to a quota. */
typedef struct {
	const char *metric, *unit, *attribute; /* `unit`: "GPUs" */
	const char *counts;		       /* what `types` share, if not vCPUs: "gpus" */
	ModSum sum;
	const char *market; /* of the nodes that come under it; NULL: both */
	char *types;	    /* a regular expression of the types that share it; NULL: unknown */
	bool same;	    /* other types take as much of it */
} Need;

typedef struct {
	GcpPreflight *preflight;
	GPtrArray *rows;   /* of quotas.csv, GStrv */
	GHashTable *vcpus; /* instance type -> a text */
	GPtrArray *needs;  /* Need * */
	json_t *hidden;	   /* {machine type: index of the first create} whose quota can't be read */
} Quotas;

static void need_free(gpointer data)
{
	Need *need = data;
	mod_sum_clear(&need->sum);
	g_free(need->types);
	g_free(need);
}

/* ---- the tables */

static GHashTable *catalog_vcpus(void)
{
	GHashTable *vcpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autoptr(GPtrArray) rows =
		mod_rows(gcp_data_find("instance_types.csv")->data, VCPUS + 1, VCPUS + 2);
	mod_ptr_foreach (ModField, fields, rows)
		g_hash_table_insert(
			vcpus, g_strdup(fields[INSTANCE_TYPE]), g_strdup(fields[VCPUS]));
	return vcpus;
}

/* The catalog's, or the number in the name of a machine without GPUs; 0: unknown. */
static json_int_t vcpus_of(const Quotas *quotas, const char *type, const GcpMachine *machine)
{
	const char *known = g_hash_table_lookup(quotas->vcpus, type);
	bool plain = strstr(machine->type, "-standard-") || strstr(machine->type, "-highmem-") ||
		     strstr(machine->type, "-highcpu-") || gcp_machine_is_custom(machine);
	return known ? g_ascii_strtoll(known, NULL, 10) : plain ? gcp_machine_vcpus(machine) : 0;
}

static GStrv row_of(const Quotas *quotas, const char *what, const char *of)
{
	mod_ptr_foreach (ModField, row, quotas->rows)
		if (g_str_equal(row[WHAT], what) && g_str_equal(row[OF], of))
			return row;
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

/* ---- what there is */

static const json_t *limit_of(const Quotas *quotas, const char *metric)
{
	bool all = g_str_has_suffix(metric, "_ALL_REGIONS");
	const json_t *answer = quotas->preflight->answers[all ? GCP_PROJECT : GCP_REGION];
	mod_foreach (quota, json_object_get(answer, "quotas"))
		if (g_str_equal(mod_str(quota, "metric"), metric))
			return quota;
	return NULL;
}

static bool has_limit(const Quotas *quotas, const char *metric)
{
	return json_number_value(json_object_get(limit_of(quotas, metric), "limit")) > 0;
}

/* ---- what the plan adds */

/* `unit` and `attribute` of a metric are always the same ones. */
static Need *need_of(Quotas *quotas, const char *metric, const char *unit, const char *attribute)
{
	mod_ptr_foreach (Need, need, quotas->needs)
		if (g_str_equal(need->metric, metric))
			return need;
	Need *need = g_new0(Need, 1);
	*need = (Need){.metric = metric, .unit = unit, .attribute = attribute};
	g_ptr_array_add(quotas->needs, need);
	return need;
}

static void add_to(Need *need, const json_t *create, json_int_t amount)
{
	mod_sum_add(&need->sum, create, amount, ", ", "%" JSON_INTEGER_FORMAT " for %s", amount,
		mod_pool_of(create));
}

/* "^a2-highgpu-|[+]nvidia-tesla-t4:": the types with the GPUs of a quota; g_free */
static char *types_with(const Quotas *quotas, const char *metric)
{
	GString *types = g_string_new(NULL);
	mod_ptr_foreach (ModField, row, quotas->rows) {
		if (strcmp(row[WHAT], "gpu") ||
			(strcmp(row[QUOTA], metric) && strcmp(row[SPOT_QUOTA], metric)))
			continue;
		bool attached = g_str_has_prefix(row[OF], "nvidia-");
		g_string_append_printf(
			types, attached ? "%s[+]%s:" : "%s^%s-", types->len ? "|" : "", row[OF]);
	}
	return g_string_free(types, FALSE);
}

/* `market` NULL: of both. */
static void add_shared_gpus(Quotas *quotas, const json_t *create, const char *metric,
	const char *market, json_int_t gpus)
{
	Need *need = need_of(quotas, metric, "GPUs", "instance_type");
	need->counts = "gpus";
	need->market = market;
	if (!need->types)
		need->types = market ? types_with(quotas, metric) : g_strdup("^");
	add_to(need, create, gpus);
}

static void add_gpus(Quotas *quotas, size_t index, const GcpMachine *machine, bool spot)
{
	const json_t *create = json_array_get(quotas->preflight->creates, index);
	json_int_t gpus = mod_int(create, "count") * gpus_of(machine);
	g_autofree char *family =
		g_strndup(machine->type, (size_t)(strrchr(machine->type, '-') - machine->type));
	GStrv row = row_of(quotas, "gpu", machine->accelerator ? machine->accelerator : family);
	if (row)
		add_shared_gpus(quotas, create, row[spot ? SPOT_QUOTA : QUOTA],
			spot ? "spot" : "on-demand", gpus);
	else if (!json_object_get(quotas->hidden, machine->type))
		json_object_set_new(quotas->hidden, machine->type, json_integer((json_int_t)index));
	add_shared_gpus(quotas, create, ALL_GPUS, NULL, gpus);
}

/* "^(e2|n1)-": the types of the series that share a quota; g_free */
static char *types_of(const Quotas *quotas, const char *metric)
{
	GString *series = g_string_new(NULL);
	mod_ptr_foreach (ModField, row, quotas->rows)
		if (g_str_equal(row[WHAT], "vcpu") && g_str_equal(row[QUOTA], metric))
			g_string_append_printf(series, "%s%s", series->len ? "|" : "", row[OF]);
	g_autofree char *all = g_string_free(series, FALSE);
	return g_strdup_printf("^(%s)-", all);
}

/* The quota that other types with the same or fewer vCPUs would meet too. */
static void add_shared(Quotas *quotas, const json_t *create, const char *metric, json_int_t vcpus)
{
	Need *need = need_of(quotas, metric, "vCPUs", "instance_type");
	bool any = g_str_equal(metric, SPOT_VCPUS) || g_str_equal(metric, ALL_VCPUS);
	if (!need->types)
		need->types = any ? g_strdup("^") : types_of(quotas, metric);
	need->market = g_str_equal(metric, SPOT_VCPUS)	      ? "spot"
		       : any || has_limit(quotas, SPOT_VCPUS) ? "on-demand"
							      : NULL;
	add_to(need, create, vcpus);
}

/* Spot machines count against the others' quota in a project without one for them. Whether they
 * count against that of all regions was not found. */
static void add_vcpus(Quotas *quotas, const json_t *create, const GcpMachine *machine, bool spot)
{
	const char *type = mod_str(json_object_get(create, "attributes"), "instance_type");
	json_int_t vcpus = mod_int(create, "count") * vcpus_of(quotas, type, machine);
	g_autofree char *series = g_strndup(machine->type, strcspn(machine->type, "-"));
	GStrv row = row_of(quotas, "vcpu", series);
	bool own = spot && has_limit(quotas, SPOT_VCPUS);
	if (!vcpus)
		return;
	if (row || own)
		add_shared(quotas, create, own ? SPOT_VCPUS : row[QUOTA], vcpus);
	if (!spot)
		add_shared(quotas, create, ALL_VCPUS, vcpus);
}

/* Of these, each node takes as much, whatever its type. */
static void add_same(Quotas *quotas, const json_t *create, const char *metric, const char *unit,
	const char *attribute)
{
	Need *need = need_of(quotas, metric, unit, attribute);
	need->same = true;
	add_to(need, create, mod_int(create, "count"));
}

static void add_rest(Quotas *quotas, const json_t *create)
{
	const json_t *attributes = json_object_get(create, "attributes");
	json_int_t count = mod_int(create, "count"), size = mod_int(attributes, "disk_size_gb");
	GStrv row = row_of(quotas, "disk", mod_str(attributes, "disk_type"));
	if (row && size)
		add_to(need_of(quotas, row[QUOTA], "GB", "disk_size_gb"), create, count * size);
	if (json_is_true(json_object_get(attributes, "public_ip")))
		add_same(quotas, create, "IN_USE_ADDRESSES", "external addresses", "public_ip");
	add_same(quotas, create, "INSTANCES", "instances", "instance_type");
}

/* A replaced node gives back what the new one takes. */
static void add_up(Quotas *quotas)
{
	g_autoptr(GcpSeriesTable) series = gcp_series_open();
	size_t i;
	const json_t *create;
	json_array_foreach (quotas->preflight->creates, i, create) {
		const json_t *attributes = json_object_get(create, "attributes");
		bool spot = g_str_equal(mod_str(attributes, "market"), "spot");
		g_auto(GcpMachine) machine = {0};
		gcp_machine_parse(mod_str(attributes, "instance_type"), &machine);
		if (strcmp(mod_str(create, "kind"), GCP_INSTANCE) ||
			json_is_true(json_object_get(create, "replaces")) ||
			!strchr(machine.type, '-'))
			continue;
		/* the quota of a reservation was taken when it was made */
		bool reserved = *mod_str(attributes, "reservation") != '\0';
		if (!reserved && gcp_machine_has_gpus(series, &machine))
			add_gpus(quotas, i, &machine, spot);
		if (!reserved)
			add_vcpus(quotas, create, &machine, spot);
		add_rest(quotas, create);
	}
}

/* ---- what is said */

/* Of a quota that other types share. */
static json_t *shared_limit(const Need *need, double free)
{
	if (need->same)
		return json_pack("{s:s}", "types", "^");
	if (!need->types)
		return NULL;
	return json_pack("{s:s*, s:s, s:I, s:I, s:s*}", "market", need->market, "types",
		need->types, "free", (json_int_t)MAX(free, 0), "wanted", need->sum.wanted, "counts",
		need->counts);
}

static void check_need(Quotas *quotas, const Need *need)
{
	GcpPreflight *preflight = quotas->preflight;
	bool all = g_str_has_suffix(need->metric, "_ALL_REGIONS");
	const json_t *quota = limit_of(quotas, need->metric);
	double limit = json_number_value(json_object_get(quota, "limit"));
	double usage = json_number_value(json_object_get(quota, "usage"));
	if (!quota || usage + (double)need->sum.wanted <= limit)
		return;
	json_auto_t *shared = shared_limit(need, limit - usage);
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_QUOTA,
		.create = need->sum.create,
		.attribute = need->attribute,
		.detail = need->sum.parts->str,
		.hint = MORE,
		.code = need->metric,
		.limit = shared};
	mod_find_out(&preflight->findings, &finding,
		"the quota %s of %s %s is %.15g %s, %.15g are in use, and the plan adds "
		"%" JSON_INTEGER_FORMAT,
		need->metric, all ? "project" : "region",
		all ? gcp_project(preflight->call) : preflight->call->inst->region, limit,
		need->unit, usage, need->sum.wanted);
}

/* H100 Mega, H200, B200 and later: a quota per GPU family and region, which regions.get has not. */
static void note_hidden(Quotas *quotas)
{
	mod_foreach_member (type, first, quotas->hidden) {
		const ModFinding finding = {.severity = "note",
			.class_ = RGP_CLASS_QUOTA,
			.create = json_array_get(
				quotas->preflight->creates, (size_t)json_integer_value(first)),
			.attribute = "instance_type",
			.hint = "look for " PER_FAMILY " of the region at "
				"https://console.cloud.google.com/iam-admin/quotas"};
		mod_find_out(&quotas->preflight->findings, &finding,
			"the GPU quota of %s was not checked: it is kept per GPU family, which the "
			"Compute Engine API does not show",
			type);
	}
}

void gcp_check_quotas(GcpPreflight *preflight)
{
	json_auto_t *hidden = json_object();
	g_autoptr(GPtrArray) rows = mod_rows(gcp_data_find("quotas.csv")->data, FIELDS, FIELDS + 1),
			     needs = g_ptr_array_new_with_free_func(need_free);
	g_autoptr(GHashTable) vcpus = catalog_vcpus();
	Quotas quotas = {preflight, rows, vcpus, needs, hidden};
	add_up(&quotas);
	for (guint i = 0; i < needs->len; i++)
		check_need(&quotas, needs->pdata[i]);
	note_hidden(&quotas);
}
