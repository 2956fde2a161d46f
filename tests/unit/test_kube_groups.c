/* What changes worker groups, and why pods are not ready: pure functions of the Kubernetes module.
 */
#include <glib.h>
#include <string.h>
#include "common/data.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/marks.h"
#include "kubernetes/nodes.h"
#include "kubernetes/patch.h"
#include "kubernetes/pods.h"

static json_t *parse(const char *text)
{
	g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(quoted, 0, &error);
	if (!value)
		g_error("%s: %s", error.text, quoted);
	return value;
}

#define CLUSTER                                                                                    \
	"{'metadata': {'uid': 'u', 'resourceVersion': '7', 'name': 'c'}, 'spec': "                 \
	"{'workerGroupSpecs': ["                                                                   \
	" {'groupName': 'a', 'replicas': 1, 'minReplicas': 1, 'maxReplicas': 1},"                  \
	" {'groupName': 'b', 'replicas': 0, 'minReplicas': 0, 'maxReplicas': 0, 'labels': {}}]}}"

static void expect_ops(json_t *ops, const char *wanted)
{
	json_auto_t *expected = parse(wanted);
	if (!json_equal(ops, expected))
		g_error("operations: %s", json_dumps(ops, 0));
	json_array_clear(ops);
}

static void update(json_t *ops, const char *name, const char *item)
{
	json_auto_t *cluster = parse(CLUSTER), *value = parse(item);
	g_assert_true(kube_patch_update(ops, cluster, name, value));
}

static void test_update(void)
{
	json_auto_t *ops = json_array(), *cluster = parse(CLUSTER), *none = json_object();
	update(ops, "b",
		"{'changed': ['min_replicas', 'replicas', 'ray_labels'], 'attributes': "
		"{'group_name': "
		"'b', 'replicas': 2, 'min_replicas': 2, 'max_replicas': 2, 'template': {}, "
		"'start_params': {}}}");
	expect_ops(ops,
		"[{'op': 'test', 'path': '/metadata/uid', 'value': 'u'}, {'op': 'test', 'path': "
		"'/spec/workerGroupSpecs/1/groupName', 'value': 'b'}, {'op': 'remove', 'path': "
		"'/spec/workerGroupSpecs/1/labels'}, {'op': 'add', 'path': "
		"'/spec/workerGroupSpecs/1/minReplicas', 'value': 2}, {'op': 'add', 'path': "
		"'/spec/workerGroupSpecs/1/replicas', 'value': 2}]");
	/* of an elastic pool, replicas are never written */
	update(ops, "a",
		"{'changed': ['max_replicas', 'replicas'], 'attributes': {'group_name': 'a', "
		"'min_replicas': 1, 'max_replicas': 4, 'template': {}, 'start_params': {}}}");
	expect_ops(ops,
		"[{'op': 'test', 'path': '/metadata/uid', 'value': 'u'}, {'op': 'test', 'path': "
		"'/spec/workerGroupSpecs/0/groupName', 'value': 'a'}, {'op': 'add', 'path': "
		"'/spec/workerGroupSpecs/0/maxReplicas', 'value': 4}]");
	update(ops, "a", "{'changed': ['rollout'], 'attributes': {'group_name': 'a'}}");
	expect_ops(ops, "[]");
	g_assert_false(kube_patch_update(ops, cluster, "c", none));
}

static void test_add_and_remove(void)
{
	json_auto_t *ops = json_array(), *cluster = parse(CLUSTER), *group = parse("{'x': 1}");
	json_auto_t *names = parse("['a', 'b', 'not there']"), *bare = parse("{'metadata': {'uid': "
									     "'u'}}");
#define LOCK                                                                                       \
	"{'op': 'test', 'path': '/metadata/uid', 'value': 'u'}, {'op': 'replace', 'path': "        \
	"'/metadata/resourceVersion', 'value': '7'}"
	kube_patch_add(ops, cluster, group);
	expect_ops(ops, "[" LOCK ", {'op': 'add', 'path': '/spec/workerGroupSpecs/-', 'value': "
			"{'x': 1}}]");
	kube_patch_add(ops, bare, group);
	g_assert_cmpstr(mod_str(json_array_get(ops, 2), "path"), ==, "/spec/workerGroupSpecs");
	json_array_clear(ops);
	kube_patch_empty(ops, cluster, names);
	g_assert_cmpuint(json_array_size(ops), ==, 5); /* b has none already */
	json_array_clear(ops);
	kube_patch_remove(ops, cluster, names);
	expect_ops(ops,
		"[" LOCK ", {'op': 'test', 'path': '/spec/workerGroupSpecs/1/groupName', 'value': "
		"'b'}, {'op': 'remove', 'path': '/spec/workerGroupSpecs/1'}, {'op': 'test', "
		"'path': '/spec/workerGroupSpecs/0/groupName', 'value': 'a'}, {'op': "
		"'remove', 'path': '/spec/workerGroupSpecs/0'}]");
}

