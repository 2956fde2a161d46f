/* Gang pools: missing nodes are created all or none, and nothing is lost. The same cloud as in the
 * other tests of apply; it honours min_count ("only") or does not ("short"). */
#include "apply_fixture.h"

static void want_gang(Apply *f, int nodes)
{
	f->gang = "train";
	want_nothing(f);
	want(f, "cloud.net", "main", -1, "{'range':'10/8'}");
	want(f, "cloud.node", "train", nodes, NODE);
}

/* The last `n` of the gang have another size, so they need a separate call. */
static void split(Apply *f, guint n)
{
	for (guint i = f->wanted->len - n; i < f->wanted->len; i++) {
		RgResource *node = f->wanted->pdata[i];
		json_t *attrs = json_deep_copy(node->attrs);
		json_decref(node->attrs);
		rg_json_set_str(attrs, "size", "small");
		node->attrs = attrs;
	}
}

static void check_counts(const Apply *f, unsigned added, unsigned given_back, unsigned failed)
{
	g_assert_cmpuint(f->result.added, ==, added);
	g_assert_cmpuint(f->result.given_back, ==, given_back);
	g_assert_cmpuint(f->result.failed, ==, failed);
	g_assert_cmpuint(f->result.destroyed, ==, 0);
}

static void complete(Apply *f, unsigned things)
{
	g_assert_true(apply_once(f));
	check_sound(f, things);
	g_assert_true(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 0);
}

static void test_one_call_wants_all(Apply *f, gconstpointer unused)
{
	want_gang(f, 5);
	script(f, "{'create':[{},{'only':4}]}");
	g_assert_false(apply_once(f));
	check_counts(f, 1, 0, 5);
	the_error(f, "provider.capacity");
	g_assert_cmpuint(made(f), ==, 1);
	check_sound(f, 1);
	complete(f, 6);
	g_assert_cmpuint(made(f), ==, 6);
}

static void test_a_short_delivery_is_given_back(Apply *f, gconstpointer unused)
{
	want_gang(f, 5);
	script(f, "{'create':[{},{'short':4}]}");
	g_assert_false(apply_once(f));
	check_counts(f, 1, 4, 1);
	g_assert_nonnull(strstr(f->told, "Pool train is a gang"));
	check_sound(f, 1);
	complete(f, 6);
	g_assert_cmpuint(made(f), ==, 10);
}

/* Whichever of two calls fails, even if both are in flight. */
static void test_all_calls_of_a_gang_stand_together(Apply *f, gconstpointer unused)
{
	static const char *const scripts[] = {
		"{'create':[{},{},{'refuse':'capacity'}]}",
		"{'create':[{},{'refuse':'capacity'}]}",
		"{'create':[{},{'sleep':100},{'refuse':'capacity'}]}",
		"{'create':[{},{'sleep':100,'refuse':'capacity'}]}",
	};
	for (unsigned i = 0; i < 2 * G_N_ELEMENTS(scripts); i++) {
		f->parallelism = i < G_N_ELEMENTS(scripts) ? 1 : 4;
		want_gang(f, 5);
		split(f, 2);
		script(f, scripts[i % G_N_ELEMENTS(scripts)]);
		g_assert_false(apply_once(f));
		check_sound(f, 1);
		g_assert_cmpuint(f->result.added, ==, 1);
		want_nothing(f);
		script(f, "{}");
		g_assert_true(apply_once(f));
		check_sound(f, 0);
	}
}

static void test_what_was_there_and_other_pools_stay(Apply *f, gconstpointer unused)
{
	want_gang(f, 2);
	g_assert_true(apply_once(f));
	want_gang(f, 5);
	want(f, "cloud.node", "serve", 3, "{'size':'tiny'}");
	script(f, "{'create':[{'short':2},{'short':2}]}");
	g_assert_false(apply_once(f));
	check_sound(f, 5);
	check_counts(f, 2, 2, 2);
	complete(f, 9);
}

