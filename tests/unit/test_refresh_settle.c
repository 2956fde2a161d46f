/* What a refresh makes of a view that may be old: it reads again, waits, or says what is unknown.
 */
#include "base/clock.h"
#include "refresh_fixture.h"

static void test_reads_again_until_a_young_one_appears(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.node': [[" DONE "], [" DONE "], [" PAGE(P0) "," DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
	g_assert_cmpuint(world_lists(&world), ==, 3);
	/* Only the kind that is unsettled is read again. */
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.group"), ==, 1);
	world_assert_quiet(&world);
}

static void test_is_unknown_when_a_young_one_does_not_appear_in_time(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}")->updated_s = YOUNG;
	world.input.settle_ms = 300;
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	scripted_assert_diag(world.scripted->diags, 0, "refresh.unsettled",
		"scripted.node.p[0] was created or changed a moment ago, and the cloud does not "
		"show it "
		"yet");
	const RgDiag *diag = rg_diags_get(world.scripted->diags, 0);
	g_assert_cmpstr(diag->hint, ==, "try again in 25 s");
	g_assert_cmpstr(diag->address, ==, "scripted.node.p[0]");
	g_assert_cmpuint(rg_diags_count(world.scripted->diags), ==, 1);
	g_assert_cmpuint(world_lists(&world), >=, 2);
}

/* After an interrupted update: the record is marked, and recent. */
static void test_doubts_a_view_that_an_update_may_yet_change(void)
{
	static const struct {
		int64_t updated_s;
		bool updating;
		const char *recorded;
		bool doubtful;
	} cases[] = {
		{YOUNG, true, "{'size': 'big'}", true},
		{YOUNG, false, "{'size': 'big'}", false},
		{NOW - 60, true, "{'size': 'big'}", true}, /* it may have been pending */
		{NOW - 60, false, "{'size': 'small'}", false},
		{OLD, true, "{'size': 'big'}", false},
		{YOUNG, true, "{'size': 'small'}", true},
		{OLD, true, "{'size': 'small'}", false},
		{YOUNG, false, "{'size': 'small'}", true},
		{OLD, false, "{'size': 'small'}", false},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(World) world;
		world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
		world.input.settle_ms = 0;
		RgResource *resource = world_record(&world, 0, "i-0", OLD, cases[i].recorded);
		resource->updated_s = cases[i].updated_s;
		resource->updating = cases[i].updating;
		world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
		const RgResource *seen = world_look(&world, "scripted.node.p[0]");
		g_assert_true(seen->doubtful == cases[i].doubtful);
		g_assert_true(seen->unended == (seen->doubtful && cases[i].updated_s != YOUNG));
	}
}

/* The cloud said that nothing is under way, before a read that must show what had ended by then. */
static void test_doubts_no_update_that_the_cloud_is_not_at(void)
{
	static const struct {
		int64_t updated_s, said_s;
		bool doubtful;
	} cases[] = {
		{NOW - 60, 31, false},
		{NOW - 60, 29, true}, /* it may have ended since */
		{YOUNG, 31, true},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GHashTable) quiet = g_hash_table_new(g_str_hash, g_str_equal);
		int64_t said_ms = rg_clock_monotonic_ms() - 1000 * cases[i].said_s;
		g_auto(World) world;
		world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
		world.input.settle_ms = 0;
		RgResource *node = world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
		node->updated_s = cases[i].updated_s;
		node->updating = true;
		g_hash_table_insert(quiet, node->address, &said_ms);
		world.input.quiet = quiet;
		world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
		g_assert_true(
			world_look(&world, "scripted.node.p[0]")->doubtful == cases[i].doubtful);
	}
}

#define P1 NODE("i-1", "'scripted.node.p[1]'", "")
#define P1_GROUP NODE("i-1", "'scripted.node.p[1]'", ", 'group': 'other'")

/* What a module sets and does not read back is its fault; what one resource alone has lost, or long
 * ago, is drift. */
