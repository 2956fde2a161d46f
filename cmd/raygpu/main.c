#include "print/stream.h"
#include <locale.h>
#include <string.h>
#include <unistd.h>

static const Command commands[] = {
	{"apply", "[SPEC... | PLANFILE...]", "make the cloud match the spec",
		"Without SPEC: cluster.yaml in this folder. A saved plan is applied exactly as it\n"
		"was shown, without a prompt; it is refused when it is stale.",
		cmd_apply},
	{"catalog", "[check FILE]", "show what the tables of types and prices contain",
		"Counts, dates and sources of each provider's table. With check: whether the\n"
		"`catalog` of a project file is valid, and which of its rows are doubtful.",
		cmd_catalog},
	{"completion", "bash | zsh | fish", "print a completion script for a shell",
		"bash: source <(raygpu completion bash)", cmd_completion},
	{"connect", "[SPEC] [-- COMMAND...]",
		"forward the head's ports to this machine for a shell",
		"Starts a shell, or COMMAND, with the dashboard and job server on port 8265, the\n"
		"client server on 10001, and the Ray token in its environment. The exit code is\n"
		"that of the shell or COMMAND.",
		cmd_connect},
	{"convert", "FILE", "write a spec from a Ray cluster YAML or a RayCluster",
		"FILE is the YAML of `ray up`, or a manifest of RayCluster, RayJob or\n"
		"RayService. The spec goes to standard output. It lists each key without a\n"
		"counterpart, with its line, the reason and what raygpu has instead. No network\n"
		"is used.",
		cmd_convert},
	{"cost", "[SPEC | CLUSTER]", "show what clusters cost now and have cost so far",
		"From the state alone, at the prices of each node's creation. Without an\n"
		"argument: all clusters of the state.",
		cmd_cost},
	{"debug-bundle", "[SPEC]", "collect what explains a failed run in one archive",
		"Spec, plan, log, state, versions and what `raygpu doctor` finds, without\n"
		"secrets; with --trace FILE of the failed run, also that. Shows the list first,\n"
		"and asks.",
		cmd_debug_bundle},
	{"destroy", "[SPEC...]", "destroy a cluster", NULL, cmd_destroy},
	{"doctor", "[SPEC]", "find what would stop a plan or an apply, and what to do about it",
		"Reads only. Without SPEC: cluster.yaml in this folder, else what can be seen\n"
		"without one.",
		cmd_doctor},
	{"drift", "[SPEC...]", "report changes made outside raygpu",
		"Changes nothing in the cloud or the state.", cmd_drift},
	{"export", "FORM [SPEC]", "print a cluster as a file for another tool",
		"FORM is one that the provider knows. The same spec gives the same bytes. The\n"
		"file contains no secrets: not the Ray token either.",
		cmd_export},
	{"fit", "[SPEC]", "check whether the workloads of a spec fit on its pools",
		"From the spec and the catalog alone, as if no node were running yet.", cmd_fit},
	{"graph", "[SPEC | PLANFILE]", "print the changes of a plan and their order, for dot",
		"raygpu graph | dot -Tsvg > plan.svg", cmd_graph},
	{"iam", "[SPEC]", "print the minimum permissions that a spec needs in the cloud",
		"A policy document in the cloud's own form. No network is\nused.", cmd_iam},
	{"import", "SPEC ADDRESS ID [ADDRESS ID...]",
		"bring existing resources under management, without changing them",
		"Shows what would be recorded and the plan that follows, then records it. The\n"
		"cloud is only read; the next apply adds the cluster's ownership tags.",
		cmd_import},
	{"init", "[FILE]", "write a starter spec and prepare this folder", NULL, cmd_init},
	{"log", "[RUN]", "list earlier runs: what they did, and who ran them",
		"Newest first. With RUN, an id or its beginning: each change of that run.",
		cmd_log},
	{"logs", "ADDRESS", "print a node's console: what its start script reported",
		"Only reads: the cloud shows it, or the host itself.", cmd_logs},
	{"offers", "[SPEC | QUERY]", "compare instance types that have the requested GPUs",
		"QUERY is a value of `accelerators` in a spec, such as A100:8 or\n"
		"'{gpu_memory: \">=40GB\", count: 8}'. With SPEC: a list for each pool, in its\n"
		"region. No network is used, except with --blocks: it asks the cloud which\n"
		"blocks of reserved capacity can be bought. raygpu does not buy any.",
		cmd_offers},
	{"output", "[SPEC] [NAME]", "show addresses and ids of a cluster, from the state",
		"The Ray token is shown only by its name: raygpu output ray_token", cmd_output},
	{"plan", "[SPEC...]", "show what apply would change, and what it costs",
		"SPEC is a file, or a folder of specs for one report over all clusters.", cmd_plan},
	{"providers", "list | check FILE", "list provider modules, or test one", NULL,
		cmd_providers},
	{"reap", "[FOLDER | SPEC...]", "remove clusters and pools whose lease has ended",
		"For a scheduled job. Without FOLDER: the specs in this folder. A cluster that is\n"
		"only in the state is removed by its recorded lease. It does not ask.",
		cmd_reap},
	{"show", "[PLANFILE] | --merged SPEC", "show a saved plan, the state, or a merged spec",
		NULL, cmd_show},
	{"state",
		"list | show [ADDRESS | POOL] | rm ADDRESS... | mv SRC DST | pull | push FILE | "
		"orphans | "
		"rebuild [SPEC]",
		"inspect, move, forget or rebuild recorded resources", NULL, cmd_state},
	{"status", "[SPEC...]", "show the nodes of each pool, and what Ray has of them",
		"Reads what drift reads, and shows it by pool. Nothing connects to a node.",
		cmd_status},
	{"validate", "[SPEC...]", "check specs, without network", NULL, cmd_validate},
	{"version", "", "print the version", NULL, cmd_version},
	{NULL, NULL, NULL, NULL, NULL},
};

