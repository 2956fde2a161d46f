#include "golden.h"
#include <string.h>

static void skip_spaces(const char **at)
{
	*at += strspn(*at, " \t");
}

static char *take_word(const char **at, const char *stop)
{
	size_t len = strcspn(*at, stop);
	char *word = g_strndup(*at, len);
	*at += len;
	return word;
}

static json_t *take_value(const char **at)
{
	json_error_t error;
	if (strchr("{[\"", **at)) {
		json_t *value = json_loads(*at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
		if (!value)
			g_error("%s in `%s`", error.text, *at);
		*at += error.position;
		return value;
	}
	g_autofree char *word = take_word(at, " \t");
	if (g_str_has_prefix(word, "->")) {
		char *slash = strrchr(word, '/');
		g_assert_nonnull(slash);
		*slash = '\0';
		return json_pack("{s:s, s:s}", "$ref", word + 2, "attr", slash + 1);
	}
	json_t *value = json_loads(word, JSON_DECODE_ANY, NULL);
	return value ? value : json_string(word);
}

static void set_depends(RgResource *resource, const char *address)
{
	guint n = resource->depends_on ? g_strv_length(resource->depends_on) : 0;
	resource->depends_on = g_renew(char *, resource->depends_on, n + 2);
	resource->depends_on[n] = g_strdup(address);
	resource->depends_on[n + 1] = NULL;
}

static void set_word(RgResource *resource, const char *word, const json_t *value, bool *extra)
{
	const char *text = json_string_value(value);
	if (g_str_equal(word, "id"))
		resource->id = g_strdup(text);
	else if (g_str_equal(word, "group"))
		resource->group = g_intern_string(text);
	else if (g_str_equal(word, "origin"))
		resource->origin = g_intern_string(text);
	else if (g_str_equal(word, "gen"))
		resource->generation = json_integer_value(value);
	else if (g_str_equal(word, "updated"))
		resource->updated_s = json_integer_value(value);
	else if (g_str_equal(word, "run"))
		resource->run = g_strdup(text);
	else if (g_str_equal(word, "token"))
		resource->token = g_strdup(text);
	else if (g_str_equal(word, "status"))
		resource->status = g_strdup(text);
	else if (g_str_equal(word, "marks")) {
		resource->mismarked = true; /* "" = none */
		resource->marked_as = text && *text ? g_strdup(text) : NULL;
	} else if (g_str_equal(word, "after"))
		set_depends(resource, text);
	else if (g_str_equal(word, "pin"))
		resource->pin = json_deep_copy(value);
	else if (g_str_has_prefix(word, "out."))
		json_object_set(resource->outputs_json, word + 4, rg_json_unconst(value));
	else if (g_str_equal(word, "leaving"))
		resource->leaving = true;
	else if (g_str_equal(word, "updates"))
		resource->updates = (guint)json_integer_value(value);
	else if (g_str_equal(word, "doubtful"))
		resource->doubtful = true;
	else if (g_str_equal(word, "unended"))
		resource->doubtful = resource->unended = true;
	else if (g_str_equal(word, "pending"))
		resource->presence = RG_PENDING;
	else if (g_str_equal(word, "absent"))
		resource->presence = RG_ABSENT;
	else if (g_str_equal(word, "unknown"))
		resource->presence = RG_UNKNOWN;
	else if (g_str_equal(word, "extra"))
		*extra = resource->unmanaged = true;
	else
		g_error("unknown word :%s", word);
}

static RgResource *resource_of(const char *address)
{
	char *kind, *name;
	int64_t index;
	if (g_str_has_suffix(address, ".?")) {
		g_autofree char *only = g_strndup(address, strlen(address) - 2);
		RgResource *resource = rg_resource_new(only, "x", -1);
		g_clear_pointer(&resource->address, g_free);
		return resource;
	}
	if (!rg_address_parse(address, &kind, &name, &index))
		g_error("`%s` is no address", address);
	RgResource *resource = rg_resource_new(kind, name, index);
	g_free(kind);
	g_free(name);
	return resource;
}

static void add_line(RgResourceSet *set, const char *line)
{
	const char *at = line;
	g_autofree char *address = take_word(&at, " \t");
	RgResource *resource = resource_of(address);
	bool extra = false;
	resource->attrs = json_object();
	resource->outputs_json = json_object();
	for (skip_spaces(&at); *at != '\0'; skip_spaces(&at)) {
		bool meta = *at == ':';
		at += meta;
		g_autofree char *word = take_word(&at, "= \t");
		json_auto_t *value = NULL;
		if (*at == '=') {
			at++;
			value = take_value(&at);
		}
		if (meta)
			set_word(resource, word, value, &extra);
		else
			json_object_set(resource->attrs, word, value);
	}
	resource->attrs = rg_resource_set_intern(set, resource->attrs);
	if (extra)
		rg_resource_set_add_extra(set, resource);
	else if (!rg_resource_set_add(set, resource))
		g_error("twice: %s", line);
}

const char *golden_section(const GoldenCase *test, const char *name)
{
	const char *text = g_hash_table_lookup(test->sections, name);
	return text ? text : "";
}

static RgResourceSet *build_set(const GoldenCase *test, const char *section, GRand *random)
{
	RgResourceSet *set = rg_resource_set_new();
	g_auto(GStrv) lines = g_strsplit(golden_section(test, section), "\n", -1);
	guint n = g_strv_length(lines);
	for (guint i = n; random && i > 1; i--) {
		guint other = (guint)g_rand_int_range(random, 0, (gint32)i);
		char *line = lines[other];
		lines[other] = lines[i - 1];
		lines[i - 1] = line;
	}
	for (guint i = 0; i < n; i++)
		if (lines[i][0] != '\0' && lines[i][0] != '#')
			add_line(set, lines[i]);
	return set;
}

static void add_release(GoldenCase *test, const char *pool, bool keep_marks)
{
	g_assert_cmpuint(test->options.n_releases, <, G_N_ELEMENTS(test->releases));
	test->releases[test->options.n_releases++] = (RgRelease){
		.pool = g_intern_string(pool), .origin = "/removed", .keep_marks = keep_marks};
	test->options.releases = test->releases;
}

static void read_options(GoldenCase *test)
{
	g_auto(GStrv) lines = g_strsplit(golden_section(test, "options"), "\n", -1);
	g_autoptr(GStrvBuilder) targets = g_strv_builder_new(), excludes = g_strv_builder_new();
	g_autoptr(GStrvBuilder) replace = g_strv_builder_new();
	for (guint i = 0; lines[i] != NULL; i++) {
		const char *value = strchr(lines[i], ' ');
		if (g_str_equal(lines[i], "--destroy"))
			test->options.destroy = true;
		else if (g_str_equal(lines[i], "--refresh-only"))
			test->options.refresh_only = true;
		else if (g_str_has_prefix(lines[i], "--target "))
			g_strv_builder_add(targets, value + 1);
		else if (g_str_has_prefix(lines[i], "--exclude "))
			g_strv_builder_add(excludes, value + 1);
		else if (g_str_has_prefix(lines[i], "--replace "))
			g_strv_builder_add(replace, value + 1);
		else if (g_str_has_prefix(lines[i], "--removed "))
			add_release(test, value + 1, false);
		else if (g_str_has_prefix(lines[i], "--removed-with-tags "))
			add_release(test, value + 1, true);
		else
			g_assert_cmpstr(lines[i], ==, "");
	}
	GStrv lists[] = {g_strv_builder_end(targets), g_strv_builder_end(excludes),
		g_strv_builder_end(replace)};
	GStrv *to[] = {&test->options.targets, &test->options.excludes, &test->options.replace};
	for (size_t i = 0; i < 3; i++)
		*to[i] = lists[i][0] ? lists[i] : (g_strfreev(lists[i]), NULL);
}

static void read_sections(GoldenCase *test, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GString *section = NULL;
	const char *name = "";
	for (guint i = 0; lines[i] != NULL; i++) {
		if (lines[i][0] == '@') {
			if (section)
				g_hash_table_insert(test->sections, g_strdup(name),
					g_string_free(section, FALSE));
			name = lines[i] + 1;
			section = g_string_new(NULL);
			g_ptr_array_add(test->order, g_strdup(name));
		} else if (section && (lines[i][0] != '\0' || lines[i + 1])) {
			g_string_append_printf(section, "%s\n", lines[i]);
		}
	}
	if (section)
		g_hash_table_insert(test->sections, g_strdup(name), g_string_free(section, FALSE));
}

static RgSchema *load_schema(const char *path)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_error_t error;
	json_auto_t *document = json_load_file(path, 0, &error);
	if (!document)
		g_error("%s: %s", path, error.text);
	RgSchema *schema = rg_schema_new(document, diags);
	g_assert_nonnull(schema);
	return schema;
}

