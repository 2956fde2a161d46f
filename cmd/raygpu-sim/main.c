/* raygpu-sim: parses options, prints one line on stderr when it listens, and ends cleanly on
 * SIGTERM and SIGINT. */
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "built_in.h"
#include "sim/core/cloud.h"
#include "sim/core/knobs.h"
#include "sim/core/scenario.h"
#include "sim/core/server.h"

/* Each request goes to the first that claims it. */
static const RgSimCloud *const clouds[] = {RG_SIMULATED, NULL};

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 4 };

typedef struct {
	char *address;
	int port;
	char *port_file;
	char *world;
	char *scenario;
	gint64 seed;
	char *tls_certificate;
	char *tls_key;
	char *capacity;
	char *knobs_json;
	char **reject;
	char **access_keys;
	gboolean no_verify;
	char **faults;
	gboolean version;
	/* G_MININT64: not given; the knob keeps its initial value */
	gint64 numbers[11];
} Options;

/* Options that set a knob. */
static const struct {
	const char *option;
	const char *knob;
	const char *help;
} number_options[] = {
	{"boot-ms", "boot_ms", "milliseconds from pending to running (200)"},
	{"shutdown-ms", "shutdown_ms", "milliseconds that shutting down and stopping take (200)"},
	{"terminated-ms", "terminated_ms",
		"milliseconds for which a terminated instance is listed (3600000)"},
	{"consistency-ms", "consistency_ms", "milliseconds until listings show a change (0)"},
	{"latency-ms", "latency_ms", "milliseconds that each request takes (0)"},
	{"latency-jitter-ms", "latency_jitter_ms", "random milliseconds in addition (0)"},
	{"page-size", "page_size", "maximum entries per page of an answer (0: no limit)"},
	{"page-before-filter", "page_before_filter",
		"1: entries that a filter excludes count towards a page (0)"},
	{"empty-first-page", "empty_first_page", "1: lists begin with an empty page (0)"},
	{"throttle", "throttle", "1: throttle requests as the clouds do (0)"},
	{"clock-offset-s", "clock_offset_s", "seconds by which this server's clock is fast (0)"},
};

static bool parse_options(int *argc, char ***argv, Options *options)
{
	GOptionEntry entries[] = {{"listen", 0, 0, G_OPTION_ARG_STRING, &options->address,
					  "IPv4 address (127.0.0.1)", "ADDRESS"},
		{"port", 'p', 0, G_OPTION_ARG_INT, &options->port, "port; 0 for a free one (0)",
			"PORT"},
		{"port-file", 0, 0, G_OPTION_ARG_FILENAME, &options->port_file,
			"write the port to this file once the server listens", "FILE"},
		{"world", 'w', 0, G_OPTION_ARG_FILENAME, &options->world,
			"store the world in this file", "FILE"},
		{"scenario", 0, 0, G_OPTION_ARG_FILENAME, &options->scenario,
			"play a scenario, see raygpu-scenario(5)", "FILE"},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options->seed,
			"seed of ids and of random events (1)", "NUMBER"},
		{"tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_certificate,
			"serve HTTPS with this certificate", "FILE"},
		{"tls-key", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_key,
			"the key of the certificate", "FILE"},
		{"capacity", 0, 0, G_OPTION_ARG_STRING, &options->capacity,
			"how many instances fit, {\"TYPE\": {\"ZONE\": N}}", "JSON"},
		{"knobs", 0, 0, G_OPTION_ARG_STRING, &options->knobs_json,
			"knobs, in the form of the control endpoint", "JSON"},
		{"access-key", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->access_keys,
			"accepted access key, instead of the example pair (repeatable)",
			"ID:SECRET"},
		{"no-verify", 0, 0, G_OPTION_ARG_NONE, &options->no_verify,
			"accept any access key and any signature", NULL},
		{"reject-access-key", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->reject,
			"refuse this access key (repeatable)", "ID"},
		{"fault", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->faults,
			"inject a fault (repeatable)", "JSON"},
		{"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "print the version", NULL},
		G_OPTION_ENTRY_NULL};
	GOptionEntry numbers[G_N_ELEMENTS(number_options) + 1] = {0};
	for (size_t i = 0; i < G_N_ELEMENTS(number_options); i++)
		numbers[i] = (GOptionEntry){.long_name = number_options[i].option,
			.arg = G_OPTION_ARG_INT64,
			.arg_data = &options->numbers[i],
			.description = number_options[i].help,
			.arg_description = "N"};
	g_autoptr(GOptionContext) context = g_option_context_new("- simulated clouds");
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_add_main_entries(context, numbers, NULL);
	g_autoptr(GError) error = NULL;
	if (g_option_context_parse(context, argc, argv, &error) && *argc == 1)
		return true;
	g_printerr("raygpu-sim: %s\n",
		error ? error->message : "only options are accepted, no arguments");
	return false;
}

