#include <string.h>
#include "base/embedded.h"
#include "boot/internal.h"

extern const struct rg_embedded rg_boot_data[];

/* The longest and least compressible values that the references can take. */
#define TOKEN_LIKE "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define ADDRESS_LIKE "203.179.146.158"
/* Another token may compress to a few bytes more than TOKEN_LIKE. */
#define GZIP_MARGIN_BYTES 32

/* A cloud-config or a script in pieces: alternating texts and references. */
typedef struct {
	bool script;
	json_t *pieces;
	GString *text;	  /* the piece being written */
	GString *sample;  /* the whole text, with the longest values in place of references */
	GString *scripts; /* those of its files that other nodes have, too */
	bool has_file;
} Config;

static void config_clear(Config *config)
{
	json_decref(config->pieces);
	g_string_free(config->text, TRUE);
	g_string_free(config->sample, TRUE);
	g_string_free(config->scripts, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Config, config_clear)

static void add_text(Config *config, const char *text)
{
	g_string_append(config->text, text);
	g_string_append(config->sample, text);
}

static void end_piece(Config *config)
{
	/* all of it has been checked to be UTF-8 where it was read */
	json_array_append_new(
		config->pieces, json_stringn_nocheck(config->text->str, config->text->len));
	g_string_truncate(config->text, 0);
}

static void add_ref(Config *config, json_t *ref, const char *sample)
{
	end_piece(config);
	json_array_append_new(config->pieces, ref);
	g_string_append(config->sample, sample);
}

/* YAML parsers refuse or fold some characters that JSON does not escape inside strings. */
static bool needs_escape(gunichar c)
{
	return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       c == 0xfffe || c == 0xffff;
}

/* JSON that every YAML parser reads as the same value. g_free the result. */
static char *dump_for_yaml(const json_t *value)
{
	char *json = json_dumps(value, JSON_ENCODE_ANY);
	GString *text = g_string_sized_new(strlen(json));
	for (char *at = json; *at != '\0'; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);
		if (needs_escape(c))
			g_string_append_printf(text, "\\u%04x", c);
		else
			g_string_append_len(text, at, g_utf8_next_char(at) - at);
	}
	free(json);
	return g_string_free(text, FALSE);
}

static void begin_file(Config *config, const char *path, const char *mode)
{
	if (config->script) {
		g_autofree char *line = g_strdup_printf("put %s %s ", mode, path);
		add_text(config, line);
		return;
	}
	add_text(config, config->has_file ? ",\n  " : "  ");
	config->has_file = true;
	add_text(config, "{\"path\": \"");
	add_text(config, path);
	add_text(config, "\", \"owner\": \"root:root\", \"permissions\": \"");
	add_text(config, mode);
	add_text(config, "\", \"content\": ");
}

static void add_dumped(Config *config, const char *path, const char *mode, const char *text)
{
	begin_file(config, path, mode);
	add_text(config, text);
	add_text(config, config->script ? "\n" : "}");
}

static char *dump_text(const Config *config, const char *content)
{
	if (config->script)
		return rg_boot_quote(content);
	json_auto_t *value = json_string(content);
	return dump_for_yaml(value);
}

static void add_file(Config *config, const char *path, const char *mode, const char *content)
{
	g_autofree char *text = dump_text(config, content);
	add_dumped(config, path, mode, text);
}

/* Without the comment lines of shell and Python, of which user data has no room; the first line
 * stays. */
static char *dump_script(const Config *config, const char *content)
{
	g_auto(GStrv) lines = g_strsplit(content, "\n", -1);
	g_autoptr(GString) text = g_string_new(NULL);
	for (char **line = lines; *line; line++) {
		bool comment = (*line)[strspn(*line, " \t")] == '#' && line > lines;
		if (!comment)
			g_string_append_printf(text, "%s%s", *line, line[1] ? "\n" : "");
	}
	return dump_text(config, text->str);
}

