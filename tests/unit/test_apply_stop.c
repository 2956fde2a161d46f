/* Runs that end early: signals, a state that cannot be written. Nothing is lost, and the next apply
 * completes it. And a run of 10,000, with all threads busy. */
#include "apply_fixture.h"
#include "slower.h"
#include <pthread.h>
#include <time.h>

static void want_pools(Apply *f, int pools, int nodes)
{
	want_nothing(f);
	for (int i = 0; i < pools; i++) {
		g_autofree char *name = g_strdup_printf("p%d", i);
		want(f, "cloud.node", name, nodes, "{'size':'big'}");
	}
}

static void interrupt_at_start(void *data, const RgEvent *event)
{
	if (event->type == RG_EVENT_START)
		g_atomic_int_set(&((Apply *)data)->level, 1);
}

static void test_a_signal_starts_nothing_new(Apply *f, gconstpointer unused)
{
	want_pools(f, 3, 2);
	f->event = interrupt_at_start;
	script(f, "{'create':[{'sleep':600}]}");
	clock_t used = clock();
	g_assert_false(apply_once(f));
	/* it waits without busy looping */
	g_assert_cmpint(clock() - used, <, times_slower() * CLOCKS_PER_SEC / 2);
	g_assert_true(f->result.interrupted);
	g_assert_cmpuint(f->result.added, ==, 2);
	g_assert_cmpuint(f->result.open, ==, 0);
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	g_assert_cmpuint(logged(f, "ready"), ==, 0);
	check_sound(f, 2);
	f->event = NULL;
	f->level = 0;
	g_assert_true(apply_once(f));
	check_sound(f, 6);
	g_assert_cmpuint(made(f), ==, 6);
}

typedef struct {
	Apply *f;
	const char *verb; /* of which the cloud has two when the second signal arrives */
} Cut;

static void *cut_there(void *data)
{
	const Cut *cut = data;
	while (logged(cut->f, cut->verb) < 2)
		g_usleep(10000);
	g_atomic_int_set(&cut->f->level, 2);
	g_atomic_int_set(&cut->f->canceled, 1);
	return NULL;
}

/* The calls of the script last a minute: that it ends within the test's time is the proof. */
static void cut_while_it_runs(Apply *f, const char *verb, const char *faults)
{
	pthread_t thread;
	Cut cut = {f, verb};
	want_pools(f, 2, 2);
	script(f, faults);
	g_assert_cmpint(pthread_create(&thread, NULL, cut_there, &cut), ==, 0);
	apply_once(f);
	pthread_join(thread, NULL);
	g_assert_true(f->result.interrupted);
	f->level = f->canceled = 0;
}

static void test_a_second_signal_leaves_the_rest_to_the_journal(Apply *f, gconstpointer unused)
{
	cut_while_it_runs(f, "create", "{'create':[{'linger':60000},{'sleep':60000}]}");
	g_assert_false(f->done);
	g_assert_cmpuint(f->result.open, ==, 4);
	g_assert_nonnull(strstr(f->told, "left in the journal"));
	g_assert_cmpuint(open_rows(f), ==, 2);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 4);
	check_sound(f, 4);
}

static void test_a_signal_ends_the_wait_for_readiness(Apply *f, gconstpointer unused)
{
	cut_while_it_runs(f, "ready", "{'ready':[{'never':true},{'never':true},{'sleep':60000}]}");
	g_assert_cmpuint(f->result.open, ==, 0);
	g_assert_cmpuint(f->result.added, ==, 4); /* they exist, but nobody waits for them */
	check_sound(f, 4);
}

/* ---- a state that cannot be written */

/* The state's handle runs no triggers, but an index over an expression without a value fails the
 * statement that would add to it. */
#define BREAK(table, condition)                                                                    \
	"CREATE INDEX broken ON " table " (abs(CASE WHEN " condition                               \
	" THEN -9223372036854775807 - 1 ELSE 1 END))"

static void break_settling(void *data, RgStore *store)
{
	run_sql(data, BREAK("resources", "address <> ''"));
}

