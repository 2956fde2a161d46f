/* host->exec and exec_all: credential helpers, ssh. No shell; only the environment is inherited.
 * Ends at its time limit, at the limit of its output or on cancel, together with its children (own
 * session: no terminal, so that one that asks fails instead of waiting). raygpu cannot see what a
 * helper does in the cloud: calls that only read run only helpers that the module marks as reading.
 */
#include "provider/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"

#define OUTPUT_MAX (1024 * 1024)
#define INPUT_MAX (1024 * 1024)
#define ERRORS_MAX (64 * 1024)
#define ARGS_MAX 256
#define DEFAULT_TIMEOUT_MS 60000
#define RUNS_MAX 10000
#define TOGETHER 32 /* programs that run at a time */
#define SLICE_MS 50 /* how often cancellation is checked */
#define END_MS 2    /* how often one that has closed its output is checked */

typedef struct {
	const struct rgp_exec_req *req;
	pid_t pid;
	int out, err; /* end of reading; -1: closed */
	GString *output, *errors;
	const char *why; /* NULL: no failure so far */
	int64_t deadline_ms;
	int status; /* as waitpid has it */
	bool ended;
} Helper;

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int set_up_files(posix_spawn_file_actions_t *actions, int in, int out, int err)
{
	int failed = posix_spawn_file_actions_adddup2(actions, in, 0);
	failed = failed != 0 ? failed : posix_spawn_file_actions_adddup2(actions, out, 1);
	failed = failed != 0 ? failed : posix_spawn_file_actions_adddup2(actions, err, 2);
	return failed != 0 ? failed : posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

/* Our threads block signals and the program handles some: the helper gets the defaults. */
static int set_up_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

/* Its standard input: a file in memory, so that nobody has to feed a pipe. -1 and errno. */
static int open_input(struct rgp_bytes input)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	size_t written = 0;
	while (fd >= 0 && written < input.len) {
		ssize_t n = write(fd, input.data + written, input.len - written);
		if (n < 0 && errno != EINTR) {
			close_fd(&fd);
			return -1;
		}
		written += (size_t)MAX(n, 0);
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static GStrv environment_of(const struct rgp_exec_req *req)
{
	GStrv all = g_get_environ();
	for (size_t i = 0; req->env && req->env[i]; i++) {
		g_auto(GStrv) pair = g_strsplit(req->env[i], "=", 2);
		all = g_environ_setenv(all, pair[0], pair[1], TRUE);
	}
	return all;
}

static int spawn(const struct rgp_exec_req *req, int in, int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	g_auto(GStrv) environment = environment_of(req);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	int failed = set_up_files(&actions, in, out, err);
	failed = failed != 0 ? failed : set_up_signals(&attributes);
	/* posix_spawnp takes char *const[] for historical reasons; it changes nothing. */
	char *const *args = (char *const *)(uintptr_t)req->argv;
	if (failed == 0)
		failed = posix_spawnp(pid, args[0], &actions, &attributes, args, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

static void start(Helper *helper)
{
	const struct rgp_exec_req *req = helper->req;
	int out[2] = {-1, -1}, err[2] = {-1, -1}, in = open_input(req->input);
	if (in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0) {
		int failed = spawn(req, in, out[1], err[1], &helper->pid);
		if (failed != 0)
			helper->why = g_intern_string(g_strerror(failed));
	} else {
		helper->why = g_intern_string(g_strerror(errno));
	}
	close_fd(&in);
	close_fd(&out[1]);
	close_fd(&err[1]);
	helper->out = out[0];
	helper->err = err[0];
	helper->ended = helper->why != NULL;
	helper->deadline_ms = rg_clock_monotonic_ms() +
			      (req->timeout_ms != 0 ? req->timeout_ms : DEFAULT_TIMEOUT_MS);
}

/* Reads what is available; closes at the end. Past the limit it continues reading but keeps
 * nothing. */
static bool drain(int *fd, GString *into, size_t cap)
{
	char chunk[16384];
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0) {
		close_fd(fd);
		return true;
	}
	g_string_append_len(into, chunk, (gssize)MIN((size_t)n, cap - into->len));
	return into->len < cap;
}

/* Waits for output of those that run, and reads it. */
static void read_some(Helper *helpers, size_t n)
{
	struct pollfd fds[2 * TOGETHER];
	int wait_ms = SLICE_MS;
	for (size_t i = 0; i < n; i++) {
		fds[2 * i] = (struct pollfd){helpers[i].out, POLLIN, 0};
		fds[2 * i + 1] = (struct pollfd){helpers[i].err, POLLIN, 0};
		if (!helpers[i].ended && helpers[i].out < 0 && helpers[i].err < 0)
			wait_ms = END_MS;
	}
	poll(fds, (nfds_t)(2 * n), wait_ms);
	for (size_t i = 0; i < n; i++) {
		if (fds[2 * i].revents != 0 &&
			!drain(&helpers[i].out, helpers[i].output, OUTPUT_MAX + 1))
			helpers[i].why = "it wrote more than 1 MiB";
		if (fds[2 * i + 1].revents != 0)
			drain(&helpers[i].err, helpers[i].errors, ERRORS_MAX);
	}
}

/* Kills it if it is abandoned, and notices its end. */
static void check_end(RgCall *call, Helper *helper)
{
	if (!helper->why && rg_call_canceled(call))
		helper->why = "canceled";
	if (!helper->why && rg_clock_monotonic_ms() > helper->deadline_ms)
		helper->why = "it took too long";
	if (helper->why) {
		kill(-helper->pid, SIGKILL);
		close_fd(&helper->out);
		close_fd(&helper->err);
	}
	if (helper->out >= 0 || helper->err >= 0)
		return;
	pid_t got = waitpid(helper->pid, &helper->status, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return;
	helper->status = got < 0 ? -1 : helper->status;
	helper->ended = true;
}

/* At most TOGETHER. */
static void run_together(RgCall *call, Helper *helpers, size_t n)
{
	size_t left = n;
	for (size_t i = 0; i < n; i++)
		start(&helpers[i]);
	while (left > 0) {
		read_some(helpers, n);
		left = 0;
		for (size_t i = 0; i < n; i++) {
			if (!helpers[i].ended)
				check_end(call, &helpers[i]);
			left += !helpers[i].ended;
		}
	}
	for (size_t i = 0; i < n; i++) {
		close_fd(&helpers[i].out);
		close_fd(&helpers[i].err);
	}
}

/* The reason is kept in the call's `reasons`: it is shown if the call fails in the end. */
static void explain(RgCall *call, const char *const *argv, const Helper *helper, int status)
{
	g_autofree char *name = rg_text_clean(argv[0]);
	g_autofree char *errors = rg_text_clean(helper->errors->str);
	RgDiag *diag;
	if (helper->why)
		diag = rg_diags_note(call->reasons, "provider.credentials",
			"the helper \"%s\" is not usable: %s", name, helper->why);
	else if (WIFSIGNALED(status))
		diag = rg_diags_note(call->reasons, "provider.credentials",
			"the helper \"%s\" was killed by signal %d", name, WTERMSIG(status));
	else
		diag = rg_diags_note(call->reasons, "provider.credentials",
			"the helper \"%s\" ended with status %d", name, WEXITSTATUS(status));
	if (*errors != '\0')
		rg_diag_detail(diag, "%s", errors);
	rg_diag_cloud(diag, rg_call_provider(call), NULL, NULL);
}

static Helper *helpers_new(const struct rgp_exec_req *const *reqs, size_t n)
{
	Helper *helpers = g_new0(Helper, n);
	for (size_t i = 0; i < n; i++)
		helpers[i] = (Helper){.req = reqs[i],
			.out = -1,
			.err = -1,
			.output = g_string_new(NULL),
			.errors = g_string_new(NULL)};
	return helpers;
}

/* What it wrote, lent to the module. */
static struct rgp_bytes lend(RgCall *call, GString **text)
{
	size_t len = (*text)->len;
	return (struct rgp_bytes){
		rg_call_keep(call, g_string_free(g_steal_pointer(text), FALSE)), len};
}

static void helpers_free(Helper *helpers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (helpers[i].output)
			g_string_free(helpers[i].output, TRUE);
		if (helpers[i].errors)
			g_string_free(helpers[i].errors, TRUE);
	}
	g_free(helpers);
}

static rgp_status exec_one(RgCall *call, const struct rgp_exec_req *req, struct rgp_bytes *output)
{
	Helper *helper = helpers_new(&req, 1);
	run_together(call, helper, 1);
	bool ok = !helper->why && helper->status == 0;
	if (ok)
		*output = lend(call, &helper->output);
	else
		explain(call, req->argv, helper, helper->status);
	helpers_free(helper, 1);
	return ok ? RGP_OK : rg_call_canceled(call) ? RGP_CANCELED : RGP_FAIL;
}

static rgp_status report(RgCall *call, Helper *helper, struct rgp_exec_resp *resp)
{
	resp->status = -1;
	if (helper->why) {
		explain(call, helper->req->argv, helper, helper->status);
	} else {
		resp->status = WIFSIGNALED(helper->status) ? 128 + WTERMSIG(helper->status)
							   : WEXITSTATUS(helper->status);
		resp->output = lend(call, &helper->output);
	}
	resp->errors = lend(call, &helper->errors);
	return helper->why ? RGP_FAIL : RGP_OK;
}

/* At most TOGETHER; the status of the first that did not end. */
static rgp_status exec_some(RgCall *call, const struct rgp_exec_req *const *reqs, size_t n,
	struct rgp_exec_resp *const *resps)
{
	rgp_status status = RGP_OK;
	Helper *helpers = helpers_new(reqs, n);
	run_together(call, helpers, n);
	for (size_t i = 0; i < n; i++) {
		rgp_status one = report(call, &helpers[i], resps[i]);
		status = status == RGP_OK ? one : status;
	}
	helpers_free(helpers, n);
	return status;
}

static rgp_status exec_many(RgCall *call, const struct rgp_exec_req *const *reqs, size_t n,
	struct rgp_exec_resp *const *resps)
{
	rgp_status status = RGP_OK;
	for (size_t at = 0; at < n; at += TOGETHER) {
		rgp_status some = exec_some(call, reqs + at, MIN(n - at, TOGETHER), resps + at);
		status = status == RGP_OK ? some : status;
	}
	return status != RGP_OK && rg_call_canceled(call) ? RGP_CANCELED : status;
}

/* Whether this call may run it. */
static bool is_allowed(RgCall *call, const struct rgp_exec_req *req)
{
	size_t args = 0, names = 0;
	bool named = true;
	while (args <= ARGS_MAX && req->argv[args])
		args++;
	for (; req->env && names <= ARGS_MAX && req->env[names]; names++)
		named = named && *req->env[names] != '=' && strchr(req->env[names], '=');
	g_autofree char *name = rg_text_clean(req->argv[0]);
	if ((call->flags & RG_CALL_READS) == 0)
		rg_call_bad(call, "it ran a helper, but %s must be pure", call->verb);
	else if ((call->flags & RG_CALL_CHANGES) == 0 && (req->flags & RGP_EXEC_READING) == 0)
		rg_call_bad(call, "it ran \"%s\", which is not marked as reading, in %s", name,
			call->verb);
	else if (args > ARGS_MAX || names > ARGS_MAX)
		rg_call_bad(call, "a helper with more than %d arguments or variables", ARGS_MAX);
	else if (!named)
		rg_call_bad(call, "a helper's environment is not made of NAME=value");
	else if (req->input.len > INPUT_MAX || (req->input.len && !req->input.data))
		rg_call_bad(call, "a helper's input is missing or larger than 1 MiB");
	else
		return true;
	return false;
}

static bool is_complete(const struct rgp_exec_req *req)
{
	return req && RGP_HAS(req, timeout_ms) && req->argv && req->argv[0];
}

rgp_status rg_provider_exec(
	struct rgp_call *handle, const struct rgp_exec_req *req, struct rgp_bytes *output)
{
	RgCall *call = rg_call_enter(handle);
	if (!call || !output || !is_complete(req))
		return RGP_FAIL;
	return is_allowed(call, req) ? exec_one(call, req, output) : RGP_FAIL;
}

rgp_status rg_provider_exec_all(struct rgp_call *handle, const struct rgp_exec_req *const *reqs,
	size_t n, struct rgp_exec_resp *const *resps)
{
	RgCall *call = rg_call_enter(handle);
	if (!call || n > RUNS_MAX || (n > 0 && (!reqs || !resps)))
		return RGP_FAIL;
	for (size_t i = 0; i < n; i++) {
		if (!is_complete(reqs[i]) || !resps[i] || !RGP_HAS(resps[i], errors) ||
			!is_allowed(call, reqs[i]))
			return RGP_FAIL;
	}
	return exec_many(call, reqs, n, resps);
}