/* Status, class, code, whether waiting helps, a part of the message. */
static const struct {
	const char *status, *class_, *code;
	bool final;
	const char *part;
} faults[] = {
	{"'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', "
	 "'message': '0/3 nodes are available'}]",
		"capacity", "Unschedulable", false, "pod p: 0/3 nodes"},
	{"'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', "
	 "'message': 'pod has unbound immediate PersistentVolumeClaims'}]",
		"invalid", "VolumePending", false, "unbound"},
	{"'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': 'SchedulingGated'}]",
		"transient", "SchedulingGated", false, "SchedulingGated"},
	{"'containerStatuses': [{'image': 'r:x', 'state': {'waiting': {'reason': "
	 "'ImagePullBackOff', "
	 "'message': 'no such tag'}}}]",
		"invalid", "ImagePullBackOff", true, "image r:x cannot be pulled: no such tag"},
	{"'initContainerStatuses': [{'image': 'r:x', 'state': {'waiting': {'reason': "
	 "'ErrImagePull'}}}]",
		"invalid", "ErrImagePull", false, "image r:x"},
	{"'containerStatuses': [{'name': 'ray', 'state': {'waiting': {'reason': "
	 "'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': 137, 'reason': "
	 "'OOMKilled'}}}]",
		"unknown", "CrashLoopBackOff", false, "ray ended with status 137 (OOMKilled)"},
	{"'containerStatuses': [{'name': 'ray', 'restartCount': 5, 'state': {'waiting': {'reason': "
	 "'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': 1, 'reason': 'Error'}}}]",
		"unknown", "CrashLoopBackOff", true, "status 1 (Error), 5 times"},
	{"'containerStatuses': [{'name': 'ray', 'state': {'waiting': {'reason': "
	 "'CreateContainerConfigError', 'message': 'no secret'}}}]",
		"invalid", "CreateContainerConfigError", false, "cannot be started: no secret"},
	{"'phase': 'Failed', 'reason': 'Evicted', 'message': 'low on memory'", "transient",
		"Evicted", false, "it failed: low on memory"},
	{"'phase': 'Unknown'", "transient", "NodeLost", false, "its node n does not answer"},
	{"'phase': 'Running', 'conditions': [{'type': 'PodScheduled', 'status': 'True'}]", NULL,
		NULL, false, NULL},
};

static void test_faults(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
		g_autofree char *text = g_strdup_printf(
			"{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n'}, 'status': {%s}}",
			faults[i].status);
		json_auto_t *pod = parse(text), *fault = kube_pod_fault(pod);
		g_assert_cmpint(!fault, ==, !faults[i].class_);
		if (!fault)
			continue;
		g_assert_cmpstr(
			mod_class_name((int32_t)mod_int(fault, "class")), ==, faults[i].class_);
		g_assert_cmpstr(mod_str(fault, "code"), ==, faults[i].code);
		g_assert_cmpint(json_is_true(json_object_get(fault, "final")), ==, faults[i].final);
		if (!strstr(mod_str(fault, "message"), faults[i].part))
			g_error("%s", mod_str(fault, "message"));
	}
}

#define TABLE                                                                                      \
	"model,gpu_product,gke_accelerator,source\nT4,Tesla-T4,nvidia-tesla-t4,x\n"                \
	"A100-40GB,NVIDIA-A100-SXM4-40GB|NVIDIA-A100-PCIE-40GB,nvidia-tesla-a100,x\n"

