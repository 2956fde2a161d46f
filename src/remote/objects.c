#include "remote/objects.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void rg_object_clear(RgObject *object)
{
	g_clear_pointer(&object->content, g_bytes_unref);
	g_clear_pointer(&object->version, g_free);
	object->age_s = -1;
}

char *rg_object_machine(void)
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

bool rg_object_holder_is_dead(const json_t *lock)
{
	g_autofree char *here = rg_object_machine();
	int64_t pid = rg_json_int(lock, "pid", 0);
	if (!here || g_strcmp0(rg_json_str(lock, "machine", NULL), here) != 0 || pid <= 0 ||
		pid > G_MAXINT32)
		return false;
	return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
