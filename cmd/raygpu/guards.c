#include "command.h"
#include <signal.h>
#include <sys/resource.h>

/* What the system may do to the process, turned into errors (out of memory: memory.c). The next
 * apply goes on wherever this one ends, but a crash explains nothing. */

void guards_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit gives EFBIG */
	/* Core files would hold the keys. Not PR_SET_DUMPABLE, which covers a little more (other
	 * processes of the same user): it takes /proc/self away from users, and with it /dev/stdout
	 * and <(...). */
	struct rlimit limit;
	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return;
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &limit);
}
