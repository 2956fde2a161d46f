/* Items of updates and removals, and pending ones: polled until they are done, never forgotten,
 * never reported as done too early. */
#include "apply_fixture.h"
#include <pthread.h>

#define NODES "cloud.node", "a", 2
#define TAGGED "{'size':'big','tag':'x'}"
#define RETAGGED "{'size':'big','tag':'y'}"

static void want_retagged(Apply *f)
{
	want_nothing(f);
	want(f, NODES, RETAGGED);
}

static void make_two(Apply *f)
{
	want(f, NODES, TAGGED);
	g_assert_true(apply_once(f));
	check_sound(f, 2);
}

static json_t *world_of(Apply *f)
{
	json_t *world = json_load_file(f->world, 0, NULL);
	g_assert_nonnull(world);
	return world;
}

/* Someone else changes an attribute of the first node that no spec sets. */
static void raise_version(Apply *f, json_int_t version)
{
	json_auto_t *world = world_of(f);
	json_t *thing = json_array_get(json_object_get(world, "things"), 0);
	json_object_set_new(thing, "version", json_integer(version));
	json_dump_file(world, f->world, 0);
}

static bool is_tagged(Apply *f, size_t i, const char *tag)
{
	json_auto_t *world = world_of(f);
	const json_t *thing = json_array_get(json_object_get(world, "things"), i);
	return g_str_equal(rg_json_str(json_object_get(thing, "attributes"), "tag", ""), tag);
}

/* ---- items */

static void test_a_guarded_update_and_removal_know_the_version(Apply *f, gconstpointer unused)
{
	make_two(f);
	raise_version(f, 7);
	want_retagged(f);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 2);
	g_assert_true(is_tagged(f, 0, "y"));
	raise_version(f, 70);
	want_nothing(f);
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_an_item_has_what_was_recorded_and_observed(Apply *f, gconstpointer unused)
{
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", 1,
		"{'size':'big','key':'of the "
		"test','net':{'$ref':'cloud.net.main','attr':'net_id'}}");
	g_assert_true(apply_once(f));
	f->diff.destroy = true;
	g_assert_true(apply_once(f));
	json_auto_t *world = world_of(f);
	/* the net goes last */
	const json_t *item =
		json_array_get(json_object_get(json_object_get(world, "remove"), "items"), 0);
	json_auto_t *net =
		json_of("{'address':'cloud.net.main','id':'id-0','recorded':"
			"{'range':'10/8','net_id':'10.id-0'},'observed':{'range':'10/8'}}");
	g_assert_true(json_equal(item, net));
}

/* A poll is logged when the next one starts. */
static void check_first_look(Apply *f)
{
	json_auto_t *world = world_of(f);
	const json_t *items = json_object_get(json_object_get(world, "ready"), "items");
	const json_t *item = json_array_get(items, 0);
	g_assert_cmpstr(rg_json_str(item, "operation", ""), ==, "op-made");
	g_assert_cmpint(rg_json_int(json_object_get(item, "recorded"), "version", 0), ==, 1);
	g_assert_cmpint(rg_json_int(json_object_get(item, "observed"), "version", 0), ==, 1);
}

static void test_the_first_look_has_what_the_creation_told(Apply *f, gconstpointer unused)
{
	script(f, "{'ready':[{},{}]}");
	want(f, NODES, TAGGED);
	g_assert_true(apply_once(f));
	check_first_look(f);
}

static void test_and_what_a_replayed_creation_told(Apply *f, gconstpointer unused)
{
	script(f, "{'create':[{'kill':'after'}]}");
	want(f, NODES, TAGGED);
	apply_killed(f);
	script(f, "{'ready':[{},{}]}");
	g_assert_true(apply_once(f));
	check_first_look(f);
	check_sound(f, 2);
}

static void test_secrets_are_in_no_item(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 1, "{'size':'big','tag':'x','key':'of the test'}");
	g_assert_true(apply_once(f));
	raise_version(f, 7);
	want_nothing(f);
	g_assert_true(apply_once(f));
	json_auto_t *world = world_of(f);
	const json_t *item =
		json_array_get(json_object_get(json_object_get(world, "remove"), "items"), 0);
	json_auto_t *node = json_of("{'address':'cloud.node.a[0]','id':'id-0','recorded':"
				    "{'size':'big','tag':'x','ip':'10.id-0','version':1,'booted':"
				    "'yes'},'observed':{'size':'big','tag':'x','version':7}}");
	g_assert_true(json_equal(item, node));
}

/* Someone with write access to a resource in the cloud must not get at values of the state through
 * it. */
