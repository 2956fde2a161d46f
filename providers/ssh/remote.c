#include "ssh/remote.h"
#include "ssh/data.h"
#include "ssh/hostkey.h"

#define TIMEOUT_MS 120000
#define CONNECT_TIMEOUT "ConnectTimeout=15"

/* Nobody can answer questions; nothing of the user's session goes to the host. ssh_config(5) */
static const char *const options[] = {"ssh", "-T", "-o", "BatchMode=yes", "-o", CONNECT_TIMEOUT,
	"-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4", "-o",
	"ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o",
	"LogLevel=ERROR", NULL};

/* Prints an empty line here when the connection stands: what is on standard error from then on may
 * be of the host. One that shares the connection of another does not (ssh_config(5)). */
static const char *const local[] = {
	"-o", "PermitLocalCommand=yes", "-o", "LocalCommand=echo", NULL};

/* Nor can a window, for a jump host. ssh(1) */
static const char *const environment[] = {"SSH_ASKPASS_REQUIRE=never", NULL};

/* The first lines of the input, each read by another shell: as root, also where another user logs
 * in, and not after TIMEOUT_MS, since the host would go on where the connection is lost. What a
 * login has printed may not have ended with a line. */
static const char become[] =
	"printf '\\nraygpu-%%s: began\\n' %s; [ \"$(id -u)\" = 0 ] || exec sudo -n bash -s\n"
	"exec timeout -k 5 90 bash -s\n"
	"mark=%s\n";

static void run_free(gpointer data)
{
	SshRun *run = data;
	if (run->input)
		g_string_free(run->input, TRUE);
	g_free(run->mark);
	json_decref(run->answer);
	ssh_fault_clear(&run->fault);
	g_free(run);
}

GPtrArray *ssh_runs_new(void)
{
	return g_ptr_array_new_with_free_func(run_free);
}

SshRun *ssh_runs_add(GPtrArray *runs, const SshHost *host)
{
	SshRun *run = g_new0(SshRun, 1);
	run->host = host;
	run->mark = g_uuid_string_random();
	run->input = g_string_new(NULL);
	g_string_printf(run->input, become, run->mark, run->mark);
	g_ptr_array_add(runs, run);
	return run;
}

void ssh_run_set(SshRun *run, const char *name, const char *value)
{
	g_autofree char *quoted = g_shell_quote(value);
	g_string_append_printf(run->input, "%s=%s\n", name, quoted);
}

/* ---- the command line */

static void add_words(GPtrArray *words, const char *const *more)
{
	for (; more && *more; more++)
		g_ptr_array_add(words, g_strdup(*more));
}

static void add_option(GPtrArray *words, const char *option, const char *value)
{
	const char *const pair[] = {option, value, NULL};
	if (*value)
		add_words(words, pair);
}

/* For all that decides which machine answers, by which way: ssh's own %C leaves out jump hosts. */
static char *socket_of(const struct rgp_inst *inst, const SshHost *host)
{
	const char *config = mod_str(inst->config, "ssh_config");
	g_autofree char *file = *config ? g_canonicalize_filename(config, NULL) : g_strdup("");
	json_auto_t *way = json_pack("[s, s, s, i, s, s, s]", host->name, host->address, host->user,
		(int)host->port, host->proxy_jump, file, mod_str(inst->config, "host_keys"));
	g_autofree char *text = json_dumps(way, JSON_COMPACT);
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	return g_strdup_printf("ControlPath=%s/raygpu-%.32s", inst->sockets, sum);
}

/* Connections to a host are shared for a minute. */
static void add_shared(GPtrArray *words, const struct rgp_inst *inst, const SshHost *host)
{
	if (!inst->sockets)
		return;
	g_autofree char *path = socket_of(inst, host);
	const char *const shared[] = {
		"-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", path, NULL};
	add_words(words, shared);
}

static GPtrArray *words_of(const struct rgp_inst *inst, const SshHost *host)
{
	GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
	bool accept = g_str_equal(mod_str(inst->config, "host_keys"), "accept-new");
	g_autofree char *port = host->port ? g_strdup_printf("%u", host->port) : g_strdup("");
	add_words(words, options);
	add_words(words, local);
	add_shared(words, inst, host);
	add_option(words, "-o",
		accept ? "StrictHostKeyChecking=accept-new" : "StrictHostKeyChecking=yes");
	add_option(words, "-F", mod_str(inst->config, "ssh_config"));
	add_option(words, "-l", host->user);
	add_option(words, "-p", port);
	add_option(words, "-J", host->proxy_jump);
	add_option(words, "--", host->address);
	g_ptr_array_add(words, g_strdup("exec bash -s"));
	g_ptr_array_add(words, NULL);
	return words;
}

