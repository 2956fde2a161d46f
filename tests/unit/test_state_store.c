/* Records, journal, identities, tombstones, runs: what one process sees of one file. */
#include "state_fixture.h"
#include "base/clock.h"
#include <string.h>

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"
#define T2 "aws.instance.train[2]"
#define SECRET "raygpu.secret.ray_token"

static void check_identity(Fixture *f, const char *address, int64_t generation, int64_t attempt)
{
	int64_t g, a;
	g_assert_true(rg_store_identity(f->store, CLUSTER, address, &g, &a, f->diags));
	g_assert_cmpint(g, ==, generation);
	g_assert_cmpint(a, ==, attempt);
}

static void test_first_run_mints_the_lineage(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_cmpuint(strlen(f->lineage), ==, 32);
	g_assert_cmpuint(strspn(f->lineage, "0123456789abcdef"), ==, 32);
	g_autofree char *lineage = g_strdup(f->lineage), *run = g_strdup(f->run);
	g_autoptr(RgSnapshot) first = load(f);
	g_assert_cmpstr(first->lineage, ==, lineage);
	g_assert_cmpint(first->serial, ==, 1);
	g_assert_cmpstr(first->provider, ==, "aws");
	g_assert_cmpstr(first->region, ==, "us-east-1");
	g_assert_cmpstr(rg_json_str(first->config, "endpoint", NULL), ==, "http://127.0.0.1:1");
	g_assert_true(json_is_object(json_object_get(first->facts, "images")));
	fixture_close(f);
	fixture_open(f);
	g_assert_cmpstr(f->lineage, ==, lineage);
	g_assert_cmpstr(f->run, !=, run);
}

static bool begin(const char *cluster, const char *region, Fixture *f, char **run, char **lineage)
{
	const RgRunBegin told = {.cluster = cluster, .provider = "aws", .region = region};
	return rg_store_begin_run(f->store, &told, run, lineage, f->diags);
}

static void test_facts_stay_when_none_are_given(Fixture *f, gconstpointer unused)
{
	g_autofree char *run = NULL, *lineage = NULL;
	fixture_open(f);
	g_assert_true(begin(CLUSTER, "us-east-1", f, &run, &lineage));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_nonnull(json_object_get(snapshot->facts, "images"));
	g_assert_nonnull(json_object_get(snapshot->config, "endpoint"));
}

static void test_unknown_cluster_is_an_empty_snapshot(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgSnapshot) snapshot = rg_store_load(f->store, "other", f->diags);
	g_assert_cmpstr(snapshot->cluster, ==, "other");
	g_assert_null(snapshot->lineage);
	g_assert_null(snapshot->facts);
	g_assert_cmpint(snapshot->serial, ==, 0);
	g_assert_cmpuint(rg_resource_set_size(snapshot->recorded), ==, 0);
	g_assert_cmpuint(snapshot->journal->len, ==, 0);
	g_autoptr(RgJson) pins = rg_snapshot_pins(snapshot);
	g_assert_true(json_is_null(json_object_get(pins, "facts")));
	g_assert_cmpuint(json_object_size(json_object_get(pins, "nodes")), ==, 0);
}

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
	g_autoptr(RgJson) pins = rg_snapshot_pins(open);
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
	g_assert_cmpstr(rg_json_str(made->outputs, "private_ip", NULL), ==, "i-0");
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
	g_autoptr(RgJson) attrs = json_object();
	g_autoptr(RgJson) members = json_array();
	json_array_append_new(members, member_new(f, T0, attrs));
	json_object_set_new(json_array_get(members, 0), "attempt", json_integer(0));
	RgJournalRow row = {.kind = f->run, .token = f->run, .input = attrs, .members = members};
	int64_t id;
	g_assert_false(rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
}

