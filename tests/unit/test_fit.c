/* The fitted document, and what is requested for it. */
#include <string.h>
#include "base/embedded.h"
#include "base/json_schema.h"
#include "fit_run.h"

extern const struct rg_embedded rg_schemas[];

static void test_first_plan_asks_for_all(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD
		"pools:\n"
		"  train: {accelerators: \"A100:8\", nodes: 2, zones: [us-east-1c, "
		"us-east-1b]}\n"
		"  none: {accelerators: \"V100-32GB:8\", nodes: 0}\n",
		FACTS, NULL);
	json_auto_t *wanted = json_of(
		"{'images': [{'key': 'default/x86_64', 'image': null, 'arch': 'x86_64',"
		" 'driver': 'open', 'origin': '/head/image'}],"
		" 'place': true, 'instance_types': ['m5.2xlarge', 'p4d.24xlarge'], 'zones': []}");
	g_assert_true(json_equal(o.request, wanted));
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	assert_node(&o, 1, "train", "p4d.24xlarge", "us-east-1b", "[0,1]");
	g_assert_null(node_at(&o, 2));
	const json_t *offer = offer_at(&o, 1);
	g_assert_cmpint(rg_json_int(offer, "price_microusd_hour", 0), ==, 21957642);
	g_assert_cmpint(rg_json_int(offer, "gpus", 0), ==, 8);
	g_assert_cmpstr(rg_json_str(offer, "gpu", NULL), ==, "A100");
}

static void test_zones_are_asked_for_when_all_pools_name_them(void)
{
	g_auto(FitRun) o =
		fit_run(HEAD "head: {instance_type: m5.2xlarge, zones: [us-east-1b]}\n"
			     "pools:\n  t: {accelerators: T4, nodes: 1, zones: [us-east-1a, "
			     "us-east-1b]}\n",
			FACTS, NULL);
	json_auto_t *zones = json_of("['us-east-1b', 'us-east-1a']");
	g_assert_true(json_equal(json_object_get(o.request, "zones"), zones));
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
}

/* NVIDIA's open kernel modules start with Turing. */
static void test_old_gpus_get_the_proprietary_driver(void)
{
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n  old: {accelerators: \"V100-32GB:8\", nodes: 1}\n"
				 "  new: {accelerators: T4, nodes: 1}\n",
			FACTS, NULL);
	json_auto_t *wanted =
		json_of("[{'key': 'default/x86_64', 'image': null, 'arch': 'x86_64',"
			" 'driver': 'open', 'origin': '/head/image'},"
			" {'key': 'default/x86_64/proprietary', 'image': null, 'arch': 'x86_64',"
			" 'driver': 'proprietary', 'origin': '/pools/old/image'}]");
	g_assert_true(json_equal(json_object_get(o.request, "images"), wanted));
	const json_t *image = json_object_get(node_at(&o, 1), "image");
	g_assert_cmpstr(rg_json_str(image, "id", NULL), ==, "ami-0old");
	g_assert_cmpstr(rg_json_str(image, "root_device", NULL), ==, "/dev/xvda");
}

#define BLACKWELL                                                                                  \
	"head: {instance_type: m5.2xlarge}\n"                                                      \
	"pools:\n  new: {instance_type: p6-b200.48xlarge, nodes: 1}\n"                             \
	"  old: {accelerators: T4, nodes: 1}\n"
#define RAY(fields)                                                                                \
	"cluster: c1\nprovider: {name: aws, region: us-east-1}\nray: {version: 2.52.0, " fields    \
	"}\n"

/* CUDA 12.8 is the first that knows Blackwell; other nodes keep the cluster's image. */
static void test_new_gpus_get_a_container_that_knows_them(void)
{
	g_auto(FitRun) o = fit_run(HEAD BLACKWELL, FACTS, NULL);
	g_assert_cmpstr(rg_json_str(json_object_get(o.fitted, "ray"), "image", ""), ==,
		"rayproject/ray:2.52.0-py311-cu121");
	g_assert_null(json_object_get(node_at(&o, 0), "ray_image"));
	g_assert_cmpstr(rg_json_str(node_at(&o, 1), "ray_image", ""), ==,
		"rayproject/ray:2.52.0-py311-cu128");
	g_assert_null(json_object_get(node_at(&o, 2), "ray_image"));
	g_auto(FitRun) own = fit_run(RAY("image: \"example.com/mine:1\"") BLACKWELL, FACTS, NULL);
	g_assert_null(json_object_get(node_at(&own, 1), "ray_image"));
	g_auto(FitRun) mirrored =
		fit_run(RAY("python: \"3.12\", registry: {mirror: m.example.com/hub}") BLACKWELL,
			FACTS, NULL);
	g_assert_cmpstr(rg_json_str(node_at(&mirrored, 1), "ray_image", ""), ==,
		"m.example.com/hub/rayproject/ray:2.52.0-py312-cu128");
}

/* No image of Ray 2.52.0 has CUDA 12.9, the first that knows Blackwell Ultra; 12.8 knows Blackwell.
 */
