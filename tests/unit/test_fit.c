#include "fit/fit.h"
#include <string.h>
#include "base/embedded.h"
#include "base/json_schema.h"
#include "catalog_folder.h"
#include "spec/spec.h"

extern const struct rg_embedded rg_schemas[];

#define HEAD                                                                                       \
	"cluster: c1\n"                                                                            \
	"provider: {name: aws, region: us-east-1}\n"                                               \
	"ray: {version: 2.52.0, python: \"3.11\"}\n"
#define CPU_HEAD HEAD "head: {instance_type: m5.2xlarge}\n"

#define FACTS                                                                                      \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'name': 'dl', 'arch': 'x86_64',"            \
	"   'root_device': '/dev/sda1', 'min_disk_gb': 75},"                                       \
	"  'default/x86_64/proprietary': {'id': 'ami-0old', 'name': 'dlp', 'arch': 'x86_64',"      \
	"   'root_device': '/dev/xvda', 'min_disk_gb': 65}},"                                      \
	" 'zones': ['us-east-1a', 'us-east-1b', 'us-east-1c'], 'module': {'vpc_id': 'vpc-1'},"     \
	" 'offerings': {'p4d.24xlarge': ['us-east-1b', 'us-east-1d'], 'p5.48xlarge': [],"          \
	"   'm5.2xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c'],"                             \
	"   'g4dn.xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c']}}"

static RgCatalog *catalog; /* of the whole run, read only */

static void open_catalog(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	catalog = catalog_folder_open(DATA_DIR, "aws", NULL, diags);
	g_assert_nonnull(catalog);
}

/* JSON with ' for ", so that it is readable in C. */
static json_t *json_of(const char *text)
{
	if (!text)
		return NULL;
	g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(quoted, 0, &error);
	if (!value)
		g_error("%s in %s", error.text, quoted);
	return value;
}

/* One run of both steps; outcome_clear frees all of it. */
typedef struct {
	RgDiags *diags;
	RgCluster *cluster;
	RgShapes *shapes;
	json_t *pins, *facts, *fitted;
	const json_t *request;
} Outcome;

static void outcome_clear(Outcome *o)
{
	rg_fit_shapes_free(o->shapes);
	rg_cluster_free(o->cluster);
	rg_diags_free(o->diags);
	json_decref(o->pins);
	json_decref(o->facts);
	json_decref(o->fitted);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Outcome, outcome_clear)

static Outcome run(const char *spec, const char *facts, const char *pins)
{
	Outcome o = {.diags = rg_diags_new(), .facts = json_of(facts), .pins = json_of(pins)};
	o.cluster = rg_spec_load("c.yaml", spec, strlen(spec), o.diags);
	for (size_t i = 0; i < rg_diags_count(o.diags); i++)
		g_test_message("%s", rg_diags_get(o.diags, i)->summary);
	g_assert_nonnull(o.cluster);
	o.shapes = rg_fit_shapes(o.cluster, catalog, o.pins, o.diags);
	if (!o.shapes)
		return o;
	o.request = rg_fit_request(o.shapes);
	o.fitted = rg_fit(o.cluster, o.shapes, o.facts, o.pins, NULL, o.diags);
	return o;
}

static const json_t *node_at(const Outcome *o, size_t i)
{
	g_assert_nonnull(o->fitted);
	return json_array_get(json_object_get(o->fitted, "nodes"), i);
}

static void assert_node(const Outcome *o, size_t i, const char *pool, const char *type,
	const char *zone, const char *indexes)
{
	const json_t *node = node_at(o, i);
	g_assert_nonnull(node);
	g_autofree char *list = rg_json_canonical(json_object_get(node, "indexes"));
	g_assert_cmpstr(rg_json_str(node, "pool", NULL), ==, pool);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node, "offer"), "instance_type", NULL), ==, type);
	g_assert_cmpstr(rg_json_str(json_object_get(node, "offer"), "zone", NULL), ==, zone);
	g_assert_cmpstr(list, ==, indexes);
}