static void test_removed_leaves_tombstone_and_next_generation(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	const char *const gone[] = {T0, T1, T2};
	g_assert_true(rg_store_removed(f->store, CLUSTER, gone, 3, f->diags));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpuint(rg_resource_set_size(snapshot->recorded), ==, 0);
	g_assert_true(g_hash_table_contains(snapshot->tombstones, "i-0"));
	g_assert_true(g_hash_table_contains(snapshot->tombstones, "i-1"));
	check_identity(f, T0, 1, 0);
	check_identity(f, T2, 0, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs"), ==, 0);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-2"));
	g_autoptr(RgSnapshot) again = load(f);
	g_assert_cmpint(rg_resource_set_find(again->recorded, T0)->generation, ==, 1);
	check_identity(f, T0, 2, 0);
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

static void test_old_tombstones_go(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	const char *const gone[] = {T0};
	g_assert_true(rg_store_removed(f->store, CLUSTER, gone, 1, f->diags));
	fixture_close(f);
	execute(f->path, "UPDATE tombstones SET removed_s = removed_s - 3600");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_autoptr(RgSnapshot) before = load(f);
	g_assert_cmpuint(g_hash_table_size(before->tombstones), ==, 0);
	fixture_close(f);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM tombstones"), ==, 1);
	fixture_open(f);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM tombstones"), ==, 0);
}

