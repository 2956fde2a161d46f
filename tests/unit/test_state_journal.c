/* Creates in progress, and identities, in a single process. */
#include "state_fixture.h"

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"
#define T2 "aws.instance.train[2]"

static void test_open_row_is_pending_until_settled(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 3);
	g_autoptr(RgSnapshot) open = load(f);
	g_assert_cmpuint(open->journal->len, ==, 1);
	const RgJournalRow *journal = open->journal->pdata[0];
	g_assert_cmpint(journal->id, ==, row);
	g_assert_cmpstr(journal->run, ==, f->run);
	g_assert_cmpstr(journal->kind, ==, "aws.instance");
	g_assert_cmpstr(journal->token, ==, "0123");
	g_assert_cmpint(journal->started_s, ==, 1000);
	g_assert_cmpstr(rg_json_str(journal->input, "secret", NULL), ==, "s3cr3t-input");
	g_assert_cmpuint(json_array_size(journal->members), ==, 3);
	const json_t *member = json_array_get(journal->members, 1);
	g_assert_cmpstr(rg_json_str(member, "address", NULL), ==, T1);
	g_assert_cmpstr(
		rg_json_str(json_object_get(member, "attrs"), "user_data", NULL), ==, "#!/bin/sh");
	const RgResource *pending = rg_resource_set_find(open->recorded, T1);
	g_assert_cmpint(pending->presence, ==, RG_PENDING);
	g_assert_null(pending->id);
	g_assert_cmpstr(pending->run, ==, f->run);
	g_assert_cmpstr(pending->group, ==, "train");
	g_assert_cmpstr(pending->origin, ==, "/pools/train");
	g_assert_cmpstr(pending->depends_on[0], ==, "aws.security_group.cluster");
	json_auto_t *pins = rg_snapshot_pins(open);
	g_assert_cmpstr(rg_json_str(rg_json_at(pins, "/nodes/train~11"), "instance_type", NULL), ==,
		"p4d.24xlarge");
}

static void test_settling_goes_member_by_member(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 3);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_failed(f, row, T2));
	g_autoptr(RgSnapshot) half = load(f);
	const RgJournalRow *journal = half->journal->pdata[0];
	g_assert_cmpuint(json_array_size(journal->members), ==, 1);
	g_assert_cmpint(rg_resource_set_find(half->recorded, T1)->presence, ==, RG_PENDING);
	g_assert_null(rg_resource_set_find(half->recorded, T2));
	const RgResource *made = rg_resource_set_find(half->recorded, T0);
	g_assert_cmpint(made->presence, ==, RG_PRESENT);
	g_assert_cmpstr(made->id, ==, "i-0");
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(made), "private_ip", NULL), ==, "i-0");
	g_assert_cmpstr(rg_json_str(made->attrs, "user_data", NULL), ==, "#!/bin/sh");
	g_assert_cmpstr(rg_json_str(made->pin, "instance_type", NULL), ==, "p4d.24xlarge");
	g_assert_cmpstr(made->depends_on[0], ==, "aws.security_group.cluster");
	g_assert_cmpstr(made->group, ==, "train");
	g_assert_cmpint(made->generation, ==, 0);
	g_assert_cmpint(made->created_s, >, 1000);
	check_identity(f, T0, 1, 0);
	check_identity(f, T1, 0, 0);
	check_identity(f, T2, 0, 1);
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_autoptr(RgSnapshot) all = load(f);
	g_assert_cmpuint(all->journal->len, ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM journal"), ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs"), ==, 1);
}

static void test_a_member_is_settled_once(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	int64_t serial = query_int(f->path, "SELECT serial FROM clusters");
	g_assert_false(settle_created(f, row, T0, "i-00"));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_assert_false(settle_created(f, row, T1, "i-1"));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, serial + 1);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpstr(rg_resource_set_find(snapshot->recorded, T0)->id, ==, "i-0");
}

static void test_a_failed_settle_changes_nothing(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	const RgMemberOutcome outcomes[] = {
		{.address = T0, .created = true, .id = "i-0"}, {.address = T1, .created = true}};
	g_assert_false(rg_store_journal_settle(f->store, CLUSTER, row, outcomes, 2, f->diags));
	assert_code(f->diags, "provider.bad-result");
	diags_reset(f);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpint(rg_resource_set_find(snapshot->recorded, T0)->presence, ==, RG_PENDING);
	g_assert_cmpint(rg_resource_set_find(snapshot->recorded, T1)->presence, ==, RG_PENDING);
	check_identity(f, T0, 0, 0);
}

static void test_one_address_has_one_open_create(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_cmpint(open_batch(f, 0, 2), >, 0);
	g_assert_cmpint(open_batch(f, 1, 2), ==, 0);
	const RgDiag *diag = assert_code(f->diags, "state.moved");
	g_assert_cmpstr(diag->address, ==, T1);
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM journal"), ==, 1);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM journal_members"), ==, 2);
}

static void test_a_used_identity_is_refused(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_failed(f, open_batch(f, 0, 1), T0));
	json_auto_t *attrs = json_object();
	json_auto_t *members = json_array();
	json_array_append_new(members, member_new(f, T0, attrs));
	json_object_set_new(json_array_get(members, 0), "attempt", json_integer(0));
	RgJournalRow row = {.kind = f->run, .token = f->run, .input = attrs, .members = members};
	int64_t id;
	g_assert_false(rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
}

