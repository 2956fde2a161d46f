/* apply with answers of the clouds: batches, order, partial results, waiting for resources to
 * start. The module itself checks before each create that its journal row is durable. */
#include "apply_fixture.h"
#include <glib/gstdio.h>

static void want_cluster(Apply *f, int nodes)
{
	want_nothing(f);
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", nodes, NODE);
}

static void test_a_pool_is_one_call_after_what_it_needs(Apply *f, gconstpointer unused)
{
	want_cluster(f, 5);
	want(f, "cloud.node", "b", 3, NODE);
	g_assert_true(apply_once(f));
	check_sound(f, 9);
	g_assert_cmpuint(f->result.added, ==, 9);
	g_assert_cmpuint(logged(f, "create"), ==, 3);
	g_assert_cmpuint(f->started, ==, 9);
	g_autoptr(RgSnapshot) now = snapshot(f);
	const RgResource *node = rg_resource_set_find(now->recorded, "cloud.node.a[4]");
	g_autofree char *ip = g_strconcat("10.", node->id, NULL);
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(node), "ip", ""), ==, ip);
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(node), "booted", ""), ==, "yes");
	g_assert_cmpuint(json_object_size(rg_resource_outputs(node)), ==, 3);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added + f->result.changed + f->result.destroyed, ==, 0);
	g_assert_cmpuint(logged(f, "create"), ==, 3);
}

static void test_references_reach_wanted_attributes_too(Apply *f, gconstpointer unused)
{
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "a", 1,
		"{'size':'big','range':{'$ref':'cloud.net.main','attr':'range'}}");
	g_assert_true(apply_once(f));
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	const json_t *node = json_array_get(json_object_get(world, "things"), 1);
	g_assert_cmpstr(rg_json_str(json_object_get(node, "attributes"), "range", ""), ==, "10/8");
}

static void test_partial_delivery_is_kept_and_completed(Apply *f, gconstpointer unused)
{
	want_cluster(f, 5);
	script(f, "{'create':[{},{'only':2}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 3);
	g_assert_cmpuint(f->result.failed, ==, 3);
	g_assert_cmpuint(f->result.open, ==, 0);
	the_error(f, "provider.capacity");
	check_sound(f, 3);
	g_assert_true(apply_once(f));
	check_sound(f, 6);
	g_assert_cmpuint(made(f), ==, 6);
}

/* The module's index mark has 11 characters: "1,3,5,7,9", "11,13,15,17", "19". */
static void test_a_call_has_no_more_members_than_its_mark_holds(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 20, "{'size':'big'}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 1);
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	size_t i;
	json_t *thing;
	json_array_foreach (json_object_get(world, "things"), i, thing) {
		if (i % 2)
			json_object_set_new(thing, "gone", json_true());
	}
	json_dump_file(world, f->world, 0);
	g_usleep(2 * G_USEC_PER_SEC); /* no longer recent */
	g_assert_true(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 4);
	g_assert_cmpuint(logged(f, "create cloud.node.a[1] cloud.node.a[3] cloud.node.a[5] "
				   "cloud.node.a[7] cloud.node.a[9]"),
		==, 1);
	g_assert_cmpuint(logged(f, "create cloud.node.a[19]"), ==, 1);
	check_sound(f, 20);
}

static void test_a_failure_blocks_its_dependents_only(Apply *f, gconstpointer unused)
{
	want_cluster(f, 3);
	want(f, "cloud.net", "other", -1, "{'range':'11/8'}");
	want(f, "cloud.node", "b", 2,
		"{'size':'big','net':{'$ref':'cloud.net.other','attr':'net_id'}}");
	f->parallelism = 1; /* the first net is the first call */
	script(f, "{'create':[{'refuse':'denied'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.failed, ==, 1);
	g_assert_cmpuint(f->result.blocked, ==, 3);
	g_assert_cmpuint(f->blocked, ==, 3);
	g_assert_cmpuint(f->result.added, ==, 3);
	check_sound(f, 3);
	g_assert_true(apply_once(f));
	check_sound(f, 7);
}

static void test_what_ended_under_its_token_begins_again_three_times(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 2, "{'size':'big'}");
	script(f, "{'create':[{'refuse':'gone'},{'refuse':'gone'},{'refuse':'gone'}]}");
	g_assert_true(apply_once(f));
	check_sound(f, 2);
	g_assert_cmpuint(logged(f, "create"), ==, 4);
	g_assert_cmpuint(f->started, ==, 2);
	want(f, "cloud.node", "b", 1, "{'size':'big'}");
	script(f, "{'create':[{'refuse':'gone'},{'refuse':'gone'},{'refuse':'gone'},"
		  "{'refuse':'gone'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(logged(f, "create"), ==, 8);
	g_assert_cmpuint(f->result.failed, ==, 1);
	check_sound(f, 2);
}

static void test_an_update_keeps_the_thing_and_its_outputs(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 3, "{'size':'big','tag':'x'}");
	g_assert_true(apply_once(f));
	want_nothing(f);
	want(f, "cloud.node", "a", 3, "{'size':'big','tag':'y'}");
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.changed, ==, 3);
	g_assert_cmpuint(made(f), ==, 3);
	g_assert_cmpuint(logged(f, "update"), ==, 1);
	g_autoptr(RgSnapshot) now = snapshot(f);
	const RgResource *node = rg_resource_set_find(now->recorded, "cloud.node.a[1]");
	g_assert_cmpstr(rg_json_str(node->attrs, "tag", ""), ==, "y");
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(node), "ip", ""), ==, "10.id-1");
}

