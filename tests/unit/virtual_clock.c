/* Time that does not make tests wait. Linked into a test program, these functions replace the C
 * library's for everything that the program loads: the clock is the real one plus what was skipped,
 * and as soon as every thread waits (sleeps, waits for a condition, joins another thread), the time
 * until the first of them is due is skipped. While any thread works, time passes normally, so a
 * busy machine makes nothing late that was in time before. A thread that waits in another way (for
 * a socket, a process, GLib's own locks) counts as working.
 *
 * Forked children share the clock. Conditions with a deadline must use CLOCK_MONOTONIC. Production
 * code does not know this file, and programs without it have only the system's clock. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STANDS_IN __attribute__((visibility("default")))
#define SECOND INT64_C(1000000000)
#define POLL_NS 300000 /* how long a waiting thread really sleeps before it checks again */
#define NEVER INT64_MAX

typedef struct Waiter {
	int64_t until_ns; /* on the skipping monotonic clock */
	const void *condition;
	bool woken; /* signalled: counts as working before it really runs */
	struct Waiter *next;
} Waiter;

static _Atomic int64_t *skipped;	      /* ns; in memory that forked children share */
static atomic_flag locked = ATOMIC_FLAG_INIT; /* guards what follows */
static Waiter *waiters;
static int working = 1; /* threads that don't wait */