static void assert_error(const Outcome *o, const char *code, unsigned line, const char *said)
{
	g_assert_null(o->fitted);
	g_assert_cmpuint(rg_diags_count(o->diags), >, 0);
	const RgDiag *diag = rg_diags_get(o->diags, 0);
	g_test_message(
		"%u: %s | %s | %s", diag->source.line, diag->summary, diag->detail, diag->hint);
	g_assert_cmpstr(diag->code, ==, code);
	g_assert_cmpuint(diag->source.line, ==, line);
	g_autofree char *all = g_strdup_printf("%s\n%s\n%s", diag->summary,
		diag->detail ? diag->detail : "", diag->hint ? diag->hint : "");
	g_assert_nonnull(strstr(all, said));
}

static void test_first_plan_asks_for_all(void)
{
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n"
			     "  train: {accelerators: \"A100:8\", nodes: 2, zones: [us-east-1c, "
			     "us-east-1b]}\n"
			     "  none: {accelerators: \"V100:4\", nodes: 0}\n",
			FACTS, NULL);
	json_auto_t *wanted = json_of(
		"{'images': [{'key': 'default/x86_64', 'image': null, 'arch': 'x86_64',"
		" 'driver': 'open', 'origin': '/head/image'}],"
		" 'place': true, 'instance_types': ['m5.2xlarge', 'p4d.24xlarge'], 'zones': []}");
	g_assert_true(json_equal(o.request, wanted));
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	assert_node(&o, 1, "train", "p4d.24xlarge", "us-east-1b", "[0,1]");
	g_assert_null(node_at(&o, 2));
	const json_t *offer = json_object_get(node_at(&o, 1), "offer");
	g_assert_cmpint(rg_json_int(offer, "price_microusd_hour", 0), ==, 21957642);
	g_assert_cmpint(rg_json_int(offer, "gpus", 0), ==, 8);
	g_assert_cmpstr(rg_json_str(offer, "gpu", NULL), ==, "A100");
}

