/* What the cloud did not take over and shows only in use: one update in the same run, at most. */
#include "apply_fixture.h"
#include <string.h>

#define PORT "cloud.port", "main", -1, "{'range':'10/8'}"
#define USER "cloud.node", "a", 1
#define USING "{'size':'big','port':{'$ref':'cloud.port.main','attr':'ip'}}"
#define MISSED "{'missed':true}"
#define ALWAYS                                                                                     \
	"[" MISSED "," MISSED "," MISSED "," MISSED "," MISSED "," MISSED "," MISSED "," MISSED "]"

static void want_all(Apply *f)
{
	want_nothing(f);
	want(f, PORT);
	want(f, USER, USING);
}

static char *range_of(Apply *f)
{
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	const json_t *port = json_array_get(json_object_get(world, "things"), 0);
	return g_strdup(rg_json_str(json_object_get(port, "attributes"), "range", ""));
}

static void check_range(Apply *f, const char *range)
{
	g_autofree char *is = range_of(f);
	g_assert_cmpstr(is, ==, range);
}

static void test_what_did_not_hold_is_set_in_the_same_run(Apply *f, gconstpointer unused)
{
	g_autofree char *log = NULL;
	script(f, "{'ready':" ALWAYS "}");
	want_all(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 2);
	g_assert_cmpuint(f->result.changed, ==, 0); /* the plan had none */
	g_assert_cmpuint(logged(f, "update cloud.port"), ==, 1);
	check_range(f, "10/8");
	check_sound(f, 2);
	/* then what uses it is looked at again, for its own outputs */
	g_assert_true(g_file_get_contents(f->log, &log, NULL, NULL));
	g_assert_nonnull(strstr(strstr(log, "update cloud.port"), "ready cloud.node"));
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->started, ==, 0);
}

static void test_what_held_is_left_alone(Apply *f, gconstpointer unused)
{
	want_all(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "update"), ==, 0);
	/* twice until it is ready, once in use */
	g_assert_cmpuint(logged(f, "ready cloud.port"), ==, 3);
}

/* It exists and does not change: a new node may still not get what it has. */
static void test_a_new_user_of_an_old_one(Apply *f, gconstpointer unused)
{
	want(f, PORT);
	g_assert_true(apply_once(f));
	script(f, "{'ready':" ALWAYS "}");
	want_all(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 1);
	g_assert_cmpuint(logged(f, "update cloud.port"), ==, 1);
	check_range(f, "10/8");
	check_sound(f, 2);
}

static void test_a_refused_update_fails_and_the_next_run_makes_it(Apply *f, gconstpointer unused)
{
	script(f, "{'ready':" ALWAYS ",'update':[{'refuse':'denied'}]}");
	want_all(f);
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.failed, ==, 1);
	g_assert_cmpuint(f->result.added, ==, 2);
	const RgDiag *error = the_error(f, "provider.denied");
	g_assert_nonnull(strstr(error->summary, "could not update cloud.port.main"));
	check_range(f, "none");
	script(f, "{}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 1);
	check_range(f, "10/8");
	check_sound(f, 2);
}

static void test_a_kill_around_the_update(Apply *f, gconstpointer unused)
{
	static const char *const when[] = {"before", "after"};
	for (size_t i = 0; i < G_N_ELEMENTS(when); i++) {
		g_autofree char *faults =
			g_strdup_printf("{'ready':" ALWAYS ",'update':[{'kill':'%s'}]}", when[i]);
		script(f, faults);
		want_all(f);
		apply_killed(f);
		g_assert_cmpuint(recorded(f), ==, 2);
		script(f, "{}");
		f->later_s = 2; /* each change of a record is a second after the one before */
		g_assert_true(apply_once(f));
		check_range(f, "10/8");
		check_sound(f, 2);
		apply_down(f, NULL);
		*f = (Apply){0};
		apply_up(f, NULL);
	}
}

static void interrupt_at_node(void *fixture, const RgEvent *event)
{
	Apply *f = fixture;
	if (event->type == RG_EVENT_DONE && g_str_has_prefix(event->address, "cloud.node"))
		g_atomic_int_set(&f->level, 1);
}

static void test_a_signal_leaves_it_to_the_next_run(Apply *f, gconstpointer unused)
{
	script(f, "{'ready':" ALWAYS "}");
	want_all(f);
	f->event = interrupt_at_node;
	apply_once(f);
	g_assert_cmpuint(logged(f, "update"), ==, 0);
	check_sound(f, 2);
	f->event = NULL;
	f->level = 0;
	g_assert_true(apply_once(f));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("settle/same-run", test_what_did_not_hold_is_set_in_the_same_run);
	APPLY_TEST("settle/held", test_what_held_is_left_alone);
	APPLY_TEST("settle/new-user", test_a_new_user_of_an_old_one);
	APPLY_TEST("settle/refused", test_a_refused_update_fails_and_the_next_run_makes_it);
	APPLY_TEST("settle/killed", test_a_kill_around_the_update);
	APPLY_TEST("settle/signal", test_a_signal_leaves_it_to_the_next_run);
	return g_test_run();
}
