#include "base/clock.h"
#include "refresh_fixture.h"

static void test_puts_what_it_sees_under_the_address_of_the_record(void)
{
	g_auto(World) world;
	/* The marks of i-1 were removed, those of i-0 say something else. */
	world_init(
		&world, "{'list scripted.node': [[" PAGE(NODE("i-0", "'scripted.node.p[7]'",
				", 'ip': '10.0.0.1'") "," NODE("i-1", "null", "")) "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	world_record(&world, 1, "i-1", OLD, "{'size': 'small'}");
	const RgResource *seen = world_look(&world, "scripted.node.p[0]");
	g_assert_nonnull(seen);
	g_assert_cmpstr(seen->id, ==, "i-0");
	g_assert_cmpstr(seen->address, ==, "scripted.node.p[0]");
	g_assert_cmpint(seen->index, ==, 0);
	g_assert_cmpstr(seen->group, ==, "p");
	g_assert_cmpstr(seen->status, ==, "running");
	g_assert_cmpstr(rg_json_str(seen->attrs, "ip", ""), ==, "10.0.0.1");
	world_assert_presence(&world, "scripted.node.p[1]", RG_PRESENT);
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
	g_assert_cmpuint(world_lists(&world), ==, 1);
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.node i-0 i-1"), ==, 1);
	world_assert_quiet(&world);
}

static void test_is_absent_when_an_old_one_is_not_told(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	world_record(&world, 1, "i-1", OLD, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
	world_assert_presence(&world, "scripted.node.p[1]", RG_ABSENT);
	g_assert_cmpstr(world_look(&world, "scripted.node.p[1]")->id, ==, "i-1");
	g_assert_cmpuint(world_lists(&world), ==, 1);
	world_assert_quiet(&world);
}

/* Another account's credentials show nothing at all, not even terminated resources. */
static void test_does_not_believe_that_all_is_gone(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	world_record(&world, 1, "i-1", OLD, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	world_assert_presence(&world, "scripted.node.p[1]", RG_UNKNOWN);
	g_assert_cmpuint(rg_diags_count(world.scripted->diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(world.scripted->diags, 0)->code, ==, "refresh.nothing-there");
}

static void test_believes_that_the_last_of_a_removal_is_gone(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	world_record(&world, 1, "i-1", OLD, "{'size': 'big'}")->leaving = true;
	world_assert_presence(&world, "scripted.node.p[0]", RG_ABSENT);
	world_assert_presence(&world, "scripted.node.p[1]", RG_ABSENT);
	world_assert_quiet(&world);
}

/* Killed while it was removed: its absence is new information about the removal, however recent. */
static void test_believes_at_once_that_what_was_leaving_is_gone(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0) "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	RgResource *old = world_record(&world, 1, "i-1", OLD, "{'size': 'big'}");
	RgResource *new = world_record(&world, 2, "i-2", YOUNG, "{'size': 'big'}");
	old->leaving = new->leaving = true;
	old->updated_s = new->updated_s = YOUNG;
	world.input.settle_ms = 0;
	world_assert_presence(&world, "scripted.node.p[1]", RG_ABSENT);
	world_assert_presence(&world, "scripted.node.p[2]", RG_UNKNOWN);
}

static void test_believes_the_word_gone_at_once(void)
{
	g_auto(World) world;
	world_init(
		&world, "{'list scripted.node': [[" PAGE(
				"{'id': 'i-0', 'address': 'scripted.node.p[0]', 'state': 'gone', "
				"'status': 'terminated', 'attributes': {}}") "," DONE "]]}");
	world_record(&world, 0, "i-0", YOUNG, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_ABSENT);
	g_assert_cmpstr(world_look(&world, "scripted.node.p[0]")->status, ==, "terminated");
	g_assert_cmpuint(world_lists(&world), ==, 1);
	world_assert_quiet(&world);
}

static void test_finds_a_crashed_create_by_its_marks(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.node': [[" PAGE(NODE("i-9", "'scripted.node.p[1]'", "") "," NODE(
			"i-8", "'scripted.node.p[1]'", "") "," NODE("i-7", "'scripted.node.p[2]'",
			"") "," NODE("i-6", "'scripted.node.p[5]'", "")) "," DONE "]]}");
	world_record(&world, 1, NULL, YOUNG, "{'size': 'big'}");
	world_record(&world, 2, NULL, YOUNG, "{'size': 'big'}");
	world_record(&world, 3, NULL, YOUNG, "{'size': 'big'}");
	const RgResource *seen = world_look(&world, "scripted.node.p[1]");
	/* Of two with one address, the lower id wins, whatever the order of pages. */
	g_assert_cmpstr(seen->id, ==, "i-8");
	g_assert_false(seen->unmanaged);
	g_assert_cmpint(seen->presence, ==, RG_PRESENT);
	g_assert_cmpstr(world_look(&world, "scripted.node.p[2]")->id, ==, "i-7");
	g_assert_null(world_look(&world, "scripted.node.p[3]"));
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 2);
	g_assert_cmpstr(world_extra(&world, 0)->id, ==, "i-6");
	g_assert_cmpstr(world_extra(&world, 1)->id, ==, "i-9");
	g_assert_true(world_extra(&world, 1)->unmanaged);
	g_assert_cmpuint(world_lists(&world), ==, 1);
	world_assert_quiet(&world);
}

