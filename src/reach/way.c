#include "reach/internal.h"
#include <string.h>

/* "connect" of a module's schema.json: words with {placeholders} -> commands. */

#define PORTS_WORD "{ports}"
#define HEAD_PREFIX "head."

typedef struct {
	const RgSchema *schema;
	const RgSnapshot *snapshot;
	const RgResource *head;
	const RgReachAsk *ask;
	const json_t *way;
	const RgReachPort *port; /* of {local} and {remote}; NULL outside of them */
	const char *missing;	 /* the first placeholder that nothing fills */
	const char *option;	 /* a placeholder whose value a program would take for an option */
} Filling;

void rg_reach_way_free(RgReachWay *way)
{
	if (!way)
		return;
	g_free(way->way);
	g_ptr_array_unref(way->commands);
	g_free(way);
}

/* The public address if there is one: users with access to the network can use --print. */
static const char *address_of(const Filling *filling)
{
	const char *address = reach_value(filling->schema, filling->head, RG_ROLE_PUBLIC_ADDRESS);
	return address ? address : reach_value(filling->schema, filling->head, RG_ROLE_ADDRESS);
}

/* {head.NAME}: an attribute of the head, recorded. */
static const char *attribute_of(const RgResource *head, const char *name)
{
	const char *computed = rg_json_str(rg_resource_outputs(head), name, NULL);
	return computed ? computed : rg_json_str(head->attrs, name, NULL);
}

/* What stands for {name}: of the head, the request, the settings, the way's defaults. g_free; NULL:
 * nothing. */
static char *fill_name(const Filling *filling, const char *name)
{
	const struct {
		const char *name, *value;
	} known[] = {{"id", filling->head->id}, {"region", filling->snapshot->region},
		{"address", address_of(filling)}, {"identity", filling->ask->identity}};
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (g_str_equal(known[i].name, name))
			return g_strdup(known[i].value);
	if (filling->port && g_str_equal(name, "local"))
		return g_strdup_printf("%u", filling->port->local);
	if (filling->port && g_str_equal(name, "remote"))
		return g_strdup_printf("%u", filling->port->remote);
	if (g_str_has_prefix(name, HEAD_PREFIX))
		return g_strdup(attribute_of(filling->head, name + strlen(HEAD_PREFIX)));
	const char *setting = rg_json_str(filling->snapshot->config, name, NULL);
	return g_strdup(
		setting ? setting
			: rg_json_str(json_object_get(filling->way, "defaults"), name, NULL));
}

