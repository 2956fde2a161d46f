/* fit's findings about incompatible Ray, images, drivers and GPUs: one row per finding. */
#include "fit/compat.h"
#include <string.h>
#include "catalog/compat.h"
#include "catalog_folder.h"
#include "spec/ray_image.h"
#include "spec/spec.h"

#define OSS "{'version': '595.91.07', 'modules': 'open'}"
#define NEW_CLOSED "{'version': '595.91.07', 'modules': 'proprietary'}"
#define OLD "{'version': '570.195.03', 'modules': 'proprietary'}"

typedef struct {
	const char *name, *ray, *pool;
	const char *driver; /* of the pool's node image; NULL: not asked, "": unknown */
	const char *expect; /* "code severity line" per finding, separated by blanks and bars */
	const char *said;   /* in the first finding or its hint */
	bool plain;	    /* of a module whose words name no libraries of its network */
} Case;

static const Case cases[] = {
	{"default", "version: 2.52.0, python: \"3.11\"", "accelerators: \"A100:8\"", OSS, "", NULL},
	{"default-v100", "version: 2.52.0, python: \"3.11\"", "accelerators: \"V100-32GB:8\"", OLD,
		"", NULL},
	{"python-without-image", "version: 2.52.0, python: \"3.9\"", "accelerators: T4", NULL,
		"compat.ray-python error 3", "3.10, 3.11, 3.12, 3.13"},
	{"python-of-own-image", "version: 2.58.0, python: \"3.9\", image: \"example.com/mine:1\"",
		"accelerators: T4", NULL, "compat.ray-python error 3",
		"Ray 2.58.0 does not run on Python 3.9"},
	{"python-of-tag", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py39-cu121\"",
		"accelerators: T4", NULL, "compat.ray-python error 3", "has no image"},
	{"newer-than-the-table", "version: 2.99.0, image: \"rayproject/ray:2.99.0-py39-cu121\"",
		"accelerators: T4", NULL, "compat.ray-not-listed warning 3",
		"which is of 2026-11-28"},
	{"never-released", "version: 2.52.9, python: \"3.11\"", "accelerators: T4", NULL,
		"compat.no-such-ray error 3", "2.52.1 and 2.53.0"},
	{"never-released-own-build", "version: 2.52.9, image: \"example.com/mine:1\"",
		"accelerators: T4", NULL, "compat.no-such-ray warning 3", "your own build"},
	{"ray-llm", "version: 2.56.0, image: \"rayproject/ray-llm:2.56.0-py312-cu130\"",
		"accelerators: T4, image: ami-1, driver: \"580.95.05\"", NULL, "", NULL},
	{"ray-llm-without-platform", "version: 2.58.0, image: \"rayproject/ray-llm:2.58.0-py312\"",
		"accelerators: T4", NULL, "", NULL},
	{"ray-llm-python", "version: 2.52.0, image: \"rayproject/ray-llm:2.52.0-py310-cu128\"",
		"accelerators: T4", NULL, "compat.ray-python error 3", "rayproject/ray-llm has no"},
	{"ray-llm-cuda", "version: 2.52.0, image: \"rayproject/ray-llm:2.52.0-py311-cu121\"",
		"accelerators: T4", NULL, "compat.no-image error 3", "use one of cu128"},
	{"ray-llm-cpu", "version: 2.52.0, image: \"rayproject/ray-llm:2.52.0-py311-cpu\"",
		"instance_type: m5.large", NULL, "compat.no-image error 3", "CPUs alone"},
	{"ray-llm-too-early",
		"version: 2.40.0, auth: none, image: \"rayproject/ray-llm:2.40.0-py311-cu124\"",
		"accelerators: T4", NULL, "compat.no-image error 3", "has no images of Ray 2.40.0"},
	{"ray-ml-ended", "version: 2.52.0, image: \"rayproject/ray-ml:2.52.0-py311-gpu\"",
		"accelerators: T4", NULL, "compat.no-image error 3", "has no images of Ray 2.52.0"},
	{"ray-ml-plain-tag",
		"version: 2.44.0, auth: none, image: \"rayproject/ray-ml:2.44.0-py311-gpu\"",
		"accelerators: T4", NULL, "compat.no-image error 3|compat.moving-tag warning 3",
		"2.44.0.deprecated"},
	{"ray-ml-commit",
		"version: 2.46.0, auth: none, image: "
		"\"rayproject/ray-ml:2.46.0.0e19ea-py311-cu121\"",
		"accelerators: T4", NULL, "compat.old-image warning 3", "were deleted"},
	{"ray-ml-deprecated",
		"version: 2.49.2, auth: none, image: "
		"\"rayproject/ray-ml:2.49.2.deprecated-py311-cu121\"",
		"accelerators: T4", NULL, "compat.old-image warning 3", "not maintained"},
	{"ray-ml-old",
		"version: 2.10.0, auth: none, image: \"rayproject/ray-ml:2.10.0-py310-cu118\"",
		"accelerators: T4", NULL, "", NULL},
	{"ray-deprecated-tag",
		"version: 2.52.0, image: \"rayproject/ray:2.52.0.deprecated-py311-cu121\"",
		"accelerators: T4", NULL, "compat.no-image error 3", "begin with 2.52.0-"},
	{"tpu-image", "version: 2.55.0, image: \"rayproject/ray:2.55.0-py311-tpu\"",
		"accelerators: T4", NULL, "compat.cpu-image warning 3", "without CUDA"},
	{"llm-arm", "version: 2.58.0, image: \"rayproject/ray-llm:2.58.0-py312-cu130-aarch64\"",
		"instance_type: g5g.xlarge, image: ami-1", NULL,
		"compat.no-image error 3|compat.host-arch error 4", "no images for arm64"},
	{"no-such-cuda", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu130\"",
		"accelerators: T4", NULL, "compat.no-image error 3", "cu126, cu128"},
	{"gpu-alias", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-gpu\"",
		"accelerators: T4", NULL, "compat.moving-tag warning 3", "write -cu121"},
	{"cpu-image", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311\"", "accelerators: T4",
		NULL, "compat.cpu-image warning 3", "without CUDA"},
	{"cpu-image-on-cpus", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cpu\"",
		"instance_type: m5.large", NULL, "", NULL},
	{"labels", "version: 2.48.0, auth: none, image: \"rayproject/ray:2.48.0-py311-cu121\"",
		"accelerators: T4, labels: {tier: gold}", NULL, "compat.ray-feature warning 6",
		"2.49 or later"},
	{"arm", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu121\"",
		"instance_type: g5g.xlarge, image: ami-1", NULL, "compat.host-arch error 6",
		"g5g.xlarge is an arm64 host"},
	{"arm-image", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu121-aarch64\"",
		"accelerators: T4", NULL, "compat.host-arch error 4|compat.host-arch error 6",
		"m5.large is an x86_64 host"},
	{"v100-and-cuda-13", "version: 2.58.0, image: \"rayproject/ray:2.58.0-py311-cu130\"",
		"accelerators: \"V100-32GB:8\"", OLD,
		"compat.gpu-dropped error 6|compat.driver-too-old error 6",
		"CUDA 13.0 of ray.image no longer supports the V100"},
	{"b200-and-cuda-12.1", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu121\"",
		"instance_type: p6-b200.48xlarge", OSS, "compat.gpu-too-new warning 6",
		"CUDA 12.8 or later, such as -cu128"},
	{"b200-and-an-old-ray",
		"version: 2.41.0, auth: none, image: \"rayproject/ray:2.41.0-py311-cu121\"",
		"instance_type: p6-b200.48xlarge", OSS, "compat.gpu-too-new warning 6",
		"which this release of Ray does not have"},
	{"b300-default", "version: 2.52.0, python: \"3.11\"", "instance_type: p6-b300.48xlarge",
		OSS, "compat.gpu-too-new warning 6",
		"CUDA 12.8 of rayproject/ray:2.52.0-py311-cu128 is older than the B300"},
	{"b200-default", "version: 2.52.0, python: \"3.11\"", "instance_type: p6-b200.48xlarge",
		OSS, "", NULL},
	{"b200-default-newer-ray", "version: 2.99.0, python: \"3.11\"",
		"instance_type: p6-b200.48xlarge", OSS, "compat.ray-not-listed warning 3", NULL},
	{"b200-proprietary", "version: 2.52.0, python: \"3.11\"",
		"instance_type: p6-b200.48xlarge, image: ami-1", NEW_CLOSED,
		"compat.proprietary-driver error 6", "proprietary kernel modules"},
	{"h100-proprietary", "version: 2.52.0, python: \"3.11\"",
		"accelerators: \"H100:8\", image: ami-1", NEW_CLOSED, "", NULL},
	{"h200-mig-old-driver", "version: 2.52.0, python: \"3.11\"",
		"instance_type: p5en.48xlarge, share: {mig: 1g.18gb}, image: ami-1, driver: "
		"\"535.161.07\"",
		NULL, "compat.driver-too-old error 6",
		"MIG on the H200-141GB, which needs 550.90.07"},
	{"h200-mig", "version: 2.52.0, python: \"3.11\"",
		"instance_type: p5en.48xlarge, share: {mig: 1g.18gb}, image: ami-1, driver: "
		"\"550.90.07\"",
		NULL, "", NULL},
	{"mixed-slices", "version: 2.52.0, python: \"3.11\"",
		"accelerators: \"A100:8\", share: {mig: [3g.20gb, 2g.10gb, 1g.5gb]}", NULL,
		"compat.mixed-slices warning 6", "one pool for each profile"},
	{"rdma-image", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu121\"",
		"accelerators: \"A100:8\", network: {rdma: true}", NULL,
		"topology.rdma-image warning 6", "rayproject/ray:2.52.0-extra-py311-cu121"},
	{"rdma-image-extra", "version: 2.52.0, image: \"rayproject/ray:2.52.0-extra-py311-cu121\"",
		"accelerators: \"A100:8\", network: {rdma: true}", NULL, "", NULL},
	{"rdma-image-default", "version: 2.52.0, python: \"3.11\"",
		"instance_type: p6-b200.48xlarge, network: {rdma: true}", NULL,
		"topology.rdma-image warning 6", "rayproject/ray:2.52.0-extra-py311-cu128"},
	{"rdma-own-image", "version: 2.52.0, image: \"example.com/mine:1\"",
		"accelerators: \"A100:8\", network: {rdma: true}", NULL, "", NULL},
	{"rdma-image-plain", "version: 2.52.0, image: \"rayproject/ray:2.52.0-py311-cu121\"",
		"accelerators: \"A100:8\", network: {rdma: true}", NULL, "", NULL, true},
	{"v100-and-open-modules", "version: 2.52.0, python: \"3.11\"",
		"accelerators: \"V100-32GB:8\", image: ami-1", OSS,
		"compat.open-driver error 6|compat.gpu-dropped error 6", "they support Turing"},
	{"old-driver", "version: 2.53.0, image: \"rayproject/ray:2.53.0-py311-cu129\"",
		"accelerators: T4, image: ami-1, driver: \"470.82.01\"", "",
		"compat.driver-too-old error 6", "needs 525.60.13"},
	{"minor-compatibility", "version: 2.53.0, image: \"rayproject/ray:2.53.0-py311-cu129\"",
		"accelerators: T4, image: ami-1, driver: \"550.54.15\"", "",
		"compat.driver-too-old warning 6", "minor version compatibility"},
	{"driver-that-suffices", "version: 2.53.0, image: \"rayproject/ray:2.53.0-py311-cu129\"",
		"accelerators: T4, image: ami-1, driver: \"580.65.06\"", NULL, "", NULL},
	{"open-agent", "version: 2.53.0, python: \"3.11\", auth: token", "accelerators: T4", NULL,
		"compat.open-agent warning 3", "use Ray 2.54.0 or later"},
	{"closed-agent", "version: 2.54.0, python: \"3.11\", auth: token", "accelerators: T4", NULL,
		"", NULL},
	{"python-of-images-to-come", "version: 2.60.0, python: \"3.14\"", "accelerators: T4", NULL,
		"compat.ray-python warning 3", "does not know whether rayproject/ray has"},
	{"no-image-of-a-python", "version: 2.56.1, python: \"3.14\"", "accelerators: T4", NULL,
		"compat.ray-python error 3", "use one of 3.10, 3.11, 3.12, 3.13, or"},
	{"driver-older-than-gpu", "version: 2.52.0, image: \"example.com/mine:1\"",
		"accelerators: \"H100:8\", image: ami-1, driver: \"470.82.01\"", NULL,
		"compat.driver-too-old error 6", "older than the H100"},
};

