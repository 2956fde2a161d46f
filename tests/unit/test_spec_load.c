#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "base/caps.h"
#include "base/redact.h"
#include "base/version.h"
#include "spec/ray_image.h"
#include "spec/spec.h"

static const char full[] =
	"# comment\n"
	"cluster: research\n"
	"labels: {team: ml, cost_center: \"42\"}\n"
	"provider: {name: aws, region: us-east-1, endpoint: \"http://localhost:4566\"}\n"
	"ray: {version: 2.52.0, python: \"3.11\"}\n"
	"head: &h\n"
	"  instance_type: m5.2xlarge\n"
	"  disk: {size: 200GB, type: gp3}\n"
	"pools:\n"
	"  train:\n"
	"    accelerators: A100-80GB:8\n"
	"    nodes: 2.0\n"
	"    zones: [us-east-1b, us-east-1a]\n"
	"    image: ami-0123456789abcdef0\n"
	"    disk: {size: 2 TiB}\n"
	"    labels: {stage: training}\n"
	"    resources: {slots: 15}\n"
	"    env: {NCCL_DEBUG: WARN}\n"
	"  a-serve: {accelerators: T4, nodes: 0, ready_timeout: 20m}\n"
	"  cpu: {<<: *h, nodes: 0x3, ready_timeout: 90s}\n";

static RgCluster *load_text(const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCluster *cluster = rg_spec_load("spec.yaml", text, strlen(text), diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(cluster);
	return cluster;
}

static const RgPool *pool_at(const RgCluster *cluster, guint i)
{
	g_assert_cmpuint(i, <, cluster->pools->len);
	return g_ptr_array_index(cluster->pools, i);
}

static const RgAccelerator *wish_of(const RgPool *pool)
{
	g_assert_cmpuint(pool->accelerators->len, ==, 1);
	return pool->accelerators->pdata[0];
}

static void assert_at(RgSource source, unsigned line, unsigned column, unsigned end_column)
{
	g_assert_cmpstr(source.file, ==, "spec.yaml");
	g_assert_cmpuint(source.line, ==, line);
	g_assert_cmpuint(source.column, ==, column);
	g_assert_cmpuint(source.end_column, ==, end_column);
}

static void cluster_has_every_field(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	g_assert_cmpstr(cluster->name, ==, "research");
	g_assert_cmpstr(cluster->file, ==, "spec.yaml");
	g_assert_cmpuint(strlen(cluster->digest), ==, 64);
	g_assert_cmpstr(rg_json_str(cluster->labels, "cost_center", NULL), ==, "42");
	g_assert_cmpstr(cluster->provider.name, ==, "aws");
	g_assert_cmpstr(cluster->provider.region, ==, "us-east-1");
	g_assert_cmpuint(json_object_size(cluster->provider.config), ==, 1);
	g_assert_cmpstr(rg_json_str(cluster->provider.config, "endpoint", NULL), ==,
		"http://localhost:4566");
	g_assert_cmpstr(cluster->ray.version, ==, "2.52.0");
	g_assert_cmpstr(cluster->ray.python, ==, "3.11");
	g_assert_cmpstr(cluster->ray.image, ==, "rayproject/ray:2.52.0-py311-cu121");
	g_assert_true(cluster->ray.auth_token);
	g_assert_cmpuint(rg_cluster_nodes(cluster), ==, 6);
}

static void durations_are_seconds(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = pool_at(cluster, i);
		unsigned wanted = g_str_equal(pool->name, "a-serve") ? 1200
				  : g_str_equal(pool->name, "cpu")   ? 90
								     : 0;
		g_assert_cmpuint(pool->ready_timeout_s, ==, wanted);
	}
}

static void head_is_a_pool_of_one(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	const RgPool *head = cluster->head;
	g_assert_true(head->is_head);
	g_assert_cmpstr(head->name, ==, "head");
	g_assert_cmpstr(head->origin, ==, "/head");
	g_assert_cmpuint(head->nodes, ==, 1);
	g_assert_cmpstr(head->instance_type, ==, "m5.2xlarge");
	g_assert_null(head->accelerators);
	g_assert_cmpint(head->disk.size_gb, ==, 200);
	g_assert_cmpstr(head->disk.type, ==, "gp3");
	g_assert_null(head->zones);
	g_assert_null(head->image);
	g_assert_cmpuint(json_object_size(head->labels), ==, 0);
	assert_at(head->shape_source, 7, 18, 28);
}