static void test_an_open_fate_gives_nothing_back(Apply *f, gconstpointer unused)
{
	want_gang(f, 5);
	split(f, 2);
	f->parallelism = 1;
	script(f, "{'create':[{},{},{'lose':true}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.given_back, ==, 0);
	g_assert_cmpuint(f->result.open, ==, 2);
	g_assert_cmpuint(recorded(f), ==, 4);
	g_assert_cmpuint(living(f), ==, 6);
	complete(f, 6);
	g_assert_cmpuint(made(f), ==, 6);
}

/* ... also if a third call, which is then not tried, waits for it. */
static void test_an_open_fate_before_others_gives_nothing_back(Apply *f, gconstpointer unused)
{
	want_gang(f, 5);
	split(f, 2);
	RgResource *last = f->wanted->pdata[f->wanted->len - 1];
	rg_json_set_str(last->attrs, "size", "tiny");
	f->parallelism = 1;
	script(f, "{'create':[{},{},{'lose':true}]}");
	g_assert_false(apply_once(f));
	g_assert_true(!f->told || !strstr(f->told, "Pool train is a gang"));
	check_counts(f, 4, 0, 1);
	g_assert_cmpuint(f->result.blocked, ==, 1);
	g_assert_cmpuint(f->result.open, ==, 1);
	complete(f, 6);
	g_assert_cmpuint(made(f), ==, 6);
}

static void test_what_does_not_start_ends_the_gang(Apply *f, gconstpointer unused)
{
	f->gang = "train";
	want(f, "cloud.disk", "train", 3, "{'size':'big'}");
	GString *looks = g_string_new("{'ready':[{'never':true}");
	for (int i = 0; i < 30; i++)
		g_string_append(looks, ",{'never':true}");
	g_string_append(looks, "]}");
	script(f, looks->str);
	g_string_free(looks, TRUE);
	g_assert_false(apply_once(f));
	check_counts(f, 0, 3, 3);
	check_sound(f, 0);
	script(f, "{}");
	complete(f, 3);
}

static void test_a_refused_look_ends_nothing(Apply *f, gconstpointer unused)
{
	want_gang(f, 3);
	script(f, "{'ready':[{'never':true},{'lose':true}]}");
	g_assert_true(apply_once(f));
	check_sound(f, 4);
}

static void test_what_cannot_be_given_back_is_recorded(Apply *f, gconstpointer unused)
{
	want_gang(f, 5);
	script(f, "{'create':[{},{'short':3}],'remove':[{'refuse':'denied'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(f->result.added, ==, 4);
	g_assert_cmpuint(f->result.given_back, ==, 0);
	check_sound(f, 4);
	complete(f, 6);
}

static void test_a_replaced_gang_comes_in_one_call(Apply *f, gconstpointer unused)
{
	want_gang(f, 4);
	g_assert_true(apply_once(f));
	want_gang(f, 4);
	split(f, 4);
	g_assert_true(apply_once(f));
	check_sound(f, 5);
	g_assert_cmpuint(f->result.destroyed, ==, 4);
	g_assert_cmpuint(logged(f, "create cloud.node.train[0]"), ==, 2);
	g_assert_cmpuint(logged(f, "create"), ==, 3);
}

static void test_a_killed_gang_is_completed(Apply *f, gconstpointer unused)
{
	static const char *const kills[] = {
		"{'create':[{},{'kill':'before'}]}",
		"{'create':[{},{'kill':'after'}]}",
		"{'create':[{},{},{'kill':'after'}]}",
		"{'create':[{},{'short':1}],'remove':[{'kill':'before'}]}",
		"{'create':[{},{'short':1}],'remove':[{'kill':'after'}]}",
	};
	for (guint i = 0; i < G_N_ELEMENTS(kills); i++) {
		want_gang(f, 5);
		split(f, 2);
		f->parallelism = 1;
		script(f, kills[i]);
		apply_killed(f);
		script(f, "{}");
		complete(f, 6);
		want_nothing(f);
		g_assert_true(apply_once(f));
		check_sound(f, 0);
	}
}

/* A member whose removal fails is not created again, so the others are not either. */
static void test_a_blocked_member_blocks_the_gang(Apply *f, gconstpointer unused)
{
	want_gang(f, 2);
	g_assert_true(apply_once(f));
	want_gang(f, 4);
	RgResource *other = f->wanted->pdata[1];
	json_decref(other->attrs);
	other->attrs = json_of("{'size':'other','net':{'$ref':'cloud.net.main','attr':'net_id'}}");
	script(f, "{'remove':[{'refuse':'denied'}]}");
	g_assert_false(apply_once(f));
	g_assert_cmpuint(logged(f, "create cloud.node"), ==, 1);
	g_assert_cmpuint(f->result.blocked, ==, 3);
	check_sound(f, 3);
	complete(f, 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	APPLY_TEST("gang/one-call", test_one_call_wants_all);
	APPLY_TEST("gang/short", test_a_short_delivery_is_given_back);
	APPLY_TEST("gang/calls", test_all_calls_of_a_gang_stand_together);
	APPLY_TEST("gang/others", test_what_was_there_and_other_pools_stay);
	APPLY_TEST("gang/open", test_an_open_fate_gives_nothing_back);
	APPLY_TEST("gang/open-before-others", test_an_open_fate_before_others_gives_nothing_back);
	APPLY_TEST("gang/start", test_what_does_not_start_ends_the_gang);
	APPLY_TEST("gang/look", test_a_refused_look_ends_nothing);
	APPLY_TEST("gang/stuck", test_what_cannot_be_given_back_is_recorded);
	APPLY_TEST("gang/replace", test_a_replaced_gang_comes_in_one_call);
	APPLY_TEST("gang/killed", test_a_killed_gang_is_completed);
	APPLY_TEST("gang/blocked", test_a_blocked_member_blocks_the_gang);
	return g_test_run();
}