static void break_journal(void *data, RgStore *store)
{
	run_sql(data, BREAK("journal_members", "address = 'cloud.node.p1[1]'"));
}

static void break_removal(void *data, RgStore *store)
{
	run_sql(data, BREAK("tombstones", "id <> ''"));
}

static void break_outputs(void *data, RgStore *store)
{
	run_sql(data, BREAK("resources", "instr(outputs, 'yes')"));
}

static void mend(Apply *f)
{
	run_sql(f, "DROP INDEX broken");
	f->before = NULL;
}

static void test_what_cannot_be_recorded_stays_in_the_journal(Apply *f, gconstpointer unused)
{
	want_pools(f, 3, 2);
	f->parallelism = 1;
	f->before = break_settling;
	g_assert_false(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	g_assert_cmpuint(f->result.open, ==, 2);
	g_assert_cmpuint(f->result.added, ==, 0);
	g_assert_cmpuint(open_rows(f), ==, 1);
	mend(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 6);
	check_sound(f, 6);
}

static void test_nothing_is_asked_for_that_is_not_journalled(Apply *f, gconstpointer unused)
{
	want_pools(f, 3, 2);
	f->parallelism = 1;
	f->before = break_journal;
	g_assert_false(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	g_assert_cmpuint(living(f), ==, 2);
	check_sound(f, 2);
	mend(f);
	g_assert_true(apply_once(f));
	check_sound(f, 6);
}

static void test_a_replay_that_cannot_be_recorded_is_done_again(Apply *f, gconstpointer unused)
{
	want_pools(f, 1, 2);
	script(f, "{'create':[{'lose':true}]}");
	g_assert_false(apply_once(f));
	f->before = break_settling;
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, 2);
	mend(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 2);
}

static void test_a_removal_that_cannot_be_recorded_is_finished(Apply *f, gconstpointer unused)
{
	want_pools(f, 1, 2);
	g_assert_true(apply_once(f));
	want_nothing(f);
	f->before = break_removal;
	g_assert_false(apply_once(f));
	g_assert_cmpuint(recorded(f), ==, 2);
	mend(f);
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_outputs_that_cannot_be_recorded_end_the_run(Apply *f, gconstpointer unused)
{
	want_pools(f, 1, 2);
	f->before = break_outputs;
	g_assert_false(apply_once(f));
	check_sound(f, 2);
	mend(f);
	g_assert_true(apply_once(f));
	check_sound(f, 2);
}

/* ---- many */

static void test_ten_thousand(Apply *f, gconstpointer unused)
{
	int nodes = times_slower() > 1 ? 400 : 2000; /* of a pool, in batches of 400 */
	want_pools(f, 5, nodes);
	f->parallelism = 10;
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 5 * (unsigned)nodes);
	g_assert_cmpuint(logged(f, "create"), ==, 5 * (unsigned)nodes / 400);
	g_autoptr(RgSnapshot) now = snapshot(f);
	/* the batches' rows and outcomes, the polls' outputs; not one per node */
	g_assert_cmpint(now->serial, <, 200);
	check_sound(f, 5 * (unsigned)nodes);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("stop/first-signal", test_a_signal_starts_nothing_new);
	APPLY_TEST("stop/second-signal", test_a_second_signal_leaves_the_rest_to_the_journal);
	APPLY_TEST("stop/readiness", test_a_signal_ends_the_wait_for_readiness);
	APPLY_TEST("stop/not-recorded", test_what_cannot_be_recorded_stays_in_the_journal);
	APPLY_TEST("stop/not-journalled", test_nothing_is_asked_for_that_is_not_journalled);
	APPLY_TEST("stop/replay-not-recorded", test_a_replay_that_cannot_be_recorded_is_done_again);
	APPLY_TEST("stop/removal-not-recorded", test_a_removal_that_cannot_be_recorded_is_finished);
	APPLY_TEST("stop/outputs-not-recorded", test_outputs_that_cannot_be_recorded_end_the_run);
	APPLY_TEST("many/ten-thousand", test_ten_thousand);
	return g_test_run();
}