static json_t *parse_json(const char *option, const char *text)
{
	json_error_t where;
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &where);
	if (!value)
		g_printerr("raygpu-sim: --%s: %s\n", option, where.text);
	return value;
}

/* {id: secret}; NULL after reporting what is wrong. */
static json_t *access_keys(const Options *options)
{
	json_auto_t *keys = json_object();
	for (char **pair = options->access_keys; *pair; pair++) {
		const char *colon = strchr(*pair, ':');
		if (!colon || colon == *pair || !colon[1]) {
			g_printerr("raygpu-sim: --access-key must be ID:SECRET\n");
			return NULL;
		}
		json_object_setn_new(keys, *pair, (size_t)(colon - *pair), json_string(colon + 1));
	}
	return g_steal_pointer(&keys);
}

/* The knobs of the options, which override --knobs; NULL after reporting what is wrong. */
static json_t *knob_changes(const Options *options)
{
	json_auto_t *changes =
		parse_json("knobs", options->knobs_json ? options->knobs_json : "{}");
	if (!changes)
		return NULL;
	if (options->capacity &&
		json_object_set_new(changes, "capacity", parse_json("capacity", options->capacity)))
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(number_options); i++) {
		if (options->numbers[i] != G_MININT64)
			json_object_set_new(
				changes, number_options[i].knob, json_integer(options->numbers[i]));
	}
	if (options->access_keys &&
		json_object_set_new(changes, "access_keys", access_keys(options)))
		return NULL;
	if (options->no_verify)
		json_object_set_new(changes, "verify", json_false());
	json_t *rejected = json_array();
	for (int i = 0; options->reject && options->reject[i]; i++)
		json_array_append_new(rejected, json_string(options->reject[i]));
	if (options->reject)
		json_object_set(changes, "reject_access_keys", rejected);
	json_decref(rejected);
	return g_steal_pointer(&changes);
}

static bool add_faults(const Options *options, RgSim *sim)
{
	for (int i = 0; options->faults && options->faults[i]; i++) {
		json_auto_t *rule = parse_json("fault", options->faults[i]);
		g_autofree char *problem = NULL;
		if (!rule || !rg_sim_faults_add(&sim->faults, rule, &problem)) {
			if (problem)
				g_printerr("raygpu-sim: --fault: %s\n", problem);
			return false;
		}
	}
	return true;
}

/* Reads the scenario's file and starts it. */
static bool play(const Options *options, RgSim *sim)
{
	if (!options->scenario)
		return true;
	g_autofree char *text = NULL, *problem = NULL;
	gsize length = 0;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(options->scenario, &text, &length, &error)) {
		g_printerr("raygpu-sim: %s\n", error->message);
		return false;
	}
	RgSimScenario *scenario =
		rg_sim_scenario_read(sim, options->scenario, text, length, &problem);
	rg_sim_enter(sim);
	if (scenario)
		rg_sim_play(sim, scenario);
	else
		g_printerr("raygpu-sim: %s\n", problem);
	rg_sim_leave(sim);
	return scenario != NULL;
}

static char *read_text(const char *path)
{
	g_autoptr(GError) error = NULL;
	char *text = NULL;
	if (path && !g_file_get_contents(path, &text, NULL, &error))
		g_printerr("raygpu-sim: %s\n", error->message);
	return text;
}