static void test_gpus_that_no_image_knows_get_the_newest(void)
{
	g_auto(FitRun) o =
		fit_run(HEAD "head: {instance_type: m5.2xlarge}\n"
			     "pools:\n  new: {instance_type: p6-b300.48xlarge, nodes: 1}\n",
			FACTS, NULL);
	g_assert_cmpstr(rg_json_str(node_at(&o, 1), "ray_image", ""), ==,
		"rayproject/ray:2.52.0-py311-cu128");
}

static void test_a_public_address_is_the_pools_wish(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n"
					    "  t: {accelerators: T4, nodes: 1, public_ip: true}\n"
					    "  u: {accelerators: T4, nodes: 1, public_ip: false}\n",
		FACTS, NULL);
	g_assert_null(json_object_get(node_at(&o, 0), "network"));
	g_assert_true(rg_json_bool(json_object_get(node_at(&o, 1), "network"), "public_ip", false));
	g_assert_null(json_object_get(node_at(&o, 2), "network"));
}

static void test_what_a_pool_does_not_say_is_the_clusters(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD
		"setup_commands: [a, b]\n"
		"mounts: [{path: /mnt/x, source: 'h:/', type: nfs4, read_only: true}]\n"
		"pools:\n"
		"  t: {accelerators: T4, nodes: 1, setup_commands: [c], mounts: []}\n"
		"  u: {accelerators: T4, nodes: 1, setup_commands: [], mounts: []}\n",
		FACTS, NULL);
	static const char *const wanted[] = {
		"{\"mounts\":[{\"path\":\"/mnt/x\",\"read_only\":true,\"source\":\"h:/\",\"type\":"
		"\"nfs4\"}],\"setup_commands\":[\"a\",\"b\"]}",
		"{\"setup_commands\":[\"c\"]}", NULL};
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		const json_t *prepare = json_object_get(node_at(&o, i), "prepare");
		char *text = prepare ? json_dumps(prepare, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
		g_assert_cmpstr(text, ==, wanted[i]);
		free(text);
	}
}

static void assert_health(const FitRun *o, size_t i, const char *expected)
{
	const json_t *health = json_object_get(node_at(o, i), "health");
	char *text = health ? json_dumps(health, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	g_assert_cmpstr(text, ==, expected);
	free(text);
}

static void test_gpus_are_checked_unless_the_spec_says_otherwise(void)
{
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n"
				 "  t: {accelerators: T4, nodes: 1, health: {diag: 2}}\n"
				 "  u: {accelerators: T4, nodes: 1, health: {gate: false}}\n"
				 "  v: {accelerators: V100-32GB:8, nodes: 1}\n"
				 "  w: {instance_type: m5.2xlarge, nodes: 1, health: {diag: 1}}\n",
			FACTS, NULL);
	assert_health(&o, 0, NULL);
	assert_health(&o, 1, "{\"diag\":2}");
	assert_health(&o, 2, NULL);
	assert_health(&o, 3, "{\"nvlink\":true}");
	assert_health(&o, 4, NULL);
}

static void test_an_explicit_image_is_looked_up_once(void)
{
	static const char spec[] =
		CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1, image: ami-9}\n";
	static const char facts[] = FACTS;
	g_auto(FitRun) o = fit_run(spec, facts, NULL);
	json_auto_t *images = json_of("[{'key': 'default/x86_64', 'image': null, 'arch': 'x86_64',"
				      "  'driver': 'open', 'origin': '/head/image'},"
				      " {'key': 'ami-9', 'image': 'ami-9', 'arch': 'x86_64',"
				      "  'driver': 'open', 'origin': '/pools/t/image'}]");
	g_assert_true(json_equal(json_object_get(o.request, "images"), images));
	assert_error(&o, "fit.bad-facts", 5 + 1, "ami-9");
}

static void test_errors_stand_under_the_spec(void)
{
	static const struct {
		const char *spec, *code;
		unsigned line;
		const char *said;
	} cases[] = {
		{"  t: {accelerators: \"T4:3\", nodes: 1}\n", "catalog.no-offer", 6,
			"4 (g4dn.12xlarge)"},
		{"  t: {accelerators: \"T44:1\", nodes: 1}\n", "catalog.unknown-accelerator", 6,
			"`T4`"},
		{"  t: {instance_type: g4dn.xlargo, nodes: 1}\n", "catalog.unknown-type", 6,
			"`g4dn.xlarge`"},
		{"  t:\n    accelerators: A100:8\n    nodes: 1\n    zones: [us-east-1a]\n",
			"fit.zone-not-offered", 9, "offer p4d.24xlarge: us-east-1b"},
		{"  t:\n    accelerators: A100:8\n    nodes: 1\n    zones: [us-east-1d]\n",
			"fit.no-zone", 9, "us-east-1b"},
		{"  t: {accelerators: \"H100:8\", nodes: 1}\n", "fit.zone-not-offered", 6,
			"in any zone of us-east-1"},
		{"  t: {instance_type: g5g.xlarge, nodes: 1}\n", "fit.image-arch", 6, "arm64"},
		{"  t: {instance_type: g6f.xlarge, nodes: 1}\n", "fit.gpu-not-supported", 6,
			"slice"},
		{"  t: {instance_type: g4ad.xlarge, nodes: 1}\n", "fit.gpu-not-supported", 6,
			"AMD"},
		{"  t:\n    accelerators: T4\n    nodes: 1\n    disk: {size: 50}\n",
			"fit.disk-too-small", 9, "75 GB"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *spec = g_strconcat(CPU_HEAD "pools:\n", cases[i].spec, NULL);
		g_auto(FitRun) o = fit_run(spec, FACTS, NULL);
		assert_error(&o, cases[i].code, cases[i].line, cases[i].said);
	}
}

static void test_all_pools_are_reported_at_once(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD "pools:\n  a: {accelerators: \"T4:3\", nodes: 1}\n"
					    "  b: {instance_type: nope.large, nodes: 1}\n",
		FACTS, NULL);
	g_assert_null(o.fitted);
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 2);
}

