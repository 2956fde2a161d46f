/* Open journal rows (decide.md rows 16 to 18): whatever happened to the first request, the next
 * apply leaves exactly what is desired, each resource recorded once, and creates no second one. */
#include "apply_fixture.h"
#include <glib/gstdio.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLD_SQL "UPDATE journal SET started_s = started_s - "

static void want_nodes(Apply *f, int n)
{
	want_nothing(f);
	want(f, "cloud.node", "a", n, "{'size':'big'}");
}

/* A first apply whose create met the fault, with an unknown result. */
static void begin(Apply *f, int n, const char *faults)
{
	want_nodes(f, n);
	script(f, faults);
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, n);
	g_assert_cmpuint(open_rows(f), ==, 1);
	g_assert_cmpuint(recorded(f), ==, 0);
}

static void test_a_lost_answer_is_taken_over(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 3);
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
	g_assert_nonnull(strstr(f->told, "cloud.node.a[0] and its batch: asking the cloud again"));
}

static void test_killed_before_and_after_the_deed(Apply *f, gconstpointer unused)
{
	want_nodes(f, 3);
	script(f, "{'create':[{'kill':'before'},{'kill':'after'},{'kill':'after'}]}");
	for (int i = 0; i < 3; i++)
		apply_killed(f);
	g_assert_cmpuint(open_rows(f), ==, 1);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_a_moved_spec_replaces_what_came_back(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'lose':true}]}");
	want_nothing(f);
	want(f, "cloud.node", "a", 2, "{'size':'small'}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 4);
	check_sound(f, 2);
}

static void test_a_moved_spec_and_nothing_made(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'doubt':'transient'},{'refuse':'capacity'}]}");
	want_nothing(f);
	want(f, "cloud.node", "a", 2, "{'size':'small'}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 2);
}

static void test_a_withdrawn_create_is_deleted(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'lose':true}]}");
	want_nothing(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 0);
}

static void test_a_withdrawn_create_that_made_nothing_is_forgotten(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'doubt':'transient'},{'refuse':'gone'}]}");
	want_nothing(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 0);
	check_sound(f, 0);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 2);
}

static void test_a_refused_replay_finds_what_was_made(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true},{'refuse':'invalid'}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "find"), ==, 1);
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_a_refused_replay_and_nothing_there(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'doubt':'transient'},{'refuse':'invalid'}]}");
	/* an old row proves nothing: a killed apply may have replayed it a moment ago */
	run_sql(f, OLD_SQL "1800");
	gint64 begun = g_get_monotonic_time();
	g_assert_true(apply_once(f));
	g_assert_cmpint(g_get_monotonic_time() - begun, >=, G_USEC_PER_SEC);
	/* at once and when it is proof; a slow machine's first read is late enough */
	g_assert_cmpuint(logged(f, "find"), >=, 1);
	g_assert_cmpuint(logged(f, "find"), <=, 2);
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_a_view_that_lags_is_waited_for(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true},{'refuse':'quota'}],'find':[{'hide':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_things_without_address_are_known_by_their_place(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true},{'refuse':'denied'}],'find':[{'anonymous':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_things_that_cannot_be_told_apart_keep_the_row_open(Apply *f, gconstpointer unused)
{
	begin(f, 3,
		"{'create':[{'lose':true,'only':2},{'refuse':'denied'}],"
		"'find':[{'anonymous':true},{'anonymous':true},{'anonymous':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, 3);
	g_assert_cmpuint(f->result.failed, ==, 3);
	g_assert_nonnull(strstr(the_error(f, "apply.blocked")->detail, "the script wants it"));
	g_assert_cmpuint(made(f), ==, 2);
	script(f, "{}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_a_doubtful_replay_blocks_dependents_only(Apply *f, gconstpointer unused)
{
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", 2, NODE);
	want(f, "cloud.node", "b", 2, "{'size':'big'}");
	f->parallelism = 1;
	script(f, "{'create':[{'lose':true},{},{'doubt':'throttled'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, 1);
	g_assert_cmpuint(f->result.added, ==, 2);
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, 1);
	g_assert_cmpuint(f->result.failed, ==, 1);
	g_assert_cmpuint(f->result.blocked, ==, 2);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 5);
	check_sound(f, 5);
}

static void test_an_old_token_is_never_sent_again(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'lose':true}]}");
	run_sql(f, OLD_SQL "3700");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 2);
}

static void test_of_a_very_old_row_absence_is_believed_at_once(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'doubt':'transient'}]}");
	run_sql(f, OLD_SQL "10000");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "find"), ==, 1);
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 2);
}