/* One word; NULL if a placeholder has no value. */
static char *fill_word(Filling *filling, const char *word)
{
	g_autoptr(GString) text = g_string_new(NULL);
	while (*word) {
		const char *open = strchr(word, '{'), *close = open ? strchr(open, '}') : NULL;
		if (!close) {
			g_string_append(text, word);
			break;
		}
		g_autofree char *name = g_strndup(open + 1, (gsize)(close - open - 1));
		g_autofree char *value = fill_name(filling, name);
		if (!value || !*value) {
			filling->missing = g_intern_string(name);
			return NULL;
		}
		g_string_append_len(text, word, open - word);
		if (!text->len && *value == '-')
			filling->option = g_intern_string(name);
		g_string_append(text, value);
		word = close + 1;
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* All of `words`, or nothing of them and false. */
static bool fill_words(Filling *filling, const json_t *words, GStrvBuilder *command)
{
	g_autoptr(GPtrArray) filled = g_ptr_array_new_with_free_func(g_free);
	rg_json_foreach (word, words) {
		char *text = fill_word(filling, json_string_value(word));
		if (!text)
			return false;
		g_ptr_array_add(filled, text);
	}
	for (guint n = 0; n < filled->len; n++)
		g_strv_builder_add(command, filled->pdata[n]);
	return true;
}

static bool add_ports(Filling *filling, GStrvBuilder *command)
{
	for (size_t i = 0; i < G_N_ELEMENTS(filling->ask->ports); i++) {
		filling->port = &filling->ask->ports[i];
		if (!fill_words(filling, json_object_get(filling->way, "ports"), command))
			return false;
	}
	filling->port = NULL;
	return true;
}

/* A list among the words is left out when one of its placeholders has no value. NULL: a word that
 * is needed has none. */
static GStrv make_command(Filling *filling)
{
	g_autoptr(GStrvBuilder) command = g_strv_builder_new();
	rg_json_foreach (part, json_object_get(filling->way, "command")) {
		if (json_is_array(part)) {
			fill_words(filling, part, command);
		} else if (g_str_equal(json_string_value(part), PORTS_WORD)) {
			if (!add_ports(filling, command))
				return NULL;
		} else {
			g_autofree char *word = fill_word(filling, json_string_value(part));
			if (!word)
				return NULL;
			g_strv_builder_add(command, word);
		}
	}
	return g_strv_builder_end(command);
}

static bool has_one_of(const json_t *settings, const json_t *config)
{
	rg_json_foreach (setting, settings)
		if (json_object_get(config, json_string_value(setting)))
			return true;
	return false;
}

static bool is_set_up(const json_t *way, const json_t *config)
{
	rg_json_foreach (settings, json_object_get(way, "settings"))
		if (!has_one_of(settings, config))
			return false;
	return true;
}

static const json_t *find_way(const json_t *ways, const json_t *config, const char *name)
{
	rg_json_foreach (way, ways)
		if (name ? g_str_equal(rg_json_str(way, "name", ""), name) : is_set_up(way, config))
			return way;
	return name ? NULL : json_array_get(ways, 0);
}

/* "provider.a and provider.b or provider.c (WAY)" */
static void add_missing(GString *text, const json_t *way, const json_t *config)
{
	const char *joint = text->len ? "; or " : "";
	rg_json_foreach (settings, json_object_get(way, "settings")) {
		if (has_one_of(settings, config))
			continue;
		rg_json_foreach_at (k, setting, settings)
			g_string_append_printf(text, "%sprovider.%s", k ? " or " : joint,
				json_string_value(setting));
		joint = " and ";
	}
	g_string_append_printf(text, " (%s)", rg_json_str(way, "name", ""));
}

char *rg_reach_missing(const RgSchema *schema, const json_t *config, const char *name)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach (way, rg_schema_connect(schema)) {
		if (name && !g_str_equal(rg_json_str(way, "name", ""), name))
			continue;
		if (is_set_up(way, config))
			return NULL;
		add_missing(text, way, config);
	}
	return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

static bool is_installed(const char *program)
{
	g_autofree char *path = g_find_program_in_path(program);
	return path != NULL;
}

const char *rg_reach_missing_program(const RgSchema *schema, const json_t *config, const char *name)
{
	const json_t *way = find_way(rg_schema_connect(schema), config, name);
	const json_t *command = json_object_get(way, "command");
	const char *first = json_string_value(json_array_get(command, 0));
	if (first && !is_installed(first))
		return first;
	rg_json_foreach (program, json_object_get(way, "programs"))
		if (!is_installed(json_string_value(program)))
			return json_string_value(program);
	return NULL;
}

static void no_way(const json_t *ways, const RgReachAsk *ask, RgDiags *diags)
{
	g_autoptr(GString) names = g_string_new(NULL);
	rg_json_foreach (way, ways)
		g_string_append_printf(
			names, "%s%s", names->len ? ", " : "", rg_json_str(way, "name", ""));
	if (!names->len) {
		rg_diags_error(diags, "connect.no-way",
			"the provider has no way to forward ports to a head");
		return;
	}
	RgDiag *diag = rg_diags_error(
		diags, "connect.no-way", "the provider does not have --via \"%s\"", ask->way);
	rg_diag_hint(diag, "it has: %s", names->str);
}

/* What the state has may come from anyone who can write to it. */
static bool has_option(const Filling *filling, const char *way, RgDiags *diags)
{
	if (!filling->option)
		return false;
	RgDiag *diag = rg_diags_error(diags, "connect.no-way",
		"cluster %s cannot be reached by %s: its %s begins with \"-\"",
		filling->snapshot->cluster, way, filling->option);
	rg_diag_hint(diag, "the program would use it as an option: correct the setting of the spec "
			   "and apply, or find out who changed the state");
	return true;
}

static void no_value(const Filling *filling, const char *way, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "connect.no-way",
		"cluster %s cannot be reached by %s: there is no %s", filling->snapshot->cluster,
		way, filling->missing);
	rg_diag_hint(diag, "%s", rg_json_str(filling->way, "hint", "use another --via"));
}

RgReachWay *rg_reach_way(
	const RgSchema *schema, const RgSnapshot *snapshot, const RgReachAsk *ask, RgDiags *diags)
{
	const json_t *ways = rg_schema_connect(schema);
	Filling filling = {.schema = schema,
		.snapshot = snapshot,
		.head = reach_head(schema, snapshot),
		.ask = ask,
		.way = find_way(ways, snapshot->config, ask->way)};
	if (!filling.head) {
		RgDiag *diag = rg_diags_error(diags, "connect.no-head",
			"cluster %s has no head in the state", snapshot->cluster);
		rg_diag_hint(diag, "`raygpu apply` creates it");
		return NULL;
	}
	if (!filling.way) {
		no_way(ways, ask, diags);
		return NULL;
	}
	g_autoptr(RgReachWay) reach = g_new0(RgReachWay, 1);
	reach->way = g_strdup(rg_json_str(filling.way, "name", ""));
	reach->prompts = rg_json_bool(filling.way, "prompts", false);
	reach->commands = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	/* all ports by one command, or one command for each */
	bool together = json_object_get(filling.way, "ports") != NULL;
	for (size_t i = 0; i < (together ? 1 : G_N_ELEMENTS(ask->ports)); i++) {
		filling.port = together ? NULL : &ask->ports[i];
		g_auto(GStrv) command = make_command(&filling);
		if (has_option(&filling, reach->way, diags))
			return NULL;
		if (!command) {
			no_value(&filling, reach->way, diags);
			return NULL;
		}
		g_ptr_array_add(reach->commands, g_steal_pointer(&command));
	}
	return g_steal_pointer(&reach);
}