static void test_does_not_take_another_token_for_a_crashed_create(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.node': [[" PAGE("{'id': 'i-1', 'address': 'scripted.node.p[1]', "
						 "'state': 'present', 'token': "
						 "'aa', 'attributes': {}}") "," DONE "]]}");
	world_record(&world, 1, NULL, YOUNG, "{'size': 'big'}")->token = g_strdup("bb");
	g_assert_null(world_look(&world, "scripted.node.p[1]"));
	g_assert_cmpstr(world_extra(&world, 0)->id, ==, "i-1");
	g_assert_true(world_extra(&world, 0)->unmanaged);
}

static void test_keeps_what_has_no_record_beside_the_rest(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0 "," NODE("i-5",
				   "'scripted.node.p[0]'", "") "," NODE("i-6", "'not an address'",
				   "") ",{'id': 'i-7', 'address': null, 'state': "
				       "'gone', 'attributes': {}},{'id': 'i-8', 'address': null, "
				       "'state': 'unknown', 'attributes': {}}") "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
	g_assert_cmpstr(world_look(&world, "scripted.node.p[0]")->id, ==, "i-0");
	g_assert_cmpuint(rg_resource_set_size(world.observed), ==, 1);
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 3);
	g_assert_cmpstr(world_extra(&world, 0)->id, ==, "i-5");
	g_assert_cmpstr(world_extra(&world, 0)->address, ==, "scripted.node.p[0]");
	g_assert_true(world_extra(&world, 0)->unmanaged);
	g_assert_cmpstr(world_extra(&world, 1)->id, ==, "i-6");
	g_assert_null(world_extra(&world, 1)->address);
	/* what cannot be read may exist */
	g_assert_cmpstr(world_extra(&world, 2)->id, ==, "i-8");
	g_assert_cmpint(world_extra(&world, 2)->presence, ==, RG_UNKNOWN);
}

/* Failed reads: the kind's records are unknown, whatever was returned before. */
static const char *const broken[] = {
	"[" PAGE(P0) ", ['diag', {'class': 3, 'summary': 'not allowed'}], ['status', -1]]",
	"[" PAGE(P0) "]",
	"[" PAGE(P0) ", ['result', 'done', {'complete': false}]]",
	"[" PAGE(P0) ", ['raw', 'page', '{'], " DONE "]",
	"[" PAGE(P0) "," PAGE(P0) "," DONE "]",
	"[['status', -1]]",
};

static void test_is_unknown_when_a_reading_failed(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(broken); i++) {
		g_auto(World) world;
		g_autofree char *script =
			g_strdup_printf("{'list scripted.node': [%s]}", broken[i]);
		world_init(&world, script);
		world_record(&world, 0, "i-0", OLD, "{'size': 'big'}");
		world_record(&world, 1, NULL, OLD, "{'size': 'big'}");
		world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
		world_assert_presence(&world, "scripted.node.p[1]", RG_UNKNOWN);
		g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
		size_t n = rg_diags_count(world.scripted->diags);
		g_assert_cmpuint(n, ==, 2);
		scripted_assert_diag(world.scripted->diags, 1, "refresh.incomplete",
			"scripted.node could not be read: its 2 recorded "
			"resources could not be checked");
		g_assert_cmpuint(world_lists(&world), ==, 1);
	}
}

static void test_tells_failures_in_the_schemas_order(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.group': [[['sleep', 300], ['diag', {'class': 3, 'summary': "
		"'first'}], ['status', -1]]], 'list scripted.node': [[['diag', {'class': 3, "
		"'summary': 'second'}], ['status', -1]]]}");
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	scripted_assert_diag(world.scripted->diags, 0, "provider.denied", "first");
	scripted_assert_diag(
		world.scripted->diags, 1, "refresh.incomplete", "scripted.group could not be read");
	scripted_assert_diag(world.scripted->diags, 2, "provider.denied", "second");
}

static void test_reads_kinds_at_the_same_time(void)
{
	g_auto(World) world;
	world_init(&world, "{'list': [[['sleep', 120000], " DONE "]]}");
	int64_t begin_ms = rg_clock_monotonic_ms();
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpint(rg_clock_monotonic_ms() - begin_ms, <, 2 * 120000);
	world_assert_quiet(&world);
}

