/* Warnings about the distance and bandwidth between the nodes of a gang: one row per finding. */
#include "workloads/topology.h"
#include <string.h>
#include "fit_run.h"
#include "spec/spec.h"

#define NODE(pool, type, zone, indexes)                                                            \
	"{'pool': '" pool "', 'role': 'worker', 'indexes': " indexes ", 'offer': "                 \
	"{'instance_type': '" type "', 'zone': '" zone "'}}"
#define HEAD_IN(zone)                                                                              \
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
} Case;

static const Case cases[] = {
	{"no-gang", "accelerators: \"V100-32GB:8\", nodes: 2", NULL,
		HEAD_IN("us-east-1a") NODE("p", "p3dn.24xlarge", "us-east-1a", "[0]") "," NODE(
			"p", "p3dn.24xlarge", "us-east-1b", "[1]"),
		"", NULL},
	{"slow", "accelerators: L4, nodes: 2, network: {placement: cluster}", GANG,
		HEAD_IN("us-east-1a") NODE("p", "g6.xlarge", "us-east-1a", "[0,1]"),
		"topology.slow-network", "2.5 Gbps for 1 L4 (121 TFLOPS)"},
	{"spread", "accelerators: \"A100:8\", nodes: 3, network: {placement: cluster}", GANG,
		HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,2]") "," NODE(
			"p", "p4d.24xlarge", "us-east-1b", "[1]"),
		"topology.gang-over-zones topology.no-rdma", "2 in us-east-1a, 1 in us-east-1b"},
	{"no-placement", "accelerators: \"A100:8\", nodes: 2", GANG,
		HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-placement topology.no-rdma", "network: {placement: cluster}"},
	{"no-rdma", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster}", GANG,
		HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-rdma", "4 EFA adapters (400 Gbps)"},
	{"no-rdma-hint", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster}", GANG,
		HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-rdma",
		"network: {rdma: true} attaches them, and the Ray image must contain libfabric"},
	{"rdma", "accelerators: \"A100:8\", nodes: 2, network: {placement: cluster, rdma: true}",
		GANG, HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"), "",
		NULL},
	{"rdma-alone", "accelerators: \"A100:8\", nodes: 2, network: {rdma: true}", GANG,
		HEAD_IN("us-east-1a") NODE("p", "p4d.24xlarge", "us-east-1a", "[0,1]"),
		"topology.no-placement", "nothing places them near"},
	{"other-pool", "accelerators: \"V100-32GB:8\", nodes: 2", PLACED("2", "0"),
		HEAD_IN("us-east-1a") NODE("p", "p3dn.24xlarge", "us-east-1a", "[0,1]"), "", NULL},
	{"one-node", "accelerators: \"V100-32GB:8\", nodes: 2", PLACED("1", "2"),
		HEAD_IN("us-east-1a") NODE("p", "p3dn.24xlarge", "us-east-1a", "[0,1]"), "", NULL},
	{"head-far", "accelerators: \"V100-32GB:8\", nodes: 2", NULL,
		HEAD_IN("us-east-1c") NODE("p", "p3dn.24xlarge", "us-east-1a", "[0,1]"),
		"topology.head-far", "all 2 workers are in other zones"},
	{"no-workers", "accelerators: \"V100-32GB:8\", nodes: 0", NULL,
		"{'pool': 'head', 'role': 'head', 'offer': {'instance_type': 'm5.large'}}", "",
		NULL},
};

static void test_case(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text = g_strdup_printf(
		"cluster: c\nprovider: {name: aws, region: us-east-1}\n"
		"ray: {version: 2.52.0, python: \"3.11\", image: "
		"\"rayproject/ray:2.52.0-extra-py311-cu121\"}\nhead: {instance_type: "
		"m5.large}\n"
		"pools:\n  p: {%s}\n",
		c->pool);
	g_autofree char *nodes = g_strdup_printf("{'nodes': [%s]}", c->nodes);
	g_autoptr(RgCluster) cluster = rg_spec_load("s.yaml", text, strlen(text), diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("before: %s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(cluster);
	json_auto_t *fitted = json_of(nodes);
	json_auto_t *report = c->report ? json_of(c->report) : NULL;
	rg_diags_clear(diags);
	rg_fit_check_topology(cluster, fit_run_catalog(), fitted, report, diags);
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
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strconcat("/workloads/topology/", cases[i].name, NULL);
		g_test_add_data_func(path, &cases[i], test_case);
	}
	return fit_run_tests();
}