static void add_script(Config *config, const RgBootNode *node, const char *path, const char *mode,
	const char *content)
{
	void *key = (void *)(uintptr_t)content;
	char *text = g_hash_table_lookup(node->scripts, key);
	if (!text) {
		text = dump_script(config, content);
		g_hash_table_insert(node->scripts, key, text);
	}
	add_dumped(config, path, mode, text);
	g_string_append(config->scripts, text);
}

static void add_ref_file(
	Config *config, const char *path, const char *mode, json_t *ref, const char *sample)
{
	begin_file(config, path, mode);
	add_text(config, config->script ? "'" : "\"");
	add_ref(config, ref, sample);
	add_text(config, config->script ? "'\n" : "\"}");
}

static const char *embedded(const char *name)
{
	const struct rg_embedded *file = rg_embedded_find(rg_boot_data, name);
	g_assert(file != NULL);
	return file->data;
}

static void add_embedded(Config *config, const RgBootNode *node, const char *path, const char *mode,
	const char *name)
{
	add_script(config, node, path, mode, embedded(name));
}

/* Only the code, in one line. */
static void add_fatal_xids(Config *config)
{
	g_auto(GStrv) rows = g_strsplit(embedded("fatal_xids.csv"), "\n", -1);
	g_autoptr(GString) codes = g_string_new(NULL);
	for (char **row = rows + 1; *row; row++) {
		if (**row)
			g_string_append_printf(codes, "%.*s ", (int)strcspn(*row, ","), *row);
	}
	add_file(config, "/usr/local/lib/raygpu/fatal-xids", "0644", codes->str);
}

/* Files that start-ray sources, of raygpu and of the provider's module. */
static void add_scripts(Config *config, const RgBootNode *node)
{
	if (rg_boot_health_of(node)) {
		add_embedded(config, node, "/usr/local/lib/raygpu/gate", "0644", "gate.sh");
		add_fatal_xids(config);
	}
	if (node->options->install_docker)
		add_embedded(config, node, "/usr/local/lib/raygpu/install-docker", "0644",
			"install-docker.sh");
	if (rg_boot_prepare_of(node))
		add_embedded(config, node, "/usr/local/lib/raygpu/prepare", "0644", "prepare.sh");
	if (rg_boot_slices_of(node))
		add_embedded(config, node, "/usr/local/lib/raygpu/cut-gpus", "0755", "cut-gpus.sh");
	if (rg_boot_rdma_of(node) && node->options->fast_network)
		add_script(config, node, "/usr/local/lib/raygpu/open-fast-network", "0755",
			node->options->fast_network);
	if (node->options->cloud)
		add_script(
			config, node, "/usr/local/lib/raygpu/cloud", "0755", node->options->cloud);
}

/* In the user data of every node, so that a lease that is added later replaces none. */
static void add_lease(Config *config, const RgBootNode *node)
{
	if (!node->options->lease || !node->options->cloud)
		return;
	add_embedded(config, node, "/usr/local/lib/raygpu/lease", "0755", "lease.sh");
	add_embedded(config, node, "/etc/systemd/system/raygpu-lease.service", "0644",
		"raygpu-lease.service");
}

static void end_files(Config *config, const RgBootNode *node)
{
	bool lease = node->options->lease && node->options->cloud;
	if (config->script) {
		add_text(config, "systemctl daemon-reload\nsystemctl enable --now --no-block ");
		add_text(config, lease ? "raygpu-lease.service " : "");
		add_text(config, "raygpu-ray.service\n");
		return;
	}
	add_text(config, "],\n\"runcmd\": [[\"systemctl\", \"daemon-reload\"],\n"
			 "  [\"systemctl\", \"enable\", \"--now\", \"--no-block\", ");
	add_text(config, lease ? "\"raygpu-lease.service\", " : "");
	add_text(config, "\"raygpu-ray.service\"]]}\n");
}