static void pools_keep_the_files_order(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	g_assert_cmpuint(cluster->pools->len, ==, 3);
	const RgPool *train = pool_at(cluster, 0);
	g_assert_cmpstr(train->name, ==, "train");
	g_assert_cmpstr(train->origin, ==, "/pools/train");
	g_assert_cmpstr(wish_of(train)->names[0], ==, "A100-80GB");
	g_assert_cmpuint(wish_of(train)->count, ==, 8);
	g_assert_cmpuint(train->nodes, ==, 2);
	g_assert_cmpstr(train->zones[0], ==, "us-east-1b");
	g_assert_cmpstr(train->zones[1], ==, "us-east-1a");
	g_assert_null(train->zones[2]);
	g_assert_cmpstr(train->image, ==, "ami-0123456789abcdef0");
	g_assert_cmpint(train->disk.size_gb, ==, 2048);
	g_assert_cmpint(json_integer_value(json_object_get(train->resources, "slots")), ==, 15);
	g_assert_cmpstr(rg_json_str(train->env, "NCCL_DEBUG", NULL), ==, "WARN");
	g_assert_cmpstr(wish_of(pool_at(cluster, 1))->names[0], ==, "T4");
	g_assert_cmpuint(wish_of(pool_at(cluster, 1))->count, ==, 1);
	g_assert_cmpuint(pool_at(cluster, 1)->nodes, ==, 0);
	g_assert_cmpuint(pool_at(cluster, 2)->nodes, ==, 3);
	g_assert_cmpstr(pool_at(cluster, 2)->instance_type, ==, "m5.2xlarge");
	g_assert_cmpint(pool_at(cluster, 2)->disk.size_gb, ==, 200);
}

static void every_value_has_its_place(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	assert_at(rg_cluster_source(cluster, "/cluster"), 2, 10, 18);
	assert_at(rg_cluster_source(cluster, "/pools/train/zones/1"), 13, 25, 35);
	assert_at(pool_at(cluster, 0)->source, 10, 3, 8);
	assert_at(pool_at(cluster, 0)->nodes_source, 12, 12, 15);
	assert_at(wish_of(pool_at(cluster, 0))->source, 11, 19, 30);
	/* merged: where the text is */
	assert_at(pool_at(cluster, 2)->shape_source, 7, 18, 28);
}

static void absent_values_stand_at_their_parent(void)
{
	g_autoptr(RgCluster) cluster = load_text(full);
	assert_at(rg_cluster_source(cluster, "/pools/a-serve/zones/0"), 19, 12, 13);
	assert_at(rg_cluster_source(cluster, "/no/such/thing"), 2, 1, 0);
	assert_at(rg_cluster_source(cluster, "not a pointer"), 0, 0, 0);
}

static void digest_sees_content_not_layout(void)
{
	g_autoptr(RgCluster) a = load_text("cluster: a\nprovider: {name: aws, region: r}\n"
					   "ray: {version: 2.52.0, python: \"3.11\"}\n"
					   "head: {instance_type: x}\n");
	g_autoptr(RgCluster) same = load_text("# moved\nhead: {instance_type: 'x'}\n"
					      "ray: {python: '3.11', version: 2.52.0}\n"
					      "provider:\n  region: r\n  name: aws\ncluster: a\n");
	g_autoptr(RgCluster) other = load_text("cluster: b\nprovider: {name: aws, region: r}\n"
					       "ray: {version: 2.52.0, python: \"3.11\"}\n"
					       "head: {instance_type: x}\n");
	g_assert_cmpstr(a->digest, ==, same->digest);
	g_assert_cmpstr(a->digest, !=, other->digest);
}

/* The only code of a load that must fail. */
static void assert_refused(const char *path, const char *code)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load_file(path, diags);
	g_assert_null(cluster);
	g_assert_cmpuint(rg_diags_count(diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, code);
	g_assert_cmpint(rg_diags_exit_code(diags), ==, 4);
}

static void files_are_read_or_refused(void)
{
	g_autofree char *folder = g_dir_make_tmp("raygpu-spec-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "spec.yaml", NULL);
	assert_refused(path, "file.unreadable");
	assert_refused(folder, "file.unreadable");
	g_autofree char *large = g_strnfill(2 * RG_CAP_SPEC_BYTES, '#');
	g_assert_true(g_file_set_contents(path, large, 2 * RG_CAP_SPEC_BYTES, NULL));
	assert_refused(path, "file.too-large");
	g_assert_true(g_file_set_contents(path, full, -1, NULL));
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load_file(path, diags);
	g_assert_nonnull(cluster);
	g_assert_cmpstr(cluster->file, ==, path);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void standard_input_is_a_dash(void)
{
	if (g_test_subprocess()) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgCluster) cluster = rg_spec_load_file("-", diags);
		g_assert_null(cluster);
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "yaml.empty");
		g_assert_cmpstr(rg_diags_get(diags, 0)->source.file, ==, "<stdin>");
		return;
	}
	/* GTest gives its subprocess an empty standard input. */
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
}

/* A refused value is shown with its line; a secret in it must not be. */
static void misplaced_secrets_are_redacted(void)
{
	static const char text[] =
		"provider: {endpoint: \"https://me:hunter2hunter2@example.com\"}\n"
		"cluster: x\n";
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load("spec.yaml", text, strlen(text), diags);
	g_assert_null(cluster);
	g_autofree char *shown = rg_redact(text, strlen(text));
	g_assert_null(strstr(shown, "hunter2"));
	g_assert_nonnull(strstr(shown, "example.com"));
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const char *summary = rg_diags_get(diags, i)->summary;
		g_autofree char *said = rg_redact(summary, strlen(summary));
		g_assert_null(strstr(said, "hunter2"));
	}
}