static void test_missing_facts_are_an_error(void)
{
	g_auto(FitRun) o = fit_run(CPU_HEAD, NULL, NULL);
	assert_error(&o, "fit.bad-facts", 2, "zones");
	g_auto(FitRun) bad = fit_run(CPU_HEAD, "{'images': 3, 'zones': []}", NULL);
	assert_error(&bad, "fit.bad-facts", 4, "default/x86_64");
}

static void test_labels_and_resources(void)
{
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n  t: {accelerators: \"A100-80GB:8\", nodes: 1, "
				 "labels: {tier: gold}, resources: {licence: 2}}\n",
			FACTS, NULL);
	json_auto_t *labels =
		json_of("{'tier': 'gold', 'ray.io/accelerator-type': 'A100', 'ray.io/market-type': "
			"'on-demand',"
			" 'ray.io/availability-zone': 'us-east-1a', 'ray.io/availability-region': "
			"'us-east-1',"
			" 'ray.io/node-group': 't', 'raygpu.io/cluster': 'c1'}");
	json_auto_t *resources = json_of("{'licence': 2, 'accelerator_type:A100': 1,"
					 " 'accelerator_type:A100-80G': 1}");
	g_assert_true(json_equal(json_object_get(node_at(&o, 1), "labels"), labels));
	g_assert_true(json_equal(json_object_get(node_at(&o, 1), "resources"), resources));
}

static void report_violation(const RgSchemaFinding *finding, void *data)
{
	(void)data;
	g_test_message("%s: %s", finding->pointer, finding->keyword);
}

static void test_document_keeps_the_schema(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *schema = NULL;
	for (const struct rg_embedded *file = rg_schemas; file->name != NULL; file++) {
		if (g_str_equal(file->name, "fitted.schema.json"))
			schema = rg_json_parse(
				file->data, file->len, file->name, "catalog.bad-data", diags);
	}
	g_assert_nonnull(schema);
	g_autoptr(RgJsonSchema) compiled = rg_json_schema_compile(schema, diags);
	g_assert_nonnull(compiled);
	g_auto(FitRun) o =
		fit_run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n", FACTS, NULL);
	g_assert_true(rg_json_schema_check(compiled, o.fitted, report_violation, NULL));
	json_object_set_new(rg_json_unconst(node_at(&o, 1)), "pool", json_integer(3));
	g_assert_false(rg_json_schema_check(compiled, o.fitted, report_violation, NULL));
}

static void test_same_input_same_bytes(void)
{
	static const char spec[] = CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n"
					    "  train: {accelerators: \"A100:8\", nodes: 1}\n";
	g_autofree char *first = NULL;
	for (int i = 0; i < 10; i++) {
		g_auto(FitRun) o = fit_run(spec, FACTS, NULL);
		g_autofree char *text = json_dumps(o.fitted, 0);
		if (!first)
			first = g_strdup(text);
		g_assert_cmpstr(text, ==, first);
	}
}

#define ADD(fn) g_test_add_func("/fit/" #fn, fn)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(test_first_plan_asks_for_all);
	ADD(test_zones_are_asked_for_when_all_pools_name_them);
	ADD(test_old_gpus_get_the_proprietary_driver);
	ADD(test_new_gpus_get_a_container_that_knows_them);
	ADD(test_gpus_that_no_image_knows_get_the_newest);
	ADD(test_a_public_address_is_the_pools_wish);
	ADD(test_what_a_pool_does_not_say_is_the_clusters);
	ADD(test_gpus_are_checked_unless_the_spec_says_otherwise);
	ADD(test_an_explicit_image_is_looked_up_once);
	ADD(test_errors_stand_under_the_spec);
	ADD(test_all_pools_are_reported_at_once);
	ADD(test_missing_facts_are_an_error);
	ADD(test_labels_and_resources);
	ADD(test_document_keeps_the_schema);
	ADD(test_same_input_same_bytes);
	return fit_run_tests();
}