static void write_config(Config *config, const RgBootNode *node, const json_t *ray)
{
	g_autofree char *env = rg_boot_env_file(json_object_get(ray, "env"));
	g_autofree char *conf = rg_boot_node_conf(node, ray);
	add_text(config,
		config->script ? rg_boot_script_head : "#cloud-config\n{\"write_files\": [\n");
	if (rg_boot_uses_token(node))
		add_ref_file(config, RG_BOOT_TOKEN_FILE, "0600", rg_boot_token_ref(), TOKEN_LIKE);
	if (!rg_boot_is_head(node))
		add_ref_file(config, RG_BOOT_HEAD_FILE, "0644", rg_boot_head_ref(), ADDRESS_LIKE);
	add_file(config, RG_BOOT_ENV_FILE, "0600", env);
	add_file(config, RG_BOOT_CONF_FILE, "0600", conf);
	add_scripts(config, node);
	add_embedded(config, node, "/usr/local/lib/raygpu/report", "0644", "report.sh");
	add_embedded(config, node, "/usr/local/lib/raygpu/watch-ray", "0644", "watch-ray.sh");
	if (rg_boot_is_head(node))
		add_embedded(config, node, "/usr/local/lib/raygpu/report-nodes.py", "0644",
			"report-nodes.py");
	add_embedded(config, node, "/usr/local/lib/raygpu/start-ray", "0755", "start-ray.sh");
	add_embedded(config, node, "/usr/local/lib/raygpu/stop-ray", "0755", "stop-ray.sh");
	add_embedded(config, node, "/etc/systemd/system/raygpu-ray.service", "0644",
		"raygpu-ray.service");
	add_lease(config, node);
	end_files(config, node);
	end_piece(config);
}

static void report_too_large(const RgBootNode *node, size_t raw, size_t compressed, size_t limit)
{
	const char *origin = rg_json_str(node->node, "origin", "");
	const json_t *prepare = rg_boot_prepare_of(node);
	g_autofree char *env = g_strconcat(origin, "/env", NULL);
	RgDiag *diag = rg_diags_error(node->diags, "boot.too-large",
		"the user data of \"%s\" has %zu bytes, %zu compressed; the cloud accepts "
		"%zu",
		rg_json_str(node->node, "pool", ""), raw, compressed, limit);
	rg_diag_origin(diag, env);
	rg_diag_hint(diag, "shorten `env`%s, or put large values into the container image",
		prepare ? " and the commands" : "");
}

/* At least the bytes after gzip: only the scripts are compressed, once for all nodes. */
static size_t rough_size(const RgBootNode *node, const Config *config)
{
	const GString *scripts = config->scripts;
	size_t size = GPOINTER_TO_SIZE(g_hash_table_lookup(node->sizes, scripts->str));
	if (!size) {
		size = node->options->gzip_size(scripts->str, scripts->len, G_MAXSIZE);
		g_hash_table_insert(node->sizes, g_strdup(scripts->str), GSIZE_TO_POINTER(size));
	}
	return size + config->sample->len - scripts->len;
}

/* A text, a join, or a compressed join; NULL if it is still too large. */
static json_t *fit_into_limit(const RgBootNode *node, Config *config)
{
	const RgBootOptions *options = node->options;
	json_auto_t *whole = NULL;
	if (json_array_size(config->pieces) == 1)
		whole = json_incref(json_array_get(config->pieces, 0));
	else
		whole = json_pack("{s:O}", "$join", config->pieces);
	size_t raw = config->sample->len, limit = options->user_data_bytes;
	if (raw <= limit)
		return json_incref(whole);
	size_t enough = limit > GZIP_MARGIN_BYTES ? limit - GZIP_MARGIN_BYTES : 0;
	size_t compressed = rough_size(node, config);
	if (compressed > enough)
		compressed = options->gzip_size(config->sample->str, raw, enough);
	if (compressed <= enough)
		return json_pack("{s:O}", "$gzip_base64", whole);
	report_too_large(node, raw, compressed + GZIP_MARGIN_BYTES, limit);
	return NULL;
}

json_t *rg_boot_user_data(const RgBootNode *node, const json_t *ray)
{
	g_auto(Config) config = {
		.script = node->options->by == RG_BOOT_SCRIPT,
		.pieces = json_array(),
		.text = g_string_new(NULL),
		.sample = g_string_new(NULL),
		.scripts = g_string_new(NULL),
	};
	write_config(&config, node, ray);
	return fit_into_limit(node, &config);
}