/* Not even of a row so old that absence would count. */
static void test_what_cannot_be_read_is_not_made_again(Apply *f, gconstpointer unused)
{
	begin(f, 2,
		"{'create':[{'lose':true}],"
		"'find':[{'silent':true},{'silent':true,'anonymous':true}]}");
	run_sql(f, OLD_SQL "10000");
	for (int i = 0; i < 2; i++) {
		g_assert_false(apply_once(f));
		g_assert_cmpuint(open_rows(f), ==, 1);
		g_assert_nonnull(
			strstr(the_error(f, "apply.blocked")->detail, "cannot be read: no route"));
		g_assert_cmpuint(made(f), ==, 2);
	}
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	check_sound(f, 2);
}

static void test_a_module_without_find_lists(Apply *f, gconstpointer unused)
{
	g_setenv("CLOUD_WITHOUT_FIND", "1", TRUE);
	begin(f, 3, "{'create':[{'lose':true,'only':2}]}");
	run_sql(f, OLD_SQL "3700");
	g_assert_true(apply_once(f));
	g_unsetenv("CLOUD_WITHOUT_FIND");
	g_assert_cmpuint(logged(f, "find"), ==, 0);
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_what_is_left_out_is_not_sent_again(Apply *f, gconstpointer unused)
{
	char *excludes[] = {(char *)(guintptr) "cloud.node.a", NULL};
	begin(f, 2, "{'create':[{'kill':'never','doubt':'transient'}]}");
	want(f, "cloud.node", "b", 1, "{'size':'big'}");
	f->diff.excludes = excludes;
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 1);
	g_assert_cmpuint(open_rows(f), ==, 1);
	f->diff.excludes = NULL;
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
}

static void test_half_made_is_completed_by_the_replay(Apply *f, gconstpointer unused)
{
	begin(f, 1, "{'create':[{'half':true},{'half':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.open, ==, 1);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 1);
	check_sound(f, 1);
}

static void test_half_made_and_withdrawn_is_deleted(Apply *f, gconstpointer unused)
{
	begin(f, 1, "{'create':[{'half':true},{'half':true}]}");
	want_nothing(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 1);
	check_sound(f, 0);
}

/* The first answer said that one member was not created, and the replay creates it. */
static void test_more_than_was_open_is_adopted(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true,'only':1},{'extra':true}]}");
	run_sql(f, "DELETE FROM journal_members WHERE address = 'cloud.node.a[1]'");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 3);
	check_sound(f, 3);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 0);
}

static void test_more_than_was_open_and_another_spec(Apply *f, gconstpointer unused)
{
	begin(f, 3, "{'create':[{'lose':true,'only':1},{'extra':true}]}");
	run_sql(f, "DELETE FROM journal_members WHERE address = 'cloud.node.a[1]'");
	want_nothing(f);
	want(f, "cloud.node", "a", 3, "{'size':'small'}");
	g_assert_true(apply_once(f));
	check_sound(f, 3);
	g_autoptr(RgSnapshot) now = snapshot(f);
	for (int i = 0; i < 3; i++) {
		g_autofree char *address = g_strdup_printf("cloud.node.a[%d]", i);
		const RgResource *node = rg_resource_set_find(now->recorded, address);
		g_assert_cmpstr(rg_json_str(node->attrs, "size", ""), ==, "small");
	}
}

static void interrupt_at_once(void *data, RgStore *store)
{
	g_atomic_int_set(&((Apply *)data)->level, 1);
}

static void test_an_interrupt_leaves_rows_alone(Apply *f, gconstpointer unused)
{
	begin(f, 2, "{'create':[{'lose':true}]}");
	f->before = interrupt_at_once;
	g_assert_false(apply_once(f));
	g_assert_true(f->result.interrupted);
	g_assert_cmpuint(f->result.open, ==, 2);
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 0);
	g_assert_nonnull(strstr(f->told, "cloud.node.a[0], cloud.node.a[1]"));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	f->before = NULL;
	f->level = 0;
	g_assert_true(apply_once(f));
	check_sound(f, 2);
}

static void *interrupt_when_searching(void *data)
{
	Apply *f = data;
	while (!logged(f, "find"))
		g_usleep(10000);
	g_atomic_int_set(&f->level, 1);
	return NULL;
}

