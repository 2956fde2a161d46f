#include <string.h>
#include "boot/internal.h"

/* Compares two user data in terms of the spec: parses what render.c and node.c wrote. */

#define MAX_PARTS 100000

/* A reference is replaced by nothing: its value is not a field of the spec. */
static bool add_text_of(GString *text, const json_t *value)
{
	if (json_is_string(value)) {
		g_string_append(text, json_string_value(value));
		return true;
	}
	const json_t *inner = json_object_get(value, "$gzip_base64");
	if (inner)
		return add_text_of(text, inner);
	rg_json_foreach (piece, json_object_get(value, "$join")) {
		if (json_is_string(piece))
			g_string_append(text, json_string_value(piece));
	}
	return json_is_object(value);
}

/* {path: content}; NULL if raygpu did not render it. */
static json_t *files_of(const json_t *user_data)
{
	static const char *const head = "#cloud-config\n";
	g_autoptr(GString) text = g_string_new(NULL);
	if (!add_text_of(text, user_data))
		return NULL;
	if (!g_str_has_prefix(text->str, head))
		return rg_boot_script_files(text->str);
	json_auto_t *config = json_loads(text->str + strlen(head), 0, NULL);
	json_t *files = json_object_get(config, "write_files");
	if (!json_is_array(files))
		return NULL;
	json_t *all = json_object();
	rg_json_foreach (file, files) {
		json_t *content = json_object_get(file, "content");
		if (json_is_string(content))
			json_object_set(all, rg_json_str(file, "path", "?"), content);
	}
	return all;
}

static void put(json_t *fields, const char *section, const char *name, json_t *value)
{
	g_autofree char *field = g_strconcat(section, name, NULL);
	json_object_set_new(fields, field, value);
}

/* "NAME=VALUE"; variables that raygpu sets itself follow from other fields. */
static void put_variable(json_t *fields, const char *pair)
{
	const char *equals = strchr(pair, '=');
	if (!equals)
		return;
	g_autofree char *name = g_strndup(pair, (gsize)(equals - pair));
	if (!rg_boot_is_own_variable(name))
		put(fields, "env.", name, json_string(equals + 1));
}

static bool is_computed(const char *name)
{
	static const char *const prefixes[] = {
		"ray.io/", "raygpu.io/", "accelerator_type:", "mig-"};
	for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		if (g_str_has_prefix(name, prefixes[i]))
			return true;
	}
	return false;
}

static void put_labels(json_t *fields, const char *text)
{
	g_auto(GStrv) labels = g_strsplit(text, ",", MAX_PARTS);
	for (char **label = labels; *label != NULL; label++) {
		char *value = strchr(*label, '=');
		if (!value)
			continue;
		*value++ = '\0';
		if (g_str_equal(*label, "raygpu.io/time-slices"))
			put(fields, "share.", "time_slices", json_string(value));
		else if (!is_computed(*label))
			put(fields, "labels.", *label, json_string(value));
	}
}

static void put_resources(json_t *fields, const char *text)
{
	json_auto_t *resources = json_loads(text, 0, NULL);
	rg_json_foreach_member (name, value, resources) {
		if (!is_computed(name))
			put(fields, "resources.", name, json_incref(value));
	}
}

static bool is_commands(const char *field)
{
	return g_str_equal(field, "initialization_commands") ||
	       g_str_equal(field, "setup_commands");
}

typedef struct {
	const char *prefix, *field;
	bool is_size; /* bytes, whole GiB in the spec */
} Named;

/* Assignments, and options of `ray start`, that are fields of the spec. */
static const Named assignments[] = {{"image=", "ray.image", false}, {"auth=", "ray.auth", false},
	{"rdma=", "network.rdma", false}, {"market=", "market", false},
	{"registry_user=", "ray.registry.login.username", false},
	{"registry_secret=", "ray.registry.login.password_secret", false},
	{"gate=", "health.gate", false}, {"diag=", "health.diag", false}};
static const Named options[] = {{"--num-cpus=", "num_cpus", false},
	{"--memory=", "ray_start.memory", true},
	{"--object-store-memory=", "ray_start.object_store_memory", true},
	{"--system-config=", "ray_start.system_config", false}};

static void put_named(json_t *fields, const Named *named, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		if (!g_str_has_prefix(word, named[i].prefix))
			continue;
		const char *value = word + strlen(named[i].prefix);
		put(fields, named[i].field, "",
			named[i].is_size ? json_sprintf("%" G_GUINT64_FORMAT "GiB",
						   g_ascii_strtoull(value, NULL, 10) >> 30)
					 : json_string(value));
	}
}

static void put_joined(json_t *fields, const char *field, const char *separator, const char *word)
{
	const char *before = rg_json_str(fields, field, "");
	g_autofree char *all = g_strconcat(before, *before ? separator : "", word, NULL);
	put(fields, field, "", json_string(all));
}