static int64_t count_node(
	const char *label, const char *value, const char *resource, const char *model)
{
	g_autofree char *text = g_strdup_printf("{'metadata': {'labels': {'%s': '%s'}}, 'status': "
						"{'allocatable': {'cpu': '8', '%s': "
						"'4'}}}",
		label, value, resource);
	json_auto_t *facts = parse("{'models': {}, 'labels': {}, 'nodes': 0}"), *node = parse(text);
	g_autoptr(GPtrArray) rows = mod_rows(TABLE, 3, 4);
	kube_nodes_count(facts, rows, node);
	g_assert_cmpint(mod_int(facts, "nodes"), ==, 1);
	return mod_int(json_object_get(facts, "models"), model);
}

static void test_nodes(void)
{
	const char *product = "nvidia.com/gpu.product", *gke = "cloud.google.com/gke-accelerator";
	g_assert_cmpint(count_node(product, "Tesla-T4", "nvidia.com/gpu", "T4"), ==, 4);
	g_assert_cmpint(count_node(product, "Tesla-T4-SHARED", "nvidia.com/gpu", "T4"), ==, 4);
	g_assert_cmpint(count_node(product, "Tesla-T40", "nvidia.com/gpu", "T4"), ==, 0);
	g_assert_cmpint(count_node(product, "NVIDIA-A100-PCIE-40GB-MIG-1g.5gb", "nvidia.com/gpu",
				"A100-40GB"),
		==, 4);
	g_assert_cmpint(
		count_node(gke, "nvidia-tesla-a100", "nvidia.com/mig-1g.5gb", "A100-40GB"), ==, 4);
	g_assert_cmpint(count_node(gke, "nvidia-tesla-a100", "amd.com/gpu", "A100-40GB"), ==, 0);
}

static void test_marks(void)
{
	json_auto_t *object = parse("{'metadata': {'name': 'x', 'labels': {'team': 'ml'}}}");
	json_auto_t *input = parse("{'token': 't', 'marks': {'cluster': 'c', 'lineage': 'l', "
				   "'commit': null}, 'items': "
				   "[{'address': 'kubernetes.secret.token'}]}");
	kube_marks_put(object, input, "ml");
	const KubeMarks marks = kube_marks_read(object);
	g_assert_cmpstr(marks.cluster, ==, "c");
	g_assert_cmpstr(marks.lineage, ==, "l");
	g_assert_cmpstr(marks.token, ==, "t");
	g_assert_cmpstr(marks.space, ==, "ml");
	g_assert_cmpstr(marks.address, ==, "kubernetes.secret.token");
	g_assert_cmpstr(json_string_value(mod_at(object, "/metadata/labels/team")), ==, "ml");
	g_autofree char *selector = kube_marks_selector("c");
	g_assert_cmpstr(selector, ==, "labelSelector=raygpu.io%2Fcluster%3Dc");
}

static void test_ids(void)
{
	const KubeApi inside = {"ray.io", "v1", "rayclusters", true};
	const KubeApi wide = {"kueue.x-k8s.io", "v1beta2", "resourceflavors", false};
	g_auto(KubeId) group = kube_id_parse(&inside, "ml/c/train"),
		       odd = kube_id_parse(&inside, "c");
	g_auto(KubeId) flavor = kube_id_parse(&wide, "t4");
	g_assert_cmpstr(group.space, ==, "ml");
	g_assert_cmpstr(group.name, ==, "c");
	g_assert_cmpstr(group.group, ==, "train");
	g_assert_cmpstr(odd.name, ==, "");
	g_assert_cmpstr(flavor.name, ==, "t4");
	json_auto_t *object = parse("{'metadata': {'name': 'c', 'namespace': 'ml'}}");
	g_autofree char *id = kube_id_of(&inside, object, "train");
	g_assert_cmpstr(id, ==, "ml/c/train");
}

/* ---- labels of nodes */

static json_t *labelled(const char *name, const char *labels)
{
	g_autofree char *text =
		g_strdup_printf("{'metadata': {'name': '%s', 'labels': {%s}}}", name, labels);
	return parse(text);
}

#define CUT "'nvidia.com/mig.config': 'all-1g.5gb'"
#define STATE "'nvidia.com/mig.config.state': "

static void test_selectors(void)
{
	json_auto_t *map = parse("{'b/c': 'x', 'a': ''}");
	g_autofree char *text = kube_selector_text(map);
	json_auto_t *back = kube_selector_map(text);
	g_assert_cmpstr(text, ==, "a=,b/c=x");
	g_assert_true(json_equal(map, back));
}