static void record_other(World *world, const char *kind, int64_t created_s, const char *attrs)
{
	RgResource *resource = rg_resource_new(kind, "a", -1);
	resource->id = g_strdup("1"); /* ids of different kinds may be equal */
	resource->attrs = scripted_json(attrs);
	resource->created_s = created_s;
	resource->presence = RG_PRESENT;
	g_assert_true(rg_resource_set_add(world->recorded, resource));
}

#define OTHER(kind, attrs)                                                                         \
	"['result', 'page', {'kind': '" kind "', 'resources': [{'id': '1', 'address': '" kind      \
	".a', 'state': 'present', 'attributes': {" attrs "}}]}]"

/* The port is recent: its old view, with the previous size, is not believed. */
static void test_reads_what_is_listed_together_in_one_call(void)
{
	g_auto(World) world;
	world_init(&world,
		"{'list scripted.disk': [[" OTHER("scripted.disk", "") "," OTHER(
			"scripted.port", "'size': 'small'") "," DONE "], [" OTHER("scripted.port",
			"'size': 'big'") "," OTHER("scripted.disk", "") "," DONE "]]}");
	record_other(&world, "scripted.disk", OLD, "{}");
	record_other(&world, "scripted.port", YOUNG, "{'size': 'big'}");
	world_assert_presence(&world, "scripted.disk.a", RG_PRESENT);
	world_assert_presence(&world, "scripted.port.a", RG_PRESENT);
	const RgResource *port = world_look(&world, "scripted.port.a");
	g_assert_cmpstr(rg_json_str(port->attrs, "size", ""), ==, "big");
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.disk 1"), ==, 2);
	g_assert_cmpuint(scripted_count(world.scripted, "list scripted.port"), ==, 0);
	world_assert_quiet(&world);
}

static void test_a_failed_listing_concerns_all_its_kinds(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.disk': [[" OTHER("scripted.disk", "") ", ['status', "
										  "-1]]]}");
	record_other(&world, "scripted.disk", OLD, "{}");
	record_other(&world, "scripted.port", OLD, "{}");
	world_assert_presence(&world, "scripted.disk.a", RG_UNKNOWN);
	world_assert_presence(&world, "scripted.port.a", RG_UNKNOWN);
	scripted_assert_diag(world.scripted->diags, 1, "refresh.incomplete",
		"scripted.disk, scripted.port could not be read: its 2 recorded resources could "
		"not be checked");
}

#define OTHERS(id) "{'id': '" id "', 'lineage': 'ff', 'state': 'present', 'attributes': {}}"

static void test_takes_nothing_of_another_state_before_the_first_apply(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(P0 "," OTHERS("i-1")) "," DONE "]]}");
	g_autoptr(GPtrArray) strangers =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	world.input.lineage = NULL;
	world.input.strangers = strangers;
	g_assert_null(world_look(&world, "scripted.node.p[0]"));
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
	g_assert_cmpuint(strangers->len, ==, 1);
	g_assert_cmpstr(((RgResource *)strangers->pdata[0])->id, ==, "i-1");
	g_assert_cmpuint(world_lists(&world), ==, 1);
}

/* A resource of another state does not prove that the cluster exists, and neither does a record's
 * id. */
static void test_tells_another_state_from_ours(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(OTHERS("i-0") "," OTHERS(
				   "i-9") ",{'id': 'i-8', 'lineage': 'ff', "
					  "'state': 'gone', 'attributes': {}}") "," DONE "]]}");
	g_autoptr(GPtrArray) strangers =
		g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	world.input.strangers = strangers;
	world_record(&world, 0, "i-0", OLD, "{}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_PRESENT);
	g_assert_cmpuint(strangers->len, ==, 1);
	g_assert_cmpstr(((RgResource *)strangers->pdata[0])->id, ==, "i-9");
	g_assert_cmpstr(((RgResource *)strangers->pdata[0])->lineage, ==, "ff");
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
}

static void test_another_state_hides_nothing(void)
{
	g_auto(World) world;
	world_init(&world, "{'list scripted.node': [[" PAGE(OTHERS("i-9")) "," DONE "]]}");
	world_record(&world, 0, "i-0", OLD, "{}");
	world_record(&world, 1, "i-1", OLD, "{}");
	world_assert_presence(&world, "scripted.node.p[0]", RG_UNKNOWN);
	g_assert_cmpstr(rg_diags_get(world.scripted->diags, 0)->code, ==, "refresh.nothing-there");
}

