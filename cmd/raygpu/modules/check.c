/* `raygpu providers check`: runs the conformance script in a child process, so that a module that
 * crashes or hangs takes only the child with it; each step comes through a pipe as a line of JSON.
 * The child's output goes to a file, because a module must not print. */
#include "command.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "config.h"
#include "provider/conform.h"

static const char *const outcomes[] = {"pass", "fail", "skip", "begin"};

/* The two ends that the child writes to. */
typedef struct {
	int steps, printed;
	unsigned limit_s;
} Outlet;

static void send_step(void *data, const char *step, RgConformOutcome outcome, const char *why)
{
	json_auto_t *line = json_object();
	rg_json_set_str(line, "step", step);
	rg_json_set_str(line, "outcome", outcomes[outcome]);
	rg_json_set_str(line, "why", why);
	g_autofree char *text = rg_json_canonical(line);
	g_autofree char *whole = g_strconcat(text, "\n", NULL);
	size_t len = strlen(whole), sent = 0;
	const Outlet *outlet = data;
	alarm(outlet->limit_s); /* SIGALRM ends the child: the parent reports the current step */
	while (sent < len) {
		ssize_t n = write(outlet->steps, whole + sent, len - sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* the parent is gone; nobody reads any more */
		sent += (size_t)n;
	}
}

/* The settings of --config and --endpoint together; NULL and a diagnostic. */
static json_t *read_config(Context *context, const CheckOptions *check)
{
	json_t *config = check->config ? rg_json_parse(check->config, strlen(check->config),
						 "--config", "usage.bad-argument", context->diags)
				       : json_object();
	if (config && !json_is_object(config)) {
		rg_diags_error(
			context->diags, "usage.bad-argument", "--config is not a JSON object");
		json_decref(config);
		return NULL;
	}
	if (config && check->endpoint)
		rg_json_set_str(config, "endpoint", check->endpoint);
	return config;
}

/* In the child. */
static bool run_script(Context *context, const char *dir, const char *name, const json_t *config,
	const CheckOptions *check, Outlet *outlet)
{
	g_strfreev(context->provider_dirs);
	context->provider_dirs = g_new0(char *, 2);
	context->provider_dirs[0] = g_strdup(dir);
	context_open_providers(context);
	RgHttpOptions transport = {
		.user_agent = "raygpu/" RG_VERSION, .trace_path = context->trace_path};
	bool network = check->region || check->endpoint || check->config;
	RgConformOptions options = {.region = check->region,
		.config = config,
		.instance_type = check->type,
		.http = network ? &transport : NULL,
		.wait_ms = (unsigned)CLAMP(check->wait_s, 0, 3600) * 1000,
		.told = send_step,
		.data = outlet};
	return rg_provider_conform(context->providers, name, &options);
}

static void print_step(const json_t *step)
{
	const char *outcome = rg_json_str(step, "outcome", "");
	const char *why = rg_json_str(step, "why", NULL);
	g_autofree char *line = g_strdup_printf("%-5s %s\n%s%s%s",
		g_str_equal(outcome, "fail") ? "FAIL" : outcome, rg_json_str(step, "step", ""),
		why ? "      " : "", why ? why : "", why ? "\n" : "");
	out_text(line);
}

/* Keeps everything except BEGIN lines; `begun` is the current step. */
static json_t *read_steps(Context *context, FILE *stream, char **begun)
{
	json_t *steps = json_array();
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	while ((len = getline(&line, &size, stream)) > 0) {
		json_auto_t *step = json_loadb(line, (size_t)len, 0, NULL);
		if (!step)
			continue;
		bool begins = g_str_equal(rg_json_str(step, "outcome", ""), "begin");
		g_free(*begun);
		*begun = begins ? g_strdup(rg_json_str(step, "step", "")) : NULL;
		if (begins)
			continue;
		json_array_append(steps, step);
		if (!context->json)
			print_step(step);
	}
	free(line);
	return steps;
}

/* A module that ends the process is a failed step of its own. */
static void add_fall(Context *context, json_t *steps, int status, const char *begun)
{
	const json_t *last = json_array_get(steps, json_array_size(steps) - 1);
	g_autofree char *name =
		begun ? g_strdup(begun)
		      : g_strdup_printf("after \"%s\"", rg_json_str(last, "step", "the beginning"));
	g_autofree char *why =
		WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
			? g_strdup("the module did not return from a call within ten times --wait")
		: WIFSIGNALED(status)
			? g_strdup_printf(
				  "the module ended the process: %s", strsignal(WTERMSIG(status)))
			: g_strdup_printf("the module ended the process with exit code %d",
				  WEXITSTATUS(status));
	json_t *step = json_pack("{s:s, s:s, s:s}", "step", name, "outcome", "fail", "why", why);
	if (!context->json)
		print_step(step);
	json_array_append_new(steps, step);
}

static unsigned count(const json_t *steps, const char *outcome)
{
	unsigned n = 0;
	rg_json_foreach (step, steps)
		n += g_str_equal(rg_json_str(step, "outcome", ""), outcome);
	return n;
}

/* A child's normal exit codes: 0 and 1 show whether a step failed; anything else is a crash. */
static pid_t start_child(Context *context, const char *dir, const char *name, const json_t *config,
	const CheckOptions *check, Outlet *outlet)
{
	pid_t child = fork();
	if (child != 0)
		return child;
	signal(SIGALRM, SIG_DFL);
	dup2(outlet->printed, STDOUT_FILENO);
	dup2(outlet->printed, STDERR_FILENO);
	alarm(outlet->limit_s);
	bool passed = run_script(context, dir, name, config, check, outlet);
	/* In the child: a step that checks that nothing was written to the standard streams. */
	struct stat info;
	bool silent = fstat(outlet->printed, &info) != 0 || info.st_size == 0;
	send_step(outlet, "prints nothing", silent ? RG_CONFORM_PASS : RG_CONFORM_FAIL,
		silent ? NULL : "it wrote to standard output or standard error: use host->log");
	passed = silent && passed;
	_exit(passed ? 0 : 1);
}

/* Runs the child to its end; returns the reported steps, NULL if it could not be started. */
static json_t *run_child(Context *context, const char *dir, const char *name, const json_t *config,
	const CheckOptions *check)
{
	int fds[2];
	FILE *printed = tmpfile();
	if (!printed || pipe(fds) != 0) {
		if (printed)
			fclose(printed);
		return NULL;
	}
	/* Time limit of one step: a module waits inside a call only for short operations. */
	Outlet outlet = {fds[1], fileno(printed), (unsigned)CLAMP(check->wait_s, 1, 360) * 10};
	pid_t child = start_child(context, dir, name, config, check, &outlet);
	close(fds[1]);
	FILE *stream = fdopen(fds[0], "r");
	g_autofree char *begun = NULL;
	json_t *steps = child > 0 ? read_steps(context, stream, &begun) : NULL;
	fclose(stream);
	int status = 0;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (steps && (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || begun)) {
		/* The child's output is shown if it crashed: the last words of a sanitizer or the
		 * loader. */
		char buffer[4096];
		size_t len;
		g_autoptr(GString) text = g_string_new(NULL);
		rewind(printed);
		while ((len = fread(buffer, 1, sizeof buffer, printed)) > 0)
			g_string_append_len(text, buffer, (gssize)len);
		err_text(context, text->str);
		add_fall(context, steps, status, begun);
	}
	fclose(printed);
	return steps;
}

int providers_check(Context *context, const char *file, const CheckOptions *check)
{
	json_auto_t *config = read_config(context, check);
	if (!config)
		return EXIT_USAGE;
	g_autofree char *path = g_canonicalize_filename(file, NULL);
	if (!g_str_has_suffix(path, ".so") || !g_file_test(path, G_FILE_TEST_EXISTS)) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"\"%s\" is not a module: it must be a file that ends in .so", file);
		return EXIT_USAGE;
	}
	g_autofree char *dir = g_path_get_dirname(path), *base = g_path_get_basename(path);
	g_autofree char *name = g_strndup(base, strlen(base) - strlen(".so"));
	json_auto_t *steps = run_child(context, dir, name, config, check);
	if (!steps) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"cannot start a process for the check: %s", g_strerror(errno));
		return EXIT_ERROR;
	}
	unsigned failed = count(steps, "fail"), passed = count(steps, "pass");
	unsigned skipped = count(steps, "skip");
	if (context->json) {
		json_auto_t *document = json_pack("{s:s, s:s, s:b, s:i, s:i, s:i, s:O}",
			"format_version", "1.0", "path", path, "ok", failed == 0, "passed", passed,
			"failed", failed, "skipped", skipped, "steps", steps);
		out_json(document);
	} else {
		g_autofree char *text = g_strdup_printf(
			"\n%s: %u passed, %u failed, %u skipped\n", path, passed, failed, skipped);
		out_text(text);
	}
	return failed > 0 ? EXIT_ERROR : EXIT_FINE;
}
