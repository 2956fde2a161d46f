/* The lock as JSON: who holds it, and how it is known that the holder is gone. */
#include "remote/documents.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TTL_S 180 /* documents_lease.c renews it four times as often */

/* This boot of this machine; another machine or container has others. NULL: unknown. */
static char *machine(void)
{
	char space[64];
	g_autofree char *boot = NULL;
	ssize_t len = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
	bool known = g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL);
	if (len <= 0 || !known)
		return NULL;
	space[len] = '\0';
	return g_strconcat(g_strstrip(boot), " ", space, NULL);
}

json_t *doc_holder_json(const RgHolder *holder, const char *id)
{
	g_autofree char *here = machine();
	return json_pack("{s:i, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:I, s:I, s:i}", "format",
		DOC_FORMAT, "id", id, "user", holder->user, "host", holder->host, "command",
		holder->command, "job", holder->job, "machine", here, "pid",
		(json_int_t)holder->pid, "started_s", (json_int_t)holder->started_s, "ttl_s",
		TTL_S);
}

json_t *doc_holder_free(void)
{
	return json_pack("{s:i}", "format", DOC_FORMAT);
}

bool doc_holder_is_free(const json_t *lock)
{
	return !rg_json_str(lock, "id", NULL);
}

bool doc_holder_has_expired(const json_t *lock, int64_t age_s)
{
	int64_t ttl_s = rg_json_int(lock, "ttl_s", -1);
	return ttl_s >= 0 && age_s >= 0 && age_s > ttl_s;
}

bool doc_holder_is_dead(const json_t *lock)
{
	g_autofree char *here = machine();
	int64_t pid = rg_json_int(lock, "pid", 0);
	if (!here || g_strcmp0(rg_json_str(lock, "machine", NULL), here) != 0 || pid <= 0 ||
		pid > G_MAXINT32)
		return false;
	return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