static RgCatalog *catalog, *plain;

static json_t *facts_of(const Case *c)
{
	g_autofree char *text = g_strdelimit(g_strdup(c->driver), "'", '"');
	json_t *image =
		json_pack("{s:s, s:o*}", "id", "ami-1", "driver", json_loads(text, 0, NULL));
	return json_pack("{s:{s:O, s:O, s:o}}", "images", "default/x86_64", image,
		"default/x86_64/proprietary", image, "ami-1", image);
}

static void test_case(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *text =
		g_strdup_printf("cluster: c\nprovider: {name: aws, region: us-east-1}\n"
				"ray: {%s%s}\nhead: {instance_type: m5.large}\n"
				"pools:\n  p: {%s, nodes: 1}\n",
			c->ray, strstr(c->ray, "auth:") ? "" : ", auth: none", c->pool);
	g_autoptr(RgCluster) cluster = rg_spec_load("s.yaml", text, strlen(text), diags);
	g_autoptr(RgShapes) shapes =
		cluster ? rg_fit_shapes(cluster, c->plain ? plain : catalog, NULL, diags) : NULL;
	json_auto_t *facts = c->driver ? facts_of(c) : NULL;
	g_autoptr(GString) got = g_string_new(NULL);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("before: %s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(shapes);
	rg_diags_clear(diags);
	bool good = rg_fit_check_compat(cluster, shapes, facts, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		g_test_message("%s: %s; %s", diag->code, diag->summary, diag->hint);
		g_string_append_printf(got, "%s%s %s %u", i > 0 ? "|" : "", diag->code,
			diag->severity == RG_SEVERITY_ERROR ? "error" : "warning",
			diag->source.line);
	}
	g_assert_cmpstr(got->str, ==, c->expect);
	g_assert_true(good == (!strstr(c->expect, " error ")));
	if (!c->said)
		return;
	const RgDiag *first = rg_diags_get(diags, 0);
	g_assert_true(strstr(first->summary, c->said) || strstr(first->hint, c->said));
}

/* What the spec's hints recommend is the release of the table. */
static void test_first_closed(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCompat) compat = rg_compat_open(diags);
	g_autofree char *from =
		g_strconcat(rg_compat_option_from(compat, "agent", "token"), ".0", NULL);
	g_assert_cmpstr(from, ==, RG_RAY_FIRST_CLOSED);
}

/* Texts are kept for the process. */
static const char *read_file(void *folder, const char *name, size_t *len)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	char *text = NULL;
	if (!g_file_get_contents(path, &text, len, NULL))
		return NULL;
	static GPtrArray *kept;
	if (!kept)
		kept = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(kept, text);
	return text;
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	catalog = catalog_folder_open(DATA_DIR, "aws", NULL, diags);
	g_assert_nonnull(catalog);
	plain = rg_catalog_open("aws", read_file, (void *)(uintptr_t)DATA_DIR, diags);
	g_assert_nonnull(plain);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strconcat("/fit/compat/", cases[i].name, NULL);
		g_test_add_data_func(path, &cases[i], test_case);
	}
	g_test_add_func("/fit/compat/first-closed", test_first_closed);
	int result = g_test_run();
	rg_catalog_free(catalog);
	rg_catalog_free(plain);
	return result;
}
