#include "command.h"
#include <signal.h>
#include <sys/resource.h>

/* Turns what the system may do to the process into errors (out of memory: memory.c). The next apply
 * continues wherever this one ends, but a crash explains nothing. */

void guards_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit returns EFBIG */
	/* Core files would contain the keys. Not PR_SET_DUMPABLE, which covers slightly more (other
	 * processes of the same user): it makes /proc/self inaccessible to users, and with it
	 * /dev/stdout and <(...). */
	struct rlimit limit;
	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return;
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &limit);
}
