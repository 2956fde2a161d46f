/* What survives the records of nodes: when each started and ended, how, at which price and with
 * which labels. Uses the machine's clock; tests/cli/fit/test_cost.py controls the clock. */
#include "state_fixture.h"
#include "state/internal.h"

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"

static json_t *lifetimes_of(Fixture *f)
{
	json_t *list = rg_store_lifetimes(f->store, CLUSTER, 0, f->diags);
	assert_fine(f->diags);
	return list;
}

static const char *ending_of(const json_t *lifetimes, size_t i)
{
	return rg_json_str(json_array_get(lifetimes, i), "ending", "alive");
}

static int64_t price_of(const json_t *lifetimes, size_t i)
{
	const json_t *pin = json_object_get(json_array_get(lifetimes, i), "pin");
	return rg_json_int(pin, "price_microusd_hour", -1);
}

static void make_two(Fixture *f)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(list), ==, 2);
	g_assert_cmpstr(ending_of(list, 0), ==, "alive");
}

static void test_each_end_has_its_name(Fixture *f, gconstpointer unused)
{
	static const char *const zero[] = {T0};
	make_two(f);
	g_assert_true(remove_records(f, zero, 1));
	g_assert_true(rg_store_gone(f->store, CLUSTER, &(RgGone){T1, "i-1"}, 1, f->diags));
	int64_t row = open_batch(f, 2, 1);
	g_assert_true(settle_created(f, row, "aws.instance.train[2]", "i-2"));
	g_assert_true(rg_store_forget(f->store, CLUSTER, "aws.instance.train[2]", f->diags));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(list), ==, 3);
	g_assert_cmpstr(ending_of(list, 0), ==, "removed");
	g_assert_cmpstr(ending_of(list, 1), ==, "gone");
	g_assert_cmpstr(ending_of(list, 2), ==, "forgotten");
	for (size_t i = 0; i < 3; i++) {
		const json_t *item = json_array_get(list, i);
		g_assert_cmpint(rg_json_int(item, "began_s", 0), >, 0);
		g_assert_cmpint(
			rg_json_int(item, "ended_s", 0), >=, rg_json_int(item, "began_s", 0));
	}
	/* omits what ended before the requested time */
	json_auto_t *none = rg_store_lifetimes(f->store, CLUSTER, INT64_MAX, f->diags);
	g_assert_cmpuint(json_array_size(none), ==, 0);
}

/* decide.md row 7: the cloud no longer has it, and a create takes its address. */
static void test_what_a_create_replaces_is_gone(Fixture *f, gconstpointer unused)
{
	make_two(f);
	json_auto_t *attrs = json_pack("{s:s}", "instance_type", "p4d.24xlarge");
	json_t *member = member_new(f, T0, attrs);
	json_auto_t *members = json_pack("[o]", member), *input = json_object();
	RgJournalRow row = {.run = f->run,
		.kind = (char *)(uintptr_t) "aws.instance",
		.token = (char *)(uintptr_t) "ff112233445566778899aabbccddeeff",
		.input = input,
		.members = members};
	int64_t id;
	g_assert_true(rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpstr(ending_of(list, 0), ==, "gone");
	g_assert_cmpstr(ending_of(list, 1), ==, "alive");
}

static void test_a_new_price_begins_a_new_lifetime(Fixture *f, gconstpointer unused)
{
	make_two(f);
	json_auto_t *before = lifetimes_of(f);
	const json_t *old = json_object_get(json_array_get(before, 0), "pin");
	json_auto_t *same = json_deep_copy(old), *dearer = json_deep_copy(old);
	json_object_set_new(same, "image_id", json_string("ami-2"));
	json_object_set_new(dearer, "price_microusd_hour", json_integer(99));
	g_assert_true(rg_store_record(f->store, CLUSTER, T0, NULL, NULL, same, f->diags));
	g_assert_true(rg_store_record(f->store, CLUSTER, T0, NULL, NULL, NULL, f->diags));
	json_auto_t *unchanged = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(unchanged), ==, 2);
	g_assert_true(rg_store_record(f->store, CLUSTER, T0, NULL, NULL, dearer, f->diags));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(list), ==, 3);
	g_assert_cmpstr(ending_of(list, 0), ==, "repriced");
	g_assert_cmpint(price_of(list, 0), ==, price_of(before, 0));
	g_assert_cmpint(price_of(list, 2), ==, 99);
	g_assert_cmpstr(ending_of(list, 2), ==, "alive");
	/* and it ends with its record, wherever that was moved */
	static const char *const moved[] = {"aws.instance.other[0]"};
	fixture_close(f);
	execute(f->path, "UPDATE resources SET address = 'aws.instance.other[0]'"
			 " WHERE address = '" T0 "'");
	fixture_open(f);
	g_assert_true(remove_records(f, moved, 1));
	json_auto_t *after = lifetimes_of(f);
	g_assert_cmpstr(ending_of(after, 2), ==, "removed");
	g_assert_cmpint(
		query_int(f->path, "SELECT count(*) FROM lifetimes WHERE ended_s IS NULL"), ==, 1);
}

static bool begin_with_labels(Fixture *f, const char *team)
{
	g_autofree char *run = NULL, *lineage = NULL;
	json_auto_t *meta = json_pack("{s:s, s:{s:s}}", "command", "apply", "labels", "team", team);
	const RgRunBegin begin = {
		.cluster = CLUSTER, .provider = "aws", .region = "us-east-1", .meta = meta};
	return rg_store_begin_run(f->store, &begin, &run, &lineage, f->diags);
}

static const char *team_of(const json_t *lifetimes, size_t i)
{
	const json_t *labels = json_object_get(json_array_get(lifetimes, i), "labels");
	return rg_json_str(labels, "team", "none");
}

static void test_new_labels_begin_a_new_lifetime(Fixture *f, gconstpointer unused)
{
	make_two(f);
	g_assert_true(begin_with_labels(f, "ml"));
	g_assert_true(begin_with_labels(f, "ml"));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(list), ==, 4);
	g_assert_cmpstr(ending_of(list, 0), ==, "relabelled");
	g_assert_cmpstr(team_of(list, 0), ==, "none");
	g_assert_cmpstr(team_of(list, 2), ==, "ml");
	int64_t row = open_batch(f, 5, 1);
	g_assert_true(settle_created(f, row, "aws.instance.train[5]", "i-5"));
	json_auto_t *more = lifetimes_of(f);
	g_assert_cmpstr(team_of(more, 4), ==, "ml");
}

static void test_what_has_no_price_has_no_lifetime(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgResource) group = rg_resource_new("aws.security_group", "cluster", -1);
	group->id = g_strdup("sg-1");
	g_assert_true(rg_store_adopt(f->store, CLUSTER, group, f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM lifetimes"), ==, 0);
	/* a price that is added later starts one */
	json_auto_t *pin = json_pack("{s:n}", "price_microusd_hour");
	g_assert_true(
		rg_store_record(f->store, CLUSTER, group->address, NULL, NULL, pin, f->diags));
	json_auto_t *list = lifetimes_of(f);
	g_assert_cmpuint(json_array_size(list), ==, 1);
	g_assert_cmpstr(ending_of(list, 0), ==, "alive");
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/lifetimes/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("ends", test_each_end_has_its_name);
	ADD("replaced", test_what_a_create_replaces_is_gone);
	ADD("repriced", test_a_new_price_begins_a_new_lifetime);
	ADD("relabelled", test_new_labels_begin_a_new_lifetime);
	ADD("unpriced", test_what_has_no_price_has_no_lifetime);
	return g_test_run();
}
