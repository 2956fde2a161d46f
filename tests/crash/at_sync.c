/* Preloaded into raygpu: kills it at one of its calls of fsync and fdatasync, that is, at one of
 * the steps in which the state becomes durable. $SYNCS is a file that gets a byte with each call;
 * $KILL_AT the number of the call, counted from 1, before which the process dies; 0: none. With
 * $KILL_WITH it gets that signal instead, and goes on when a thread has taken it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void send_signal(const char *with)
{
	sigset_t pending;
	kill(getpid(), with ? atoi(with) : SIGKILL);
	do {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		sigpending(&pending);
	} while (with && sigismember(&pending, atoi(with)));
}

static void step(void)
{
	static long calls;
	const char *at = getenv("KILL_AT"), *log = getenv("SYNCS");
	int fd = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		if (write(fd, ".", 1) != 1)
			abort();
		close(fd);
	}
	if (++calls == (at ? atol(at) : 0))
		send_signal(getenv("KILL_WITH"));
}

int fsync(int fd)
{
	step();
	return ((__typeof__(&fsync))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd)
{
	step();
	return ((__typeof__(&fdatasync))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
