#include "command.h"
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const Command commands[] = {
	{"apply", "[SPEC... | PLANFILE...]", "make the clouds match the spec",
		"Without SPEC, cluster.yaml in this folder. A saved plan is applied as it was\n"
		"shown, without a prompt, and refused when what it touches has moved since.",
		cmd_apply},
	{"completion", "bash | zsh | fish", "print a script that completes words in a shell",
		"bash: source <(raygpu completion bash)", cmd_completion},
	{"cost", "[SPEC | CLUSTER]", "tell what clusters cost, and have cost",
		"From the state alone, at the prices of each node's creation; without an\n"
		"argument of all its clusters.",
		cmd_cost},
	{"destroy", "[SPEC...]", "destroy everything of a cluster", NULL, cmd_destroy},
	{"drift", "[SPEC...]", "tell what was changed behind raygpu's back",
		"Reads only. Exit code 2 when there is drift.", cmd_drift},
	{"fit", "[SPEC]", "tell whether the workloads of a spec fit on its pools",
		"From the spec and the catalog alone, as if nothing ran yet.", cmd_fit},
	{"graph", "[SPEC | PLANFILE]", "print a plan's order as a graph, for dot",
		"raygpu graph | dot -Tsvg > plan.svg", cmd_graph},
	{"import", "SPEC ADDRESS ID [ADDRESS ID...]",
		"take what exists into a cluster, without touching it",
		"Shows what would be recorded and the plan that follows, then records it; the "
		"cloud "
		"is only read.\nThe next apply marks it as the cluster's.",
		cmd_import},
	{"init", "[FILE]", "write a starter spec and prepare this folder", NULL, cmd_init},
	{"log", "[RUN]", "tell what earlier runs did, and who ran them",
		"Newest first. With RUN (its id, or the beginning of it) each change of that run.",
		cmd_log},
	{"offers", "[SPEC | QUERY]", "compare instance types that have the GPUs asked for",
		"QUERY is what may stand after accelerators: in a spec, such as A100:8 or\n"
		"'{gpu_memory: \">=40GB\", count: 8}'. With SPEC a list for each pool, in its "
		"region. No "
		"network.",
		cmd_offers},
	{"plan", "[SPEC...]", "show what apply would change, and what it costs",
		"SPEC is a file, or a folder of specs: then one report over all clusters.",
		cmd_plan},
	{"providers", "list | check FILE", "list the provider modules that are found, or try one",
		"check loads FILE, a module, and makes the calls that raygpu makes, with good and "
		"with senseless\ninput. With --region it makes a head and two workers there and "
		"removes them again: use a cloud\nthat is there to be played with.",
		cmd_providers},
	{"show", "[PLANFILE]", "show a saved plan, or what the state records", NULL, cmd_show},
	{"state",
		"list | show ADDRESS | rm ADDRESS... | mv SRC DST | pull | push FILE | orphans | "
		"rebuild [SPEC]",
		"look at the state, forget or move a record, or rebuild a lost one",
		"mv gives a record, or with KIND.NAME all of a pool, another address.\n"
		"pull writes the state as JSON, push (- is standard input) puts such a\n"
		"document in its place. orphans asks the cloud for what carries the cluster's\n"
		"marks without being recorded: exit code 2 when there is something. rebuild\n"
		"makes a lost state again from these marks and the spec.",
		cmd_state},
	{"validate", "[SPEC...]", "check specs without touching network or state", NULL,
		cmd_validate},
	{"version", "", "print the version", NULL, cmd_version},
	{NULL, NULL, NULL, NULL, NULL},
};

const Command *commands_get(void)
{
	return commands;
}

static const Command *find_command(const char *name)
{
	for (const Command *command = commands; command->name; command++) {
		if (g_str_equal(command->name, name))
			return command;
	}
	return NULL;
}

static void unknown_command(Context *context, const char *name)
{
	const char *names[G_N_ELEMENTS(commands)] = {0};
	for (size_t i = 0; commands[i].name; i++)
		names[i] = commands[i].name;
	RgDiag *diag = rg_diags_error(
		context->diags, "usage.unknown-command", "there is no command \"%s\"", name);
	const char *near = rg_nearest_word(name, names);
	if (near)
		rg_diag_hint(diag, "did you mean `raygpu %s`?", near);
	else
		rg_diag_hint(diag, "`raygpu -h` lists the commands");
}

/* -C DIR before the command, as git and make have it. Returns the index of the command word. */
static int take_directory(Context *context, int argc, char **argv)
{
	int at = 1;
	while (at < argc && g_str_equal(argv[at], "-C")) {
		if (at + 1 >= argc) {
			rg_diags_error(
				context->diags, "usage.missing-argument", "-C wants a folder");
			return -1;
		}
		if (chdir(argv[at + 1])) {
			rg_diags_error(context->diags, "usage.bad-argument",
				"can't go to \"%s\": %s", argv[at + 1], g_strerror(errno));
			return -1;
		}
		at += 2;
	}
	return at;
}

static int dispatch(Context *context, int argc, char **argv)
{
	int at = take_directory(context, argc, argv);
	if (at < 0)
		return EXIT_USAGE;
	if (at >= argc || g_str_equal(argv[at], "-h") || g_str_equal(argv[at], "--help") ||
		g_str_equal(argv[at], "help")) {
		print_program_help();
		return at >= argc ? EXIT_USAGE : EXIT_FINE;
	}
	const char *name = g_str_equal(argv[at], "--version") ? "version" : argv[at];
	context->command = find_command(name);
	if (!context->command) {
		unknown_command(context, name);
		return EXIT_USAGE;
	}
	return context->command->run(context, argc - at, argv + at);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	Context context;
	context_init(&context);
	int code = dispatch(&context, argc, argv);
	print_diags(&context);
	if (!out_close() && code == EXIT_FINE)
		code = EXIT_ERROR;
	context_clear(&context);
	return code;
}
