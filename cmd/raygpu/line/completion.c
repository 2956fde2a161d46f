#include "command.h"
#include <string.h>

/* `raygpu completion SHELL`: scripts generated from the tables that -h prints. Each command
 * reports its options through options_parse, which passes them on and ends the command there. */

typedef struct {
	char short_name;
	char *long_name, *argument, *description; /* argument NULL: a flag */
} Option;

typedef struct {
	const Command *command;
	GPtrArray *options; /* Option* */
	GStrv words;	    /* "list", "show" of state; empty if it takes files, or addresses */
} Listed;

static void option_free(gpointer data)
{
	Option *option = data;
	g_free(option->long_name);
	g_free(option->argument);
	g_free(option->description);
	g_free(option);
}

static void listed_free(gpointer data)
{
	Listed *listed = data;
	g_ptr_array_unref(listed->options);
	g_strfreev(listed->words);
	g_free(listed);
}

static void take_entry(void *data, const GOptionEntry *entry)
{
	Option *option = g_new0(Option, 1);
	option->short_name = entry->short_name;
	option->long_name = g_strdup(entry->long_name);
	option->argument = g_strdup(entry->arg_description);
	option->description = g_strdup(entry->description);
	g_ptr_array_add(data, option);
}

static GPtrArray *list_all(const Command *commands)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(listed_free);
	for (const Command *command = commands; command->name; command++) {
		Listed *listed = g_new0(Listed, 1);
		listed->command = command;
		listed->options = g_ptr_array_new_with_free_func(option_free);
		/* The lower-case words of "list | show ADDRESS | rm ADDRESS...". */
		g_autoptr(GStrvBuilder) words = g_strv_builder_new();
		g_auto(GStrv) parts = g_strsplit(command->arguments, " ", -1);
		for (guint i = 0; parts[i]; i++) {
			if (*parts[i] && !parts[i][strspn(parts[i], "abcdefghijklmnopqrstuvwxyz")])
				g_strv_builder_add(words, parts[i]);
		}
		listed->words = g_strv_builder_end(words);
		g_ptr_array_add(all, listed);
		g_autoptr(RgDiags) diags = rg_diags_new();
		Context asked = {.command = command,
			.diags = diags,
			.list = take_entry,
			.list_data = listed->options};
		g_autofree char *name = g_strdup(command->name);
		char *argv[] = {name, NULL};
		command->run(&asked, 1, argv);
	}
	return all;
}

#define ASK(what) "$(raygpu completion " what " 2>/dev/null)"
#define FISH_ASK(what) "(raygpu completion " what " 2>/dev/null)"

/* Names in the state: each pair is for bash and zsh, and for fish. NULL: it is none of them. */
static const char *const *asked_of(const Option *option)
{
	static const char *const addresses[] = {ASK("addresses"), FISH_ASK("addresses")};
	static const char *const clusters[] = {ASK("clusters"), FISH_ASK("clusters")};
	if (!g_strcmp0(option->argument, "ADDRESS"))
		return addresses;
	return g_str_equal(option->long_name, "cluster") ? clusters : NULL;
}

/* The words of a command that stand for its first argument, or what prints them. g_free. */
static char *words_of(const Listed *listed, const char *addresses)
{
	return g_str_has_prefix(listed->command->arguments, "ADDRESS")
		       ? g_strdup(addresses)
		       : g_strjoinv(" ", listed->words);
}

static bool is_choice(const Option *option)
{
	return option->argument && strchr(option->argument, '|');
}

static char *choices_of(const Option *option)
{
	return g_strdelimit(g_strdup(option->argument), "|", ' ');
}

static char *names_of(GPtrArray *all)
{
	GString *names = g_string_new(NULL);
	for (guint i = 0; i < all->len; i++)
		g_string_append_printf(
			names, "%s%s", i ? " " : "", ((Listed *)all->pdata[i])->command->name);
	return g_string_free(names, FALSE);
}