static void test_an_update_never_becomes_a_replacement(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 1, "{'size':'big','tag':'x'}");
	g_assert_true(apply_once(f));
	want_nothing(f);
	want(f, "cloud.node", "a", 1, "{'size':'big','tag':'y'}");
	script(f, "{'update':[{'unsupported':true}]}");
	g_assert_false(apply_once(f));
	g_assert_nonnull(strstr(the_error(f, "provider.invalid")->hint, "--replace"));
	check_sound(f, 1);
	g_assert_cmpuint(made(f), ==, 1);
}

static unsigned line_of(Apply *f, const char *line)
{
	g_autofree char *text = NULL;
	g_assert_true(g_file_get_contents(f->log, &text, NULL, NULL));
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = g_strv_length(lines); i > 0; i--) {
		if (g_str_has_prefix(lines[i - 1], line))
			return i;
	}
	g_error("no line %s in\n%s", line, text);
}

/* The ids of the nets change, so the nodes are replaced as well: dependents are removed first. */
static void test_a_replace_removes_dependents_first(Apply *f, gconstpointer unused)
{
	want_cluster(f, 3);
	g_assert_true(apply_once(f));
	g_remove(f->log);
	want_nothing(f);
	want(f, "cloud.net", "main", -1, "{'range':'12/8'}");
	want(f, "cloud.node", "a", 3, NODE);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 4);
	g_assert_cmpuint(f->result.destroyed, ==, 4);
	check_sound(f, 4);
	unsigned nodes_leave = line_of(f, "remove cloud.node"),
		 net_leaves = line_of(f, "remove cloud.net");
	unsigned net_comes = line_of(f, "create cloud.net"),
		 nodes_come = line_of(f, "create cloud.node");
	g_assert_cmpuint(nodes_leave, <, net_leaves);
	g_assert_cmpuint(net_leaves, <, net_comes);
	g_assert_cmpuint(net_comes, <, nodes_come);
	g_autoptr(RgSnapshot) now = snapshot(f);
	g_assert_cmpint(rg_resource_set_find(now->recorded, "cloud.net.main")->generation, ==, 1);
}

/* The spec moves the nodes to another net and drops the old one: it is removed after its
 * dependents. */
static void test_what_leaves_waits_for_those_recorded_as_using_it(Apply *f, gconstpointer unused)
{
	want_cluster(f, 2);
	g_assert_true(apply_once(f));
	g_remove(f->log);
	want_nothing(f);
	want(f, "cloud.net", "other", -1, "{'range':'11/8'}");
	want(f, "cloud.node", "a", 2,
		"{'size':'big','net':{'$ref':'cloud.net.other','attr':'net_id'}}");
	g_assert_true(apply_once(f));
	check_sound(f, 3);
	g_assert_cmpuint(line_of(f, "remove cloud.node"), <, line_of(f, "remove cloud.net"));
}

