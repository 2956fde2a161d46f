#include <string.h>
#include "boot/internal.h"

/* The Ray node of a group, however it is started: environment, labels, resources, GPUs and the
 * arguments of `ray start`. Refuses what cannot be represented. */

/* Fixed, so that firewall rules can refer to them; README.md has the table with reasons. */
static const char *const ports_all[] = {"--node-manager-port=6380",
	"--dashboard-agent-grpc-port=6381", "--runtime-env-agent-port=6382",
	"--object-manager-port=8076", "--metrics-export-port=8080",
	"--dashboard-agent-listen-port=52365", "--min-worker-port=10002", "--max-worker-port=19999",
	NULL};
static const char *const head_args[] = {"--head", ("--port=" RG_BOOT_GCS_PORT),
	"--ray-client-server-port=10001", "--dashboard-host=127.0.0.1", "--dashboard-port=8265",
	"--disable-usage-stats", NULL};

/* Set by raygpu; a user's value would break the node's identity, its token or its GPUs. */
static const char *const reserved_env[] = {"NVIDIA_VISIBLE_DEVICES", "RAY_AUTH_MODE",
	"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_CLOUD_INSTANCE_ID",
	"RAY_CLOUD_INSTANCE_TYPE_NAME", "RAY_NODE_TYPE_NAME", "RAY_OVERRIDE_LABELS",
	"RAY_OVERRIDE_RESOURCES", NULL};

bool rg_boot_is_head(const RgBootNode *node)
{
	return g_str_equal(rg_json_str(node->node, "role", ""), "head");
}

bool rg_boot_runs_start_ray(const RgBootNode *node)
{
	return node->options->by == RG_BOOT_CLOUD_INIT || node->options->by == RG_BOOT_SCRIPT;
}

bool rg_boot_uses_token(const RgBootNode *node)
{
	const json_t *ray = json_object_get(node->fitted, "ray");
	return g_str_equal(rg_json_str(ray, "auth", ""), "token");
}

const char *rg_boot_image_of(const RgBootNode *node)
{
	const json_t *ray = json_object_get(node->fitted, "ray");
	return rg_json_str(node->node, "ray_image", rg_json_str(ray, "image", ""));
}

int64_t rg_boot_gpus_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "offer"), "gpus", 0);
}

int64_t rg_boot_rdma_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "network"), "rdma", 0);
}

const json_t *rg_boot_health_of(const RgBootNode *node)
{
	return json_object_get(node->node, "health");
}

const json_t *rg_boot_prepare_of(const RgBootNode *node)
{
	return json_object_get(node->node, "prepare");
}

const json_t *rg_boot_slices_of(const RgBootNode *node)
{
	return json_object_get(json_object_get(node->node, "share"), "mig");
}

int64_t rg_boot_ray_gpus_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "share"), "ray_gpus", rg_boot_gpus_of(node));
}

GList *rg_boot_sorted_keys(json_t *object)
{
	GList *keys = NULL;
	rg_json_foreach_member (key, value, object)
		keys = g_list_prepend(keys, (void *)(uintptr_t)key);
	return g_list_sort(keys, (GCompareFunc)strcmp);
}

bool rg_boot_is_own_variable(const char *name)
{
	return g_strv_contains(reserved_env, name);
}

/* In this order: the spec's, by name, then raygpu's own. */
static void add_own_variables(const RgBootNode *node, json_t *env)
{
	const json_t *offer = json_object_get(node->node, "offer");
	/* given in both cases: tokens become the default in Ray 2.61 */
	rg_json_set_str(env, "RAY_AUTH_MODE", rg_boot_uses_token(node) ? "token" : "disabled");
	if (rg_boot_uses_token(node) && rg_boot_runs_start_ray(node))
		rg_json_set_str(env, "RAY_AUTH_TOKEN_PATH", RG_BOOT_TOKEN_FILE);
	/* CUDA images request all GPUs by themselves, and Ray would count what it then sees */
	if (rg_boot_gpus_of(node) == 0)
		rg_json_set_str(env, "NVIDIA_VISIBLE_DEVICES", "void");
	rg_json_set_str(env, "RAY_NODE_TYPE_NAME", rg_json_str(node->node, "pool", ""));
	rg_json_set_str(
		env, "RAY_CLOUD_INSTANCE_TYPE_NAME", rg_json_str(offer, "instance_type", ""));
}

static json_t *env_of(const RgBootNode *node)
{
	json_t *wanted = json_object_get(node->node, "env"), *env = json_object();
	g_autoptr(GList) names = rg_boot_sorted_keys(wanted);
	for (const GList *name = names; name; name = name->next)
		json_object_set(env, name->data, json_object_get(wanted, name->data));
	add_own_variables(node, env);
	return env;
}

