#include "head/forward.h"
#include <stdlib.h>

/* The head's dashboard, job server and client server on this machine, for a shell or a command. */

typedef struct {
	char *via, *identity;
	gint dashboard_port, client_port;
	gboolean print;
} ConnectOptions;

/* Of the Ray CLI and ray.init(): docs.ray.io, "Ray Jobs CLI" (RAY_API_SERVER_ADDRESS, else
 * RAY_ADDRESS), "Ray Client", and "Token authentication" (2.52). A new array. */
static char **ray_environment(const RgReachAsk *ask, const RgSnapshot *snapshot, char **base)
{
	const char *token = rg_reach_token(snapshot);
	g_autofree char *dashboard = g_strdup_printf("http://127.0.0.1:%u", ask->ports[0].local);
	g_autofree char *client = g_strdup_printf("ray://127.0.0.1:%u", ask->ports[1].local);
	char **all = g_environ_setenv(base, "RAY_API_SERVER_ADDRESS", dashboard, TRUE);
	all = g_environ_setenv(all, "RAY_ADDRESS", client, TRUE);
	all = g_environ_setenv(all, "RAYGPU_CLUSTER", snapshot->cluster, TRUE);
	all = g_environ_setenv(all, "RAY_AUTH_MODE", token ? "token" : "disabled", TRUE);
	return token ? g_environ_setenv(all, "RAY_AUTH_TOKEN", token, TRUE)
		     : g_environ_unsetenv(all, "RAY_AUTH_TOKEN");
}

static void add_quoted(GString *text, const char *word)
{
	bool plain = *word != '\0';
	for (const char *at = word; *at; at++)
		plain = plain && (g_ascii_isalnum(*at) || strchr("_-./:=,@%+", *at));
	g_autofree char *quoted = plain ? g_strdup(word) : g_shell_quote(word);
	g_string_append_printf(text, "%s%s", text->len ? " " : "", quoted);
}

static void add_command(GString *text, GStrv command)
{
	g_autoptr(GString) line = g_string_new(NULL);
	for (size_t i = 0; command[i]; i++)
		add_quoted(line, command[i]);
	g_string_append_printf(text, "%s &\n", line->str);
}

/* A script for a POSIX shell; the token stays in the state until it is run. */
static void print_way(
	const RgReachWay *way, const RgReachAsk *ask, const RgSnapshot *snapshot, const char *spec)
{
	g_autoptr(GString) text = g_string_new(NULL), asked = g_string_new(NULL);
	for (guint i = 0; i < way->commands->len; i++)
		add_command(text, way->commands->pdata[i]);
	char **bare = ray_environment(ask, snapshot, NULL);
	bare = g_environ_unsetenv(bare, "RAY_AUTH_TOKEN");
	for (size_t i = 0; bare[i]; i++)
		g_string_append_printf(text, "export %s\n", bare[i]);
	g_strfreev(bare);
	if (spec)
		add_quoted(asked, spec);
	else
		g_string_printf(asked, "--cluster %s", snapshot->cluster);
	if (rg_reach_token(snapshot))
		g_string_append_printf(text,
			"export RAY_AUTH_TOKEN=\"$(raygpu output %s " RG_REACH_TOKEN ")\"\n",
			asked->str);
	out_text(text->str);
}

static int run_inside(Context *context, const RgReachWay *way, const RgReachAsk *ask,
	const RgSnapshot *snapshot, char **command)
{
	const char *shell = getenv("SHELL");
	char *interactive[] = {g_strdup(shell && *shell ? shell : "/bin/sh"), NULL};
	Forward *forward = forward_start(way, ask, context->diags);
	int code = -1;
	if (forward) {
		g_auto(GStrv) environment = ray_environment(ask, snapshot, g_get_environ());
		g_autofree char *hello = g_strdup_printf(
			"Connected to cluster %s by %s.\n  dashboard and jobs: "
			"http://127.0.0.1:%u\n  client: ray://127.0.0.1:%u\n%s",
			snapshot->cluster, way->way, ask->ports[0].local, ask->ports[1].local,
			*command ? "" : "Leave this shell (exit) to disconnect.\n");
		err_text(context, hello);
		code = forward_run(
			forward, *command ? command : interactive, environment, context->diags);
		forward_stop(forward);
	}
	g_free(interactive[0]);
	return code >= 0 ? code : rg_diags_exit_code(context->diags);
}