static void test_an_attribute_that_nobody_reads_back_is_no_drift(void)
{
	static const struct {
		int64_t created_s;
		const char *recorded[2], *page;
		bool bad;
	} cases[] = {
		{NOW - 60, {"{'size': 'big', 'group': 'g'}", "{'size': 'big', 'group': 'g'}"},
			PAGE(P0 "," P1), true},
		{NOW - 60, {"{'size': 'big', 'group': 'g'}", "{'size': 'big', 'group': 'g'}"},
			PAGE(P0 "," P1_GROUP), false},
		{NOW - 60, {"{'size': 'big', 'group': 'g'}", "{'size': 'big'}"}, PAGE(P0 "," P1),
			false},
		{NOW - 60, {"{'size': 'big', 'count': 1}", "{'size': 'big', 'count': 1}"},
			PAGE(P0 "," P1), false},
		{NOW - 60, {"{'size': 'big', 'commit': 'c'}", "{'size': 'big', 'commit': 'c'}"},
			PAGE(P0 "," P1), false},
		{OLD, {"{'size': 'big', 'group': 'g'}", "{'size': 'big', 'group': 'g'}"},
			PAGE(P0 "," P1), false},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(World) world;
		g_autofree char *script =
			g_strdup_printf("{'list scripted.node': [[%s," DONE "]]}", cases[i].page);
		world_init(&world, script);
		for (int64_t n = 0; n < 2; n++) {
			g_autofree char *id = g_strdup_printf("i-%d", (int)n);
			world_record(&world, n, id, cases[i].created_s, cases[i].recorded[n]);
		}
		world_assert_presence(
			&world, "scripted.node.p[1]", cases[i].bad ? RG_UNKNOWN : RG_PRESENT);
		if (cases[i].bad)
			scripted_assert_diag(world.scripted->diags, 0, "provider.bad-result",
				"provider scripted does not report group of scripted.node, for "
				"any of 2 that raygpu created or changed a few minutes ago");
		else
			world_assert_quiet(&world);
	}
}

/* `update_ends_with_run`: what was pending when the run was killed does not go on without it. */
static void test_doubts_no_update_that_ended_with_its_run(void)
{
	static const struct {
		int64_t updated_s;
		bool doubtful;
	} cases[] = {{YOUNG, true}, {NOW - 60, false}};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(World) world;
		world_init(&world,
			"{'list scripted.port': [[['result', 'page', {'kind': 'scripted.port', "
			"'resources': [{'id': '1', 'address': 'scripted.port.a', 'state': "
			"'present', 'attributes': {'size': 'big'}}]}], " DONE "]]}");
		world.input.settle_ms = 0;
		RgResource *port = rg_resource_new("scripted.port", "a", -1);
		port->id = g_strdup("1");
		port->attrs = scripted_json("{'size': 'small'}");
		port->presence = RG_PRESENT;
		port->created_s = OLD;
		port->updated_s = cases[i].updated_s;
		port->updating = true;
		g_assert_true(rg_resource_set_add(world.recorded, port));
		world_assert_presence(&world, "scripted.port.a", RG_PRESENT);
		g_assert_true(world_look(&world, "scripted.port.a")->doubtful == cases[i].doubtful);
	}
}

static void test_reads_again_while_a_young_one_shows_the_old_view(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(NODE(
				   "i-0", "null", ", 'count': 1")) "," DONE "], [" PAGE(NODE("i-0",
				   "null", ", 'count': 2")) "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big', 'count': 2}")->updated_s = YOUNG;
	const RgResource *seen = world_look(&world, "scripted.node.p[0]");
	g_assert_cmpint(rg_json_int(seen->attrs, "count", 0), ==, 2);
	g_assert_cmpuint(world_lists(&world), ==, 2);
	world_assert_quiet(&world);
}

static void test_believes_a_difference_that_stays(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'small'}");
	world.input.settle_ms = 250;
	const RgResource *seen = world_look(&world, "scripted.node.p[0]");
	g_assert_cmpint(seen->presence, ==, RG_PRESENT);
	g_assert_cmpstr(rg_json_str(seen->attrs, "size", ""), ==, "big");
	g_assert_cmpuint(world_lists(&world), >=, 2);
	world_assert_quiet(&world);
}

