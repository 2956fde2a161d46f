/* What rg_fit_emit made as a Python module: data and one function, so that it compiles anywhere and
 * imports Ray only when it is called. */
#include "render/fit/fit.h"
#include "render/fit/python.h"

static const char train_usage[] =
	"\n"
	"Written by `raygpu fit --emit train`. Usage:\n"
	"\n"
	"    trainer = TorchTrainer(train, scaling_config=scaling_config(\"NAME\"))\n"
	"\n"
	"Each worker has one GPU; a workload with several GPUs on a node has as many workers "
	"there.\n"
	"If a workload can run on pools that need different options, pass the pool.\n"
	"\"\"\"\n";

static const char train_function[] = "def scaling_config(workload, pool=None):\n"
				     "    \"\"\"For a trainer: the workers of one run.\"\"\"\n"
				     "    arguments = _entries(workload, pool)[0][\"arguments\"]\n"
				     "    from ray.train import ScalingConfig\n"
				     "    return ScalingConfig(**arguments)\n";

static const char serve_usage[] =
	"\n"
	"Written by `raygpu fit --emit serve`. Usage:\n"
	"\n"
	"    app = Model.options(**deployment(\"NAME\")).bind()\n"
	"\n"
	"If a workload can run on pools that need different options, each pool needs a deployment\n"
	"of its own: pass the pool.\n"
	"\"\"\"\n";

static const char serve_function[] =
	"def deployment(workload, pool=None):\n"
	"    \"\"\"For @serve.deployment(**...) or .options(**...) of a deployment.\"\"\"\n"
	"    return copy.deepcopy(_entries(workload, pool)[0][\"arguments\"])\n";

static void add_entries(GString *text, const json_t *entries)
{
	rg_json_foreach (entry, entries) {
		g_string_append(text, "        {\n            \"pools\": ");
		rg_python_append(text, json_object_get(entry, "pools"), 12);
		g_string_append(text, ",\n            \"replicas\": ");
		rg_python_append(text, json_object_get(entry, "replicas"), 12);
		g_string_append(text, ",\n            \"arguments\": ");
		rg_python_append(text, json_object_get(entry, "arguments"), 12);
		g_string_append(text, ",\n        },\n");
	}
}

/* The texts of a form of the module. */
typedef struct {
	const char *title, *usage, *imports, *function;
} Form;

static char *write_module(const json_t *emitted, const Form *form)
{
	GString *text = g_string_new(NULL);
	g_string_append_printf(text, "\"\"\"%s of the workloads of cluster %s, for Ray %s.\n%s%s\n",
		form->title, rg_json_str(emitted, "cluster", "?"), rg_json_str(emitted, "ray", "?"),
		form->usage, form->imports);
	rg_python_open_workloads(text, emitted);
	rg_json_foreach (workload, json_object_get(emitted, "workloads")) {
		g_string_append_printf(
			text, "    \"%s\": [\n", rg_json_str(workload, "workload", "?"));
		add_entries(text, json_object_get(workload, "entries"));
		g_string_append(text, "    ],\n");
	}
	g_string_append(text, rg_python_finder);
	g_string_append(text, form->function);
	return g_string_free(text, FALSE);
}

char *rg_render_fit_train(const json_t *emitted)
{
	const Form form = {"Ray Train configurations", train_usage, "", train_function};
	return write_module(emitted, &form);
}

char *rg_render_fit_serve(const json_t *emitted)
{
	const Form form = {"Ray Serve deployments", serve_usage, "import copy\n", serve_function};
	return write_module(emitted, &form);
}
