/* Records, tombstones and secrets, in a single process. */
#include "state_fixture.h"
#include <string.h>

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"
#define T2 "aws.instance.train[2]"
#define SECRET "raygpu.secret.ray_token"

static void test_removed_leaves_tombstone_and_next_generation(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	const char *const gone[] = {T0, T1, T2};
	g_assert_true(remove_records(f, gone, 3));
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

static void test_old_tombstones_go(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	const char *const gone[] = {T0};
	g_assert_true(remove_records(f, gone, 1));
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

/* T0 is on the machine i-0 and T1 on i-1; their GPUs GPU-a and GPU-b failed. */
static void fail_two_gpus(Fixture *f)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	json_auto_t *rows = json_pack("[{s:s, s:s, s:s, s:s, s:i, s:s}, {s:s, s:s, s:s, s:s}]",
		"gpu", "GPU-a", "id", "i-0", "serial", "7", "address", T0, "code", 78, "reason",
		"Xid 79", "gpu", "GPU-b", "id", "i-1", "address", T1, "reason", "it came back");
	rg_store_hardware_failed(f->store, CLUSTER, rows, f->diags);
	assert_fine(f->diags);
}

static void test_bad_hardware_is_remembered(Fixture *f, gconstpointer unused)
{
	fail_two_gpus(f);
	json_auto_t *again = json_pack("[{s:s, s:s, s:s, s:s}]", "gpu", "GPU-a", "id", "i-0",
		"address", T0, "reason", "later");
	g_assert_true(rg_store_hardware_failed(f->store, CLUSTER, again, f->diags));
	const char *const gone[] = {T0};
	g_assert_true(remove_records(f, gone, 1));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpuint(json_array_size(snapshot->hardware), ==, 2);
	const json_t *first = json_array_get(snapshot->hardware, 0);
	g_assert_cmpstr(rg_json_str(first, "reason", NULL), ==, "Xid 79");
	g_assert_cmpstr(rg_json_str(first, "id", NULL), ==, "i-0");
	g_assert_cmpstr(rg_json_str(first, "serial", NULL), ==, "7");
	g_assert_cmpint(rg_json_int(first, "code", 0), ==, 78);
	g_assert_cmpstr(rg_json_str(first, "run", NULL), ==, f->run);
	const json_t *second = json_array_get(snapshot->hardware, 1);
	g_assert_true(json_is_null(json_object_get(second, "code")));
	g_assert_true(json_is_null(json_object_get(second, "serial")));
}

static void test_a_machine_that_joins_has_no_bad_hardware(Fixture *f, gconstpointer unused)
{
	fail_two_gpus(f);
	json_auto_t *what = json_pack("{s:i}", "at_s", 1);
	const RgJoined joined = {T1, what};
	g_assert_true(rg_store_joined(f->store, CLUSTER, &joined, 1, f->diags));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpuint(json_array_size(snapshot->hardware), ==, 1);
	g_assert_cmpstr(rg_json_str(json_array_get(snapshot->hardware, 0), "id", NULL), ==, "i-0");
}

static void test_bad_hardware_is_forgotten_by_either_name(Fixture *f, gconstpointer unused)
{
	static const char *const names[] = {"7", "GPU-b", "GPU-c"};
	fail_two_gpus(f);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_true(rg_store_hardware_forget(f->store, CLUSTER, names[i], f->diags));
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpuint(json_array_size(snapshot->hardware), ==, 0);
}

static void test_old_bad_hardware_goes(Fixture *f, gconstpointer unused)
{
	fail_two_gpus(f);
	fixture_close(f);
	execute(f->path,
		"UPDATE hardware SET failed_s = failed_s - 30 * 86400 WHERE gpu = 'GPU-a'");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_autoptr(RgSnapshot) before = load(f);
	g_assert_cmpuint(json_array_size(before->hardware), ==, 1);
	fixture_close(f);
	fixture_open(f);
	json_auto_t *none = json_array();
	g_assert_true(rg_store_hardware_failed(f->store, CLUSTER, none, f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM hardware"), ==, 1);
}

/* The cluster's records are gone: reported, not swallowed. */
static void test_bad_hardware_that_cannot_be_recorded(Fixture *f, gconstpointer unused)
{
	fail_two_gpus(f);
	execute(f->path, "UPDATE clusters SET name = 'other'");
	json_auto_t *none = json_array();
	g_assert_false(rg_store_hardware_failed(f->store, CLUSTER, none, f->diags));
	g_assert_false(rg_store_hardware_forget(f->store, CLUSTER, "GPU-a", f->diags));
	g_assert_true(rg_diags_has_errors(f->diags));
}

static void test_record_changes_what_is_given(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_true(settle_created(f, row, T1, "i-1"));
	g_autoptr(RgSnapshot) before = load(f);
	json_auto_t *attrs = json_pack("{s:s}", "instance_type", "g4dn.xlarge");
	g_assert_true(rg_store_record(f->store, CLUSTER, T0, attrs, NULL, NULL, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	const RgResource *old = rg_resource_set_find(before->recorded, T0);
	const RgResource *now = rg_resource_set_find(after->recorded, T0);
	g_assert_true(json_equal(now->attrs, attrs));
	g_assert_true(json_equal(rg_resource_outputs(now), rg_resource_outputs(old)));
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
	json_auto_t *attrs = json_pack("{s:s}", "instance_type", "g4dn.xlarge");
	json_auto_t *outputs = json_pack("{s:s}", "private_ip", "10.0.0.9");
	const RgRecordNews news[] = {{T0, attrs, NULL, NULL}, {T1, NULL, outputs, NULL}};
	g_assert_true(rg_store_record_many(f->store, CLUSTER, news, 2, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial + 1);
	g_assert_true(json_equal(rg_resource_set_find(after->recorded, T0)->attrs, attrs));
	g_assert_true(json_equal(
		rg_resource_outputs(rg_resource_set_find(after->recorded, T1)), outputs));
	/* information that the state only learns is not logged as a change */
	g_assert_cmpint(
		query_int(f->path, "SELECT count(*) FROM run_changes WHERE action = 'update'"), ==,
		1);
	const RgRecordNews bad[] = {{T0, NULL, outputs, NULL}, {T2, NULL, outputs, NULL}};
	g_assert_false(rg_store_record_many(f->store, CLUSTER, bad, 2, f->diags));
	assert_code(f->diags, "state.no-such-resource");
	diags_reset(f);
	g_autoptr(RgSnapshot) same = load(f);
	g_assert_false(
		json_equal(rg_resource_outputs(rg_resource_set_find(same->recorded, T0)), outputs));
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
	g_assert_true(remove_records(f, addresses, 1));
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-1"));
	g_assert_false(is_leaving(f, T0)); /* the next generation starts without it */
	assert_fine(f->diags);
}

/* Saved plans compare updated_s: even within one second, a removal that was started makes them
 * stale. */
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
	/* still in the cloud: it must be reported when seen, and its token must not be used
	 * again */
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
	json_auto_t *attrs = json_pack("{s:i}", "bytes", 32);
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
	g_assert_cmpstr(
		rg_json_str(rg_resource_outputs(secret), "value", NULL), ==, "second-token");
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

#define ADD(path, function)                                                                        \
	g_test_add("/state/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("record/removed-leaves-tombstone", test_removed_leaves_tombstone_and_next_generation);
	ADD("record/old-tombstones-go", test_old_tombstones_go);
	ADD("record/bad-hardware-is-remembered", test_bad_hardware_is_remembered);
	ADD("record/a-machine-that-joins-has-no-bad-hardware",
		test_a_machine_that_joins_has_no_bad_hardware);
	ADD("record/bad-hardware-is-forgotten-by-either-name",
		test_bad_hardware_is_forgotten_by_either_name);
	ADD("record/old-bad-hardware-goes", test_old_bad_hardware_goes);
	ADD("record/bad-hardware-without-a-cluster", test_bad_hardware_that_cannot_be_recorded);
	ADD("record/changes-what-is-given", test_record_changes_what_is_given);
	ADD("record/many-are-one-transaction", test_many_records_are_one_transaction);
	ADD("record/adopt", test_adopt_records_what_the_cloud_has);
	ADD("removed/begun-is-remembered", test_a_removal_that_was_begun_is_remembered);
	ADD("removed/begun-moves", test_a_removal_that_was_begun_moves_the_row);
	ADD("record/forget", test_forget_touches_the_record_only);
	ADD("secret/kept-in-outputs", test_secret_is_kept_in_outputs);
	ADD("secret/no-bytes-left", test_settled_inputs_and_old_secrets_leave_no_bytes);
	return g_test_run();
}