/* ---- all of them */

typedef struct {
	struct rgp_exec_req req;
	struct rgp_exec_resp resp;
	GPtrArray *words;
} Program;

static void prepare(
	const ModCall *call, Program *program, SshRun *run, const char *function, bool reading)
{
	const struct rg_embedded *library = ssh_data_find("host.sh");
	g_string_append_len(run->input, library->data, (gssize)library->len);
	g_string_append_printf(run->input, "%s\nexit 0\n", function);
	program->words = words_of(call->inst, run->host);
	program->req = (struct rgp_exec_req){.size = sizeof program->req,
		.flags = reading ? RGP_EXEC_READING : 0,
		.argv = (const char *const *)program->words->pdata,
		.env = environment,
		.input = {run->input->str, run->input->len},
		.timeout_ms = TIMEOUT_MS};
	program->resp = (struct rgp_exec_resp){.size = sizeof program->resp};
}

/* The fingerprint that known_hosts has, beside the one that ssh shows. */
static void add_known_key(const ModCall *call, SshRun *run, struct rgp_bytes errors)
{
	g_autofree char *text = g_strndup(errors.data ? errors.data : "", errors.len);
	g_auto(SshKnownKey) key = {0};
	struct rgp_bytes output = {0};
	if (!ssh_known_key_read(&key, text))
		return;
	const char *const words[] = {"ssh-keygen", "-l", "-F", key.name, "-f", key.file, NULL};
	const struct rgp_exec_req req = {
		.size = sizeof req, .flags = RGP_EXEC_READING, .argv = words};
	if (call->talk.host->exec(call->talk.call, &req, &output) != RGP_OK)
		return;
	g_autofree char *listed = g_strndup(output.data ? output.data : "", output.len);
	g_autofree char *print = ssh_known_key_print(&key, listed);
	g_autofree char *message = g_steal_pointer(&run->fault.message);
	run->fault.message = g_strdup_printf(
		"%s, the known one in %s is %s", message, key.file, print ? print : "not readable");
}

static void take_end(const ModCall *call, SshRun *run, const Program *program)
{
	run->answer = ssh_answer_parse(program->resp.output, run->mark);
	if (run->answer)
		return;
	run->fault = ssh_fault_of(&program->resp, run->mark);
	if (!program->resp.output.len)
		add_known_key(call, run, program->resp.errors);
}

rgp_status ssh_runs_start(const ModCall *call, GPtrArray *runs, const char *function, bool reading)
{
	guint n = runs->len;
	g_autofree Program *programs = g_new0(Program, MAX(n, 1));
	g_autofree const struct rgp_exec_req **reqs =
		g_new0(const struct rgp_exec_req *, MAX(n, 1));
	g_autofree struct rgp_exec_resp **resps = g_new0(struct rgp_exec_resp *, MAX(n, 1));
	for (guint i = 0; i < n; i++) {
		prepare(call, &programs[i], runs->pdata[i], function, reading);
		reqs[i] = &programs[i].req;
		resps[i] = &programs[i].resp;
	}
	rgp_status status = call->talk.host->exec_all(call->talk.call, reqs, n, resps);
	for (guint i = 0; i < n; i++) {
		if (status != RGP_CANCELED)
			take_end(call, runs->pdata[i], &programs[i]);
		g_ptr_array_unref(programs[i].words);
	}
	return status == RGP_CANCELED ? status : RGP_OK;
}

bool ssh_run_is_good(const SshRun *run)
{
	return run->answer && !json_object_get(run->answer, "failed");
}

void ssh_run_fail(const SshRun *run, ModFailure *failure)
{
	if (run->answer) {
		const char *why = mod_str(run->answer, "failed");
		mod_failure_set(failure, RGP_CLASS_UNKNOWN, NULL, "%s: %s", run->host->name,
			*why ? why : "it does not say whether that is done");
		return;
	}
	mod_failure_set(failure, run->fault.class_, NULL, "%s: %s", run->host->name,
		run->fault.message ? run->fault.message : "no answer");
	failure->hint = run->fault.hint;
}