static void tokens_in_the_environment_are_redacted(void)
{
	static const char text[] = "head: {env: {RAY_AUTH_TOKEN: \"fedcba9876543210\"}}\n";
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load("spec.yaml", text, strlen(text), diags);
	g_assert_null(cluster);
	g_autofree char *shown = rg_redact(text, strlen(text));
	g_assert_null(strstr(shown, "fedcba9876543210"));
}

static void versions_compare_by_number(void)
{
	g_assert_cmpint(rg_version_compare("2.9.0", "2.52.0"), <, 0);
	g_assert_cmpint(rg_version_compare("2.52.0", "2.52.0"), ==, 0);
	g_assert_cmpint(rg_version_compare("2.52.10", "2.52.9"), >, 0);
	g_assert_cmpint(rg_version_compare("10.0.0", "9.99.99"), >, 0);
}

/* Tags of compat/ray_image_tags, and their meaning. */
static void ray_tags_are_read(void)
{
	static const struct {
		const char *image, *version, *python;
		bool pinned;
	} rows[] = {
		{"rayproject/ray:2.52.0", "2.52.0", NULL, true},
		{"rayproject/ray:2.58.0-py312", "2.58.0", "3.12", true},
		{"rayproject/ray:2.55.1-py312-cpu", "2.55.1", "3.12", true},
		{"rayproject/ray:2.58.0-py311-gpu", "2.58.0", "3.11", true},
		{"rayproject/ray:2.55.1-py312-cu129", "2.55.1", "3.12", true},
		{"rayproject/ray:2.55.1-py312-cpu-aarch64", "2.55.1", "3.12", true},
		{"rayproject/ray:2.52.0-extra-py310", "2.52.0", "3.10", true},
		{"rayproject/ray:2.46.0.0e19ea", "2.46.0", NULL, true},
		{"rayproject/ray-ml:2.49.2.deprecated-py311-gpu", "2.49.2", "3.11", true},
		{"rayproject/ray-llm:2.56.0-py312-cu130", "2.56.0", "3.12", true},
		{"docker.io/rayproject/ray:2.52.0-py39", "2.52.0", "3.9", true},
		{"h:5000/rayproject/ray:2.52.0-py39@sha256:00", "2.52.0", "3.9", true},
		{"rayproject/ray:nightly-py310", NULL, NULL, false},
		{"rayproject/ray:nightly.250930.abc123", NULL, NULL, true},
		{"rayproject/ray:latest", NULL, NULL, false},
		{"rayproject/ray", NULL, NULL, false},
		{"h:5000/rayproject/ray", NULL, NULL, false},
		{"notrayproject/ray:2.52.0-py311", NULL, NULL, true},
		{"me/ray:2.52.0-py311", NULL, NULL, true},
		{"ray:2.52.0", NULL, NULL, true},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_auto(RgRayTag) tag = {0};
		g_test_message("%s", rows[i].image);
		bool known = rg_ray_tag_parse(rows[i].image, &tag);
		g_assert_true(known == (rows[i].version != NULL));
		g_assert_cmpstr(tag.version, ==, rows[i].version);
		g_assert_cmpstr(tag.python, ==, rows[i].python);
		g_assert_true(rg_ray_image_is_pinned(rows[i].image) == rows[i].pinned);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spec/load/cluster-has-every-field", cluster_has_every_field);
	g_test_add_func("/spec/load/durations", durations_are_seconds);
	g_test_add_func("/spec/load/head-is-a-pool-of-one", head_is_a_pool_of_one);
	g_test_add_func("/spec/load/pools-keep-the-files-order", pools_keep_the_files_order);
	g_test_add_func("/spec/load/every-value-has-its-place", every_value_has_its_place);
	g_test_add_func("/spec/load/absent-values-stand-at-their-parent",
		absent_values_stand_at_their_parent);
	g_test_add_func(
		"/spec/load/digest-sees-content-not-layout", digest_sees_content_not_layout);
	g_test_add_func("/spec/load/files-are-read-or-refused", files_are_read_or_refused);
	g_test_add_func("/spec/load/standard-input-is-a-dash", standard_input_is_a_dash);
	g_test_add_func("/spec/load/ray-versions-compare-by-number", versions_compare_by_number);
	g_test_add_func("/spec/load/ray-tags-are-read", ray_tags_are_read);
	g_test_add_func(
		"/spec/load/misplaced-secrets-are-redacted", misplaced_secrets_are_redacted);
	g_test_add_func("/spec/load/tokens-in-the-environment-are-redacted",
		tokens_in_the_environment_are_redacted);
	return g_test_run();
}