/* One word of node.conf, in a list ("ray_args") or by itself ("image=..."). */
static void put_word(json_t *fields, const char *list, const char *word)
{
	if (g_str_equal(list, "container_args") && !g_str_equal(word, "--env"))
		put_variable(fields, word);
	else if (g_str_equal(list, "ray_args") && g_str_has_prefix(word, "--labels="))
		put_labels(fields, word + strlen("--labels="));
	else if (g_str_equal(list, "ray_args") && g_str_has_prefix(word, "--resources="))
		put_resources(fields, word + strlen("--resources="));
	else if (g_str_equal(list, "ray_args"))
		put_named(fields, options, G_N_ELEMENTS(options), word);
	else if (*list == '\0')
		put_named(fields, assignments, G_N_ELEMENTS(assignments), word);
	if (g_str_equal(list, "mig"))
		put_joined(fields, "share.mig", ", ", word);
	else if (is_commands(list) || g_str_equal(list, "mounts"))
		put_joined(fields, list, g_str_equal(list, "mounts") ? " " : "; ", word);
}

/* bash, as node.c writes it: assignments, and lists of quoted words. */
static void put_conf(json_t *fields, const char *text)
{
	g_auto(GStrv) words = NULL;
	g_autofree char *list = g_strdup("");
	if (!g_shell_parse_argv(text, NULL, &words, NULL))
		return;
	for (char **word = words; *word != NULL; word++) {
		bool inside = *list != '\0';
		if (inside ? g_str_equal(*word, ")") : g_str_has_suffix(*word, "=(")) {
			g_free(list);
			list = inside ? g_strdup("") : g_strndup(*word, strlen(*word) - 2);
		} else {
			put_word(fields, list, *word);
		}
	}
}

/* {field: value}; raygpu's own files are named by their path. */
static json_t *fields_of(const json_t *files)
{
	json_t *fields = json_object();
	rg_json_foreach_member (path, content, files) {
		const char *text = json_string_value(content);
		if (g_str_equal(path, RG_BOOT_ENV_FILE)) {
			g_auto(GStrv) lines = g_strsplit(text, "\n", MAX_PARTS);
			for (char **line = lines; *line; line++)
				put_variable(fields, *line);
		} else if (g_str_equal(path, RG_BOOT_CONF_FILE))
			put_conf(fields, text);
		else if (!g_str_equal(path, RG_BOOT_TOKEN_FILE) &&
			 !g_str_equal(path, RG_BOOT_HEAD_FILE))
			json_object_set(fields, path, content);
	}
	return fields;
}

static json_t *difference(const char *field, json_t *before, json_t *after)
{
	json_t *item = json_object();
	/* variables and commands may hold secrets, files are long */
	bool hidden = *field == '/' || g_str_has_prefix(field, "env.") || is_commands(field);
	rg_json_set_str(item, "field", field);
	rg_json_set_str(item, "change", !before ? "added" : !after ? "removed" : "changed");
	if (hidden)
		json_object_set_new(item, "hidden", json_true());
	if (before && !hidden)
		json_object_set(item, "before", before);
	if (after && !hidden)
		json_object_set(item, "after", after);
	return item;
}

json_t *rg_boot_explain(const json_t *before, const json_t *after)
{
	json_auto_t *old_files = files_of(before), *new_files = files_of(after);
	if (!old_files || !new_files)
		return NULL;
	json_auto_t *old = fields_of(old_files), *new = fields_of(new_files);
	json_auto_t *all = json_copy(old);
	json_object_update(all, new);
	g_autoptr(GList) names = rg_boot_sorted_keys(all);
	json_t *list = json_array();
	for (const GList *name = names; name != NULL; name = name->next) {
		json_t *was = json_object_get(old, name->data);
		json_t *is = json_object_get(new, name->data);
		/* if a script is added or removed with a field, that field explains it */
		bool script = *(const char *)name->data == '/' && (!was || !is);
		if (!script && (!was || !is || !json_equal(was, is)))
			json_array_append_new(list, difference(name->data, was, is));
	}
	return list;
}

static bool is_own_script(const char *path)
{
	return g_str_has_prefix(path, "/usr/local/lib/raygpu/") ||
	       g_str_has_prefix(path, "/etc/systemd/system/raygpu-");
}

bool rg_boot_is_same_node(const json_t *before, const json_t *after)
{
	json_auto_t *old_files = files_of(before), *new_files = files_of(after);
	json_t *files[] = {old_files, new_files}, *content;
	const char *path;
	void *next;
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		if (!files[i])
			return false;
		json_object_foreach_safe (files[i], next, path, content) {
			if (is_own_script(path))
				json_object_del(files[i], path);
		}
	}
	return json_equal(old_files, new_files);
}