static void test_a_failed_removal_keeps_the_record(Apply *f, gconstpointer unused)
{
	want_cluster(f, 2);
	g_assert_true(apply_once(f));
	want_nothing(f);
	script(f, "{'remove':[{'refuse':'denied'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.failed, ==, 2);
	g_assert_cmpuint(f->result.blocked, ==, 1);
	g_assert_cmpuint(
		rg_diags_count(f->diags), ==, 1); /* one for both, without blaming the module */
	g_autoptr(RgSnapshot) now = snapshot(f);
	g_assert_false(rg_resource_set_find(now->recorded, "cloud.node.a[0]")->leaving);
	check_sound(f, 3);
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_a_lost_removal_is_finished_by_the_next(Apply *f, gconstpointer unused)
{
	want_cluster(f, 2);
	g_assert_true(apply_once(f));
	want_nothing(f);
	script(f, "{'remove':[{'lose':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(recorded(f), ==, 3);
	g_assert_true(apply_once(f));
	check_sound(f, 0);
}

static void test_what_does_not_start_is_told_and_stays_recorded(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 2, "{'size':'big'}");
	script(f, "{'ready':[{'refuse':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.failed, ==, 2);
	the_error(f, "provider.capacity");
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 1);
	check_sound(f, 2);
}

static void test_a_slow_start_is_given_up_after_its_time(Apply *f, gconstpointer unused)
{
	GString *looks = g_string_new("{'ready':[{'lose':true}");
	for (int i = 0; i < 30; i++)
		g_string_append(looks, ",{'never':true}");
	g_string_append(looks, "]}");
	script(f, looks->str);
	g_string_free(looks, TRUE);
	want(f, "cloud.disk", "a", 1, "{'size':'big'}");
	gint64 begun = g_get_monotonic_time();
	g_assert_false(apply_once(f));
	g_assert_cmpint(g_get_monotonic_time() - begun, <, 60 * G_USEC_PER_SEC);
	g_assert_nonnull(strstr(the_error(f, "provider.transient")->summary, "not running"));
	g_assert_cmpuint(f->seconds, >=, 3); /* the terminal keeps being updated */
	check_sound(f, 1);
}

static void test_records_and_forgets_are_one_transaction(Apply *f, gconstpointer unused)
{
	want(f, "cloud.node", "a", 50, "{'size':'big','tag':'x'}");
	g_assert_true(apply_once(f));
	/* someone changes all tags and the spec follows; five nodes disappear and are no longer
	 * desired */
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	size_t i;
	json_t *thing;
	json_array_foreach (json_object_get(world, "things"), i, thing) {
		json_object_set_new(json_object_get(thing, "attributes"), "tag", json_string("y"));
		if (i >= 45)
			json_object_set_new(thing, "gone", json_true());
	}
	json_dump_file(world, f->world, 0);
	want_nothing(f);
	want(f, "cloud.node", "a", 45, "{'size':'big','tag':'y'}");
	g_usleep(2 * G_USEC_PER_SEC); /* no longer recent */
	g_autoptr(RgSnapshot) before = snapshot(f);
	g_assert_true(apply_once(f));
	g_autoptr(RgSnapshot) after = snapshot(f);
	g_assert_cmpint(after->serial - before->serial, <=, 3);
	check_sound(f, 45);
	g_assert_cmpuint(f->result.added + f->result.changed + f->result.destroyed, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("create/a-pool-is-one-call", test_a_pool_is_one_call_after_what_it_needs);
	APPLY_TEST("create/references-reach-wanted", test_references_reach_wanted_attributes_too);
	APPLY_TEST("create/partial-delivery", test_partial_delivery_is_kept_and_completed);
	APPLY_TEST("create/mark-holds-its-members",
		test_a_call_has_no_more_members_than_its_mark_holds);
	APPLY_TEST("create/failure-blocks-dependents", test_a_failure_blocks_its_dependents_only);
	APPLY_TEST("create/gone-begins-again",
		test_what_ended_under_its_token_begins_again_three_times);
	APPLY_TEST("update/keeps-outputs", test_an_update_keeps_the_thing_and_its_outputs);
	APPLY_TEST("update/never-a-replacement", test_an_update_never_becomes_a_replacement);
	APPLY_TEST("replace/dependents-first", test_a_replace_removes_dependents_first);
	APPLY_TEST("remove/after-recorded-users",
		test_what_leaves_waits_for_those_recorded_as_using_it);
	APPLY_TEST("remove/refused-keeps-record", test_a_failed_removal_keeps_the_record);
	APPLY_TEST("remove/lost-is-finished", test_a_lost_removal_is_finished_by_the_next);
	APPLY_TEST("ready/does-not-start", test_what_does_not_start_is_told_and_stays_recorded);
	APPLY_TEST("ready/slow-start", test_a_slow_start_is_given_up_after_its_time);
	APPLY_TEST("local/one-transaction", test_records_and_forgets_are_one_transaction);
	return g_test_run();
}
