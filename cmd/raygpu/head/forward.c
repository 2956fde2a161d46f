#include "head/forward.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 8
#define LOOK_MS 50
#define CONNECT_TIMEOUT_MS 60000 /* a sign-in and a handshake, and someone typing */
#define TAIL_BYTES 2000

struct Forward {
	GPid pids[PROCESSES_MAX];
	size_t n;
	bool grouped; /* each leads a process group, which ends as a whole */
	int log;      /* what they say, an unlinked file */
};

/* Of the signal handler: nothing else may end the helpers of a helper, which have its process
 * group. Zero: none. */
static volatile pid_t groups[PROCESSES_MAX];

static void end_groups(int number)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (groups[i])
			kill(-groups[i], SIGTERM);
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- ports */

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static bool port_is_free(unsigned port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in address = loopback(port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	bool is_free = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	close(fd);
	return is_free;
}

static bool port_answers(unsigned port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = loopback(port);
	bool answers = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
	close(fd);
	return answers;
}

static bool check_ports(const RgReachAsk *ask, RgDiags *diags)
{
	static const char *const options[] = {"--dashboard-port", "--client-port"};
	for (size_t i = 0; i < G_N_ELEMENTS(ask->ports); i++) {
		if (port_is_free(ask->ports[i].local))
			continue;
		RgDiag *diag = rg_diags_error(diags, "connect.port-in-use",
			"port %u of this machine is in use", ask->ports[i].local);
		rg_diag_hint(diag, "choose another with %s", options[i]);
		return false;
	}
	return true;
}

/* ---- processes */

/* Between fork and exec. They must not outlive raygpu, and Ctrl-C is the shell's. */
static void set_up_child(gpointer grouped)
{
	const Forward *leads = grouped;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (leads)
		setpgid(0, 0);
	else
		signal(SIGINT, SIG_IGN);
}

static bool forward_spawn(Forward *forward, GStrv command, RgDiags *diags)
{
	g_autoptr(GError) error = NULL;
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	GPid pid = 0;
	bool ok = g_spawn_async_with_fds(NULL, command, NULL,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, set_up_child,
		forward->grouped ? forward : NULL, &pid, nothing, forward->log, forward->log,
		&error);
	close(nothing);
	if (ok) {
		if (forward->grouped)
			groups[forward->n] = pid;
		forward->pids[forward->n++] = pid;
		return true;
	}
	RgDiag *diag = rg_diags_error(
		diags, "connect.failed", "`%s` cannot be started: %s", command[0], error->message);
	rg_diag_hint(diag, "install it, or choose another way with --via");
	return false;
}

/* The last lines of what they said; g_free. */
static char *forward_said(const Forward *forward)
{
	off_t end = lseek(forward->log, 0, SEEK_END);
	off_t from = MAX(0, end - TAIL_BYTES);
	g_autofree char *text = g_malloc0(TAIL_BYTES + 1);
	ssize_t n = pread(forward->log, text, TAIL_BYTES, from);
	char *valid = g_utf8_make_valid(text, MAX(0, n));
	return g_strstrip(valid);
}

static void report_end(const Forward *forward, const RgReachWay *way, size_t i, RgDiags *diags)
{
	g_autofree char *said = forward_said(forward);
	g_auto(GStrv) command = g_strdupv(way->commands->pdata[i]);
	g_autofree char *line = g_strjoinv(" ", command);
	RgDiag *diag =
		rg_diags_error(diags, "connect.failed", "cannot connect through %s", way->way);
	rg_diag_detail(diag, "%s\n%s", line,
		*said				     ? said
		: i < forward->n && forward->pids[i] ? "it did not answer in time"
						     : "it ended without a message");
	rg_diag_hint(diag, "run the command yourself to see why; `raygpu connect --print` shows "
			   "all of them");
}

/* One that has ended, or the number of them. */
static size_t find_ended(Forward *forward)
{
	size_t i = 0;
	while (i < forward->n && waitpid(forward->pids[i], NULL, WNOHANG) == 0)
		i++;
	if (i < forward->n) { /* its number may belong to another process now */
		forward->pids[i] = 0;
		groups[i] = 0;
	}
	return i;
}

static bool wait_for_ports(
	Forward *forward, const RgReachWay *way, const RgReachAsk *ask, RgDiags *diags)
{
	size_t ready = 0;
	for (unsigned waited_ms = 0; waited_ms < CONNECT_TIMEOUT_MS; waited_ms += LOOK_MS) {
		while (ready < G_N_ELEMENTS(ask->ports) && port_answers(ask->ports[ready].local))
			ready++;
		if (ready == G_N_ELEMENTS(ask->ports))
			return true;
		size_t ended = find_ended(forward);
		if (ended < forward->n) {
			report_end(forward, way, ended, diags);
			return false;
		}
		g_usleep(LOOK_MS * 1000);
	}
	report_end(forward, way, 0, diags);
	return false;
}

Forward *forward_start(const RgReachWay *way, const RgReachAsk *ask, RgDiags *diags)
{
	if (!check_ports(ask, diags))
		return NULL;
	Forward *forward = g_new0(Forward, 1);
	g_autofree char *name = NULL;
	forward->grouped = !way->prompts;
	forward->log = g_file_open_tmp("raygpu-connect-XXXXXX", &name, NULL);
	if (name)
		g_unlink(name);
	signal(SIGTERM, end_groups);
	signal(SIGHUP, end_groups);
	bool ok = forward->log >= 0;
	for (guint i = 0; ok && i < way->commands->len && i < PROCESSES_MAX; i++)
		ok = forward_spawn(forward, way->commands->pdata[i], diags);
	if (ok && wait_for_ports(forward, way, ask, diags))
		return forward;
	forward_stop(forward);
	return NULL;
}

void forward_stop(Forward *forward)
{
	for (size_t i = 0; i < forward->n; i++) {
		if (!forward->pids[i])
			continue;
		kill(forward->grouped ? -forward->pids[i] : forward->pids[i], SIGTERM);
		waitpid(forward->pids[i], NULL, 0);
		groups[i] = 0;
	}
	if (forward->log >= 0)
		close(forward->log);
	g_free(forward);
}

static void restore_signals(gpointer unused)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
}

int forward_run(const Forward *forward, char **command, char **environment, RgDiags *diags)
{
	g_autoptr(GError) error = NULL;
	GPid pid = 0;
	int status = 0;
	/* as a shell does it for the program in the foreground */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	bool ok = g_spawn_async(NULL, command, environment,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_CHILD_INHERITS_STDIN,
		restore_signals, NULL, &pid, &error);
	while (ok && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	restore_signals(NULL);
	if (!ok) {
		rg_diags_error(diags, "connect.failed", "`%s` cannot be started: %s", command[0],
			error->message);
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