static void test_what_looks_like_a_reference_in_the_cloud_is_none(Apply *f, gconstpointer unused)
{
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", 1, TAGGED);
	g_assert_true(apply_once(f));
	json_auto_t *world = world_of(f), *note = json_of("{'$ref':'cloud.net.main','attr':'id'}");
	json_t *things = json_object_get(world, "things");
	/* the two are created concurrently */
	size_t at = g_str_equal(rg_json_str(json_array_get(things, 0), "kind", ""), "cloud.net");
	json_object_set(json_object_get(json_array_get(things, at), "attributes"), "note", note);
	json_dump_file(world, f->world, 0);
	want_nothing(f);
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	g_assert_true(apply_once(f));
	json_auto_t *now = world_of(f);
	const json_t *item =
		json_array_get(json_object_get(json_object_get(now, "remove"), "items"), 0);
	const json_t *observed = json_object_get(item, "observed");
	g_assert_true(json_equal(json_object_get(observed, "note"), note));
}

/* ---- removals */

static void test_a_pending_removal_is_polled_to_its_end(Apply *f, gconstpointer unused)
{
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", 2, NODE);
	g_assert_true(apply_once(f));
	want_nothing(f);
	/* the net waits for its nodes */
	script(f, "{'remove':[{'pending':true},{'pending':true},{'lose':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.destroyed, ==, 3);
	g_assert_false(rg_diags_has_errors(f->diags)); /* of the lost poll */
	g_assert_cmpuint(logged(f, "remove cloud.node"), ==, 4);
	g_assert_cmpuint(logged(f, "remove cloud.net"), ==, 1);
	check_sound(f, 0);
}

static void test_waiting_holds_no_worker(Apply *f, gconstpointer unused)
{
	g_autofree char *log = NULL;
	make_two(f);
	want_nothing(f);
	want(f, "cloud.disk", "b", 1, "{'size':'big'}");
	f->parallelism = 1;
	script(f, "{'remove':[{'pending':true},{'pending':true},{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_true(g_file_get_contents(f->log, &log, NULL, NULL));
	g_assert_nonnull(strstr(strstr(log, "create cloud.disk"), "remove cloud.node"));
	check_sound(f, 1);
}

static void test_a_kill_while_it_is_pending_leaves_no_orphan(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_nothing(f);
	script(f, "{'remove':[{'pending':true},{'kill':'before'}]}");
	apply_killed(f);
	g_assert_cmpuint(recorded(f), ==, 2);
	g_assert_cmpuint(living(f), ==, 2);
	script(f, "{'remove':[{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.destroyed, ==, 2);
	check_sound(f, 0);
}

/* It is desired again in the meantime: first the removal ends, then it is created again. */
static void test_a_killed_removal_ends_before_the_next_creation(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_nothing(f);
	script(f, "{'remove':[{'pending':true},{'kill':'before'}]}");
	apply_killed(f);
	want(f, NODES, TAGGED);
	script(f, "{'remove':[{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.destroyed, ==, 2);
	g_assert_cmpuint(made(f), ==, 4);
	check_sound(f, 2);
}

static void *interrupt_at_second_look(void *data)
{
	Apply *f = data;
	while (logged(f, "remove") < 2)
		g_usleep(10000);
	g_atomic_int_set(&f->level, 1);
	return NULL;
}

static char *looks(const char *verb, int n)
{
	GString *text = g_string_new("");
	g_string_printf(text, "{'%s':[{'pending':true}", verb);
	while (--n)
		g_string_append(text, ",{'pending':true}");
	g_string_append(text, "]}");
	return g_string_free(text, FALSE);
}

static void test_a_signal_ends_the_waiting_not_the_removal(Apply *f, gconstpointer unused)
{
	pthread_t thread;
	g_autofree char *always = looks("remove", 20);
	make_two(f);
	want_nothing(f);
	script(f, always);
	g_assert_cmpint(pthread_create(&thread, NULL, interrupt_at_second_look, f), ==, 0);
	g_assert_false(apply_once(f));
	pthread_join(thread, NULL);
	g_assert_true(f->result.interrupted);
	g_assert_cmpuint(f->result.destroyed, ==, 0);
	g_assert_cmpuint(f->result.open, ==, 2);
	g_assert_nonnull(strstr(f->told, "cloud.node.a[0], cloud.node.a[1]"));
	g_assert_cmpuint(recorded(f), ==, 2);
	f->level = 0;
	script(f, "{}");
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_a_removal_that_takes_too_long_stays_begun(Apply *f, gconstpointer unused)
{
	g_autofree char *always = looks("remove", 20);
	make_two(f);
	want_nothing(f);
	script(f, always);
	g_assert_false(apply_once(f));
	const RgDiag *error = the_error(f, "provider.transient");
	g_assert_nonnull(strstr(error->summary, "has not finished after 20 s: others use it"));
	g_assert_cmpuint(f->result.failed, ==, 2);
	g_autoptr(RgSnapshot) now = snapshot(f);
	g_assert_true(rg_resource_set_find(now->recorded, "cloud.node.a[0]")->leaving);
	script(f, "{}");
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_a_removal_that_ends_refused_keeps_the_record(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_nothing(f);
	script(f, "{'remove':[{'pending':true},{'refuse':'denied'}]}");
	g_assert_false(apply_once(f));
	the_error(f, "provider.denied");
	check_sound(f, 2);
	g_autoptr(RgSnapshot) now = snapshot(f);
	g_assert_false(rg_resource_set_find(now->recorded, "cloud.node.a[0]")->leaving);
}

/* ---- updates */

static void test_a_pending_update_is_recorded_when_it_is_done(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_retagged(f);
	script(f, "{'update':[{'pending':true},{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 2);
	g_assert_cmpuint(logged(f, "update"), ==, 3);
	g_autoptr(RgSnapshot) now = snapshot(f);
	const RgResource *node = rg_resource_set_find(now->recorded, "cloud.node.a[1]");
	g_assert_cmpstr(rg_json_str(node->attrs, "tag", ""), ==, "y");
	g_assert_cmpint(rg_json_int(rg_resource_outputs(node), "version", 0), ==, 3);
	g_assert_false(node->updating);
}

/* A lost poll says nothing: the next one checks the same operation. */
static void test_looks_are_no_larger_than_batches(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 60, TAGGED);
	g_assert_true(apply_once(f));
	want_nothing(f);
	want(f, "cloud.node", "a", 60, RETAGGED);
	script(f, "{'update':[{'pending':true},{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 60);
	json_auto_t *world = world_of(f);
	const json_t *last = json_object_get(world, "update");
	g_assert_cmpuint(json_array_size(json_object_get(last, "items")), <=, 50);
}

static void test_a_lost_look_begins_no_update_anew(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_retagged(f);
	script(f, "{'update':[{'pending':true},{'pending':true,'lose':true},{'pending':true}]}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 2);
	g_assert_cmpuint(logged(f, "update"), ==, 4);
	g_autoptr(RgSnapshot) now = snapshot(f);
	const RgResource *node = rg_resource_set_find(now->recorded, "cloud.node.a[1]");
	g_assert_cmpint(rg_json_int(rg_resource_outputs(node), "version", 0), ==, 3);
}

static void test_a_killed_update_is_sent_again(Apply *f, gconstpointer unused)
{
	make_two(f);
	want_retagged(f);
	script(f, "{'update':[{'pending':true},{'kill':'before'}]}");
	apply_killed(f);
	g_assert_true(is_tagged(f, 0, "x"));
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 2);
	g_assert_true(is_tagged(f, 1, "y"));
	check_sound(f, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("items/guarded", test_a_guarded_update_and_removal_know_the_version);
	APPLY_TEST("items/recorded-and-observed", test_an_item_has_what_was_recorded_and_observed);
	APPLY_TEST("items/first-look", test_the_first_look_has_what_the_creation_told);
	APPLY_TEST("items/first-look-replayed", test_and_what_a_replayed_creation_told);
	APPLY_TEST("items/no-secrets", test_secrets_are_in_no_item);
	APPLY_TEST("items/no-references", test_what_looks_like_a_reference_in_the_cloud_is_none);
	APPLY_TEST("pending/polled", test_a_pending_removal_is_polled_to_its_end);
	APPLY_TEST("pending/no-worker", test_waiting_holds_no_worker);
	APPLY_TEST("pending/killed", test_a_kill_while_it_is_pending_leaves_no_orphan);
	APPLY_TEST(
		"pending/killed-and-wanted", test_a_killed_removal_ends_before_the_next_creation);
	APPLY_TEST("pending/signal", test_a_signal_ends_the_waiting_not_the_removal);
	APPLY_TEST("pending/too-long", test_a_removal_that_takes_too_long_stays_begun);
	APPLY_TEST("pending/refused", test_a_removal_that_ends_refused_keeps_the_record);
	APPLY_TEST("pending/update", test_a_pending_update_is_recorded_when_it_is_done);
	APPLY_TEST("pending/look-size", test_looks_are_no_larger_than_batches);
	APPLY_TEST("pending/lost-look", test_a_lost_look_begins_no_update_anew);
	APPLY_TEST("pending/update-killed", test_a_killed_update_is_sent_again);
	return g_test_run();
}