GoldenCase *golden_load(const char *path, const char *schema_path)
{
	GoldenCase *test = g_new0(GoldenCase, 1);
	g_autofree char *text = NULL;
	if (!g_file_get_contents(path, &text, NULL, NULL))
		g_error("can't read %s", path);
	test->path = g_strdup(path);
	test->sections = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	test->order = g_ptr_array_new_with_free_func(g_free);
	read_sections(test, text);
	read_options(test);
	test->schema = load_schema(schema_path);
	golden_shuffle(test, NULL);
	return test;
}

static void free_sets(GoldenCase *test)
{
	rg_resource_set_free(test->desired);
	rg_resource_set_free(test->recorded);
	rg_resource_set_free(test->observed);
}

void golden_shuffle(GoldenCase *test, GRand *random)
{
	free_sets(test);
	test->desired = build_set(test, "desired", random);
	test->recorded = build_set(test, "recorded", random);
	test->observed = build_set(test, "observed", random);
}

void golden_free(GoldenCase *test)
{
	free_sets(test);
	rg_schema_free(test->schema);
	g_hash_table_destroy(test->sections);
	g_ptr_array_unref(test->order);
	g_strfreev(test->options.targets);
	g_strfreev(test->options.excludes);
	g_strfreev(test->options.replace);
	g_free(test->path);
	g_free(test);
}