static void test_zones_are_asked_for_when_all_pools_name_them(void)
{
	g_auto(Outcome) o =
		run(HEAD "head: {instance_type: m5.2xlarge, zones: [us-east-1b]}\n"
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
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  old: {accelerators: \"V100:4\", nodes: 1}\n"
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

/* us-east-1a is available for head and t; us-east-1b for all three. */
static void test_gathers_in_the_zone_that_serves_most(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1}\n"
					 "  train: {accelerators: \"A100:8\", nodes: 1}\n",
		FACTS, NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	assert_node(&o, 2, "train", "p4d.24xlarge", "us-east-1b", "[0]");
}

/* A user's own network: requested again, pinned with the settings that it answers, and nodes leave
 * zones without one of its subnets. */
static void test_another_network_is_asked_for_once(void)
{
#define OWN_NETWORK                                                                                \
	"cluster: c1\n"                                                                            \
	"provider: {name: aws, region: us-east-1, subnets: {us-east-1b: subnet-b}}\n"              \
	"ray: {version: 2.52.0, python: \"3.11\"}\n"                                               \
	"head: {instance_type: m5.2xlarge}\n"
#define HEAD_PIN(zone)                                                                             \
	"{'instance_type': 'm5.2xlarge', 'zone': '" zone "', 'image_key': 'default/x86_64',"       \
	" 'image_id': 'ami-1'}"
#define OWN_FACTS                                                                                  \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'arch': 'x86_64'}}, 'offerings':"           \
	" {'m5.2xlarge': ['us-east-1a', 'us-east-1b']}, 'zones': ['us-east-1b'],"                  \
	" 'module': {'vpc_id': 'vpc-2'}"
#define OWN_SETTINGS "'settings': {'subnets': {'us-east-1b': 'subnet-b'}}"
#define OWN_ZONES "'zone_maps': [{'us-east-1b': 'subnet-b'}]"
	g_auto(Outcome) moved = run(OWN_NETWORK, OWN_FACTS "}",
		"{" OWN_SETTINGS ", " OWN_ZONES ", 'facts': " FACTS
		", 'nodes': {'head': " HEAD_PIN("us-east-1a") "}}");
	g_assert_true(rg_json_bool(moved.request, "place", false));
	assert_node(&moved, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	json_auto_t *settings = json_of("{'subnets': {'us-east-1b': 'subnet-b'}}");
	g_assert_true(json_equal(rg_json_at(moved.fitted, "/facts/settings"), settings));
	g_auto(Outcome) again = run(OWN_NETWORK, NULL,
		"{" OWN_SETTINGS ", " OWN_ZONES ", 'facts': " OWN_FACTS ", " OWN_SETTINGS "},"
		" 'nodes': {'head': " HEAD_PIN("us-east-1b") "}}");
	g_assert_null(again.request);
	assert_node(&again, 0, "head", "m5.2xlarge", "us-east-1b", "null");
	g_assert_cmpstr(
		rg_json_str(rg_json_at(again.fitted, "/facts/module"), "vpc_id", ""), ==, "vpc-2");
	g_auto(Outcome) back = run(CPU_HEAD, FACTS,
		"{'facts': " OWN_FACTS ", " OWN_SETTINGS "},"
		" 'nodes': {'head': " HEAD_PIN("us-east-1b") "}}");
	g_assert_true(rg_json_bool(back.request, "place", false));
	g_assert_null(rg_json_at(back.fitted, "/facts/settings"));
	assert_node(&back, 0, "head", "m5.2xlarge", "us-east-1b", "null");
}

static void test_a_public_address_is_the_pools_wish(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n"
					 "  t: {accelerators: T4, nodes: 1, public_ip: true}\n"
					 "  u: {accelerators: T4, nodes: 1, public_ip: false}\n",
		FACTS, NULL);
	g_assert_null(json_object_get(node_at(&o, 0), "network"));
	g_assert_true(rg_json_bool(json_object_get(node_at(&o, 1), "network"), "public_ip", false));
	g_assert_null(json_object_get(node_at(&o, 2), "network"));
}

static void assert_health(const Outcome *o, size_t i, const char *expected)
{
	const json_t *health = json_object_get(node_at(o, i), "health");
	char *text = health ? json_dumps(health, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	g_assert_cmpstr(text, ==, expected);
	free(text);
}

static void test_gpus_are_checked_unless_the_spec_says_otherwise(void)
{
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n"
			     "  t: {accelerators: T4, nodes: 1, health: {diag: 2}}\n"
			     "  u: {accelerators: T4, nodes: 1, health: {gate: false}}\n"
			     "  v: {accelerators: V100:4, nodes: 1}\n"
			     "  w: {instance_type: m5.2xlarge, nodes: 1, health: {diag: 1}}\n",
			FACTS, NULL);
	assert_health(&o, 0, NULL);
	assert_health(&o, 1, "{\"diag\":2}");
	assert_health(&o, 2, NULL);
	assert_health(&o, 3, "{\"nvlink\":true}");
	assert_health(&o, 4, NULL);
}

static void test_equal_zones_are_taken_by_name(void)
{
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1}\n", FACTS, NULL);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1a", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
}

#define PIN(type, zone, image, price)                                                              \
	"{'instance_type': '" type "', 'zone': '" zone "', 'image_key': 'default/x86_64',"         \
	" 'image_id': '" image "', 'price_microusd_hour': " price ","                              \
	" 'price_date': '2025-01-01', 'price_quality': 'list'}"
#define PINS(nodes) "{'facts': " FACTS ", 'nodes': {" nodes "}}"

static void test_pinned_nodes_stay_and_ask_nothing(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n", NULL,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1c", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.2xlarge", "us-east-1c", "ami-old",
			"7") ", 't/1': " PIN("g4dn.2xlarge", "us-east-1b", "ami-old", "7")));
	g_assert_null(o.request);
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1c", "null");
	assert_node(&o, 1, "t", "g4dn.2xlarge", "us-east-1c", "[0]");
	assert_node(&o, 2, "t", "g4dn.2xlarge", "us-east-1b", "[1]");
	const json_t *node = node_at(&o, 1);
	g_assert_cmpint(
		rg_json_int(json_object_get(node, "offer"), "price_microusd_hour", 0), ==, 7);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node, "offer"), "price_date", ""), ==, "2025-01-01");
	g_assert_cmpstr(rg_json_str(json_object_get(node, "image"), "id", ""), ==, "ami-old");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 0);
}

