#include "command.h"
#include <string.h>

/* Exit codes that only some commands have; print_program_help has those of all. */
static const struct {
	const char *command, *subcommand, *text;
} own_exits[] = {
	{"apply", NULL,
		"  3  partially applied: run it again\n"
		"  5  the state is locked\n"
		"  6  the saved plan is stale\n"
		"  8  capacity or quota\n"},
	{"destroy", NULL,
		"  3  partially destroyed: run it again\n"
		"  5  the state is locked\n"},
	{"drift", NULL, "  2  there is drift\n"},
	{"import", NULL, "  5  the state is locked\n"},
	{"plan", NULL, "  2  there are changes, with --detailed-exitcode\n"},
	{"reap", NULL,
		"  3  partially removed: run it again\n"
		"  5  the state is locked\n"},
	{"state", "mv", "  5  the state is locked\n"},
	{"state", "orphans", "  2  there are orphans\n"},
	{"state", "push",
		"  5  the state is locked\n"
		"  6  the document is not ahead of the state\n"},
	{"state", "rebuild", "  5  the state is locked\n"},
	{"state", "rm", "  5  the state is locked\n"},
	{"status", NULL, "  2  something is not as it should be, with --detailed-exitcode\n"},
};

static void add_own_exits(GString *text, const char *command, const char *subcommand)
{
	for (size_t i = 0; i < G_N_ELEMENTS(own_exits); i++) {
		if (g_str_equal(own_exits[i].command, command) &&
			g_strcmp0(own_exits[i].subcommand, subcommand) == 0)
			g_string_append_printf(text,
				"\nExit codes besides those of all commands (raygpu -h):\n%s",
				own_exits[i].text);
	}
}

#define COLUMNS 80

/* "  LEFT  text", the text from column `at` on, on as many lines as necessary. */
static void help_add_row(GString *text, const char *left, size_t at, const char *words)
{
	g_auto(GStrv) list = g_strsplit(words, " ", -1);
	g_string_append_printf(text, "  %-*s", (int)at - 2, left);
	size_t used = strlen(left) + 2 < at ? at : COLUMNS;
	for (guint i = 0; list[i]; i++) {
		size_t len = strlen(list[i]);
		if (i > 0 && used + 1 + len <= COLUMNS) {
			g_string_append_c(text, ' ');
			used++;
		} else if (i > 0 || used + len > COLUMNS) {
			g_string_append_printf(text, "\n%*s", (int)at, "");
			used = at;
		}
		g_string_append(text, list[i]);
		used += len;
	}
	g_string_append_c(text, '\n');
}

void print_program_help(const Command *commands)
{
	g_autoptr(GString) text = g_string_new(
		"Usage: raygpu [-C DIR] COMMAND [OPTIONS] [ARGUMENTS]\n\n"
		"Plans, applies and checks Ray clusters with mixed GPUs.\n\nCommands:\n");
	for (const Command *command = commands; command->name; command++)
		help_add_row(text, command->name, 16, command->summary);
	g_string_append(text,
		"\n`raygpu COMMAND -h` lists the options of a command. Manual pages: raygpu(1),\n"
		"raygpu-reap(1), raygpu-spec(5), raygpu-state(5), raygpu-events(5),\n"
		"raygpu-diagnostics(7), raygpu-provider(7), and raygpu-NAME(7) of a provider.\n"
		"\nExit codes: 0 success or nothing to do, 1 error, 2 changes or drift,\n"
		"3 partially applied, 4 usage or spec, 5 state locked, 6 stale plan,\n"
		"7 credentials or permission, 8 capacity or quota, 9 protected, policy or\n"
		"budget, 130 interrupted.\n");
	out_text(text->str);
}

static void add_entry(GString *text, const GOptionEntry *entry, const char *description)
{
	const char *argument = entry->arg_description ? entry->arg_description : "";
	g_autofree char *letter =
		entry->short_name ? g_strdup_printf("-%c, ", entry->short_name) : g_strdup("");
	g_autofree char *left = g_strdup_printf(
		"%s--%s%s%s", letter, entry->long_name, *argument ? " " : "", argument);
	help_add_row(text, left, 27, description);
}

static void add_common(GString *text, const GOptionEntry *common)
{
	for (const GOptionEntry *entry = common; entry->long_name; entry++)
		add_entry(text, entry, entry->description);
	help_add_row(text, "-h, --help", 27, "print this");
}

static void add_sentence(GString *text, const char *summary, const char *details)
{
	g_string_append_printf(text, "\n\n%c%s.\n", g_ascii_toupper(summary[0]), summary + 1);
	if (details)
		g_string_append_printf(text, "%s\n", details);
}

/* Without the names of the subcommands that have the option: "mv, push: only show ...". */
static const char *description_of(const Subcommand *sub, const GOptionEntry *entry)
{
	const char *after = strstr(entry->description, ": ");
	g_autofree char *before =
		after ? g_strndup(entry->description, (gsize)(after - entry->description)) : NULL;
	g_auto(GStrv) names = g_strsplit(before ? before : "", ", ", -1);
	for (size_t i = 0; names[i]; i++)
		if (!subcommand_find(sub->command, names[i]))
			return entry->description;
	return after ? after + 2 : entry->description;
}

static void print_subcommand_help(
	const Subcommand *sub, const GOptionEntry *entries, const GOptionEntry *common)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_append_printf(text, "Usage: raygpu %s %s [OPTIONS]%s%s", sub->command, sub->name,
		sub->arguments[0] ? " " : "", sub->arguments);
	add_sentence(text, sub->summary, sub->details);
	g_string_append(text, "\nOptions:\n");
	for (const GOptionEntry *entry = entries; entry->long_name; entry++) {
		if (!subcommand_has_option(sub, entry->long_name))
			continue;
		add_entry(text, entry, description_of(sub, entry));
	}
	add_common(text, common);
	add_own_exits(text, sub->command, sub->name);
	out_text(text->str);
}

static void add_subcommands(GString *text, const Command *command)
{
	g_string_append(text, "\nSubcommands:\n");
	for (const Subcommand *sub = subcommand_find(command->name, NULL);
		sub->command && g_str_equal(sub->command, command->name); sub++) {
		g_autofree char *left = g_strdup_printf(
			"%s%s%s", sub->name, sub->arguments[0] ? " " : "", sub->arguments);
		help_add_row(text, left, 19, sub->summary);
	}
	g_string_append_printf(text, "\n`raygpu %s SUBCOMMAND -h` explains one.\n", command->name);
}

void print_command_help(const Command *command, const GOptionEntry *entries,
	const GOptionEntry *common, char **words)
{
	const Subcommand *first = subcommand_find(command->name, NULL);
	for (char **word = words; first && *word; word++) {
		const Subcommand *sub = subcommand_find(command->name, *word);
		if (sub) {
			print_subcommand_help(sub, entries, common);
			return;
		}
	}
	g_autoptr(GString) text = g_string_new(NULL);
	const char *arguments = first ? "SUBCOMMAND [ARGUMENTS]" : command->arguments;
	g_string_append_printf(text, "Usage: raygpu %s [OPTIONS]%s%s", command->name,
		*arguments ? " " : "", arguments);
	add_sentence(text, command->summary, command->details);
	if (first)
		add_subcommands(text, command);
	g_string_append(text, "\nOptions:\n");
	for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++)
		add_entry(text, entry, entry->description);
	add_common(text, common);
	add_own_exits(text, command->name, NULL);
	out_text(text->str);
}
