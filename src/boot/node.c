#include <math.h>
#include <string.h>
#include "boot/internal.h"

/* Fixed, so that a firewall rule can name them; the table with reasons is in README.md. */
#define GCS_PORT "6379"
static const char *const ports_all[] = {"--node-manager-port=6380",
	"--dashboard-agent-grpc-port=6381", "--runtime-env-agent-port=6382",
	"--object-manager-port=8076", "--metrics-export-port=8080",
	"--dashboard-agent-listen-port=52365", "--min-worker-port=10002", "--max-worker-port=19999",
	NULL};
static const char *const head_args[] = {"--head", ("--port=" GCS_PORT),
	"--ray-client-server-port=10001", "--dashboard-host=127.0.0.1", "--dashboard-port=8265",
	"--disable-usage-stats", NULL};

/* Set by raygpu; a user's value would break the node's identity, its token or its GPUs. */
static const char *const reserved_env[] = {"NVIDIA_VISIBLE_DEVICES", "RAY_AUTH_MODE",
	"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_CLOUD_INSTANCE_ID",
	"RAY_CLOUD_INSTANCE_TYPE_NAME", "RAY_NODE_TYPE_NAME", "RAY_OVERRIDE_LABELS",
	"RAY_OVERRIDE_RESOURCES", NULL};
/* Ray has options of their own for these and refuses them in --resources. */
static const char *const reserved_resources[] = {
	"CPU", "GPU", "memory", "object_store_memory", "node:__internal_head__", NULL};

/* One argument of execve holds 128 KiB, one line of an env file 64 KiB. */
#define MAX_VALUE_BYTES 60000

static RgDiag *complain(const RgBootNode *node, const char *section, const char *key, char *what)
{
	g_autofree char *summary = what;
	g_autofree char *base = g_strconcat(rg_json_str(node->node, "origin", ""), section, NULL);
	g_autofree char *pointer = rg_json_pointer_add(base, key);
	RgDiag *diag = rg_diags_error(node->diags, "boot.bad-value", "%s", summary);
	return rg_diag_at(diag, rg_cluster_source(node->cluster, pointer));
}

bool rg_boot_is_head(const RgBootNode *node)
{
	return g_str_equal(rg_json_str(node->node, "role", ""), "head");
}

bool rg_boot_uses_token(const RgBootNode *node)
{
	const json_t *ray = json_object_get(node->fitted, "ray");
	return g_str_equal(rg_json_str(ray, "auth", ""), "token");
}

static int64_t gpus_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "offer"), "gpus", 0);
}

static const json_t *slices_of(const RgBootNode *node)
{
	return json_object_get(json_object_get(node->node, "share"), "mig");
}

bool rg_boot_cuts_gpus(const RgBootNode *node)
{
	return slices_of(node) != NULL;
}

int64_t rg_boot_rdma_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "network"), "rdma", 0);
}

/* What Ray hands out: slices where the GPUs are cut. */
static int64_t ray_gpus_of(const RgBootNode *node)
{
	return rg_json_int(json_object_get(node->node, "share"), "ray_gpus", gpus_of(node));
}

GList *rg_boot_sorted_keys(json_t *object)
{
	GList *keys = NULL;
	const char *key;
	json_t *value;
	json_object_foreach (object, key, value)
		keys = g_list_prepend(keys, (void *)(uintptr_t)key);
	return g_list_sort(keys, (GCompareFunc)strcmp);
}

bool rg_boot_is_own_variable(const char *name)
{
	return g_strv_contains(reserved_env, name);
}

static bool is_variable_name(const char *name)
{
	if (!g_ascii_isalpha(name[0]) && name[0] != '_')
		return false;
	for (; *name != '\0'; name++) {
		if (!g_ascii_isalnum(*name) && *name != '_')
			return false;
	}
	return true;
}

static bool check_variable(const RgBootNode *node, const char *name, const char *value)
{
	RgDiag *diag = NULL;
	if (!is_variable_name(name))
		diag = complain(node, "/env", name,
			g_strdup_printf("\"%s\" is not a name for an environment variable", name));
	else if (rg_boot_is_own_variable(name))
		diag = rg_diag_hint(
			complain(node, "/env", name, g_strdup_printf("%s is set by raygpu", name)),
			"leave it out");
	else if (!value)
		diag = complain(
			node, "/env", name, g_strdup_printf("the value of %s is not a text", name));
	else if (strlen(value) > MAX_VALUE_BYTES)
		diag = complain(node, "/env", name,
			g_strdup_printf("the value of %s has %zu bytes, more than %d", name,
				strlen(value), MAX_VALUE_BYTES));
	return !diag;
}