static const Command *find_command(const char *name)
{
	for (const Command *command = commands; command->name; command++) {
		if (g_str_equal(command->name, name))
			return command;
	}
	return NULL;
}

/* Words of other tools, and what does that here. */
static const struct {
	const char *word, *hint;
} foreign_words[] = {
	{"autostop", "`expires` in the spec says when a cluster or a pool ends"},
	{"check", "`raygpu doctor` checks credentials, permissions and quotas"},
	{"cost-report", "`raygpu cost` shows what clusters cost"},
	{"dashboard", "`raygpu connect` forwards the dashboard to this machine"},
	{"down", "`raygpu destroy` destroys a cluster"},
	{"exec", "`raygpu connect -- COMMAND` runs a command that uses the cluster"},
	{"fmt", "raygpu has no formatter; `raygpu validate` checks specs"},
	{"gpus", "`raygpu offers` lists GPUs, where they are sold, and their prices"},
	{"launch", "`raygpu apply` creates or changes a cluster"},
	{"list", "`raygpu status` shows clusters, `raygpu state list` what is recorded"},
	{"ls", "`raygpu status` shows clusters, `raygpu state list` what is recorded"},
	{"ps", "`raygpu status` shows clusters and what waits in Ray"},
	{"queue", "`raygpu status` shows clusters and what waits in Ray"},
	{"refresh", "`raygpu drift` shows what has changed outside raygpu"},
	{"scale", "`nodes` in the spec is how many nodes a pool has"},
	{"show-gpus", "`raygpu offers` lists GPUs, where they are sold, and their prices"},
	{"ssh", "`raygpu connect` starts a shell that uses the cluster"},
	{"stop", "`enabled: false` in the spec removes a pool's nodes until it is enabled again; "
		 "`raygpu destroy` destroys the cluster"},
	{"submit", "`raygpu connect -- ray job submit -- COMMAND` submits a job"},
	{"taint", "`raygpu plan --replace ADDRESS` plans the replacement of a resource"},
	{"up", "`raygpu apply` creates or changes a cluster"},
};

static const char *hint_for(const char *word)
{
	for (size_t i = 0; i < G_N_ELEMENTS(foreign_words); i++)
		if (g_str_equal(foreign_words[i].word, word))
			return foreign_words[i].hint;
	return NULL;
}

static void unknown_command(Context *context, const char *name)
{
	const char *names[G_N_ELEMENTS(commands)] = {0};
	for (size_t i = 0; commands[i].name; i++)
		names[i] = commands[i].name;
	RgDiag *diag = rg_diags_error(
		context->diags, "usage.unknown-command", "unknown command \"%s\"", name);
	const char *known = hint_for(name), *near = rg_nearest_word(name, names);
	if (known)
		rg_diag_hint(diag, "%s", known);
	else if (near)
		rg_diag_hint(diag, "did you mean `raygpu %s`?", near);
	else
		rg_diag_hint(diag, "`raygpu -h` lists the commands");
}