static void rewrite(const GoldenCase *test, const char *got)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; i < test->order->len; i++) {
		const char *name = test->order->pdata[i];
		if (!g_str_equal(name, "expect"))
			g_string_append_printf(text, "@%s\n%s", name, golden_section(test, name));
	}
	g_string_append_printf(text, "@expect\n%s", got);
	g_assert_true(g_file_set_contents(test->path, text->str, -1, NULL));
}

void golden_expect(GoldenCase *test, const char *got, bool update)
{
	const char *wanted = golden_section(test, "expect");
	if (g_str_equal(wanted, got))
		return;
	if (update) {
		rewrite(test, got);
		return;
	}
	g_test_message("%s: wanted:\n%s\ngot:\n%s", test->path, wanted, got);
	g_test_fail();
}

void golden_add_all(const char *folder, const char *prefix, GTestDataFunc run)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	const char *name;
	guint n = 0;
	if (!dir)
		g_error("no folder %s", folder);
	while ((name = g_dir_read_name(dir))) {
		if (!g_str_has_suffix(name, ".test"))
			continue;
		g_autofree char *stem = g_strndup(name, strlen(name) - 5);
		g_autofree char *test = g_strconcat(prefix, stem, NULL);
		g_test_add_data_func_full(test, g_build_filename(folder, name, NULL), run, g_free);
		n++;
	}
	g_dir_close(dir);
	g_assert_cmpuint(n, >, 0);
}

void golden_diags(GString *text, const RgDiags *diags)
{
	static const char *const severities[] = {"error", "warning", "note"};
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		g_string_append_printf(text, "! %s %s %s: %s\n", severities[diag->severity],
			diag->code, diag->address ? diag->address : "-", diag->summary);
		if (diag->hint)
			g_string_append_printf(text, "!   hint: %s\n", diag->hint);
	}
}
