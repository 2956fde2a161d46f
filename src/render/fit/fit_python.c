/* A fit report as a Python module: data and functions, no import, so that it compiles and runs
 * anywhere. The values are numbers, texts, lists and maps, whose JSON is valid Python too. */
#include "render/fit/fit.h"
#include "render/fit/python.h"

static const char head[] = "\"\"\"Ray options of the workloads of cluster %s, for Ray %s.\n"
			   "\n"
			   "Written by `raygpu fit --emit python`. Usage:\n"
			   "\n"
			   "    task.options(**options(\"NAME\")).remote()\n"
			   "    group = ray.util.placement_group(**placement_group(\"NAME\"))\n"
			   "    for count, arguments in submissions(\"NAME\"): ...\n"
			   "\n"
			   "If pools have GPUs of different memory, the share of a GPU depends on "
			   "the pool: pass the pool.\n"
			   "\"\"\"\n"
			   "\n";

static const char tail[] =
	"def _group(entry):\n"
	"    group = entry[\"placement_group\"]\n"
	"    parts = [part for part in group[\"bundles\"] for _ in range(part[\"count\"])]\n"
	"    made = {\"bundles\": [dict(part[\"resources\"]) for part in parts],\n"
	"            \"strategy\": group[\"strategy\"]}\n"
	"    if \"label_selector\" in parts[0]:\n"
	"        made[\"bundle_label_selector\"] = [dict(part[\"label_selector\"]) for part in "
	"parts]\n"
	"    return made\n"
	"\n"
	"\n"
	"def options(workload, pool=None):\n"
	"    \"\"\"For .options() of a task or actor that is one replica, on one node.\"\"\"\n"
	"    found = _entries(workload, pool)\n"
	"    alone = [entry for entry in found if \"placement_group\" not in entry]\n"
	"    return dict((alone or found)[0][\"options\"])\n"
	"\n"
	"\n"
	"def placement_group(workload, pool=None):\n"
	"    \"\"\"For ray.util.placement_group(); LookupError when the workload needs "
	"none.\"\"\"\n"
	"    for entry in _entries(workload, pool):\n"
	"        if \"placement_group\" in entry:\n"
	"            return _group(entry)\n"
	"    raise LookupError(f\"workload {workload} needs no placement group: use "
	"options()\")\n"
	"\n"
	"\n"
	"def submissions(workload):\n"
	"    \"\"\"What was placed: pairs of how many and the arguments, of "
	"ray.util.placement_group() if\n"
	"    they have \"bundles\", else of .options().\"\"\"\n"
	"    return [(entry[\"groups\"], _group(entry)) if \"placement_group\" in entry\n"
	"            else (entry[\"replicas\"], dict(entry[\"options\"]))\n"
	"            for entry in WORKLOADS[workload]]\n";

static void add_member(GString *text, const char *name, const json_t *value)
{
	if (!value)
		return;
	g_autofree char *json =
		json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	g_string_append_printf(text, "            \"%s\": %s,\n", name, json);
}

char *rg_render_fit_python(const json_t *fit)
{
	static const char *const members[] = {
		"pools", "replicas", "options", "groups", "placement_group"};
	GString *text = g_string_new(NULL);
	g_string_append_printf(
		text, head, rg_json_str(fit, "cluster", "?"), rg_json_str(fit, "ray", "?"));
	rg_python_open_workloads(text, fit);
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		g_string_append_printf(
			text, "    \"%s\": [\n", rg_json_str(workload, "workload", "?"));
		rg_json_foreach (entry, json_object_get(workload, "ray")) {
			g_string_append(text, "        {\n");
			for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
				add_member(text, members[i], json_object_get(entry, members[i]));
			g_string_append(text, "        },\n");
		}
		g_string_append(text, "    ],\n");
	}
	g_string_append(text, rg_python_finder);
	g_string_append(text, tail);
	return g_string_free(text, FALSE);
}
