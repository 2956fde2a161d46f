#include "ssh/answer.h"
#include <arpa/inet.h>
#include <string.h>
#include "ssh/hostkey.h"

#define LINES_MAX 5000
#define SSH_FAILED 255 /* ssh's own status; others are the remote command's */
#define TIMED_OUT 124  /* that of timeout(1), which remote.c runs */

static const char *const keys[] = {"boot", "clock", "cpus", "memory_kib", "disk_kib", "slow_name",
	"docker_version", "address", "claim", "claim.token", "claim.lineage", "claim.cluster",
	"claim.pool", "claim.index", "claim.address", "claim.id", "service", "files", "foreign",
	"failed", "taken", "refused", "gone", "ok", "end", NULL};
static const char *const lists[] = {"gpu", "runtime", "log", NULL};

static char *clean(const char *text)
{
	char *copy = g_strdup(text);
	for (char *at = copy; *at; at++)
		if (!g_ascii_isprint(*at))
			*at = ' ';
	return g_strstrip(copy);
}

static void put(json_t *answer, const char *key, const char *text)
{
	json_t *list = json_object_get(answer, key);
	if (!g_strv_contains(lists, key)) {
		json_object_set_new(answer, key, json_string(text));
		return;
	}
	if (!list) {
		list = json_array();
		json_object_set_new(answer, key, list);
	}
	json_array_append_new(list, json_string(text));
}

/* What becomes part of the scripts of other hosts is an address and nothing else. */
static bool is_safe(const char *key, const char *text)
{
	unsigned char binary[sizeof(struct in6_addr)];
	return !g_str_equal(key, "address") || inet_pton(AF_INET, text, binary) == 1 ||
	       inet_pton(AF_INET6, text, binary) == 1;
}

static void read_line(json_t *answer, char *key)
{
	char *blank = strchr(key, ' ');
	g_autofree char *text = clean(blank ? blank + 1 : "");
	if (blank)
		*blank = '\0';
	if ((g_strv_contains(keys, key) || g_strv_contains(lists, key)) && is_safe(key, text))
		put(answer, key, text);
}

static char *start_of(const char *mark)
{
	return g_strdup_printf("raygpu-%s: ", mark);
}

json_t *ssh_answer_parse(struct rgp_bytes output, const char *mark)
{
	g_autofree char *start = start_of(mark);
	g_autofree char *text = g_strndup(output.data ? output.data : "", output.len);
	g_auto(GStrv) lines = g_strsplit(text, "\n", LINES_MAX);
	json_t *answer = json_object();
	for (char **line = lines; *line && !json_object_get(answer, "end"); line++)
		if (g_str_has_prefix(*line, start))
			read_line(answer, *line + strlen(start));
	if (json_object_get(answer, "end"))
		return answer;
	json_decref(answer);
	return NULL;
}

void ssh_fault_clear(SshFault *fault)
{
	g_clear_pointer(&fault->message, g_free);
	*fault = (SshFault){0};
}

/* The last line that says something. */
static char *last_line(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = g_strv_length(lines); i > 0; i--) {
		g_autofree char *line = clean(lines[i - 1]);
		if (*line)
			return g_strndup(line, 300);
	}
	return NULL;
}

static char *changed_key(const char *errors)
{
	g_autofree char *print = ssh_shown_key_print(errors);
	return g_strdup_printf("its host key has changed; the key it shows now is %s",
		print ? print : "of unknown fingerprint");
}

static SshFault of_ssh(const char *errors)
{
	char *line = last_line(errors);
	if (strstr(errors, "REMOTE HOST IDENTIFICATION HAS CHANGED")) {
		g_free(line);
		return (SshFault){RGP_CLASS_DENIED, changed_key(errors),
			"if the host was installed again, remove its old key with `ssh-keygen -R "
			"HOST`; if not, another machine may be between you and it"};
	}
	if (strstr(errors, "Host key verification failed"))
		return (SshFault){RGP_CLASS_DENIED, line,
			"connect with ssh once and compare its key, or add it to known_hosts; "
			"`host_keys: accept-new` trusts keys that are seen for the first time"};
	if (strstr(errors, "Permission denied"))
		return (SshFault){RGP_CLASS_DENIED, line,
			"`ssh HOST` must log in without asking: raygpu never answers a question"};
	return (SshFault){
		RGP_CLASS_TRANSIENT, line ? line : g_strdup("ssh ended without a reason"), NULL};
}

static SshFault of_shell(int32_t status, const char *errors)
{
	g_autofree char *line = last_line(errors);
	bool sudo = strstr(errors, "sudo:") != NULL, absent = status == 127;
	const char *hint = sudo	    ? "log in as root, or as a user that may use sudo without a "
				      "password"
			   : absent ? "install bash on the host"
				    : NULL;
	return (SshFault){sudo ? RGP_CLASS_DENIED : RGP_CLASS_UNKNOWN,
		g_strdup_printf("its shell ended with status %d%s%s", (int)status, line ? ": " : "",
			line ? line : ""),
		hint};
}

char *ssh_last_line(struct rgp_bytes errors)
{
	g_autofree char *text = g_strndup(errors.data ? errors.data : "", errors.len);
	return last_line(text);
}

/* What its login prints on standard error is not a message of ssh. */
static SshFault of_connection(const char *errors)
{
	g_autofree char *line = last_line(errors);
	return (SshFault){RGP_CLASS_TRANSIENT,
		g_strdup_printf("its connection was lost, or its login ended with status %d%s%s",
			SSH_FAILED, line ? ": " : "", line ? line : ""),
		NULL};
}

/* Did the shell begin that remote.c sends its input to? */
static bool has_begun(struct rgp_bytes output, const char *mark)
{
	g_autofree char *start = start_of(mark);
	return output.data && g_strstr_len(output.data, (gssize)output.len, start);
}

SshFault ssh_fault_of(const struct rgp_exec_resp *resp, const char *mark)
{
	int32_t status = resp->status;
	g_autofree char *text =
		g_strndup(resp->errors.data ? resp->errors.data : "", resp->errors.len);
	if (status < 0)
		return (SshFault){RGP_CLASS_TRANSIENT,
			g_strdup("it took too long, or wrote more than 1 MiB"), NULL};
	if (status == 0)
		return (SshFault){RGP_CLASS_UNKNOWN,
			g_strdup("its answer is not complete: does the login start another shell?"),
			NULL};
	if (status == TIMED_OUT && has_begun(resp->output, mark))
		return (SshFault){
			RGP_CLASS_TRANSIENT, g_strdup("it did not finish within 90 s"), NULL};
	if (status != SSH_FAILED)
		return of_shell(status, text);
	return resp->output.len ? of_connection(text) : of_ssh(text);
}