/* docker's env file takes a line as it is, with no quoting at all, and drops a final CR. Other
 * values go as arguments. */
static bool fits_env_file(const char *value)
{
	return !strchr(value, '\n') && !g_str_has_suffix(value, "\r");
}

static void add_variable(GString *text, const char *name, const char *value)
{
	g_string_append_printf(text, "%s=%s\n", name, value);
}

char *rg_boot_env_file(const RgBootNode *node)
{
	json_t *env = json_object_get(node->node, "env");
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GList) names = rg_boot_sorted_keys(env);
	bool good = true;
	for (const GList *name = names; name != NULL; name = name->next) {
		const char *value = rg_json_str(env, name->data, NULL);
		if (!check_variable(node, name->data, value))
			good = false;
		else if (fits_env_file(value))
			add_variable(text, name->data, value);
	}
	if (!good)
		return NULL;
	/* said in both cases: tokens become the default of Ray 2.61 */
	add_variable(text, "RAY_AUTH_MODE", rg_boot_uses_token(node) ? "token" : "disabled");
	if (rg_boot_uses_token(node))
		add_variable(text, "RAY_AUTH_TOKEN_PATH", RG_BOOT_TOKEN_FILE);
	/* CUDA images ask for all GPUs by themselves, and Ray would count what it then sees */
	if (gpus_of(node) == 0)
		add_variable(text, "NVIDIA_VISIBLE_DEVICES", "void");
	/* libfabric would look for other providers too; the user's word goes first */
	if (rg_boot_rdma_of(node) > 0 && !json_object_get(env, "FI_PROVIDER"))
		add_variable(text, "FI_PROVIDER", "efa");
	add_variable(text, "RAY_NODE_TYPE_NAME", rg_json_str(node->node, "pool", ""));
	add_variable(text, "RAY_CLOUD_INSTANCE_TYPE_NAME",
		rg_json_str(json_object_get(node->node, "offer"), "instance_type", ""));
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_quoted(GString *text, const char *value)
{
	g_autofree char *quoted = g_shell_quote(value);
	g_string_append_printf(text, "  %s\n", quoted);
}

static void add_assignment(GString *text, const char *name, const char *value)
{
	g_autofree char *quoted = g_shell_quote(value);
	g_string_append_printf(text, "%s=%s\n", name, quoted);
}

static void add_container_args(const RgBootNode *node, GString *text)
{
	json_t *env = json_object_get(node->node, "env");
	g_autoptr(GList) names = rg_boot_sorted_keys(env);
	g_string_append(text, "container_args=(\n");
	for (const GList *name = names; name != NULL; name = name->next) {
		const char *value = rg_json_str(env, name->data, "");
		if (fits_env_file(value))
			continue;
		g_autofree char *pair = g_strconcat(name->data, "=", value, NULL);
		add_quoted(text, "--env");
		add_quoted(text, pair);
	}
	g_string_append(text, ")\n");
}

/* Kubernetes' syntax, which Ray has taken over; a comma or equals sign would start another label.
 */
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

static char *labels_text(const RgBootNode *node)
{
	json_t *labels = json_object_get(node->node, "labels");
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GList) keys = rg_boot_sorted_keys(labels);
	bool good = true;
	for (const GList *key = keys; key != NULL; key = key->next) {
		const char *value = rg_json_str(labels, key->data, NULL);
		if (!is_label_text(key->data, true) || !value || !is_label_text(value, false)) {
			complain(node, "/labels", key->data,
				g_strdup_printf("\"%s: %s\" is not a Ray label", (char *)key->data,
					value ? value : ""));
			good = false;
			continue;
		}
		g_string_append_printf(
			text, "%s%s=%s", text->len > 0 ? "," : "", (char *)key->data, value);
	}
	return good ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* JSON text for --resources; g_free the result. */