static void test_does_not_wait_for_what_the_cloud_does_not_tell(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.node': [[" PAGE(NODE("i-0", "null",
			", 'group': 'g-1', 'commit': 'old', 'ip': '1'")) "," DONE "]], 'list "
									 "scripted.group': [[" PAGE(
										 "{'id': 'g-1', "
										 "'address': "
										 "'scripted.group."
										 "g', 'state': "
										 "'present', "
										 "'attributes': "
										 "{'rules': ['b', "
										 "'a']}}") "," DONE
											   "]]}");
	/* count is its default, group a reference, the rest is of classes that are not compared. */
	world_record(&world, 0, "i-0", YOUNG,
		"{'size': 'big', 'count': 1, 'group': {'$ref': 'scripted.group.g', 'attr': 'id'}, "
		"'commit': 'new', 'user_data': 'x', 'password': 'y', 'ip': '2', "
		"'tags': {'$ref': 'scripted.group.nowhere', 'attr': 'id'}}");
	RgResource *group = rg_resource_new("scripted.group", "g", -1);
	group->id = g_strdup("g-1");
	group->created_s = YOUNG;
	group->attrs = scripted_json("{'rules': ['a', 'b']}");
	rg_resource_set_add(world.recorded, group);
	world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
	world_assert_presence(&world, "scripted.group.g", RG_PRESENT);
	g_assert_cmpuint(world_lists(&world), ==, 1);
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.group"), ==, 1);
	world_assert_quiet(&world);
}

static void test_waits_until_a_removed_one_is_gone(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "], [" DONE "]]}");
	world_bury(&world, "i-0", NOW);
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpuint(world_lists(&world), ==, 2);
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
	world_assert_quiet(&world);
}

static void test_warns_of_a_removed_one_that_stays(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world.input.settle_ms = 250;
	world_bury(&world, "i-0", NOW);
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
	scripted_assert_diag(world.scripted->diags, 0, "refresh.unsettled",
		"i-0 was removed a short while ago, but the cloud still shows it as running");
	g_assert_false(rg_diags_has_errors(world.scripted->diags));
}

/* Whatever the state says: it runs. */
static void assert_unmanaged(int64_t removed_s)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world_bury(&world, "i-0", removed_s);
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpuint(world_lists(&world), ==, 1);
	const GPtrArray *extras = rg_resource_set_extras(world.observed);
	g_assert_cmpuint(extras->len, ==, 1);
	g_assert_true(((const RgResource *)extras->pdata[0])->unmanaged);
	world_assert_quiet(&world);
}

static void test_a_removed_one_that_stays_longer_is_unmanaged(void)
{
	assert_unmanaged(OLD);
	assert_unmanaged(NOW + 3000); /* by a clock that was ahead */
}

static void on_waiting(void *data, const char *kind, int64_t left_s)
{
	g_assert_cmpstr(kind, ==, "scripted.node");
	g_assert_cmpint(left_s, >=, 1);
	g_assert_cmpint(left_s, <=, 5);
	++*(unsigned *)data;
}

static void test_a_long_wait_is_told_once(void)
{
	g_auto(World) world;
	unsigned told = 0;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world.input.settle_ms = 3000;
	world.input.waiting = on_waiting;
	world.input.progress_data = &told;
	world.input.progress = NULL;
	world_bury(&world, "i-0", NOW);
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpuint(told, ==, 1);
}

/* consistency_s 0: what has the id of a removed one, a name, was created since. */
static void test_another_one_with_the_id_of_a_removed_one(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.disk': [[['result', 'page', {'kind': 'scripted.disk', "
		"'resources': "
		"[{'id': 'd', 'address': 'scripted.disk.a', 'state': 'present', 'attributes': "
		"{}}]}], " DONE "]]}");
	RgResource *disk = rg_resource_new("scripted.disk", "a", -1);
	disk->presence = RG_PENDING;
	disk->created_s = YOUNG;
	g_assert_true(rg_resource_set_add(world.recorded, disk));
	world_bury(&world, "d", NOW);
	world_assert_presence(&world, "scripted.disk.a", RG_PRESENT);
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.disk"), ==, 1);
	world_assert_quiet(&world);
}

static void test_a_failure_while_settling_counts_too(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(
				   P0) "," DONE "], [['diag', {'class': 7, 'summary': "
				       "'no answer'}], ['status', -1]]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	world_record(&world, 1, "i-1", YOUNG, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	world_assert_presence(&world, "scripted.node.p[1]", RG_UNKNOWN);
	scripted_assert_diag(world.scripted->diags, 0, "provider.transient", "no answer");
	g_assert_cmpuint(world_lists(&world), ==, 2);
}

/* A destroy that was cut off has removed it, or its creation does not show yet: one more run is
 * enough. */
static void waits_as_long_as_needed(World *world)
{
	world->input.settle_ms = 1000;
	world_assert_presence(world, "scripted.node.p[0]", RG_ABSENT);
	world_assert_quiet(world);
}

