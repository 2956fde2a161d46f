/* Runs, loading, several clusters in a file, and tokens. */
#include "state_fixture.h"
#include <string.h>

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"
#define T2 "aws.instance.train[2]"

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
	json_auto_t *pins = rg_snapshot_pins(snapshot);
	g_assert_true(json_is_null(json_object_get(pins, "facts")));
	g_assert_cmpuint(json_object_size(json_object_get(pins, "nodes")), ==, 0);
}

static void test_serial_rises_with_every_transaction(Fixture *f, gconstpointer unused)
{
	const char *const gone[] = {T0};
	fixture_open(f);
	int64_t row = open_batch(f, 0, 1);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 2);
	g_assert_true(settle_created(f, row, T0, "i-0"));
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 3);
	g_assert_true(remove_records(f, gone, 1)); /* two */
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 5);
	g_assert_true(rg_store_end_run(f->store, f->run, "done", f->diags));
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 6);
	g_assert_false(rg_store_end_run(f->store, "no-such-run", "done", f->diags));
	assert_code(f->diags, "state.moved");
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, 6);
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
	json_auto_t *runs = rg_store_runs(f->store, CLUSTER, f->diags);
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
	json_auto_t *changes = rg_store_run_changes(f->store, first, f->diags);
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
	g_assert_true(remove_records(f, gone, 1));
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
	json_auto_t *pins = rg_snapshot_pins(snapshot);
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
	/* Computed independently, with Python's hashlib and struct.pack('>q'), from the layout that
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
	ADD("record/unknown-cluster-is-refused", test_writes_to_an_unknown_cluster_are_refused);
	ADD("record/serial-rises", test_serial_rises_with_every_transaction);
	ADD("token/known-answer", test_token_known_answer);
	ADD("token/tells-fields-apart", test_token_tells_fields_apart);
	return g_test_run();
}
