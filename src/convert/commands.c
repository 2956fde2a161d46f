#include "convert/internal.h"

#include <string.h>

#define MOST_COMMANDS 64 /* schemas/cluster.schema.json */

/* The launcher's lists of commands and options of its container. Ray runs the common list before
 * that of the head or of the workers, and a node type's own list instead of both. */

static const char *last_step(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* A command that installs Ray replaces the container's. */
static void look_at_install(Convert *convert, const char *text, const char *pointer)
{
	static GRegex *installs, *pinned;
	if (!installs) {
		installs = g_regex_new(
			"\\bpip[0-9.]*\\s+install\\b.*(?<![\\w./-])ray(?![\\w/-])", 0, 0, NULL);
		pinned = g_regex_new(
			"(?<![\\w./-])ray(?:\\[[^\\]]*\\])?==([0-9]+\\.[0-9]+\\.[0-9]+)(?![\\w.])",
			0, 0, NULL);
	}
	g_autoptr(GMatchInfo) match = NULL;
	if (g_regex_match(pinned, text, 0, &match) && !convert->version) {
		convert->version = g_match_info_fetch(match, 1);
		convert->version_at = g_strdup(pointer);
	}
	if (g_regex_match(installs, text, 0, NULL))
		convert_key(convert, pointer, CONVERT_CHANGED, "setup_commands",
			"the container image already has Ray, of the version ray.version: leave "
			"this "
			"command out");
}

static void look_at_command(
	Convert *convert, const ConvertAt *at, const char *text, const char *pointer)
{
	json_auto_t *value = json_string(text);
	convert_look_at(convert, NULL, value, pointer);
	if (!strstr(at->path, "initialization"))
		look_at_install(convert, text, pointer);
}

/* Whether all items are texts; others are noted. */
static void look_at_list(Convert *convert, const ConvertAt *at)
{
	rg_json_foreach_at (i, item, at->value) {
		g_autofree char *pointer = g_strdup_printf("%s/%zu", at->pointer, i);
		if (!json_is_string(item))
			convert_key(convert, pointer, CONVERT_NONE, NULL, "it is not a command");
		else
			look_at_command(convert, at, json_string_value(item), pointer);
	}
}

static void take(const ConvertAt *at, const json_t **list, char **place)
{
	g_free(*place);
	*list = at->value;
	*place = g_strdup(at->pointer);
}

/* Sets a list of the spec from up to two lists of the file. */
static void put_list(Convert *convert, GStrv steps, const json_t *one, const char *one_at,
	const json_t *two, const char *two_at)
{
	const json_t *lists[] = {one, two};
	const char *places[] = {one_at, two_at};
	json_t *all = json_array();
	g_autofree char *pointer = convert_join(steps);
	for (size_t k = 0; k < G_N_ELEMENTS(lists); k++) {
		rg_json_foreach_at (i, item, lists[k]) {
			if (!json_is_string(item))
				continue;
			g_autofree char *at =
				g_strdup_printf("%s/%zu", pointer, json_array_size(all));
			json_array_append(all, item);
			g_autofree char *from = g_strdup_printf("%s/%zu", places[k], i);
			convert_say(convert, at,
				g_strdup_printf("line %u", convert_line(convert, from)));
		}
		if (lists[k])
			convert_key(convert, places[k], CONVERT_DONE, "setup_commands", NULL);
	}
	convert_set_steps(convert, steps, all, NULL);
}

void convert_commands(Convert *convert, const ConvertAt *at)
{
	const char *which = last_step(at->path);
	bool init = g_str_equal(which, "initialization_commands");
	if (!json_is_array(at->value) && !json_is_null(at->value)) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "it is not a list");
		return;
	}
	look_at_list(convert, at);
	if (at->node && json_is_array(at->value) && (init || !at->node->is_head)) {
		char *below[] = {
			(char *)(uintptr_t)(init ? "initialization_commands" : "setup_commands"),
			NULL};
		g_auto(GStrv) steps = convert_below_node(at->node, below);
		*(init ? &at->node->own_init : &at->node->own_setup) = true;
		put_list(convert, steps, at->value, at->pointer, NULL, NULL);
	} else if (at->node)
		convert_key(convert, at->pointer, CONVERT_SAME, NULL,
			"the head does not run commands of workers");
	else if (init)
		take(at, &convert->init, &convert->init_at);
	else if (g_str_equal(which, "setup_commands"))
		take(at, &convert->setup, &convert->setup_at);
	else if (g_str_equal(which, "head_setup_commands"))
		take(at, &convert->head_setup, &convert->head_setup_at);
	else
		take(at, &convert->worker_setup, &convert->worker_setup_at);
}

/* They would be written for each pool. */
static void note_too_many(Convert *convert)
{
	const char *const places[] = {
		convert->setup_at, convert->head_setup_at, convert->worker_setup_at};
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		if (places[i])
			convert_key(convert, places[i], CONVERT_NONE, NULL,
				"a list has at most " G_STRINGIFY(MOST_COMMANDS) " commands");
	}
}

static void put_node_setup(Convert *convert, const ConvertNode *node)
{
	char *below[] = {(char *)(uintptr_t) "setup_commands", NULL};
	g_auto(GStrv) steps = convert_below_node(node, below);
	const json_t *more = node->is_head ? convert->head_setup : convert->worker_setup;
	const char *place = node->is_head ? convert->head_setup_at : convert->worker_setup_at;
	if (json_array_size(convert->setup) + json_array_size(more) > 0)
		put_list(convert, steps, convert->setup, convert->setup_at, more, place);
}

