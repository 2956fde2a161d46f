/* Warnings about the distance and bandwidth between the nodes of a gang: one row per finding. */
#include "fit/topology.h"
#include <string.h>
#include "catalog_folder.h"
#include "spec/spec.h"

#define NODE(pool, type, zone, indexes)                                                            \
	"{'pool': '" pool "', 'role': 'worker', 'indexes': " indexes ", 'offer': "                 \
	"{'instance_type': '" type "', 'zone': '" zone "'}}"
#define HEAD(zone)                                                                                 \
	"{'pool': 'head', 'role': 'head', 'indexes': null, 'offer': {'instance_type': "            \
	"'m5.large', 'zone': '" zone "'}}, "
#define PLACED(nodes, placed)                                                                      \
	"{'workloads': [{'workload': 'finetune', 'nodes': " nodes ", 'pools': [{'pool': 'q', "     \
	"'placed': 9}, {'pool': 'p', 'placed': " placed "}]}]}"
#define GANG PLACED("2", "2")

typedef struct {
	const char *name, *pool;
	const char *report; /* of rg_fit_workloads */
	const char *nodes;  /* of the fitted document */
	const char *expect; /* codes */
	const char *said;   /* in the first finding or its hint */
	const char *image;  /* of Ray; NULL: one with -extra */
	bool plain;
} Case;

static const Case cases[] = {
	{"no-gang", "accelerators: \"V100:4\", nodes: 2", NULL,
		HEAD("us-east-1a") NODE("p", "p3.8xlarge", "us-east-1a", "[0]") "," NODE(
			"p", "p3.8xlarge", "us-east-1b", "[1]"),
		"", NULL},
	{"slow", "accelerators: \"V100:4\", nodes: 2, network: {placement: cluster}", GANG,
		HEAD("us-east-1a") NODE("p", "p3.8xlarge", "us-east-1a", "[0,1]"),
		"topology.slow-network", "10 Gbps for 4 V100-16GB (500 TFLOPS)"},
	{"spread", "accelerators: \"A100:8\", nodes: 3, network: {placement: cluster}", GANG,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,2]") "," NODE(
			"p", "p4d.24xlarge", "us-east-1b", "[1]"),
		"topology.gang-over-zones topology.no-rdma", "2 in us-east-1a, 1 in us-east-1b"},
	{"no-placement", "accelerators: \"A100:8\", nodes: 2", GANG,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-placement topology.no-rdma", "network: {placement: cluster}"},
	{"no-rdma", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster}", GANG,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-rdma", "4 EFA adapters (400 Gbps)"},
	{"no-rdma-hint", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster}", GANG,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-rdma",
		"network: {rdma: true} attaches them, and the Ray image must contain libfabric"},
	{"rdma", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster, rdma: true}",
		GANG, HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"), "",
		NULL},
	{"rdma-alone", "accelerators: \"A100:8\", nodes: 2, network: {rdma: true}", GANG,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-placement", "nothing places them near"},
	{"rdma-image", "accelerators: \"A100:8\", nodes: 1, network: {rdma: true}", NULL,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0]"),
		"topology.rdma-image", "-extra in their tag", "rayproject/ray:2.52.0-py311-cu121"},
	{"rdma-image-plain", "accelerators: \"A100:8\", nodes: 1, network: {rdma: true}", NULL,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0]"), "", NULL,
		"rayproject/ray:2.52.0-py311-cu121", true},
	{"rdma-own-image", "accelerators: \"A100:8\", nodes: 1, network: {rdma: true}", NULL,
		HEAD("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0]"), "", NULL,
		"registry.example.org/team/ray-rdma:7"},
	{"other-pool", "accelerators: \"V100:4\", nodes: 2", PLACED("2", "0"),
		HEAD("us-east-1a") NODE("p", "p3.8xlarge", "us-east-1a", "[0,1]"), "", NULL},
	{"one-node", "accelerators: \"V100:4\", nodes: 2", PLACED("1", "2"),
		HEAD("us-east-1a") NODE("p", "p3.8xlarge", "us-east-1a", "[0,1]"), "", NULL},
	{"head-far", "accelerators: \"V100:4\", nodes: 2", NULL,
		HEAD("us-east-1c") NODE("p", "p3.8xlarge", "us-east-1a", "[0,1]"),
		"topology.head-far", "all 2 workers are in other zones"},
	{"no-workers", "accelerators: \"V100:4\", nodes: 0", NULL,
		"{'pool': 'head', 'role': 'head', 'offer': {'instance_type': 'm5.large'}}", "",
		NULL},
};

static RgCatalog *catalog;
/* For a cloud whose words name no libraries: its module knows of none that Ray's images lack. */
static RgCatalog *plain;

/* JSON with ' for ". */
static json_t *json_of(const char *text)
{
	g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(quoted, 0, &error);
	if (!value)
		g_error("%s in %s", error.text, quoted);
	return value;
}

static void test_case(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text = g_strdup_printf(
		"cluster: c\nprovider: {name: aws, region: us-east-1}\n"
		"ray: {version: 2.52.0, python: \"3.11\", image: \"%s\"}\nhead: {instance_type: "
		"m5.large}\n"
		"pools:\n  p: {%s}\n",
		c->image ? c->image : "rayproject/ray:2.52.0-extra-py311-cu121", c->pool);
	g_autofree char *nodes = g_strdup_printf("{'nodes': [%s]}", c->nodes);
	g_autoptr(RgCluster) cluster = rg_spec_load("s.yaml", text, strlen(text), diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("before: %s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(cluster);
	json_auto_t *fitted = json_of(nodes);
	json_auto_t *report = c->report ? json_of(c->report) : NULL;
	rg_diags_clear(diags);
	rg_fit_check_topology(cluster, c->plain ? plain : catalog, fitted, report, diags);
	g_autoptr(GString) got = g_string_new(NULL);
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		g_test_message("%s: %s; %s", diag->code, diag->summary, diag->hint);
		g_string_append_printf(got, "%s%s", i > 0 ? " " : "", diag->code);
		g_assert_cmpint(diag->severity, ==, RG_SEVERITY_WARNING);
		g_assert_cmpuint(diag->source.line, >, 0);
	}
	g_assert_cmpstr(got->str, ==, c->expect);
	if (!c->said)
		return;
	const RgDiag *first = rg_diags_get(diags, 0);
	g_assert_true(strstr(first->summary, c->said) || strstr(first->hint, c->said));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	catalog = catalog_folder_open(DATA_DIR, "aws", NULL, diags);
	plain = catalog_folder_open(DATA_DIR "/../template", "template", NULL, diags);
	g_assert_nonnull(catalog);
	g_assert_nonnull(plain);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strconcat("/fit/topology/", cases[i].name, NULL);
		g_test_add_data_func(path, &cases[i], test_case);
	}
	int result = g_test_run();
	rg_catalog_free(catalog);
	rg_catalog_free(plain);
	return result;
}
