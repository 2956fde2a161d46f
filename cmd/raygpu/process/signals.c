#include "command.h"
#include "base/clock.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* CI runners kill the process 7.5 to 10 s after they ask it to stop: requests get 4.5 s to end. */
#define GRACE_MS 4500

static atomic_int level;
static atomic_bool changing; /* requests in flight may change a cloud */
static _Atomic int64_t first_ms;

static void *watch(void *data)
{
	sigset_t *set = data;
	for (;;) {
		int signal_number = 0;
		if (sigwait(set, &signal_number))
			continue;
		/* before the level: who sees that must see its time; no other thread writes them */
		if (atomic_load(&level) == 0)
			atomic_store(&first_ms, rg_clock_monotonic_ms());
		atomic_fetch_add(&level, 1);
	}
	return NULL;
}

void signals_start(void)
{
	static sigset_t set;
	pthread_t thread;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, watch, &set) == 0)
		pthread_detach(thread);
}

void signals_now_changing(void)
{
	atomic_store(&changing, true);
}

int signals_level(void *unused)
{
	return MIN(atomic_load(&level), 2);
}

bool signals_came(void *unused)
{
	return atomic_load(&level) != 0;
}

bool signals_cut_requests(void *unused)
{
	int now = atomic_load(&level);
	if (now == 1 && atomic_load(&changing))
		return rg_clock_monotonic_ms() - atomic_load(&first_ms) > GRACE_MS;
	return now != 0;
}