static void note_empty(Convert *convert, const char *pointer)
{
	if (pointer)
		convert_key(convert, pointer, CONVERT_SAME, NULL, "it is empty");
}

/* Without a container, Ray runs commands on the machine. */
static void note_machine(Convert *convert, const json_t *list, const char *pointer)
{
	if (json_array_size(list) && !convert->image && !convert->head_image &&
		!convert->worker_image)
		convert_key(convert, pointer, CONVERT_CHANGED, "setup_commands",
			"without `docker` Ray runs them on the machine; raygpu runs them in the "
			"container "
			"(initialization_commands: on the machine, as root)");
}

void convert_commands_finish(Convert *convert)
{
	size_t common = json_array_size(convert->setup),
	       more = json_array_size(convert->head_setup) + json_array_size(convert->worker_setup);
	bool apart = more > 0 && common + more <= 2 * MOST_COMMANDS;
	if (more > 0 && !apart)
		note_too_many(convert);
	note_machine(convert, convert->setup, convert->setup_at);
	note_machine(convert, convert->head_setup, convert->head_setup_at);
	note_machine(convert, convert->worker_setup, convert->worker_setup_at);
	static char init_name[] = "initialization_commands", setup_name[] = "setup_commands";
	char *init[] = {init_name, NULL}, *setup[] = {setup_name, NULL};
	if (json_array_size(convert->init))
		put_list(convert, init, convert->init, convert->init_at, NULL, NULL);
	if (!more && common)
		put_list(convert, setup, convert->setup, convert->setup_at, NULL, NULL);
	for (guint i = 0; apart && i < convert->nodes->len; i++) {
		const ConvertNode *node = convert->nodes->pdata[i];
		if (!node->own_setup)
			put_node_setup(convert, node);
	}
	note_empty(convert, convert->init_at);
	note_empty(convert, convert->setup_at);
	note_empty(convert, convert->head_setup_at);
	note_empty(convert, convert->worker_setup_at);
}

/* ---- options of the container */

static void put_env(Convert *convert, const ConvertAt *at, const char *scope, const char *text)
{
	const char *equals = strchr(text, '=');
	g_autofree char *name = g_strndup(text, strcspn(text, "="));
	g_autofree char *to = g_strconcat(scope, ".env.*", NULL);
	ConvertAt variable = *at;
	variable.name = name;
	if (equals)
		convert_put(convert, to, json_string(equals + 1), &variable, NULL);
	else
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			"the variable comes from the machine's environment; `env` gives it a "
			"value");
}

/* What raygpu gives the container anyway: src/boot/start-ray.sh. */
static bool is_given(const char *word)
{
	static const char *const given[] = {"--ulimit", "--gpus", "--network", "--net", "--ipc",
		"--runtime", "--init", "--rm", NULL};
	g_autofree char *option = g_strndup(word, strcspn(word, "="));
	return g_strv_contains(given, option);
}

/* One option; `pending`: the option whose value is the next item, or NULL. */
static const char *take_option(
	Convert *convert, const ConvertAt *at, const char *scope, const char *pending)
{
	g_auto(GStrv) words = NULL;
	const char *text = json_string_value(at->value);
	if (!text || !g_shell_parse_argv(text, NULL, &words, NULL) || !words[0]) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "it is not an option");
		return NULL;
	}
	const char *option = pending ? pending : words[0];
	const char *value = pending ? words[0] : words[1];
	bool env = g_str_equal(option, "-e") || g_str_equal(option, "--env");
	if (g_str_has_prefix(option, "--env="))
		put_env(convert, at, scope, option + strlen("--env="));
	else if (env && value)
		put_env(convert, at, scope, value);
	else if (env)
		convert_key(convert, at->pointer, CONVERT_DONE, "env", NULL);
	else if (g_str_equal(option, "--shm-size") || g_str_has_prefix(option, "--shm-size="))
		convert_key(convert, at->pointer, CONVERT_CHANGED, NULL,
			"raygpu gives /dev/shm 30 % of the node's memory");
	else if (is_given(option))
		convert_key(convert, at->pointer, CONVERT_SAME, NULL,
			"raygpu sets limits, GPUs and network of the container");
	else
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			"options of the container are raygpu's; use `env` for variables and "
			"`mounts` "
			"for file systems");
	bool joined = strchr(option, '=') || value;
	return !pending && !joined ? g_intern_string(option) : NULL;
}

void convert_run_options(Convert *convert, const ConvertAt *at)
{
	const char *which = last_step(at->path);
	const char *scope = at->node || g_str_equal(which, "run_options") ? "node"
			    : g_str_equal(which, "head_run_options")	  ? "head"
									  : "pools";
	const char *pending = NULL;
	if (!json_array_size(at->value))
		convert_key(convert, at->pointer, CONVERT_SAME, NULL, "it is empty");
	for (size_t i = 0; i < json_array_size(at->value); i++) {
		g_autofree char *pointer = g_strdup_printf("%s/%zu", at->pointer, i);
		const ConvertAt item = {
			pointer, at->path, json_array_get(at->value, i), at->node, NULL};
		pending = take_option(convert, &item, scope, pending);
	}
}