/* Kubernetes' syntax, which Ray has adopted; a comma or equals sign would start another label. */
static bool is_label_text(const char *text, bool is_key)
{
	const char *name = text;
	if (is_key && strchr(text, '/'))
		name = strchr(text, '/') + 1;
	for (const char *c = text; *c != '\0'; c++) {
		bool slash = is_key && c == name - 1;
		if (!g_ascii_isalnum(*c) && !strchr("-_.", *c) && !slash)
			return false;
	}
	size_t len = strlen(name);
	if (len == 0)
		return !is_key;
	return len <= 63 && g_ascii_isalnum(name[0]) && g_ascii_isalnum(name[len - 1]) &&
	       g_ascii_isalnum(text[0]);
}

/* Before 2.49 the same option required JSON and refused keys under ray.io/. */
static bool takes_labels(const RgBootNode *node)
{
	const char *version = rg_json_str(json_object_get(node->fitted, "ray"), "version", "");
	char *rest = NULL;
	guint64 major = g_ascii_strtoull(version, &rest, 10);
	guint64 minor = *rest == '.' ? g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	return major > 2 || (major == 2 && minor >= 49);
}

/* The spec's schema checks its labels; zones and accelerators have the cloud's names. */
static void refuse_label(const RgBootNode *node, const char *key, const char *value)
{
	g_autofree char *base = g_strconcat(rg_json_str(node->node, "origin", ""), "/labels", NULL);
	g_autofree char *pointer = rg_json_pointer_add(base, key);
	RgDiag *diag = rg_diags_error(
		node->diags, "boot.bad-value", "\"%s: %s\" is not a Ray label", key, value);
	rg_diag_origin(diag, pointer);
}

static json_t *labels_of(const RgBootNode *node)
{
	json_t *wanted = json_object_get(node->node, "labels");
	g_autoptr(GList) keys = rg_boot_sorted_keys(wanted);
	json_auto_t *labels = json_object();
	bool good = true;
	for (const GList *key = keys; key; key = key->next) {
		const char *value = rg_json_str(wanted, key->data, "");
		if (!is_label_text(key->data, true) || !is_label_text(value, false)) {
			refuse_label(node, key->data, value);
			good = false;
		}
		if (takes_labels(node))
			rg_json_set_str(labels, key->data, value);
	}
	return good ? json_incref(labels) : NULL;
}

json_t *rg_boot_ray_node(const RgBootNode *node)
{
	json_t *labels = labels_of(node);
	if (!labels)
		return NULL;
	return json_pack("{s:o, s:o, s:O, s:I, s:O*, s:O*}", "env", env_of(node), "labels", labels,
		"resources", json_object_get(node->node, "resources"), "gpus",
		(json_int_t)rg_boot_ray_gpus_of(node), "cpus",
		json_object_get(node->node, "num_cpus"), "start",
		json_object_get(node->node, "ray_start"));
}

static void add_option(json_t *args, const char *option, const char *value)
{
	g_autofree char *whole = g_strconcat(option, value, NULL);
	json_array_append_new(args, json_string(whole));
}

static char *labels_text(const json_t *labels)
{
	GString *text = g_string_new(NULL);
	rg_json_foreach_member (key, value, labels)
		g_string_append_printf(
			text, "%s%s=%s", text->len ? "," : "", key, json_string_value(value));
	return g_string_free(text, FALSE);
}

/* "object_store_memory": 1073741824 -> "--object-store-memory=1073741824". */
static void add_start_options(json_t *args, const json_t *start)
{
	rg_json_foreach_member (name, value, start) {
		g_autofree char *flag = g_strdelimit(g_strconcat("--", name, "=", NULL), "_", '-');
		g_autofree char *text =
			json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
		add_option(args, flag, text);
	}
}

json_t *rg_boot_ray_args(const RgBootNode *node, const json_t *ray)
{
	json_t *args = json_array(), *labels = json_object_get(ray, "labels");
	for (size_t i = 0; rg_boot_is_head(node) && head_args[i]; i++)
		json_array_append_new(args, json_string(head_args[i]));
	for (size_t i = 0; ports_all[i]; i++)
		json_array_append_new(args, json_string(ports_all[i]));
	g_autofree char *gpus = g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(ray, "gpus", 0));
	g_autofree char *resources =
		json_dumps(json_object_get(ray, "resources"), JSON_SORT_KEYS | JSON_COMPACT);
	g_autofree char *pairs = labels_text(labels);
	add_option(args, "--num-gpus=", gpus);
	if (json_object_get(ray, "cpus")) {
		g_autofree char *cpus =
			g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(ray, "cpus", 0));
		add_option(args, "--num-cpus=", cpus);
	}
	add_start_options(args, json_object_get(ray, "start"));
	add_option(args, "--resources=", resources);
	if (json_object_size(labels))
		add_option(args, "--labels=", pairs);
	json_array_append_new(args, json_string("--block"));
	return args;
}

json_t *rg_boot_token_ref(void)
{
	return json_pack("{s:s, s:s}", "$ref", "raygpu.secret.ray_token", "attr", "value");
}

json_t *rg_boot_head_ref(void)
{
	return json_pack("{s:s, s:s}", "$ref", "@head", "attr", "address");
}