static void bash_value(GString *out, const Command *command, const Option *option)
{
	g_string_append_printf(out, "\t%s,--%s", command->name, option->long_name);
	if (option->short_name)
		g_string_append_printf(out, " | %s,-%c", command->name, option->short_name);
	g_string_append(out, ")\n\t\t");
	if (is_choice(option)) {
		g_autofree char *choices = choices_of(option);
		g_string_append_printf(
			out, "mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$word\")\n", choices);
	} else if (asked_of(option)) {
		g_string_append_printf(out,
			"mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$word\")\n",
			asked_of(option)[0]);
	} else if (g_str_equal(option->argument, "DIR")) {
		g_string_append(out, "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n");
	} else if (g_str_equal(option->argument, "FILE")) {
		g_string_append(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n");
	} else {
		g_string_append(out, "COMPREPLY=()\n");
	}
	g_string_append(out, "\t\treturn\n\t\t;;\n");
}

static void bash_values(GString *out, GPtrArray *all)
{
	g_string_append(out, "\tcase $command,$before in\n");
	rg_ptr_foreach (const Listed, listed, all) {
		rg_ptr_foreach (const Option, option, listed->options) {
			if (option->argument)
				bash_value(out, listed->command, option);
		}
	}
	g_string_append(out, "\tesac\n");
}

static void bash_words(GString *out, GPtrArray *all)
{
	g_string_append(out, "\tcase $command in\n");
	rg_ptr_foreach (const Listed, listed, all) {
		g_autofree char *words = words_of(listed, ASK("addresses"));
		g_string_append_printf(
			out, "\t%s)\n\t\toptions=\"-h --help", listed->command->name);
		for (guint k = 0; k < listed->options->len; k++)
			g_string_append_printf(
				out, " --%s", ((Option *)listed->options->pdata[k])->long_name);
		g_string_append_printf(out, "\"\n\t\twords=\"%s\"\n\t\t;;\n", words);
	}
	g_string_append(out, "\tesac\n");
}

static void write_bash(GString *out, GPtrArray *all)
{
	g_autofree char *names = names_of(all);
	g_string_append_printf(out,
		"# bash completion of raygpu, made by `raygpu completion bash`\n"
		"_raygpu()\n{\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal command=\"\" options=\"\" words=\"\" i\n"
		"\tif [ \"$word\" = = ]; then\n\t\tword=\"\"\n"
		"\telif [ \"$before\" = = ]; then\n"
		"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n"
		"\t\t-C) ((i++)) ;;\n\t\t-*) ;;\n"
		"\t\t*)\n\t\t\tcommand=${COMP_WORDS[i]}\n\t\t\tbreak\n\t\t\t;;\n"
		"\t\tesac\n\tdone\n"
		"\tif [ -z \"$command\" ] && [ \"$before\" = -C ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n\t\treturn\n"
		"\telif [ -z \"$command\" ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"-C -h --help --version %s\" -- "
		"\"$word\")\n"
		"\t\treturn\n\tfi\n",
		names);
	bash_values(out, all);
	bash_words(out, all);
	g_string_append(out,
		"\tif [[ $word == -* ]]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
		"\telif [ -n \"$words\" ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
		"\telse\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n\tfi\n}\n"
		"complete -o filenames -F _raygpu raygpu\n");
}

/* Text inside single quotes; `special` gets a backslash before each of its characters. */
static void add_quoted(GString *out, const char *text, const char *special)
{
	for (const char *at = text; *at; at++) {
		if (*at == '\'')
			g_string_append(out, "'\\''");
		else if (strchr(special, *at))
			g_string_append_printf(out, "\\%c", *at);
		else
			g_string_append_c(out, *at);
	}
}

static void zsh_spec(GString *out, const Option *option, const char *name)
{
	g_string_append_printf(out, "\t\t\t'*%s[", name);
	add_quoted(out, option->description, "[]:\\");
	g_string_append_c(out, ']');
	if (is_choice(option)) {
		g_autofree char *choices = choices_of(option);
		g_string_append_printf(out, ":word:(%s)", choices);
	} else if (asked_of(option)) {
		g_string_append_printf(out, ":name:(%s)", asked_of(option)[0]);
	} else if (option->argument) {
		g_string_append_printf(out, ":%s:%s", option->argument,
			g_str_equal(option->argument, "FILE")  ? "_files"
			: g_str_equal(option->argument, "DIR") ? "_files -/"
							       : "");
	}
	g_string_append(out, "' \\\n");
}

static void zsh_option(GString *out, const Option *option)
{
	g_autofree char *name =
		g_strdup_printf("--%s%s", option->long_name, option->argument ? "=" : "");
	zsh_spec(out, option, name);
	if (!option->short_name)
		return;
	g_autofree char *letter =
		g_strdup_printf("-%c%s", option->short_name, option->argument ? "+" : "");
	zsh_spec(out, option, letter);
}

static void write_zsh(GString *out, GPtrArray *all)
{
	g_string_append(out, "#compdef raygpu\n# made by `raygpu completion zsh`\n_raygpu() {\n"
			     "\tlocal context state line\n\tlocal -a commands\n\tcommands=(\n");
	for (guint i = 0; i < all->len; i++) {
		const Command *command = ((Listed *)all->pdata[i])->command;
		g_string_append_printf(out, "\t\t'%s:", command->name);
		add_quoted(out, command->summary, ":\\");
		g_string_append(out, "'\n");
	}
	g_string_append(out, "\t)\n\t_arguments -C '-C[run in that folder]:folder:_files -/' \\\n"
			     "\t\t'1:command:->command' '*::argument:->argument'\n"
			     "\tcase $state in\n"
			     "\tcommand) _describe command commands; return ;;\n"
			     "\tesac\n\tcase $words[1] in\n");
	rg_ptr_foreach (const Listed, listed, all) {
		g_autofree char *words = words_of(listed, ASK("addresses"));
		g_string_append_printf(out, "\t%s)\n\t\t_arguments \\\n", listed->command->name);
		for (guint k = 0; k < listed->options->len; k++)
			zsh_option(out, listed->options->pdata[k]);
		g_string_append(out, "\t\t\t'(-h --help)'{-h,--help}'[print help]' \\\n");
		if (*words)
			g_string_append_printf(out, "\t\t\t'1:word:(%s)'\n\t\t;;\n", words);
		else
			g_string_append(out, "\t\t\t'*:file:_files'\n\t\t;;\n");
	}
	g_string_append(out, "\tesac\n}\n_raygpu \"$@\"\n");
}

static void fish_option(GString *out, const char *command, const Option *option)
{
	g_string_append_printf(
		out, "complete -c raygpu -n '__raygpu_in %s' -l %s", command, option->long_name);
	if (option->short_name)
		g_string_append_printf(out, " -s %c", option->short_name);
	if (is_choice(option)) {
		g_autofree char *choices = choices_of(option);
		g_string_append_printf(out, " -x -a '%s'", choices);
	} else if (asked_of(option)) {
		g_string_append_printf(out, " -x -a '%s'", asked_of(option)[1]);
	} else if (option->argument) {
		g_string_append(out, g_str_equal(option->argument, "FILE") ||
						     g_str_equal(option->argument, "DIR")
					     ? " -r -F"
					     : " -x");
	}
	g_string_append(out, " -d '");
	for (const char *at = option->description; *at; at++)
		g_string_append_printf(out, strchr("'\\", *at) ? "\\%c" : "%c", *at);
	g_string_append(out, "'\n");
}

static void write_fish(GString *out, GPtrArray *all)
{
	g_string_append(out,
		"# fish completion of raygpu, made by `raygpu completion fish`\n"
		"function __raygpu_in # [COMMAND]: the line's command is that one, or none yet\n"
		"\tset -l before\n"
		"\tfor word in (commandline -opc)[2..]\n"
		"\t\tif test \"$before\" != -C; and not string match -q -- '-*' $word\n"
		"\t\t\ttest \"$word\" = \"$argv\"\n\t\t\treturn\n\t\tend\n"
		"\t\tset before $word\n\tend\n"
		"\ttest -z \"$argv\"\nend\n"
		"complete -c raygpu -s h -l help -d 'print help'\n"
		"complete -c raygpu -f -n __raygpu_in -l version -d 'print the version'\n"
		"complete -c raygpu -x -n __raygpu_in -s C -a '(__fish_complete_directories)' "
		"-d 'run in that folder'\n");
	rg_ptr_foreach (const Listed, listed, all) {
		const char *name = listed->command->name;
		g_string_append_printf(
			out, "complete -c raygpu -f -n '__raygpu_in' -a %s -d '", name);
		for (const char *at = listed->command->summary; *at; at++)
			g_string_append_printf(out, strchr("'\\", *at) ? "\\%c" : "%c", *at);
		g_string_append(out, "'\n");
		for (guint k = 0; k < listed->options->len; k++)
			fish_option(out, name, listed->options->pdata[k]);
		g_autofree char *words = words_of(listed, FISH_ASK("addresses"));
		if (*words)
			g_string_append_printf(out,
				"complete -c raygpu -f -n '__raygpu_in %s' -a "
				"'%s'\n",
				name, words);
	}
}

static void print_name(const char *name)
{
	static const char *const safe = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-[]";
	if (name[strspn(name, safe)])
		return; /* bash expands the words of compgen once more */
	out_text(name);
	out_text("\n");
}

/* For the scripts: the clusters of the state, or the addresses of all of them. Does not report what
 * it cannot read: the Tab key should not print errors. */
static int print_names(Context *context, bool addresses)
{
	g_autoptr(RgDiags) quiet = rg_diags_new();
	context->no_keys = true; /* names of records are not secret */
	context->store = context_open_state(context, RG_STORE_READ, quiet);
	g_auto(GStrv) clusters = context->store ? rg_store_clusters(context->store, quiet) : NULL;
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; clusters && clusters[i]; i++) {
		if (!addresses) {
			print_name(clusters[i]);
			continue;
		}
		g_autoptr(RgSnapshot) snapshot = rg_store_load(context->store, clusters[i], quiet);
		for (size_t k = 0; snapshot && k < rg_resource_set_size(snapshot->recorded); k++) {
			const char *address = rg_resource_set_get(snapshot->recorded, k)->address;
			if (g_hash_table_add(seen, g_strdup(address)))
				print_name(address);
		}
	}
	return EXIT_FINE;
}

int cmd_completion(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	if (!options_parse(context, NULL, &argc, &argv, 1, 1, &code))
		return code;
	bool addresses = g_str_equal(argv[1], "addresses");
	if (addresses || g_str_equal(argv[1], "clusters"))
		return print_names(context, addresses);
	static const struct {
		const char *shell;
		void (*write)(GString *out, GPtrArray *all);
	} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
	for (size_t i = 0; i < G_N_ELEMENTS(shells); i++) {
		if (!g_str_equal(shells[i].shell, argv[1]))
			continue;
		g_autoptr(GPtrArray) all = list_all(context->commands);
		g_autoptr(GString) out = g_string_new(NULL);
		shells[i].write(out, all);
		out_script(out->str);
		return EXIT_FINE;
	}
	RgDiag *diag = rg_diags_error(
		context->diags, "usage.bad-argument", "there is no completion for \"%s\"", argv[1]);
	rg_diag_hint(diag, "usage: raygpu completion bash | zsh | fish");
	return EXIT_USAGE;
}