/* Before anything is started: what would make it fail. */
static bool can_connect(
	Context *context, const RgSchema *schema, const RgSnapshot *snapshot, const char *way)
{
	g_autofree char *missing = rg_reach_missing(schema, snapshot->config, way);
	const char *program =
		missing ? NULL : rg_reach_missing_program(schema, snapshot->config, way);
	if (missing) {
		RgDiag *diag = rg_diags_error(context->diags, "connect.no-way",
			"cluster %s cannot be reached: its spec does not set %s", snapshot->cluster,
			missing);
		rg_diag_hint(diag, "set it and apply that");
	} else if (program) {
		RgDiag *diag = rg_diags_error(context->diags, "connect.failed",
			"`%s`, which the connection needs, is not installed", program);
		rg_diag_hint(diag, "install it, or choose another way with --via");
	}
	return !missing && !program;
}

static int connect_run(
	Context *context, const ConnectOptions *options, const char *spec, char **command)
{
	const RgReachAsk ask = {.way = options->via,
		.identity = options->identity,
		.ports = {{RG_REACH_DASHBOARD, (unsigned)options->dashboard_port},
			{RG_REACH_CLIENT, (unsigned)options->client_port}}};
	const RgSchema *schema = NULL;
	g_autoptr(RgSnapshot) snapshot = recorded_cluster(context, spec, &schema);
	if (!snapshot || rg_snapshot_refuse_sealed(snapshot, "the connection", context->diags))
		return rg_diags_exit_code(context->diags);
	/* they become words of a command, and who can write to the state has recorded them */
	if (!rg_provider_check_config(
		    context->providers, snapshot->provider, snapshot->config, context->diags))
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgReachWay) way = rg_reach_way(schema, snapshot, &ask, context->diags);
	if (!way || (!options->print && !can_connect(context, schema, snapshot, options->via)))
		return rg_diags_exit_code(context->diags);
	if (!options->print)
		return run_inside(context, way, &ask, snapshot, command);
	print_way(way, &ask, snapshot, spec);
	return EXIT_FINE;
}

static bool ports_are_right(Context *context, const ConnectOptions *options)
{
	const gint ports[] = {options->dashboard_port, options->client_port};
	bool right = ports[0] != ports[1];
	for (size_t i = 0; i < G_N_ELEMENTS(ports); i++)
		right = right && ports[i] >= 1 && ports[i] <= 65535;
	if (!right)
		rg_diags_error(context->diags, "usage.bad-argument",
			"--dashboard-port and --client-port must be two ports of 1 to 65535");
	return right;
}

int cmd_connect(Context *context, int argc, char **argv)
{
	ConnectOptions options = {
		.dashboard_port = RG_REACH_DASHBOARD, .client_port = RG_REACH_CLIENT};
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"cluster of the state, without its spec", "NAME"},
		{"via", 0, 0, G_OPTION_ARG_STRING, &options.via,
			"how, for example session-manager or ssh", "WAY"},
		{"identity", 'i', 0, G_OPTION_ARG_FILENAME, &options.identity,
			"private key for ssh", "FILE"},
		{"dashboard-port", 0, 0, G_OPTION_ARG_INT, &options.dashboard_port,
			"local port of dashboard and jobs (default 8265)", "PORT"},
		{"client-port", 0, 0, G_OPTION_ARG_INT, &options.client_port,
			"local port of Ray clients (default 10001)", "PORT"},
		{"print", 0, 0, G_OPTION_ARG_NONE, &options.print,
			"print the commands instead of running them", NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	/* what follows -- is another program's command line */
	int own = 1;
	while (own < argc && !g_str_equal(argv[own], "--"))
		own++;
	char **command = own < argc ? argv + own + 1 : argv + argc;
	int code = EXIT_FINE;
	g_auto(GStrv) mine = g_new0(char *, (gsize)own + 1);
	for (int i = 0; i < own; i++)
		mine[i] = g_strdup(argv[i]);
	g_autofree char **parsed = g_memdup2(mine, sizeof(char *) * ((gsize)own + 1));
	char **rest = parsed;
	if (options_parse(context, entries, &own, &rest, 0, 1, &code))
		code = ports_are_right(context, &options)
			       ? connect_run(context, &options, own > 1 ? rest[1] : NULL, command)
			       : EXIT_USAGE;
	g_free(options.via);
	g_free(options.identity);
	return code;
}