static void test_an_interrupt_ends_a_search(Apply *f, gconstpointer unused)
{
	pthread_t thread;
	want(f, "cloud.vault", "a", 2, "{'size':'big'}");
	script(f, "{'create':[{'lose':true},{'refuse':'denied'}],"
		  "'find':[{'hide':true},{'hide':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(open_rows(f), ==, 1);
	g_assert_cmpint(pthread_create(&thread, NULL, interrupt_when_searching, f), ==, 0);
	g_assert_false(apply_once(f));
	pthread_join(thread, NULL);
	g_assert_true(f->result.interrupted);
	g_assert_cmpuint(f->result.open, ==, 2);
	g_assert_cmpuint(open_rows(f), ==, 1);
	f->level = 0;
	script(f, "{}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(made(f), ==, 2);
	check_sound(f, 2);
}

/* Every call of a life cycle (created, moved to another net, destroyed) is the last one of a
 * process. */
static void test_killed_at_every_call(Apply *f, gconstpointer unused)
{
	static const char *const verbs[] = {"create", "ready", "remove"};
	static const char *const nodes[] = {
		NODE, "{'size':'small','net':{'$ref':'cloud.net.main','attr':'net_id'}}", NULL};
	for (size_t i = 0; i < G_N_ELEMENTS(verbs) * 2 * 2; i++) {
		g_autofree char *fault = g_strdup_printf("{'%s':[%s{'kill':'%s'}]}", verbs[i / 4],
			i & 1 ? "{}," : "", i & 2 ? "after" : "before");
		for (size_t phase = 0; phase < 3; phase++) {
			want_nothing(f);
			if (nodes[phase]) {
				want(f, "cloud.net", "main", -1,
					phase ? "{'range':'1'}" : "{'range':'2'}");
				want(f, "cloud.node", "a", 2, nodes[phase]);
			}
			script(f, fault);
			g_test_message("%s in phase %zu", fault, phase);
			pid_t child = fork();
			if (child == 0) {
				apply_once(f);
				_exit(0);
			}
			g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
			script(f, "{}");
			g_assert_true(apply_once(f));
			check_sound(f, nodes[phase] ? 3 : 0);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("recover/lost-answer", test_a_lost_answer_is_taken_over);
	APPLY_TEST("recover/killed", test_killed_before_and_after_the_deed);
	APPLY_TEST("recover/killed-at-every-call", test_killed_at_every_call);
	APPLY_TEST("recover/moved-spec", test_a_moved_spec_replaces_what_came_back);
	APPLY_TEST("recover/moved-spec-nothing-made", test_a_moved_spec_and_nothing_made);
	APPLY_TEST("recover/withdrawn", test_a_withdrawn_create_is_deleted);
	APPLY_TEST("recover/withdrawn-nothing-made",
		test_a_withdrawn_create_that_made_nothing_is_forgotten);
	APPLY_TEST("recover/refused-finds", test_a_refused_replay_finds_what_was_made);
	APPLY_TEST("recover/refused-nothing-there", test_a_refused_replay_and_nothing_there);
	APPLY_TEST("recover/lagging-view", test_a_view_that_lags_is_waited_for);
	APPLY_TEST("recover/by-place", test_things_without_address_are_known_by_their_place);
	APPLY_TEST(
		"recover/not-told-apart", test_things_that_cannot_be_told_apart_keep_the_row_open);
	APPLY_TEST("recover/doubtful", test_a_doubtful_replay_blocks_dependents_only);
	APPLY_TEST("recover/old-token", test_an_old_token_is_never_sent_again);
	APPLY_TEST("recover/very-old-row", test_of_a_very_old_row_absence_is_believed_at_once);
	APPLY_TEST("recover/unreadable", test_what_cannot_be_read_is_not_made_again);
	APPLY_TEST("recover/without-find", test_a_module_without_find_lists);
	APPLY_TEST("recover/left-out", test_what_is_left_out_is_not_sent_again);
	APPLY_TEST("recover/half-made", test_half_made_is_completed_by_the_replay);
	APPLY_TEST("recover/half-made-withdrawn", test_half_made_and_withdrawn_is_deleted);
	APPLY_TEST("recover/more-than-open", test_more_than_was_open_is_adopted);
	APPLY_TEST("recover/more-than-open-moved", test_more_than_was_open_and_another_spec);
	APPLY_TEST("recover/interrupt", test_an_interrupt_leaves_rows_alone);
	APPLY_TEST("recover/interrupt-search", test_an_interrupt_ends_a_search);
	return g_test_run();
}