static void test_new_nodes_join_their_pool(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 4}\n", NULL,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1a", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.2xlarge", "us-east-1c", "ami-old",
			"7") ", 't/2': " PIN("g4dn.2xlarge", "us-east-1c", "ami-old", "7")));
	/* only the offerings of the pinned type and of those that may stand in for it are not known
	 * yet */
	g_autofree char *types = rg_json_canonical(json_object_get(o.request, "instance_types"));
	g_assert_cmpstr(types, ==,
		"[\"g4dn.4xlarge\",\"g4dn.8xlarge\",\"g4dn.16xlarge\",\"g4dn.2xlarge\"]");
	g_assert_false(rg_json_bool(o.request, "place", true));
	g_assert_cmpuint(json_array_size(json_object_get(o.request, "images")), ==, 0);
	assert_node(&o, 1, "t", "g4dn.2xlarge", "us-east-1c", "[0,2]");
	assert_node(&o, 2, "t", "g4dn.2xlarge", "us-east-1c", "[1,3]");
	const json_t *fresh = node_at(&o, 2);
	g_assert_cmpint(
		rg_json_int(json_object_get(fresh, "offer"), "price_microusd_hour", 0), ==, 752000);
	g_assert_cmpstr(rg_json_str(json_object_get(fresh, "image"), "id", ""), ==, "ami-old");
}

static void test_a_new_pool_joins_most_of_the_cluster(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n"
					 "  u: {accelerators: T4, nodes: 1}\n",
		FACTS,
		PINS("'head': " PIN("m5.2xlarge", "us-east-1a", "ami-old", "5") ", 't/0': " PIN(
			"g4dn.xlarge", "us-east-1b", "ami-old", "7") ", 't/1': " PIN("g4dn.xlarge",
			"us-east-1b", "ami-old", "7")));
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1]");
	assert_node(&o, 2, "u", "g4dn.xlarge", "us-east-1b", "[0]");
}

/* What the cloud had when it was last asked is no reason to refuse what it may have by now. */
static void test_pins_that_leave_no_zone_are_asked_again(void)
{
	const char *head = "'head': " PIN("m5.2xlarge", "us-east-1a", "ami-1", "5");
	g_autofree char *pins = g_strdup_printf(PINS("%s"), head);
	/* a type whose zones are unknown, and subnets where it may not be offered */
	g_auto(Outcome) other = run(CPU_HEAD "pools:\n  t: {accelerators: \"V100:8\", nodes: 1}\n",
		"{'images': {'default/x86_64/proprietary': {'id': 'ami-2', 'arch': 'x86_64'}},"
		" 'offerings': {'p3.16xlarge': ['us-east-1f']}, 'zones': ['us-east-1a', "
		"'us-east-1f']}",
		pins);
	g_assert_true(rg_json_bool(other.request, "place", false));
	assert_node(&other, 1, "t", "p3.16xlarge", "us-east-1f", "[0]");
	/* a type that is now offered in another zone */
	g_auto(Outcome) wider = run(CPU_HEAD
		"pools:\n  t: {accelerators: \"A100:8\", nodes: 1, zones: [us-east-1a]}\n",
		"{'offerings': {'p4d.24xlarge': ['us-east-1a', 'us-east-1b']}}", pins);
	json_auto_t *types = json_of("['p4d.24xlarge']");
	g_assert_true(json_equal(json_object_get(wider.request, "instance_types"), types));
	assert_node(&wider, 1, "t", "p4d.24xlarge", "us-east-1a", "[0]");
}