static void test_waits_longer_for_what_was_leaving(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}")->leaving = true;
	waits_as_long_as_needed(&world);
}

static void test_waits_longer_for_what_is_to_be_removed(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}");
	world.input.removing = true;
	waits_as_long_as_needed(&world);
}

/* By a clock that was ahead. */
static void test_waits_longer_for_what_is_dated_in_the_future(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", NOW + 86400, "{'size': 'big'}");
	waits_as_long_as_needed(&world);
}

/* The run that waited for it knows that it is over, whatever the date. */
static void test_doubts_an_update_from_the_future_only_until_it_was_waited_for(void)
{
	for (int waited_s = 0; waited_s <= 900; waited_s += 900) {
		g_auto(World) world;
		world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
		RgResource *node = world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
		node->updating = true;
		node->updated_s = NOW + 86400;
		world.input.since_ms = rg_clock_monotonic_ms() - 1000 * waited_s;
		world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
		g_assert_true(
			world_look(&world, "scripted.node.p[0]")->doubtful == (waited_s == 0));
	}
}

static void test_waits_not_at_all_if_it_must_not(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}")->leaving = true;
	world.input.settle_ms = 0;
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	g_assert_cmpuint(world_lists(&world), ==, 1);
}

static void *cancel_soon(void *data)
{
	g_usleep(300000);
	g_atomic_int_set(&((Scripted *)data)->canceled, 1);
	return NULL;
}

static void test_stops_waiting_when_canceled(void)
{
	g_auto(World) world;
	pthread_t thread;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}");
	world.input.settle_ms = 3600000;
	int64_t begin_ms = rg_clock_monotonic_ms();
	g_assert_cmpint(pthread_create(&thread, NULL, cancel_soon, world.scripted), ==, 0);
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	g_assert_cmpint(rg_clock_monotonic_ms() - begin_ms, <, 60000);
	pthread_join(thread, NULL);
	scripted_assert_diag(world.scripted->diags, 0, "provider.canceled",
		"reading scripted.node was canceled");
	g_assert_cmpuint(rg_diags_count(world.scripted->diags), ==, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *sentence;
		void (*test)(void);
	} tests[] = {
		{"reads again until a young one appears",
			test_reads_again_until_a_young_one_appears},
		{"is unknown when a young one does not appear in time",
			test_is_unknown_when_a_young_one_does_not_appear_in_time},
		{"doubts a view that an update may yet change",
			test_doubts_a_view_that_an_update_may_yet_change},
		{"doubts no update that the cloud is not at",
			test_doubts_no_update_that_the_cloud_is_not_at},
		{"an attribute that nobody reads back is no drift",
			test_an_attribute_that_nobody_reads_back_is_no_drift},
		{"doubts no update that ended with its run",
			test_doubts_no_update_that_ended_with_its_run},
		{"reads again while a young one shows the old view",
			test_reads_again_while_a_young_one_shows_the_old_view},
		{"believes a difference that stays", test_believes_a_difference_that_stays},
		{"does not wait for what the cloud does not tell",
			test_does_not_wait_for_what_the_cloud_does_not_tell},
		{"waits until a removed one is gone", test_waits_until_a_removed_one_is_gone},
		{"warns of a removed one that stays", test_warns_of_a_removed_one_that_stays},
		{"a removed one that stays longer is unmanaged",
			test_a_removed_one_that_stays_longer_is_unmanaged},
		{"a long wait is told once", test_a_long_wait_is_told_once},
		{"another one with the id of a removed one",
			test_another_one_with_the_id_of_a_removed_one},
		{"a failure while settling counts too", test_a_failure_while_settling_counts_too},
		{"waits longer for what was leaving", test_waits_longer_for_what_was_leaving},
		{"waits longer for what is to be removed",
			test_waits_longer_for_what_is_to_be_removed},
		{"waits longer for what is dated in the future",
			test_waits_longer_for_what_is_dated_in_the_future},
		{"doubts an update from the future only until it was waited for",
			test_doubts_an_update_from_the_future_only_until_it_was_waited_for},
		{"waits not at all if it must not", test_waits_not_at_all_if_it_must_not},
		{"stops waiting when canceled", test_stops_waiting_when_canceled},
	};
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strconcat("/refresh/settle/", tests[i].sentence, NULL);
		g_test_add_func(path, tests[i].test);
	}
	return g_test_run();
}