static void test_record_changes_what_is_given(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_autoptr(RgSnapshot) before = load(f);
	g_autoptr(RgJson) attrs = json_pack("{s:s}", "instance_type", "g4dn.xlarge");
	g_assert_true(rg_store_record(f->store, CLUSTER, T0, attrs, NULL, NULL, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	const RgResource *old = rg_resource_set_find(before->recorded, T0);
	const RgResource *now = rg_resource_set_find(after->recorded, T0);
	g_assert_true(json_equal(now->attrs, attrs));
	g_assert_true(json_equal(now->outputs, old->outputs));
	g_assert_true(json_equal(now->pin, old->pin));
	g_assert_cmpint(now->updated_s, >, old->updated_s);
	g_assert_cmpint(now->created_s, ==, old->created_s);
	const RgResource *other = rg_resource_set_find(after->recorded, T1);
	g_assert_true(json_equal(other->attrs, old->attrs));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs"), ==, 2);
	g_assert_true(rg_store_record(f->store, CLUSTER, T1, attrs, NULL, NULL, f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs"), ==, 1);
	g_assert_false(rg_store_record(f->store, CLUSTER, T2, attrs, NULL, NULL, f->diags));
	assert_code(f->diags, "state.no-such-resource");
	diags_reset(f);
}

static void test_many_records_are_one_transaction(Fixture *f, gconstpointer unused)
{
	const char *const both[] = {T0, T1};
	int64_t generations[2], attempts[2];
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_autoptr(RgSnapshot) before = load(f);
	g_autoptr(RgJson) attrs = json_pack("{s:s}", "instance_type", "g4dn.xlarge");
	g_autoptr(RgJson) outputs = json_pack("{s:s}", "private_ip", "10.0.0.9");
	const RgRecordNews news[] = {{T0, attrs, NULL, NULL}, {T1, NULL, outputs, NULL}};
	g_assert_true(rg_store_record_many(f->store, CLUSTER, news, 2, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial + 1);
	g_assert_true(json_equal(rg_resource_set_find(after->recorded, T0)->attrs, attrs));
	g_assert_true(json_equal(rg_resource_set_find(after->recorded, T1)->outputs, outputs));
	/* what the state only learns is no line of the protocol */
	g_assert_cmpint(
		query_int(f->path, "SELECT count(*) FROM run_changes WHERE action = 'update'"), ==,
		1);
	const RgRecordNews bad[] = {{T0, NULL, outputs, NULL}, {T2, NULL, outputs, NULL}};
	g_assert_false(rg_store_record_many(f->store, CLUSTER, bad, 2, f->diags));
	assert_code(f->diags, "state.no-such-resource");
	diags_reset(f);
	g_autoptr(RgSnapshot) same = load(f);
	g_assert_false(json_equal(rg_resource_set_find(same->recorded, T0)->outputs, outputs));
	g_assert_true(
		rg_store_identities(f->store, CLUSTER, both, 2, generations, attempts, f->diags));
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(generations[i], ==, 1);
		g_assert_cmpint(attempts[i], ==, 0);
	}
}

static void test_adopt_records_what_the_cloud_has(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgResource) found = rg_resource_new("aws.instance", "train", 0);
	found->id = g_strdup("i-0");
	found->attrs = json_pack("{s:s}", "instance_type", "p4d.24xlarge");
	found->generation = 4;
	g_assert_true(rg_store_adopt(f->store, CLUSTER, found, f->diags));
	g_assert_true(rg_store_adopt(f->store, CLUSTER, found, f->diags));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpstr(rg_resource_set_find(snapshot->recorded, T0)->id, ==, "i-0");
	check_identity(f, T0, 5, 0);
	g_free(found->id);
	found->id = g_strdup("i-other");
	g_assert_false(rg_store_adopt(f->store, CLUSTER, found, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_cmpint(
		query_int(f->path, "SELECT count(*) FROM resources WHERE ownership = 'adopted'"),
		==, 1);
	g_assert_cmpint(open_batch(f, 1, 1), >, 0);
	g_autoptr(RgResource) pending = rg_resource_new("aws.instance", "train", 1);
	pending->id = g_strdup("i-1");
	g_assert_false(rg_store_adopt(f->store, CLUSTER, pending, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
}

static bool is_leaving(Fixture *f, const char *address)
{
	g_autoptr(RgSnapshot) snapshot = load(f);
	return rg_resource_set_find(snapshot->recorded, address)->leaving;
}

static void test_a_removal_that_was_begun_is_remembered(Fixture *f, gconstpointer unused)
{
	const char *const addresses[] = {T0, "aws.instance.train[9]"};
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_assert_false(is_leaving(f, T0));
	g_assert_true(rg_store_leaving(f->store, CLUSTER, addresses, 2, true, f->diags));
	g_assert_true(is_leaving(f, T0));
	g_assert_true(rg_store_leaving(f->store, CLUSTER, addresses, 1, false, f->diags));
	g_assert_false(is_leaving(f, T0));
	g_assert_true(rg_store_leaving(f->store, CLUSTER, addresses, 1, true, f->diags));
	g_assert_true(rg_store_removed(f->store, CLUSTER, addresses, 1, f->diags));
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-1"));
	g_assert_false(is_leaving(f, T0)); /* the next generation starts clean */
	assert_fine(f->diags);
}

/* Saved plans compare updated_s: within one second too a removal that was begun makes them stale.
 */
static void test_a_removal_that_was_begun_moves_the_row(Fixture *f, gconstpointer unused)
{
	const char *const addresses[] = {T0};
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	for (int i = 0; i < 4; i++) {
		g_autoptr(RgSnapshot) before = load(f);
		g_assert_true(
			rg_store_leaving(f->store, CLUSTER, addresses, 1, i % 2 == 0, f->diags));
		g_autoptr(RgSnapshot) after = load(f);
		g_assert_cmpint(rg_resource_set_find(after->recorded, T0)->updated_s, >,
			rg_resource_set_find(before->recorded, T0)->updated_s);
	}
}

static void test_forget_touches_the_record_only(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_assert_true(rg_store_forget(f->store, CLUSTER, T0, f->diags));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_null(rg_resource_set_find(snapshot->recorded, T0));
	/* still in the cloud: seeing it must be told, and its token must not come back */
	g_assert_cmpuint(g_hash_table_size(snapshot->tombstones), ==, 0);
	check_identity(f, T0, 1, 0);
	g_assert_false(rg_store_forget(f->store, CLUSTER, T0, f->diags));
	assert_code(f->diags, "state.no-such-resource");
	diags_reset(f);
	g_assert_cmpint(open_batch(f, 0, 1), >, 0);
	g_assert_false(rg_store_forget(f->store, CLUSTER, T0, f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
}

static bool put_secret(Fixture *f, const char *value)
{
	g_autoptr(RgJson) attrs = json_pack("{s:i}", "bytes", 32);
	return rg_store_put_secret(f->store, CLUSTER, SECRET, attrs, value, f->diags);
}

static void test_secret_is_kept_in_outputs(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(put_secret(f, "first-token"));
	g_assert_true(put_secret(f, "second-token"));
	g_autoptr(RgSnapshot) snapshot = load(f);
	const RgResource *secret = rg_resource_set_find(snapshot->recorded, SECRET);
	g_assert_cmpstr(secret->kind, ==, RG_SECRET_KIND);
	g_assert_cmpstr(rg_json_str(secret->outputs, "value", NULL), ==, "second-token");
	g_assert_cmpint(rg_json_int(secret->attrs, "bytes", 0), ==, 32);
	g_assert_null(secret->id);
}

static bool file_holds(const char *path, const char *text)
{
	g_autofree char *data = NULL;
	gsize len;
	g_assert_true(g_file_get_contents(path, &data, &len, NULL));
	return memmem(data, len, text, strlen(text)) != NULL;
}

static void test_settled_inputs_and_old_secrets_leave_no_bytes(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(put_secret(f, "first-token"));
	int64_t row = open_batch(f, 0, 1);
	g_assert_true(file_holds(f->path, "s3cr3t-input"));
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(put_secret(f, "second-token"));
	g_assert_false(file_holds(f->path, "s3cr3t-input"));
	g_assert_false(file_holds(f->path, "first-token"));
	g_assert_true(file_holds(f->path, "second-token"));
}

static void test_serial_rises_with_every_transaction(Fixture *f, gconstpointer unused)
{
	const char *const gone[] = {T0};
	fixture_open(f);
	int64_t row = open_batch(f, 0, 1);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 3);
	g_assert_true(rg_store_removed(f->store, CLUSTER, gone, 1, f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 4);
	g_assert_true(rg_store_end_run(f->store, f->run, "done", f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 5);
	g_assert_false(rg_store_end_run(f->store, "no-such-run", "done", f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 5);
}

static void test_runs_tell_what_was_done(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_failed(f, row, T1));
	g_assert_true(rg_store_end_run(f->store, f->run, "partial", f->diags));
	g_autofree char *first = g_strdup(f->run);
	fixture_close(f);
	fixture_open(f); /* never ended: its process "died" */
	fixture_close(f);
	fixture_open(f);
	g_autoptr(RgJson) runs = rg_store_runs(f->store, CLUSTER, f->diags);
	g_assert_cmpuint(json_array_size(runs), ==, 3);
	const json_t *last = json_array_get(runs, 0), *dead = json_array_get(runs, 1);
	const json_t *partial = json_array_get(runs, 2);
	g_assert_cmpstr(rg_json_str(last, "id", NULL), ==, f->run);
	g_assert_true(json_is_null(json_object_get(last, "outcome")));
	g_assert_cmpstr(rg_json_str(dead, "outcome", NULL), ==, "interrupted");
	g_assert_true(json_is_null(json_object_get(dead, "ended_s")));
	g_assert_cmpstr(rg_json_str(partial, "id", NULL), ==, first);
	g_assert_cmpstr(rg_json_str(partial, "outcome", NULL), ==, "partial");
	g_assert_cmpstr(rg_json_str(partial, "command", NULL), ==, "apply");
	g_assert_cmpint(rg_json_int(json_object_get(partial, "changes"), "create", 0), ==, 1);
	g_assert_cmpint(rg_json_int(json_object_get(partial, "changes"), "failed", 0), ==, 1);
	g_autoptr(RgJson) changes = rg_store_run_changes(f->store, first, f->diags);
	g_assert_cmpuint(json_array_size(changes), ==, 2);
	g_assert_cmpstr(rg_json_str(json_array_get(changes, 1), "address", NULL), ==, T1);
	g_assert_cmpstr(rg_json_str(json_array_get(changes, 1), "outcome", NULL), ==, "failed");
}

static void test_a_cluster_does_not_move_away_from_its_resources(Fixture *f, gconstpointer unused)
{
	g_autofree char *run = NULL, *lineage = NULL;
	const char *const gone[] = {T0};
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_assert_false(begin(CLUSTER, "eu-west-1", f, &run, &lineage));
	assert_code(f->diags, "state.moved");
	g_assert_null(run);
	g_assert_null(lineage);
	diags_reset(f);
	g_assert_true(rg_store_removed(f->store, CLUSTER, gone, 1, f->diags));
	g_assert_true(begin(CLUSTER, "eu-west-1", f, &run, &lineage));
	g_assert_cmpstr(lineage, ==, f->lineage);
}

static void test_clusters_share_a_file_but_nothing_else(Fixture *f, gconstpointer unused)
{
	g_autofree char *run = NULL, *lineage = NULL;
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_autoptr(RgLock) lock = rg_lock_take(f->store, "alpha", "apply", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_true(begin("alpha", "us-east-1", f, &run, &lineage));
	g_assert_cmpstr(lineage, !=, f->lineage);
	g_autoptr(RgSnapshot) alpha = rg_store_load(f->store, "alpha", f->diags);
	g_assert_cmpuint(rg_resource_set_size(alpha->recorded), ==, 0);
	g_assert_cmpint(alpha->serial, ==, 1);
	g_auto(GStrv) names = rg_store_clusters(f->store, f->diags);
	g_assert_cmpuint(g_strv_length(names), ==, 2);
	g_assert_cmpstr(names[0], ==, "alpha");
	g_assert_cmpstr(names[1], ==, CLUSTER);
}

static void test_writes_to_an_unknown_cluster_are_refused(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgLock) lock = rg_lock_take(f->store, "other", "state rm", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_false(rg_store_forget(f->store, "other", T0, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
	diags_reset(f);
}

static void test_pins_name_the_head_and_indexes(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgResource) head = rg_resource_new("aws.instance", "head", -1);
	head->id = g_strdup("i-h");
	head->group = "head";
	head->pin = json_pack("{s:s}", "zone", "us-east-1a");
	g_assert_true(rg_store_adopt(f->store, CLUSTER, head, f->diags));
	g_assert_true(settle_created(f, open_batch(f, 2, 1), T2, "i-2"));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_autoptr(RgJson) pins = rg_snapshot_pins(snapshot);
	g_assert_cmpstr(
		rg_json_str(rg_json_at(pins, "/nodes/head"), "zone", NULL), ==, "us-east-1a");
	g_assert_nonnull(rg_json_at(pins, "/nodes/train~12"));
	g_assert_nonnull(rg_json_at(pins, "/facts/images"));
}

static void test_equal_attributes_are_one_object(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 3);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_autoptr(RgSnapshot) snapshot = load(f);
	const RgResource *a = rg_resource_set_find(snapshot->recorded, T0);
	const RgResource *b = rg_resource_set_find(snapshot->recorded, T1);
	const RgResource *pending = rg_resource_set_find(snapshot->recorded, T2);
	g_assert_true(a->attrs == b->attrs);
	g_assert_true(a->attrs == pending->attrs);
	g_assert_true(a->pin == b->pin);
}

static void test_token_known_answer(Fixture *f, gconstpointer unused)
{
	/* Computed apart from us, by Python's hashlib and struct.pack('>q'), from the layout that
	 * token.c describes. */
	const char *const addresses[] = {T0, T1};
	const int64_t generations[] = {0, 3}, attempts[] = {1, 0};
	g_autofree char *token =
		rg_token("00112233445566778899aabbccddeeff", addresses, generations, attempts, 2);
	g_assert_cmpstr(token, ==, "e12c23650daf9965956bceee7ffd009d");
	g_autofree char *one =
		rg_token("00112233445566778899aabbccddeeff", addresses, generations, attempts, 1);
	g_assert_cmpstr(one, ==, "ec2eb4e9562afdd192e9fd7869a2dc6c");
}

static void test_token_tells_fields_apart(Fixture *f, gconstpointer unused)
{
	const char *const ab[] = {"a.b.c", "d.e.f"}, *const ba[] = {"d.e.f", "a.b.c"};
	const char *const glued[] = {"a.b.cd", ".e.f"};
	const int64_t zero[] = {0, 0}, first[] = {1, 0}, second[] = {0, 1};
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(seen, rg_token("l", ab, zero, zero, 2));
	g_hash_table_add(seen, rg_token("l", ba, zero, zero, 2));
	g_hash_table_add(seen, rg_token("l", glued, zero, zero, 2));
	g_hash_table_add(seen, rg_token("m", ab, zero, zero, 2));
	g_hash_table_add(seen, rg_token("l", ab, first, zero, 2));
	g_hash_table_add(seen, rg_token("l", ab, second, zero, 2));
	g_hash_table_add(seen, rg_token("l", ab, zero, first, 2));
	g_hash_table_add(seen, rg_token("l", ab, zero, zero, 1));
	g_assert_cmpuint(g_hash_table_size(seen), ==, 8);
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("run/first-mints-the-lineage", test_first_run_mints_the_lineage);
	ADD("run/facts-stay-when-none-are-given", test_facts_stay_when_none_are_given);
	ADD("run/tells-what-was-done", test_runs_tell_what_was_done);
	ADD("run/no-move-away-from-resources",
		test_a_cluster_does_not_move_away_from_its_resources);
	ADD("load/unknown-cluster-is-empty", test_unknown_cluster_is_an_empty_snapshot);
	ADD("load/equal-attributes-are-one-object", test_equal_attributes_are_one_object);
	ADD("load/pins-name-head-and-indexes", test_pins_name_the_head_and_indexes);
	ADD("load/clusters-share-nothing", test_clusters_share_a_file_but_nothing_else);
	ADD("journal/open-row-is-pending", test_open_row_is_pending_until_settled);
	ADD("journal/settles-member-by-member", test_settling_goes_member_by_member);
	ADD("journal/settles-once", test_a_member_is_settled_once);
	ADD("journal/failed-settle-changes-nothing", test_a_failed_settle_changes_nothing);
	ADD("journal/one-open-create-an-address", test_one_address_has_one_open_create);
	ADD("journal/used-identity-is-refused", test_a_used_identity_is_refused);
	ADD("journal/create-over-vanished",
		test_create_over_a_vanished_record_keeps_its_id_as_tombstone);
	ADD("record/removed-leaves-tombstone", test_removed_leaves_tombstone_and_next_generation);
	ADD("record/old-tombstones-go", test_old_tombstones_go);
	ADD("record/changes-what-is-given", test_record_changes_what_is_given);
	ADD("record/many-are-one-transaction", test_many_records_are_one_transaction);
	ADD("record/adopt", test_adopt_records_what_the_cloud_has);
	ADD("removed/begun-is-remembered", test_a_removal_that_was_begun_is_remembered);
	ADD("removed/begun-moves", test_a_removal_that_was_begun_moves_the_row);
	ADD("record/forget", test_forget_touches_the_record_only);
	ADD("record/unknown-cluster-is-refused", test_writes_to_an_unknown_cluster_are_refused);
	ADD("record/serial-rises", test_serial_rises_with_every_transaction);
	ADD("secret/kept-in-outputs", test_secret_is_kept_in_outputs);
	ADD("secret/no-bytes-left", test_settled_inputs_and_old_secrets_leave_no_bytes);
	ADD("token/known-answer", test_token_known_answer);
	ADD("token/tells-fields-apart", test_token_tells_fields_apart);
	return g_test_run();
}