static void test_a_pin_against_the_spec_is_dropped(void)
{
	g_auto(Outcome) o = run(
		CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1, zones: [us-east-1b]}\n", NULL,
		PINS("'head': " PIN("m5.large", "us-east-1c", "ami-1", "5") ", 't/0': " PIN(
			"g5.xlarge", "us-east-1a", "ami-1", "7")));
	/* the head changes its type but not its zone: its address is bound to it */
	assert_node(&o, 0, "head", "m5.2xlarge", "us-east-1c", "null");
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	g_assert_cmpint(
		rg_json_int(json_object_get(node_at(&o, 1), "offer"), "price_microusd_hour", 0), ==,
		526000);
}

static void test_an_explicit_type_wins_over_the_pin(void)
{
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 1}\n", NULL,
			PINS("'head': " PIN("m5.2xlarge", "us-east-1c", "ami-1",
				"5") ", 't/0': " PIN("g4dn.2xlarge", "us-east-1c", "ami-1", "7")));
	assert_node(&o, 1, "t", "g4dn.xlarge", "us-east-1c", "[0]");
}

static void test_an_explicit_image_is_looked_up_once(void)
{
	static const char spec[] =
		CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 1, image: ami-9}\n";
	static const char facts[] = FACTS;
	g_auto(Outcome) o = run(spec, facts, NULL);
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
		g_auto(Outcome) o = run(spec, FACTS, NULL);
		assert_error(&o, cases[i].code, cases[i].line, cases[i].said);
	}
}

static void test_all_pools_are_reported_at_once(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  a: {accelerators: \"T4:3\", nodes: 1}\n"
					 "  b: {instance_type: nope.large, nodes: 1}\n",
		FACTS, NULL);
	g_assert_null(o.fitted);
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 2);
}

static void test_missing_facts_are_an_error(void)
{
	g_auto(Outcome) o = run(CPU_HEAD, NULL, NULL);
	assert_error(&o, "fit.bad-facts", 2, "zones");
	g_auto(Outcome) bad = run(CPU_HEAD, "{'images': 3, 'zones': []}", NULL);
	assert_error(&bad, "fit.bad-facts", 4, "default/x86_64");
}

static void test_types_without_offerings_facts_are_tried(void)
{
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n  t: {instance_type: p3.8xlarge, nodes: 1}\n", FACTS, NULL);
	assert_node(&o, 1, "t", "p3.8xlarge", "us-east-1a", "[0]");
}

static void test_unknown_prices_are_null_and_warned_of(void)
{
	g_auto(Outcome) o = run("cluster: c1\nprovider: {name: aws, region: ap-northeast-3}\n"
				"ray: {version: 2.52.0, python: \"3.11\"}\n"
				"head: {accelerators: T4}\n",
		FACTS, NULL);
	const json_t *offer = json_object_get(node_at(&o, 0), "offer");
	g_assert_cmpstr(rg_json_str(offer, "instance_type", ""), ==, "g4dn.xlarge");
	g_assert_true(json_is_null(json_object_get(offer, "price_microusd_hour")));
	g_assert_cmpstr(rg_json_str(offer, "reason", ""), ==,
		"cheapest elsewhere of 5 offers of T4 in ap-northeast-3; no price is known "
		"there");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(o.diags, 0)->code, ==, "catalog.no-price");
	g_assert_cmpint(rg_diags_get(o.diags, 0)->severity, ==, RG_SEVERITY_WARNING);
}

/* The plan of pool t on spot. */
static Outcome run_spot(const char *market, const char *pins)
{
	g_autofree char *spec = g_strdup_printf(CPU_HEAD
		"pools:\n  t: {accelerators: \"A100-40GB:8\", nodes: 1, market: %s}\n",
		market);
	return run(spec, FACTS, pins);
}