static char *resources_text(const RgBootNode *node)
{
	json_t *resources = json_object_get(node->node, "resources");
	const char *name;
	json_t *value;
	bool good = true;
	json_object_foreach (resources, name, value) {
		if (json_is_number(value) && json_number_value(value) >= 0 &&
			!g_strv_contains(reserved_resources, name))
			continue;
		RgDiag *diag = complain(node, "/resources", name,
			g_strdup_printf("Ray takes no custom resource \"%s\" like this", name));
		rg_diag_hint(diag, "CPU, GPU and memory are counted by Ray itself");
		good = false;
	}
	/* 15 digits, so that 0.1 stays 0.1 */
	return good ? json_dumps(resources, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(15))
		    : NULL;
}

static void add_option(GString *text, const char *option, const char *value)
{
	g_autofree char *whole = g_strconcat(option, value, NULL);
	add_quoted(text, whole);
}

/* Before 2.49 the same option wanted JSON and refused keys below ray.io/. */
static bool takes_labels(const RgBootNode *node)
{
	const char *version = rg_json_str(json_object_get(node->fitted, "ray"), "version", "");
	char *rest = NULL;
	guint64 major = g_ascii_strtoull(version, &rest, 10);
	guint64 minor = *rest == '.' ? g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	return major > 2 || (major == 2 && minor >= 49);
}

static bool add_ray_args(const RgBootNode *node, GString *text)
{
	g_autofree char *labels = labels_text(node);
	g_autofree char *resources = resources_text(node);
	if (!labels || !resources)
		return false;
	g_string_append(text, "ray_args=(\n");
	for (size_t i = 0; rg_boot_is_head(node) && head_args[i]; i++)
		add_quoted(text, head_args[i]);
	for (size_t i = 0; ports_all[i] != NULL; i++)
		add_quoted(text, ports_all[i]);
	g_autofree char *gpus = g_strdup_printf("%" G_GINT64_FORMAT, ray_gpus_of(node));
	add_option(text, "--num-gpus=", gpus);
	add_option(text, "--resources=", resources);
	if (takes_labels(node))
		add_option(text, "--labels=", labels);
	g_string_append(text, "  --block\n)\n");
	return true;
}

/* For cut-gpus: "1g.5gb", or "1g.5gb:4" with its place on the chip. */
static void add_slices(const RgBootNode *node, GString *text)
{
	const json_t *slices = slices_of(node), *slice;
	size_t i;
	if (!slices)
		return;
	g_string_append_printf(text, "slices=%" G_GINT64_FORMAT "\nmig=(\n", ray_gpus_of(node));
	json_array_foreach (slices, i, slice) {
		const json_t *start = json_object_get(slice, "start");
		const char *profile = rg_json_str(slice, "profile", "");
		g_autofree char *tuple = json_is_integer(start)
						 ? g_strdup_printf("%s:%" JSON_INTEGER_FORMAT,
							   profile, json_integer_value(start))
						 : g_strdup(profile);
		add_quoted(text, tuple);
	}
	g_string_append(text, ")\n");
}

/* Ray puts up to 30 % of the memory into /dev/shm. */
static int64_t shm_mib(const RgBootNode *node)
{
	const json_t *memory = json_object_get(json_object_get(node->node, "offer"), "memory_gib");
	return (int64_t)ceil(json_number_value(memory) * 1024 * 0.3);
}

char *rg_boot_node_conf(const RgBootNode *node)
{
	const json_t *scope = json_object_get(node->fitted, "scope");
	const json_t *ray = json_object_get(node->fitted, "ray");
	g_autoptr(GString) text = g_string_new(NULL);
	add_assignment(text, "cloud", rg_json_str(scope, "provider", ""));
	add_assignment(text, "role", rg_boot_is_head(node) ? "head" : "worker");
	add_assignment(text, "image", rg_json_str(ray, "image", ""));
	add_assignment(text, "auth", rg_json_str(ray, "auth", ""));
	g_string_append_printf(text,
		"gcs_port=%s\ngpus=%" G_GINT64_FORMAT "\nshm_mib=%" G_GINT64_FORMAT "\n", GCS_PORT,
		gpus_of(node), shm_mib(node));
	if (rg_boot_rdma_of(node) > 0)
		g_string_append_printf(text, "rdma=%" G_GINT64_FORMAT "\n", rg_boot_rdma_of(node));
	add_slices(node, text);
	add_container_args(node, text);
	if (!add_ray_args(node, text))
		return NULL;
	return g_string_free(g_steal_pointer(&text), FALSE);
}