/* -C DIR before the command, like in git and make. Returns the index of the command word. */
static int take_directory(Context *context, int argc, char **argv)
{
	int at = 1;
	while (at < argc && g_str_equal(argv[at], "-C")) {
		if (at + 1 >= argc) {
			rg_diags_error(
				context->diags, "usage.missing-argument", "-C requires a folder");
			return -1;
		}
		if (chdir(argv[at + 1])) {
			rg_diags_error(context->diags, "usage.bad-argument",
				"cannot change to \"%s\": %s", argv[at + 1], g_strerror(errno));
			return -1;
		}
		at += 2;
	}
	return at;
}

/* `raygpu help`, `help COMMAND`, `help state mv`: the same as the command's -h. */
static int help(Context *context, int argc, char **argv)
{
	static char flag[] = "-h";
	if (argc < 2 || *argv[1] == '-' || g_str_equal(argv[1], "help")) {
		print_program_help(commands);
		return EXIT_FINE;
	}
	const Command *command = context->command = find_command(argv[1]);
	if (!command) {
		unknown_command(context, argv[1]);
		return EXIT_USAGE;
	}
	if (argc > 2 && subcommand_find(command->name, NULL) &&
		!subcommand_find(argv[1], argv[2])) {
		subcommand_unknown(context, argv[1], argv[2]);
		return EXIT_USAGE;
	}
	char *words[] = {argv[1], flag, argc > 2 ? argv[2] : NULL, NULL};
	return command->run(context, argc > 2 ? 3 : 2, words);
}

static int misplaced_option(Context *context, int argc, char **argv)
{
	const char *command = "COMMAND";
	for (int i = argc - 1; i > 0; i--) {
		if (find_command(argv[i]))
			command = argv[i];
	}
	RgDiag *diag = rg_diags_error(context->diags, "usage.unknown-option",
		"the option \"%s\" precedes the command", argv[0]);
	rg_diag_hint(diag, "options follow the command: `raygpu %s %s ...`; only -C precedes it",
		command, argv[0]);
	return EXIT_USAGE;
}

static int dispatch(Context *context, int argc, char **argv)
{
	int at = take_directory(context, argc, argv);
	if (at < 0)
		return EXIT_USAGE;
	if (at >= argc) {
		print_program_help(commands);
		return EXIT_USAGE;
	}
	if (g_str_equal(argv[at], "-h") || g_str_equal(argv[at], "--help") ||
		g_str_equal(argv[at], "help"))
		return help(context, argc - at, argv + at);
	const char *name = g_str_equal(argv[at], "--version") ? "version" : argv[at];
	if (*name == '-')
		return misplaced_option(context, argc - at, argv + at);
	context->command = find_command(name);
	if (!context->command) {
		unknown_command(context, name);
		return EXIT_USAGE;
	}
	return context->command->run(context, argc - at, argv + at);
}

/* Users of --json also get errors as JSON. */
static void print_failure(const Context *context, int code)
{
	if (!context->json || context->streams || out_has_document() ||
		!rg_diags_has_errors(context->diags))
		return;
	const RgReport report = {.diags = context->diags, .exit_code = code};
	json_auto_t *document =
		rg_report_failure(context->command ? context->command->name : "raygpu", &report);
	out_json(document);
}

static int tell_unwritten(Context *context, int code)
{
	const char *path;
	int error = stream_error(context, &path);
	g_autoptr(RgDiags) diags = rg_diags_new();
	if (!error)
		return code;
	RgDiag *diag = rg_diags_error(
		diags, "file.unwritable", "\"%s\" cannot be written: %s", path, g_strerror(error));
	rg_diag_hint(diag, "the run itself was not affected; its events after that are lost");
	print_diags(context, diags);
	return worst_exit_code(code, EXIT_ERROR);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	guards_start();
	exits_start();
	Context context;
	context_init(&context);
	context.commands = commands;
	keys_take(&context);
	int code = dispatch(&context, argc, argv);
	print_failure(&context, code);
	if (context.streams && context.json)
		stream_open(&context, NULL); /* of a command that failed before it did */
	context_name_ref(&context, context.diags);
	print_diags(&context, context.diags);
	stream_cluster(&context, NULL);
	code = tell_unwritten(&context, code);
	stream_end(&context, code);
	if (!out_close() && code == EXIT_FINE)
		code = EXIT_ERROR;
	context_clear(&context);
	return code;
}