/* The original functions: a sanitizer's, which must see the calls, or the C library's. */
#define BEHIND(result, name, ...)                                                                  \
	extern __attribute__((weak)) result __interceptor_##name(__VA_ARGS__);                     \
	typedef result (*name##_fn)(__VA_ARGS__);                                                  \
	static name##_fn behind_##name(void)                                                       \
	{                                                                                          \
		static _Atomic(name##_fn) found;                                                   \
		if (!found)                                                                        \
			found = __interceptor_##name ? __interceptor_##name                        \
						     : (name##_fn)dlsym(RTLD_NEXT, #name);         \
		return found;                                                                      \
	}
BEHIND(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
BEHIND(int, pthread_join, pthread_t, void **)
BEHIND(int, pthread_cond_wait, pthread_cond_t *, pthread_mutex_t *)
BEHIND(int, pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, const struct timespec *)
BEHIND(int, pthread_cond_signal, pthread_cond_t *)
BEHIND(int, pthread_cond_broadcast, pthread_cond_t *)

/* No mutex: ThreadSanitizer would take this communication between threads for the program's own
 * synchronization, and miss its races. For the same reason this file is compiled without
 * sanitizers. */
static void lock(void)
{
	while (atomic_flag_test_and_set(&locked))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear(&locked);
}

static void begin_in_child(void)
{
	atomic_flag_clear(&locked);
	waiters = NULL;
	working = 1;
}

static __attribute__((constructor)) void begin(void)
{
	skipped = mmap(
		NULL, sizeof(*skipped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (skipped == MAP_FAILED || pthread_atfork(NULL, NULL, begin_in_child) != 0)
		abort();
}

static int64_t true_ns(clockid_t id)
{
	struct timespec now = {0};
	syscall(SYS_clock_gettime, id, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static int64_t now_ns(clockid_t id)
{
	bool skips = id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_REALTIME;
	return true_ns(id) + (skips && skipped ? *skipped : 0);
}

/* ---- who waits */

static void wait_begins(Waiter *waiter)
{
	lock();
	waiter->next = waiters;
	waiters = waiter;
	working--;
	unlock();
}

/* Marks one waiter of the condition, or all of them, as woken. */
static void wake(const void *condition, bool all)
{
	lock();
	for (Waiter *at = waiters; at; at = at->next) {
		if (at->condition != condition || at->woken)
			continue;
		at->woken = true;
		working++;
		if (!all)
			break;
	}
	unlock();
}

/* A waiter that really woke takes the mark that another one got in its place. */
static void take_mark(Waiter *waiter)
{
	for (Waiter *at = waiters; at && !waiter->woken; at = at->next) {
		if (waiter->condition && at->condition == waiter->condition && at->woken) {
			at->woken = false;
			waiter->woken = true;
		}
	}
}

static void wait_ends(Waiter *waiter, bool was_signalled)
{
	lock();
	if (was_signalled)
		take_mark(waiter);
	if (!waiter->woken)
		working++;
	Waiter **at = &waiters;
	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	unlock();
}

/* If no thread works, skips to when the first one is due. */
static void skip(void)
{
	lock();
	int64_t first = NEVER, now = now_ns(CLOCK_MONOTONIC);
	for (const Waiter *at = waiters; at; at = at->next)
		first = at->until_ns < first ? at->until_ns : first;
	if (working == 0 && first != NEVER && first > now)
		*skipped += first - now;
	unlock();
}

static bool is_due(const Waiter *waiter)
{
	skip();
	return now_ns(CLOCK_MONOTONIC) >= waiter->until_ns;
}

/* ---- the functions */

STANDS_IN int clock_gettime(clockid_t id, struct timespec *now)
{
	int status = (int)syscall(SYS_clock_gettime, id, now);
	if (status == 0)
		*now = timespec_of(now_ns(id));
	return status;
}

STANDS_IN time_t time(time_t *now)
{
	time_t seconds = now_ns(CLOCK_REALTIME) / SECOND;
	if (now)
		*now = seconds;
	return seconds;
}

STANDS_IN int gettimeofday(struct timeval *now, void *unused)
{
	int64_t ns = now_ns(CLOCK_REALTIME);
	*now = (struct timeval){.tv_sec = ns / SECOND, .tv_usec = ns % SECOND / 1000};
	return 0;
}

STANDS_IN int nanosleep(const struct timespec *length, struct timespec *rest)
{
	Waiter waiter = {
		.until_ns = now_ns(CLOCK_MONOTONIC) + length->tv_sec * SECOND + length->tv_nsec};
	const struct timespec pause = timespec_of(POLL_NS);
	wait_begins(&waiter);
	while (!is_due(&waiter))
		syscall(SYS_nanosleep, &pause, NULL);
	wait_ends(&waiter, false);
	return 0;
}

STANDS_IN int usleep(useconds_t us)
{
	const struct timespec length = timespec_of(us * INT64_C(1000));
	return nanosleep(&length, NULL);
}

STANDS_IN int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	Waiter waiter = {.until_ns = NEVER, .condition = condition};
	wait_begins(&waiter);
	int status = behind_pthread_cond_wait()(condition, mutex);
	wait_ends(&waiter, true);
	return status;
}

static bool is_woken(const Waiter *waiter)
{
	lock();
	bool woken = waiter->woken;
	unlock();
	return woken;
}

STANDS_IN int pthread_cond_timedwait(
	pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	Waiter waiter = {
		.until_ns = until->tv_sec * SECOND + until->tv_nsec, .condition = condition};
	int status = ETIMEDOUT;
	wait_begins(&waiter);
	while (status == ETIMEDOUT && !is_woken(&waiter) && !is_due(&waiter)) {
		const struct timespec slice = timespec_of(true_ns(CLOCK_MONOTONIC) + POLL_NS);
		status = behind_pthread_cond_timedwait()(condition, mutex, &slice);
	}
	if (status == ETIMEDOUT && is_woken(&waiter))
		status = 0;
	wait_ends(&waiter, status == 0);
	return status;
}

STANDS_IN int pthread_cond_signal(pthread_cond_t *condition)
{
	wake(condition, false);
	return behind_pthread_cond_signal()(condition);
}

STANDS_IN int pthread_cond_broadcast(pthread_cond_t *condition)
{
	wake(condition, true);
	return behind_pthread_cond_broadcast()(condition);
}

typedef struct {
	void *(*run)(void *);
	void *data;
} Start;

static void *run_thread(void *data)
{
	Start start = *(Start *)data;
	free(data);
	void *result = start.run(start.data);
	lock();
	working--;
	unlock();
	return result;
}

STANDS_IN int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data)
{
	Start *start = malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (Start){run, data};
	lock();
	working++; /* from now on, not from when the system schedules it */
	unlock();
	int status = behind_pthread_create()(thread, attributes, run_thread, start);
	if (status == 0)
		return 0;
	lock();
	working--;
	unlock();
	free(start);
	return status;
}

STANDS_IN int pthread_join(pthread_t thread, void **result)
{
	Waiter waiter = {.until_ns = NEVER};
	wait_begins(&waiter);
	int status = behind_pthread_join()(thread, result);
	wait_ends(&waiter, false);
	return status;
}