/* What all nodes share, or each node's own. */
static void test_gpu_labels(void)
{
	json_auto_t *nodes = json_pack("[o, o]", labelled("n-1", CUT ", " STATE "'success'"),
		labelled("n-2", CUT ", " STATE "'pending'"));
	json_auto_t *some = kube_gpu_labels_of(nodes, "a=b");
	json_auto_t *expected = parse(
		"{'selector': {'a': 'b'}, 'node_labels': {" CUT "}, 'mig_state': 'n-2: pending'}");
	g_assert_true(json_equal(some, expected));
	json_array_append_new(nodes, labelled("n-3", ""));
	json_auto_t *three = kube_gpu_labels_of(nodes, "a=b");
	g_assert_cmpstr(mod_str(json_object_get(three, "node_labels"), KUBE_MIG_CONFIG), ==,
		"n-1: all-1g.5gb, n-2: all-1g.5gb, n-3: none");
	for (int i = 0; i < 8; i++)
		json_array_append_new(nodes, labelled("m", ""));
	json_auto_t *many = kube_gpu_labels_of(nodes, "a=b");
	g_assert_true(g_str_has_suffix(
		mod_str(json_object_get(many, "node_labels"), KUBE_MIG_CONFIG), " and 3 more"));
}

static void test_wrong_gpu_labels(void)
{
	static const struct {
		const char *labels, *wrong;
		bool failed, resets;
	} cases[] = {{CUT ", " STATE "'success'", NULL, false, false},
		{"'nvidia.com/mig.config': 'x', " STATE "'success'",
			"n: the label nvidia.com/mig.config is x, not all-1g.5gb", false, true},
		{CUT, "n: nvidia.com/mig.config.state is none", false, false},
		{CUT ", " STATE "'failed'", "n: nvidia.com/mig.config.state is failed", true,
			false}};
	json_auto_t *requested = parse("{" CUT "}");
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		bool failed;
		json_auto_t *node = labelled("n", cases[i].labels);
		g_autofree char *wrong = kube_gpu_labels_wrong(node, requested, &failed);
		json_auto_t *patch = kube_gpu_labels_patch(node, requested);
		g_assert_cmpstr(wrong, ==, cases[i].wrong);
		g_assert_true(failed == cases[i].failed);
		g_assert_true((json_object_get(patch, KUBE_MIG_STATE) != NULL) == cases[i].resets);
	}
}

/* The label of CUDA, the container image, and the fault; NULL: none. */
static void test_node_faults(void)
{
	static const struct {
		const char *labels, *image, *fault;
	} cases[] = {
		{"'nvidia.com/cuda.runtime-version.full': '11.4', "
		 "'nvidia.com/cuda.driver-version.full': '470.1'",
			"r/ray:2.52.0-py311-cu121",
			"has the NVIDIA driver 470.1, which supports CUDA 11, and the image needs "
			"CUDA 12"},
		{"'nvidia.com/cuda.runtime.major': '12'", "r/ray:2-cu128", NULL},
		{"'nvidia.com/cuda.runtime.major': '11'", "r/ray:2.52.0-gpu", NULL},
		{"'nvidia.com/cuda.runtime.major': '11'", "host:5000/ray-cu121", NULL},
		{"", "r/ray:2-cu121", NULL}, {STATE "'failed'", "r/ray:2", NULL},
		{CUT ", " STATE "'failed'", "r/ray:2", "has nvidia.com/mig.config.state: failed"}};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		json_auto_t *node = labelled("n", cases[i].labels);
		json_auto_t *pods =
			json_pack("{s:{s:[{s:s}]}}", "spec", "containers", "image", cases[i].image);
		g_autofree char *fault = kube_node_fault(node, pods);
		g_assert_cmpstr(fault, ==, cases[i].fault);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kube/groups/update", test_update);
	g_test_add_func("/kube/groups/add-and-remove", test_add_and_remove);
	g_test_add_func("/kube/groups/faults", test_faults);
	g_test_add_func("/kube/groups/nodes", test_nodes);
	g_test_add_func("/kube/groups/marks", test_marks);
	g_test_add_func("/kube/groups/ids", test_ids);
	g_test_add_func("/kube/selectors", test_selectors);
	g_test_add_func("/kube/gpu-labels", test_gpu_labels);
	g_test_add_func("/kube/wrong-gpu-labels", test_wrong_gpu_labels);
	g_test_add_func("/kube/node-faults", test_node_faults);
	return g_test_run();
}
