/* A Ray node in the two files that start-ray.sh reads on a virtual machine. */
#include <math.h>
#include <string.h>
#include "boot/internal.h"

/* docker's env file takes a line literally, without any quoting, and drops a final CR. Other values
 * become arguments. */
static bool fits_env_file(const char *value)
{
	return !strchr(value, '\n') && !g_str_has_suffix(value, "\r");
}

char *rg_boot_env_file(const json_t *env)
{
	GString *text = g_string_new(NULL);
	rg_json_foreach_member (name, value, env) {
		if (fits_env_file(json_string_value(value)))
			g_string_append_printf(text, "%s=%s\n", name, json_string_value(value));
	}
	return g_string_free(text, FALSE);
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

static void add_container_args(GString *text, const json_t *env)
{
	g_string_append(text, "container_args=(\n");
	rg_json_foreach_member (name, value, env) {
		if (fits_env_file(json_string_value(value)))
			continue;
		g_autofree char *pair = g_strconcat(name, "=", json_string_value(value), NULL);
		add_quoted(text, "--env");
		add_quoted(text, pair);
	}
	g_string_append(text, ")\n");
}

/* For cut-gpus: "1g.5gb", or "1g.5gb:4" with its place on the chip. */
static void add_slices(const RgBootNode *node, GString *text)
{
	const json_t *slices = rg_boot_slices_of(node);
	if (!slices)
		return;
	g_string_append_printf(
		text, "slices=%" G_GINT64_FORMAT "\nmig=(\n", rg_boot_ray_gpus_of(node));
	rg_json_foreach (slice, slices) {
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

static void add_gate(const RgBootNode *node, GString *text)
{
	const json_t *health = rg_boot_health_of(node);
	int64_t diag = rg_json_int(health, "diag", 0);
	if (health)
		g_string_append(text, "gate=true\n");
	if (json_is_true(json_object_get(health, "nvlink")))
		g_string_append(text, "nvlink=1\n");
	if (diag)
		g_string_append_printf(text, "diag=%" G_GINT64_FORMAT "\n", diag);
}

static void add_list(GString *text, const char *name, const json_t *list)
{
	g_string_append_printf(text, "%s=(\n", name);
	rg_json_foreach (value, list)
		add_quoted(text, json_string_value(value));
	g_string_append(text, ")\n");
}

/* For prepare: path, source, type and options of each. */
static void add_mounts(GString *text, const json_t *list)
{
	g_string_append(text, "mounts=(\n");
	rg_json_foreach (mount, list) {
		const char *options = rg_json_str(mount, "options", "");
		bool only = rg_json_bool(mount, "read_only", false);
		g_autofree char *all =
			g_strconcat(only ? "ro" : "", only && *options ? "," : "", options, NULL);
		add_quoted(text, rg_json_str(mount, "path", ""));
		add_quoted(text, rg_json_str(mount, "source", ""));
		add_quoted(text, rg_json_str(mount, "type", ""));
		add_quoted(text, all);
	}
	g_string_append(text, ")\n");
}

static void add_prepare(const RgBootNode *node, GString *text)
{
	static const char *const commands[] = {"initialization_commands", "setup_commands"};
	const json_t *prepare = rg_boot_prepare_of(node);
	if (!prepare)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		add_list(text, commands[i], json_object_get(prepare, commands[i]));
	add_mounts(text, json_object_get(prepare, "mounts"));
}

/* Ray puts its object store into /dev/shm: up to 30 % of the memory, or what the spec says, for
 * which it needs at least as much room (_private/services.py, determine_plasma_store_config). */
static int64_t shm_mib_of(const RgBootNode *node)
{
	double memory = json_number_value(rg_json_at(node->node, "/offer/memory_gib"));
	int64_t said =
		rg_json_int(json_object_get(node->node, "ray_start"), "object_store_memory", 0);
	return (int64_t)ceil(MAX(memory * 1024 * 0.3, (double)(said >> 20) * 1.05));
}

char *rg_boot_node_conf(const RgBootNode *node, const json_t *ray)
{
	const json_t *said = json_object_get(node->fitted, "ray");
	json_auto_t *args = rg_boot_ray_args(node, ray);
	int64_t shm_mib = shm_mib_of(node);
	GString *text = g_string_new(NULL);
	add_assignment(text, "role", rg_boot_is_head(node) ? "head" : "worker");
	add_assignment(text, "image", rg_boot_image_of(node));
	add_assignment(text, "auth", rg_json_str(said, "auth", ""));
	g_string_append_printf(text,
		"gcs_port=%s\ngpus=%" G_GINT64_FORMAT "\nshm_mib=%" G_GINT64_FORMAT "\n",
		RG_BOOT_GCS_PORT, rg_boot_gpus_of(node), shm_mib);
	const json_t *registry = json_object_get(said, "registry");
	if (registry) {
		add_assignment(text, "registry_user", rg_json_str(registry, "username", ""));
		add_assignment(
			text, "registry_secret", rg_json_str(registry, "password_secret", ""));
	}
	if (rg_boot_rdma_of(node))
		g_string_append_printf(text, "rdma=%" G_GINT64_FORMAT "\n", rg_boot_rdma_of(node));
	if (g_str_equal(rg_json_str(json_object_get(node->node, "offer"), "market", ""), "spot"))
		add_assignment(text, "market", "spot");
	add_gate(node, text);
	add_slices(node, text);
	add_prepare(node, text);
	add_container_args(text, json_object_get(ray, "env"));
	g_string_append(text, "ray_args=(\n");
	for (size_t i = 0; i < json_array_size(args); i++)
		add_quoted(text, json_string_value(json_array_get(args, i)));
	g_string_append(text, ")\n");
	return g_string_free(text, FALSE);
}