static void assert_offer(const Outcome *o, const char *market, int64_t price, const char *quality)
{
	const json_t *offer = json_object_get(node_at(o, 1), "offer");
	g_assert_cmpstr(rg_json_str(offer, "instance_type", ""), ==, "p4d.24xlarge");
	g_assert_cmpstr(rg_json_str(offer, "market", ""), ==, market);
	g_assert_cmpint(rg_json_int(offer, "price_microusd_hour", 0), ==, price);
	g_assert_cmpstr(rg_json_str(offer, "price_quality", ""), ==, quality);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node_at(o, 1), "labels"), "ray.io/market-type", ""), ==,
		market);
}

/* 8.1915: the most expensive zone of us-east-1 in prices.csv. */
static void test_spot_is_counted_at_the_dearest_zone(void)
{
	g_auto(Outcome) o = run_spot("spot", NULL);
	assert_offer(&o, "spot", 8191500, "observed");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 0);
	g_assert_null(json_object_get(
		json_object_get(node_at(&o, 1), "offer"), "max_price_microusd_hour"));
	g_auto(Outcome) capped = run_spot("{spot: {max_price: 2.5}}", NULL);
	assert_offer(&capped, "spot", 8191500, "observed");
	g_assert_cmpint(rg_json_int(json_object_get(node_at(&capped, 1), "offer"),
				"max_price_microusd_hour", 0),
		==, 2500000);
	g_assert_cmpuint(rg_diags_count(capped.diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(capped.diags, 0)->code, ==, "fit.above-max-price");
	g_assert_cmpint(rg_diags_get(capped.diags, 0)->severity, ==, RG_SEVERITY_WARNING);
}

#define PIN_OF(market)                                                                             \
	"{'nodes': {'t/0': {'instance_type': 'p4d.24xlarge', 'zone': 'us-east-1b', " market        \
	" 'image_key': 'default/x86_64', 'image_id': 'ami-1', 'price_microusd_hour': 5,"           \
	" 'price_date': '2025', 'price_quality': 'pinned'}}}"

static void test_a_pinned_price_holds_on_its_market_only(void)
{
	g_auto(Outcome) same = run_spot("spot", PIN_OF("'market': 'spot',"));
	assert_offer(&same, "spot", 5, "pinned");
	g_auto(Outcome) moved = run_spot("spot", PIN_OF(""));
	assert_offer(&moved, "spot", 8191500, "observed");
	g_auto(Outcome) stays = run_spot("on_demand", PIN_OF(""));
	assert_offer(&stays, "on-demand", 5, "pinned");
	g_auto(Outcome) back = run_spot("on_demand", PIN_OF("'market': 'spot',"));
	const RgInstanceType *type = rg_catalog_find_type(catalog, "p4d.24xlarge");
	const RgPrice *price = rg_catalog_find_price(type, "us-east-1");
	assert_offer(&back, "on-demand", price->microusd_hour, price->quality);
}

static void test_labels_and_resources(void)
{
	g_auto(Outcome) o = run(CPU_HEAD "pools:\n  t: {accelerators: \"A100-80GB:8\", nodes: 1, "
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
	g_auto(Outcome) o =
		run(CPU_HEAD "pools:\n  t: {accelerators: T4, nodes: 2}\n", FACTS, NULL);
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
		g_auto(Outcome) o = run(spec, FACTS, NULL);
		g_autofree char *text = json_dumps(o.fitted, 0);
		if (!first)
			first = g_strdup(text);
		g_assert_cmpstr(text, ==, first);
	}
}

#define PLACED(zones)                                                                              \
	CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 3" zones                        \
		 ", network: {placement: cluster}}\n"
#define SPREAD(type)                                                                               \
	PINS("'t/0': " PIN(type, "us-east-1a", "ami-1", "7") ", 't/1': " PIN(type, "us-east-1b",   \
		"ami-1", "7") ", 't/2': " PIN(type, "us-east-1b", "ami-1", "7"))

