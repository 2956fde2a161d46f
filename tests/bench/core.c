/* diff and plan of N nodes (default 10,000) in three states of the world; milliseconds of CPU.
 * Nothing is asserted: tests/bench/README.md has what was measured where. Usage: bench-core
 * SCHEMA [N]; the schema is tests/golden/schema.json. */
#include "plan/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static json_t *wanted(int pool, const char *user_data)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:i}, s:{s:s, s:s}, s:{s:s, s:s}, s:{s:[s, {s:s, "
			 "s:s}]}, s:s, s:[s, s]}",
		"type", "p4d.24xlarge", "power", "on", "tags", "team", "ml", "cost_center", "42",
		"pool", pool, "group", "$ref", "t.group.cluster", "attr", "id", "head", "$ref",
		"t.net.head", "attr", "address", "data", "$join", user_data, "$ref",
		"raygpu.secret.ray_token", "attr", "value", "commit", "c0ffee", "hosts", "a", "b");
}

static void add(
	RgResourceSet *set, const char *kind, const char *name, const char *id, json_t *attrs)
{
	RgResource *resource = rg_resource_new(kind, name, -1);
	resource->id = g_strdup(id);
	resource->attrs = attrs;
	resource->outputs_json = json_pack("{s:s, s:s}", "address", "10.0.0.4", "value", "hidden");
	rg_resource_set_add(set, resource);
}

static void add_common(RgResourceSet *set, bool desired)
{
	add(set, RG_SECRET_KIND, "ray_token", NULL, json_pack("{s:i}", "bytes", 32));
	add(set, "t.group", "cluster", desired ? NULL : "g-1",
		json_pack("{s:s, s:[i, i]}", "label", "research", "rules", 1, 2));
	add(set, "t.net", "head", desired ? NULL : "n-1", json_pack("{s:s}", "zone", "a"));
}

typedef enum { DESIRED, RECORDED, OBSERVED } Side;

static RgResourceSet *world(int n, Side side)
{
	RgResourceSet *set = rg_resource_set_new();
	g_autofree char *user_data = g_strnfill(12000, 'x');
	add_common(set, side == DESIRED);
	for (int i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof(name), "pool%d", i % 10);
		RgResource *node = rg_resource_new("t.node", name, i / 10);
		node->group = g_intern_string(name);
		json_t *attrs = wanted(i % 10, user_data);
		if (side == OBSERVED) {
			json_object_set_new(attrs, "group", json_string("g-1"));
			json_object_set_new(attrs, "head", json_string("10.0.0.4"));
			json_object_set_new(attrs, "mac", json_sprintf("m-%d", i));
			json_object_del(attrs, "data");
		}
		node->attrs = rg_resource_set_intern(set, attrs);
		node->id = side == DESIRED ? NULL : g_strdup_printf("i-%017d", i);
		rg_resource_set_add(set, node);
	}
	return set;
}

static RgSchema *load_schema(const char *path, RgDiags *diags)
{
	json_t *document = json_load_file(path, 0, NULL);
	RgSchema *schema = document ? rg_schema_new(document, diags) : NULL;
	json_decref(document);
	return schema;
}

static void measure(const char *what, const RgSchema *schema, const RgResourceSet *desired,
	const RgResourceSet *recorded, const RgResourceSet *observed)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgPlanInput input = {.command = "plan", .cluster = "research", .provider = "t"};
	double start = cpu_ms();
	g_autoptr(RgDiff) diff = rg_diff(schema, desired, recorded, observed, NULL, diags);
	double diffed = cpu_ms();
	g_autoptr(RgPlan) plan = rg_plan_new(diff, schema, &input, diags);
	double planned = cpu_ms();
	json_t *document = rg_plan_to_json(plan);
	char *text = json_dumps(document, JSON_COMPACT);
	double saved = cpu_ms();
	g_autoptr(RgPlan) loaded = rg_plan_from_json(document, diags);
	double end = cpu_ms();
	printf("%-10s diff %6.1f  plan %6.1f  save %6.1f (%.1f MB)  load %6.1f ms%s\n", what,
		diffed - start, planned - diffed, saved - planned, (double)strlen(text) / 1e6,
		end - saved, loaded ? "" : " REFUSED");
	free(text);
	json_decref(document);
}

int main(int argc, char **argv)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	int n = argc > 2 ? (int)g_ascii_strtoll(argv[2], NULL, 10) : 10000;
	g_autoptr(RgSchema) schema = argc > 1 ? load_schema(argv[1], diags) : NULL;
	if (!schema || n < 1) {
		fprintf(stderr, "usage: bench-core SCHEMA [N]\n");
		return 4;
	}
	g_autoptr(RgResourceSet) desired = world(n, DESIRED), recorded = world(n, RECORDED);
	g_autoptr(RgResourceSet) observed = world(n, OBSERVED), nothing = rg_resource_set_new();
	printf("%d nodes\n", n);
	measure("no change", schema, desired, recorded, observed);
	measure("create", schema, desired, nothing, nothing);
	measure("destroy", schema, nothing, recorded, observed);
	return 0;
}