static void test_create_over_a_vanished_record_keeps_its_id_as_tombstone(
	Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-old"));
	int64_t row = open_batch(f, 0, 1);
	g_assert_cmpint(row, >, 0);
	g_autoptr(RgSnapshot) open = load(f);
	const RgResource *pending = rg_resource_set_find(open->recorded, T0);
	g_assert_cmpint(pending->presence, ==, RG_PENDING);
	g_assert_cmpint(pending->generation, ==, 1);
	g_assert_true(g_hash_table_contains(open->tombstones, "i-old"));
	g_assert_true(settle_created(f, row, T0, "i-new"));
	g_autoptr(RgSnapshot) done = load(f);
	g_assert_cmpstr(rg_resource_set_find(done->recorded, T0)->id, ==, "i-new");
}

/* A run that never saw it missing, or saw another one missing, cannot take its address. */
static void test_create_over_a_record_that_nobody_missed_is_refused(
	Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-old"));
	json_auto_t *attrs = json_object(), *members = json_array();
	json_t *member = member_new(f, T0, attrs);
	json_array_append_new(members, member);
	RgJournalRow row = {.kind = (char *)(uintptr_t) "aws.instance",
		.token = (char *)(uintptr_t) "0123",
		.input = attrs,
		.members = members};
	static const char *const missed[] = {NULL, "i-other"};
	for (size_t i = 0; i < G_N_ELEMENTS(missed); i++) {
		int64_t id;
		json_object_del(member, "gone");
		rg_json_set_str(member, "gone", missed[i]);
		g_assert_false(rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags));
		const RgDiag *diag = assert_code(f->diags, "state.moved");
		g_assert_cmpstr(diag->summary, ==,
			T0 " is recorded as i-old, which was neither removed nor found missing");
		diags_reset(f);
		g_assert_false(
			rg_store_gone(f->store, CLUSTER, &(RgGone){T0, missed[i]}, 1, f->diags));
		assert_code(f->diags, "state.moved");
		diags_reset(f);
	}
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpstr(rg_resource_set_find(after->recorded, T0)->id, ==, "i-old");
	g_assert_cmpuint(g_hash_table_size(after->tombstones), ==, 0);
}

static void test_only_what_was_asked_to_leave_is_removed(Fixture *f, gconstpointer unused)
{
	const char *address = T0;
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_assert_false(rg_store_removed(f->store, CLUSTER, &address, 1, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_true(remove_records(f, &address, 1));
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/" path, Fixture, NULL, fixture_up, function, fixture_down)

static int64_t query_rows(Fixture *f)
{
	return query_int(f->path, "SELECT count(*) FROM journal_members");
}

/* Others see none of its changes before its end, this handle sees each at once. */
static void test_a_group_is_one_transaction(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	rg_store_group_begin(f->store);
	int64_t first = open_batch(f, 0, 2);
	g_assert_cmpint(open_batch(f, 2, 1), !=, first);
	g_assert_cmpint(query_rows(f), ==, 0);
	check_identity(f, T0, 0, 0);
	g_assert_true(settle_created(f, first, T0, "i-0"));
	check_identity(f, T0, 1, 0);
	g_assert_true(rg_store_group_end(f->store, f->diags));
	assert_fine(f->diags);
	g_assert_cmpint(query_rows(f), ==, 2);
	fixture_close(f);
	fixture_open(f); /* its sums are right */
	g_autoptr(RgSnapshot) all = load(f);
	g_assert_cmpstr(rg_resource_set_find(all->recorded, T0)->id, ==, "i-0");
	g_assert_cmpint(rg_resource_set_find(all->recorded, T2)->presence, ==, RG_PENDING);
}

/* One change of it is refused: none is made, and what follows is refused too. */
static void test_a_group_fails_as_a_whole(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t serial = query_int(f->path, "SELECT serial FROM clusters");
	rg_store_group_begin(f->store);
	int64_t row = open_batch(f, 0, 1);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_false(settle_created(f, row, T0, "i-0"));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_false(rg_store_joined(f->store, CLUSTER, NULL, 0, f->diags));
	assert_code(f->diags, "state.unwritable");
	diags_reset(f);
	g_assert_false(rg_store_group_end(f->store, f->diags));
	g_assert_cmpint(query_rows(f), ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, serial);
	check_identity(f, T0, 0, 0);
	open_batch(f, 0, 1);
	g_assert_cmpint(query_rows(f), ==, 1);
}

static void test_an_empty_group_writes_nothing(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t serial = query_int(f->path, "SELECT serial FROM clusters");
	rg_store_group_begin(f->store);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpstr(snapshot->cluster, ==, CLUSTER);
	g_assert_true(rg_store_group_end(f->store, f->diags));
	assert_fine(f->diags);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, serial);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("journal/open-row-is-pending", test_open_row_is_pending_until_settled);
	ADD("journal/settles-member-by-member", test_settling_goes_member_by_member);
	ADD("journal/settles-once", test_a_member_is_settled_once);
	ADD("journal/failed-settle-changes-nothing", test_a_failed_settle_changes_nothing);
	ADD("journal/one-open-create-an-address", test_one_address_has_one_open_create);
	ADD("journal/used-identity-is-refused", test_a_used_identity_is_refused);
	ADD("journal/create-over-vanished",
		test_create_over_a_vanished_record_keeps_its_id_as_tombstone);
	ADD("journal/create-over-a-record-that-nobody-missed",
		test_create_over_a_record_that_nobody_missed_is_refused);
	ADD("record/only-what-was-asked-to-leave-is-removed",
		test_only_what_was_asked_to_leave_is_removed);
	ADD("group", test_a_group_is_one_transaction);
	ADD("group-fails", test_a_group_fails_as_a_whole);
	ADD("group-empty", test_an_empty_group_writes_nothing);
	return g_test_run();
}