static void test_a_placement_gathers_the_pool(void)
{
	g_auto(Outcome) first = run(PLACED(""), FACTS, NULL);
	assert_node(&first, 1, "t", "g4dn.xlarge", "us-east-1a", "[0,1,2]");
	const json_t *network = json_object_get(node_at(&first, 1), "network");
	g_assert_cmpstr(rg_json_str(network, "placement", NULL), ==, "cluster");
	/* where most nodes are, whatever the list prefers, of this type or of another */
	g_auto(Outcome) spread =
		run(PLACED(", zones: [us-east-1a, us-east-1b]"), NULL, SPREAD("g4dn.xlarge"));
	assert_node(&spread, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]"); /* of today's price */
	assert_node(&spread, 2, "t", "g4dn.xlarge", "us-east-1b", "[1,2]");
	g_auto(Outcome) moved = run(PLACED(""), NULL, SPREAD("p4d.24xlarge"));
	assert_node(&moved, 1, "t", "g4dn.xlarge", "us-east-1b", "[0,1,2]");
	/* unless the spec no longer allows it */
	g_auto(Outcome) left = run(PLACED(", zones: [us-east-1a]"), NULL, SPREAD("g4dn.xlarge"));
	assert_node(&left, 1, "t", "g4dn.xlarge", "us-east-1a", "[0]");
	assert_node(&left, 2, "t", "g4dn.xlarge", "us-east-1a", "[1,2]");
	/* the list breaks a tie */
	g_auto(Outcome) tie = run(CPU_HEAD "pools:\n  t: {instance_type: g4dn.xlarge, nodes: 2, "
					   "zones: [us-east-1b, us-east-1a], "
					   "network: {placement: cluster}}\n",
		NULL, SPREAD("g4dn.xlarge"));
	assert_node(&tie, 1, "t", "g4dn.xlarge", "us-east-1b", "[0]");
	assert_node(&tie, 2, "t", "g4dn.xlarge", "us-east-1b", "[1]");
}

static void test_types_without_the_network_are_refused(void)
{
#define ASKING(type, what)                                                                         \
	CPU_HEAD "pools:\n  t: {instance_type: " type ", nodes: 1, network: {" what "}}\n"
	g_auto(Outcome) far = run(ASKING("t3.large", "placement: cluster"), FACTS, NULL);
	assert_error(&far, "fit.no-placement", 6, "choose another instance type");
	g_auto(Outcome) slow = run(ASKING("g4dn.xlarge", "rdma: true"), FACTS, NULL);
	assert_error(&slow, "fit.no-rdma", 6, "choose another instance type");
}

#define ADD(fn) g_test_add_func("/fit/" #fn, fn)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	open_catalog();
	ADD(test_old_gpus_get_the_proprietary_driver);
	ADD(test_first_plan_asks_for_all);
	ADD(test_zones_are_asked_for_when_all_pools_name_them);
	ADD(test_gathers_in_the_zone_that_serves_most);
	ADD(test_another_network_is_asked_for_once);
	ADD(test_a_public_address_is_the_pools_wish);
	ADD(test_gpus_are_checked_unless_the_spec_says_otherwise);
	ADD(test_equal_zones_are_taken_by_name);
	ADD(test_pinned_nodes_stay_and_ask_nothing);
	ADD(test_new_nodes_join_their_pool);
	ADD(test_a_new_pool_joins_most_of_the_cluster);
	ADD(test_a_pin_against_the_spec_is_dropped);
	ADD(test_an_explicit_type_wins_over_the_pin);
	ADD(test_an_explicit_image_is_looked_up_once);
	ADD(test_errors_stand_under_the_spec);
	ADD(test_all_pools_are_reported_at_once);
	ADD(test_missing_facts_are_an_error);
	ADD(test_pins_that_leave_no_zone_are_asked_again);
	ADD(test_types_without_offerings_facts_are_tried);
	ADD(test_unknown_prices_are_null_and_warned_of);
	ADD(test_a_placement_gathers_the_pool);
	ADD(test_types_without_the_network_are_refused);
	ADD(test_spot_is_counted_at_the_dearest_zone);
	ADD(test_a_pinned_price_holds_on_its_market_only);
	ADD(test_labels_and_resources);
	ADD(test_document_keeps_the_schema);
	ADD(test_same_input_same_bytes);
	int status = g_test_run();
	rg_catalog_free(catalog);
	return status;
}
