/* Root disks in the provider's cloud: "disk" in the module's schema.json. */
#include <math.h>
#include "pipeline/internal.h"

static bool disk_check_type(
	const RgCluster *cluster, const json_t *rules, const RgPool *pool, RgDiags *diags)
{
	const json_t *types = json_object_get(rules, "types");
	const char *type = pool->disk.type;
	if (!type || !types || rg_json_has_text(types, type))
		return true;
	const char *why = rg_json_str(json_object_get(rules, "refused"), type, NULL);
	g_autofree char *known = pass_list(types);
	RgDiag *diag = rg_diags_error(diags, "spec.bad-value",
		"\"%s\" is not a valid type for a root disk: %s%s", type,
		why ? why : cluster->provider.name, why ? "" : " has no such disk type");
	g_autofree char *pointer = g_strconcat(pool->origin, "/disk/type", NULL);
	rg_diag_origin(diag, pointer);
	rg_diag_hint(diag, "the disk types are: %s", known);
	return false;
}

/* The type of a disk whose spec names none, on any instance type; NULL: it depends. */
static const char *disk_type(const json_t *rules, const RgPool *pool)
{
	const json_t *first = json_array_get(json_object_get(rules, "default"), 0);
	bool any = first && !json_object_get(first, "instance_types");
	return pool->disk.type ? pool->disk.type : any ? rg_json_str(first, "type", NULL) : NULL;
}

/* A number that a spec may choose, and what its ratio counts. */
typedef struct {
	const char *key, *ratio, *base_unit;
	int64_t value, base; /* 0: not chosen */
} DiskChoice;

/* NULL: it is fine. */
static char *disk_choice_fault(const DiskChoice *choice, const json_t *range, const char *type)
{
	int64_t min = rg_json_int(range, "min", 0), max = rg_json_int(range, "max", 0);
	double ratio = json_number_value(json_object_get(range, choice->ratio));
	if (!choice->value && json_is_true(json_object_get(range, "required")))
		return g_strdup_printf(
			"disk.%s is required for the disk type %s", choice->key, type);
	if (!choice->value)
		return NULL;
	if (!range)
		return g_strdup_printf(
			"disk.%s cannot be set for the disk type %s", choice->key, type);
	if (choice->value < min || choice->value > max)
		return g_strdup_printf("disk.%s must be %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
				       " for the disk type %s, not %" G_GINT64_FORMAT,
			choice->key, min, max, type, choice->value);
	double least = ratio > 0 ? ceil((double)choice->value / ratio) : 0;
	if (choice->value == min || (double)choice->base >= least)
		return NULL;
	return g_strdup_printf("disk.%s %" G_GINT64_FORMAT
			       " requires at least %.0f %s for the disk "
			       "type %s; this disk has %" G_GINT64_FORMAT,
		choice->key, choice->value, least, choice->base_unit, type, choice->base);
}

static bool disk_check_performance(const json_t *rules, const RgPool *pool, RgDiags *diags)
{
	const RgDisk *disk = &pool->disk;
	const char *type = disk_type(rules, pool);
	const json_t *ranges = json_object_get(rules, "performance"), *iops = NULL;
	bool ok = true;
	if (!ranges || !type)
		return true;
	ranges = json_object_get(ranges, type);
	iops = json_object_get(ranges, "iops");
	const DiskChoice choices[] = {
		{"iops", "per_gib", "GiB", disk->iops,
			disk->size_gb ? disk->size_gb : RG_DISK_DEFAULT_GIB},
		{"throughput", "per_iops", "IOPS", disk->throughput_mib_s,
			disk->iops ? disk->iops : rg_json_int(iops, "min", 0)},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(choices) && ok; i++) {
		g_autofree char *fault = disk_choice_fault(
			&choices[i], json_object_get(ranges, choices[i].key), type);
		ok = !fault;
		if (ok)
			continue;
		g_autofree char *pointer =
			g_strconcat(pool->origin, "/disk/", choices[i].key, NULL);
		rg_diag_origin(rg_diags_error(diags, "spec.out-of-range", "%s", fault), pointer);
	}
	return ok;
}

bool pass_check_disk(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags)
{
	const json_t *rules = rg_schema_disk(schema);
	return disk_check_type(cluster, rules, pool, diags) &&
	       disk_check_performance(rules, pool, diags);
}

void pass_choose_disks(const RgSchema *schema, json_t *fitted)
{
	rg_json_foreach (node, json_object_get(fitted, "nodes")) {
		json_t *disk = json_object_get(node, "disk");
		const char *type = rg_json_str(json_object_get(node, "offer"), "instance_type", "");
		rg_json_foreach (choice, json_object_get(rg_schema_disk(schema), "default")) {
			const char *pattern = rg_json_str(choice, "instance_types", "");
			if (!rg_json_str(disk, "type", NULL) &&
				g_regex_match_simple(pattern, type, 0, 0))
				json_object_set(disk, "type", json_object_get(choice, "type"));
		}
	}
}
