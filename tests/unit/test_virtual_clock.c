/* The clock of the tests that would sleep (virtual_clock.c): it skips time in which all threads
 * wait, and none in which one works. */
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"

#define HOUR_MS 3600000

static int64_t true_ms(void)
{
	/* not GLib's clock: that would be the skipping one */
	g_autofree char *uptime = NULL;
	g_assert_true(g_file_get_contents("/proc/uptime", &uptime, NULL, NULL));
	return (int64_t)(g_ascii_strtod(uptime, NULL) * 1000);
}

static void test_a_sleep_takes_no_time_and_moves_both_clocks(void)
{
	int64_t began_ms = true_ms(), ms = rg_clock_monotonic_ms(), s = rg_clock_now_s();
	g_usleep(HOUR_MS * G_GINT64_CONSTANT(1000));
	g_assert_cmpint(rg_clock_monotonic_ms() - ms, >=, HOUR_MS);
	g_assert_cmpint(rg_clock_now_s() - s, >=, HOUR_MS / 1000);
	g_assert_cmpint(true_ms() - began_ms, <, HOUR_MS);
}

typedef struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool done;
	int64_t ended_ms;
} Room;

static void room_init(Room *room)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&room->mutex, NULL);
	pthread_cond_init(&room->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void *sleep_and_tell(void *data)
{
	Room *room = data;
	g_usleep(G_USEC_PER_SEC);
	pthread_mutex_lock(&room->mutex);
	room->done = true;
	room->ended_ms = rg_clock_monotonic_ms();
	pthread_cond_signal(&room->changed);
	pthread_mutex_unlock(&room->mutex);
	return NULL;
}

/* Waits at most an hour of the skipping clock for another thread. */
static bool is_told(Room *room)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HOUR_MS / 1000;
	pthread_mutex_lock(&room->mutex);
	int status = 0;
	while (!room->done && status == 0)
		status = pthread_cond_timedwait(&room->changed, &room->mutex, &until);
	bool told = room->done;
	pthread_mutex_unlock(&room->mutex);
	return told;
}

static void test_the_first_that_is_due_goes_first(void)
{
	Room room = {0};
	pthread_t thread;
	room_init(&room);
	int64_t began_ms = rg_clock_monotonic_ms();
	g_assert_cmpint(pthread_create(&thread, NULL, sleep_and_tell, &room), ==, 0);
	g_assert_true(is_told(&room));
	pthread_join(thread, NULL);
	g_assert_cmpint(room.ended_ms - began_ms, >=, 1000);
	g_assert_cmpint(rg_clock_monotonic_ms() - began_ms, <, HOUR_MS);
}

static void *work_and_tell(void *data)
{
	for (int64_t until_ms = rg_clock_monotonic_ms() + 100; rg_clock_monotonic_ms() < until_ms;)
		;
	return sleep_and_tell(data);
}

static void test_nothing_is_skipped_while_a_thread_works(void)
{
	for (int i = 0; i < 5; i++) {
		Room room = {0};
		pthread_t thread;
		room_init(&room);
		int64_t began_ms = true_ms();
		g_assert_cmpint(pthread_create(&thread, NULL, work_and_tell, &room), ==, 0);
		g_assert_true(is_told(&room)); /* an hour would be over at once */
		pthread_join(thread, NULL);
		g_assert_cmpint(true_ms() - began_ms, >=, 80);
	}
}

static void test_a_deadline_comes_when_nobody_signals(void)
{
	Room room = {0};
	room_init(&room);
	int64_t began_ms = rg_clock_monotonic_ms();
	g_assert_false(is_told(&room));
	g_assert_cmpint(rg_clock_monotonic_ms() - began_ms, >=, HOUR_MS);
}

static void test_a_child_shares_the_clock(void)
{
	int64_t before_ms = rg_clock_monotonic_ms();
	pid_t child = fork();
	if (child == 0) {
		g_usleep(HOUR_MS * G_GINT64_CONSTANT(1000));
		_exit(0);
	}
	int status = 1;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(rg_clock_monotonic_ms() - before_ms, >=, HOUR_MS);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock/sleep", test_a_sleep_takes_no_time_and_moves_both_clocks);
	g_test_add_func("/clock/first-due", test_the_first_that_is_due_goes_first);
	g_test_add_func("/clock/work", test_nothing_is_skipped_while_a_thread_works);
	g_test_add_func("/clock/deadline", test_a_deadline_comes_when_nobody_signals);
	g_test_add_func("/clock/child", test_a_child_shares_the_clock);
	return g_test_run();
}