static void test_takes_the_cores_secrets_as_recorded(void)
{
	g_auto(World) world;
	world_init(&world, "{}");
	RgResource *secret = rg_resource_new(RG_SECRET_KIND, "ray_token", -1);
	secret->attrs = scripted_json("{'bytes': 32}");
	secret->outputs_json = scripted_json("{'value': 'hidden'}");
	rg_resource_set_add(world.recorded, secret);
	const RgResource *seen = world_look(&world, RG_SECRET_RAY_TOKEN);
	g_assert_nonnull(seen);
	g_assert_cmpint(seen->presence, ==, RG_PRESENT);
	g_assert_true(seen->attrs == secret->attrs);
	g_assert_null(seen->outputs_json);
	world_assert_quiet(&world);
}

static void test_does_not_know_kinds_that_the_module_lacks(void)
{
	g_auto(World) world;
	world_init(&world, "{}");
	RgResource *other = rg_resource_new("scripted.lake", "l", -1);
	other->id = g_strdup("l-1");
	other->attrs = json_object();
	rg_resource_set_add(world.recorded, other);
	world_assert_presence(&world, "scripted.lake.l", RG_UNKNOWN);
	scripted_assert_diag(world.scripted->diags, 0, "refresh.incomplete",
		"scripted.lake.l is of a kind that provider scripted does not have");
}

typedef struct {
	gint calls, done;
	gint last;
} Progress;

static void count_progress(void *data, const char *kind, size_t seen, bool done)
{
	Progress *progress = data;
	g_atomic_int_inc(&progress->calls);
	if (done)
		g_atomic_int_inc(&progress->done);
	if (g_str_equal(kind, "scripted.node"))
		g_atomic_int_set(&progress->last, (gint)seen);
}

static void test_reads_ten_thousand_nodes_page_by_page(void)
{
	g_auto(World) world;
	Progress progress = {0};
	g_autoptr(GString) script = g_string_new("{'list scripted.node': [[");
	for (int i = 0; i < 10; i++)
		g_string_append_printf(script, "['nodes', %d, %d],", i * 1000, (i + 1) * 1000);
	g_string_append(script, DONE "]]}");
	world_init(&world, script->str);
	world.input.progress = count_progress;
	world.input.progress_data = &progress;
	for (int i = 0; i < 10000; i++) {
		g_autofree char *id = g_strdup_printf("i-%d", i);
		world_record(&world, i, id, i % 2 ? OLD : YOUNG, "{'size': 'big'}");
	}
	world_assert_presence(&world, "scripted.node.p[9999]", RG_PRESENT);
	g_assert_cmpuint(rg_resource_set_size(world.observed), ==, 10000);
	g_assert_cmpuint(rg_resource_set_extras(world.observed)->len, ==, 0);
	g_assert_cmpint(progress.done, ==, 2);
	g_assert_cmpint(progress.calls, ==, 102);
	g_assert_cmpint(progress.last, ==, 10000);
	g_assert_cmpuint(world_lists(&world), ==, 1);
	world_assert_quiet(&world);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *sentence;
		void (*test)(void);
	} tests[] = {
		{"puts what it sees under the address of the record",
			test_puts_what_it_sees_under_the_address_of_the_record},
		{"is absent when an old one is not told",
			test_is_absent_when_an_old_one_is_not_told},
		{"does not believe that all is gone", test_does_not_believe_that_all_is_gone},
		{"believes that the last of a removal is gone",
			test_believes_that_the_last_of_a_removal_is_gone},
		{"believes that what was leaving is gone",
			test_believes_at_once_that_what_was_leaving_is_gone},
		{"believes the word gone at once", test_believes_the_word_gone_at_once},
		{"finds a crashed create by its marks", test_finds_a_crashed_create_by_its_marks},
		{"does not take another token for a crashed create",
			test_does_not_take_another_token_for_a_crashed_create},
		{"keeps what has no record beside the rest",
			test_keeps_what_has_no_record_beside_the_rest},
		{"is unknown when a reading failed", test_is_unknown_when_a_reading_failed},
		{"tells failures in the schemas order", test_tells_failures_in_the_schemas_order},
		{"reads kinds at the same time", test_reads_kinds_at_the_same_time},
		{"reads what is listed together in one call",
			test_reads_what_is_listed_together_in_one_call},
		{"a failed listing concerns all its kinds",
			test_a_failed_listing_concerns_all_its_kinds},
		{"takes nothing of another state before the first apply",
			test_takes_nothing_of_another_state_before_the_first_apply},
		{"tells another state from ours", test_tells_another_state_from_ours},
		{"another state hides nothing", test_another_state_hides_nothing},
		{"takes the cores secrets as recorded", test_takes_the_cores_secrets_as_recorded},
		{"does not know kinds that the module lacks",
			test_does_not_know_kinds_that_the_module_lacks},
		{"reads ten thousand nodes page by page",
			test_reads_ten_thousand_nodes_page_by_page},
	};
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strconcat("/refresh/", tests[i].sentence, NULL);
		g_test_add_func(path, tests[i].test);
	}
	return g_test_run();
}