static bool tell_port(const Options *options, unsigned port)
{
	g_printerr("raygpu-sim: listening on %s://%s:%u\n",
		options->tls_certificate ? "https" : "http", options->address, port);
	g_autofree char *text = g_strdup_printf("%u\n", port);
	g_autoptr(GError) error = NULL;
	if (!options->port_file || g_file_set_contents(options->port_file, text, -1, &error))
		return true;
	g_printerr("raygpu-sim: %s\n", error->message);
	return false;
}

/* Listens until a signal arrives. */
static int serve(const Options *options, RgSim *sim, const sigset_t *signals)
{
	g_autofree char *certificate = read_text(options->tls_certificate);
	g_autofree char *key = read_text(options->tls_key);
	if (!options->tls_certificate != !certificate || !options->tls_key != !key)
		return EXIT_RUNTIME;
	RgSimListen listen = {.address = options->address,
		.port = (unsigned)options->port,
		.tls_certificate = certificate,
		.tls_key = key};
	g_autofree char *problem = NULL;
	RgSimServer *server = rg_sim_server_start(sim, &listen, &problem);
	if (!server) {
		g_printerr("raygpu-sim: %s\n", problem);
		return EXIT_RUNTIME;
	}
	int status = EXIT_RUNTIME;
	int signal_number;
	if (tell_port(options, rg_sim_server_port(server)) && sigwait(signals, &signal_number) == 0)
		status = EXIT_SUCCESS;
	rg_sim_server_stop(server);
	return status;
}

static int sim_run(const Options *options, const sigset_t *signals)
{
	g_autofree char *problem = NULL;
	json_auto_t *initial = rg_sim_knobs_new(clouds), *changes = knob_changes(options);
	json_t *knobs = changes ? rg_sim_knobs_change(clouds, initial, changes, &problem) : NULL;
	if (problem)
		g_printerr("raygpu-sim: %s\n", problem);
	if (!knobs)
		return EXIT_USAGE;
	RgSim *sim = rg_sim_new(clouds, (guint64)options->seed, knobs, options->world, &problem);
	if (!sim) {
		g_printerr("raygpu-sim: %s\n", problem);
		return EXIT_RUNTIME;
	}
	bool ready = add_faults(options, sim) && play(options, sim);
	int status = ready ? serve(options, sim, signals) : EXIT_USAGE;
	if (!rg_sim_close(sim, &problem)) {
		g_printerr("raygpu-sim: %s\n", problem);
		return EXIT_RUNTIME;
	}
	return status;
}

static void options_clear(Options *options)
{
	g_free(options->address);
	g_free(options->port_file);
	g_free(options->world);
	g_free(options->scenario);
	g_free(options->tls_certificate);
	g_free(options->tls_key);
	g_free(options->capacity);
	g_free(options->knobs_json);
	g_strfreev(options->reject);
	g_strfreev(options->access_keys);
	g_strfreev(options->faults);
}

static bool options_fit(const Options *options)
{
	if (options->port < 0 || options->port > 65535 || options->seed < 0)
		g_printerr("raygpu-sim: --port must be from 0 to 65535, --seed must not be "
			   "negative\n");
	else if (!options->tls_certificate != !options->tls_key)
		g_printerr("raygpu-sim: --tls-cert and --tls-key must be used together\n");
	else
		return true;
	return false;
}

int main(int argc, char **argv)
{
	/* Blocked before any thread starts, so that only sigwait receives them. */
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	Options options = {.seed = 1};
	for (size_t i = 0; i < G_N_ELEMENTS(options.numbers); i++)
		options.numbers[i] = G_MININT64;
	int status = EXIT_USAGE;
	if (parse_options(&argc, &argv, &options)) {
		if (!options.address)
			options.address = g_strdup("127.0.0.1");
		if (options.version) {
			g_print("raygpu-sim %s\n", RAYGPU_VERSION);
			status = EXIT_SUCCESS;
		} else if (options_fit(&options)) {
			status = sim_run(&options, &signals);
		}
	}
	options_clear(&options);
	return status;
}
