/* The state as a document: from one file into another, and what a push refuses. */
#include "document_fixture.h"
#include <string.h>

#define STATES 30

static void test_every_state_comes_back_byte_for_byte(Pair *pair, gconstpointer unused)
{
	size_t bytes = 0, records = 0;
	for (guint32 seed = 0; seed < STATES; seed++) {
		Pair one = {0};
		pair_up(&one, NULL);
		fill(&one.own, seed);
		g_autofree char *before = pull_text(one.own.store, one.own.diags);
		json_auto_t *reports = push(&one.other, before, false, NULL);
		assert_fine(one.other.diags);
		const json_t *report = json_array_get(reports, 0);
		g_assert_true(json_is_null(json_object_get(report, "serial_before")));
		g_autofree char *after = pull_text(one.other.store, one.other.diags);
		g_assert_cmpstr(after, ==, before);
		bytes += strlen(after);
		records += json_array_size(json_object_get(report, "added"));
		g_autofree char *next = rg_address_format("aws.instance", "train", 100);
		int64_t g[2], a[2];
		g_assert_true(rg_store_identity(
			one.own.store, CLUSTER, next, &g[0], &a[0], one.own.diags));
		g_assert_true(rg_store_identity(
			one.other.store, CLUSTER, next, &g[1], &a[1], one.other.diags));
		g_assert_true(g[0] == g[1] && a[0] == a[1]);
		fixture_close(&one.other);
		check_file(&one.other);
		pair_down(&one, NULL);
	}
	g_test_message("%d states, %zu records, %zu bytes", STATES, records, bytes);
	g_assert_cmpuint(records, >, STATES);
}

static int64_t list_size(const json_t *report, const char *key)
{
	return (int64_t)json_array_size(json_object_get(report, key));
}

static void test_an_older_document_is_refused(Fixture *f, gconstpointer unused)
{
	g_autofree char *old = old_document(f);
	add_node(f, 2, "i-2");
	check_refused(f, old, false, "state.push-refused");
	g_autofree char *now = pull_text(f->store, f->diags);
	g_autofree char *other = edited(now, "/clusters/0", "region", json_string("eu-west-1"));
	check_refused(f, other, false, "state.push-refused");
	json_auto_t *same = push(f, now, false, NULL);
	assert_fine(f->diags);
	g_assert_true(json_is_false(json_object_get(json_array_get(same, 0), "changed")));
}

static void test_a_newer_document_takes_its_place(Fixture *f, gconstpointer unused)
{
	g_autofree char *old = old_document(f), *backup = NULL;
	json_auto_t *serial = json_loads(old, 0, NULL);
	int64_t next = json_integer_value(rg_json_at(serial, "/clusters/0/serial")) + 5;
	g_autofree char *newer = edited(old, "/clusters/0", "serial", json_integer(next));
	json_auto_t *reports = push(f, newer, false, &backup);
	assert_fine(f->diags);
	const json_t *report = json_array_get(reports, 0);
	g_assert_cmpint(rg_json_int(report, "serial", 0), ==, next);
	g_assert_true(json_is_false(json_object_get(report, "forced")));
	g_assert_cmpint(list_size(report, "added") + list_size(report, "removed"), ==, 0);
	g_autofree char *after = pull_text(f->store, f->diags);
	g_assert_cmpstr(after, ==, newer);
	g_autoptr(RgStore) kept = rg_store_open(backup, RG_STORE_READ, f->diags);
	g_autofree char *before = pull_text(kept, f->diags);
	g_assert_cmpstr(before, ==, old);
}

static void test_a_forced_push_tells_what_is_lost(Fixture *f, gconstpointer unused)
{
	g_autofree char *old = old_document(f), *backup = NULL;
	const char *gone = "aws.instance.train[1]";
	g_assert_true(remove_records(f, &gone, 1));
	add_node(f, 2, "i-2");
	g_autoptr(RgSnapshot) before = load(f);
	int64_t g[2], a[2];
	g_assert_true(rg_store_identity(f->store, CLUSTER, gone, &g[0], &a[0], f->diags));
	json_auto_t *reports = push(f, old, true, &backup);
	assert_fine(f->diags);
	const json_t *report = json_array_get(reports, 0);
	g_assert_cmpint(rg_json_int(report, "serial", 0), ==, before->serial + 1);
	g_assert_true(json_is_true(json_object_get(report, "forced")));
	g_assert_cmpint(list_size(report, "added"), ==, 1);
	g_assert_cmpint(list_size(report, "removed"), ==, 1);
	g_assert_cmpstr(rg_json_str(json_array_get(json_object_get(report, "lost"), 0), "id", ""),
		==, "i-2");
	const RgDiag *warning = rg_diags_get(f->diags, 0);
	g_assert_cmpstr(warning->code, ==, "state.lost");
	g_assert_cmpstr(warning->detail, ==, "aws.instance.train[2] (i-2)");
	g_assert_nonnull(backup);
	/* the record is back, and does not count as removed; identities have advanced */
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_nonnull(rg_resource_set_find(after->recorded, gone));
	g_assert_false(g_hash_table_contains(after->tombstones, "i-1"));
	g_assert_true(rg_store_identity(f->store, CLUSTER, gone, &g[1], &a[1], f->diags));
	g_assert_cmpint(g[1], ==, g[0]);
	g_assert_true(rg_store_identity(
		f->store, CLUSTER, "aws.instance.train[2]", &g[1], &a[1], f->diags));
	g_assert_cmpint(g[1], ==, 1);
	json_auto_t *runs = rg_store_runs(f->store, CLUSTER, f->diags);
	const json_t *run = json_array_get(runs, 0);
	g_assert_cmpstr(rg_json_str(run, "command", ""), ==, "state push --force");
	g_assert_cmpstr(rg_json_str(run, "outcome", ""), ==, "done");
	g_assert_cmpint(rg_json_int(json_object_get(run, "changes"), "forget", 0), ==, 1);
}

static void test_removed_ids_stay_removed(Fixture *f, gconstpointer unused)
{
	add_node(f, 0, "i-0");
	g_autofree char *old = pull_text(f->store, f->diags);
	add_node(f, 1, "i-1");
	const char *gone = "aws.instance.train[1]";
	g_assert_true(remove_records(f, &gone, 1));
	json_auto_t *reports = push(f, old, true, NULL);
	g_assert_nonnull(reports);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_true(g_hash_table_contains(after->tombstones, "i-1"));
}

static void test_another_lineage_is_refused(Pair *pair, gconstpointer unused)
{
	g_autofree char *backup = NULL;
	add_node(&pair->own, 0, "i-own");
	add_node(&pair->other, 0, "i-other");
	add_node(&pair->other, 1, "i-more");
	g_autofree char *own = pull_text(pair->own.store, pair->own.diags);
	g_autoptr(RgSnapshot) before = load(&pair->other);
	check_refused(&pair->other, own, false, "state.push-refused");
	json_auto_t *reports = push(&pair->other, own, true, &backup);
	assert_fine(pair->other.diags);
	g_assert_nonnull(backup);
	const json_t *report = json_array_get(reports, 0);
	g_assert_cmpint(list_size(report, "lost"), ==, 3);
	g_autoptr(RgSnapshot) after = load(&pair->other);
	g_assert_cmpstr(after->lineage, ==, rg_json_str(report, "lineage", ""));
	g_assert_cmpint(after->serial, ==, before->serial + 1);
	g_assert_cmpstr(
		rg_resource_set_find(after->recorded, "aws.instance.train[0]")->id, ==, "i-own");
}

static void test_nothing_is_pushed_while_a_creation_is_open(Fixture *f, gconstpointer unused)
{
	g_autofree char *settled = old_document(f);
	open_batch(f, 5, 2);
	g_autofree char *open = pull_text(f->store, f->diags);
	check_refused(f, settled, false, "state.push-refused");
	check_refused(f, settled, true, "state.push-refused");
	check_refused(f, open, true, "state.push-refused");
	json_auto_t *document = json_loads(open, 0, NULL);
	const json_t *row = rg_json_at(document, "/clusters/0/journal/0");
	g_assert_cmpstr(
		rg_json_str(json_object_get(row, "input"), "secret", ""), ==, "s3cr3t-input");
	g_assert_cmpstr(rg_json_str(rg_json_at(row, "/members/1"), "address", ""), ==,
		"aws.instance.train[6]");
	g_assert_cmpstr(
		rg_json_str(rg_json_at(row, "/members/1/attrs"), "user_data", ""), ==, "#!/bin/sh");
}

/* The same document as that of a cluster of another name. */
static char *renamed(const char *text, const char *lineage)
{
	g_autofree char *name = edited(text, "/clusters/0", "name", json_string("second"));
	return edited(name, "/clusters/0", "lineage", json_string(lineage));
}

static void test_clusters_share_nothing(Fixture *f, gconstpointer unused)
{
	g_autofree char *one = old_document(f);
	json_auto_t *document = json_loads(one, 0, NULL);
	g_autofree char *same_lineage =
		renamed(one, json_string_value(rg_json_at(document, "/clusters/0/lineage")));
	g_autofree char *same_id = renamed(one, "0123456789abcdef0123456789abcdef");
	check_refused(f, same_lineage, true, "state.push-refused");
	check_refused(f, same_id, true, "state.push-refused");
	g_autofree char *none = edited(same_id, "/clusters/0", "resources", json_array());
	g_autofree char *no_lives = edited(none, "/clusters/0", "lifetimes", json_array());
	g_assert_null(push(f, no_lives, false, NULL));
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "log of another cluster"));
	diags_reset(f);
	g_autofree char *fine = edited(no_lives, "/clusters/0", "runs", json_array());
	g_autofree char *backup = NULL;
	json_auto_t *reports = push(f, fine, false, &backup);
	g_assert_nonnull(reports);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) first = load(f);
	g_assert_cmpuint(rg_resource_set_size(first->recorded), ==, 2);
	g_auto(GStrv) names = rg_store_clusters(f->store, f->diags);
	g_assert_cmpuint(g_strv_length(names), ==, 2);
	/* and the document of both can be reduced to one */
	g_autofree char *both = pull_text(f->store, f->diags);
	json_auto_t *cut = parse(both, false, f->diags);
	g_assert_true(rg_state_document_choose(cut, "second", f->diags));
	g_auto(GStrv) chosen = rg_state_document_clusters(cut);
	g_assert_cmpstr(chosen[0], ==, "second");
	g_assert_null(chosen[1]);
	g_assert_false(rg_state_document_choose(cut, "third", f->diags));
	assert_code(f->diags, "state.no-such-cluster");
}

static void test_pull_of_nothing_is_an_error(Fixture *f, gconstpointer unused)
{
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_assert_null(rg_state_pull(f->store, NULL, NULL, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
	diags_reset(f);
	g_assert_null(rg_state_pull(f->store, "none", NULL, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
}

static const RgSchema *no_schema(void *data, const char *provider, RgDiags *diags)
{
	g_assert_cmpstr(provider, ==, "aws");
	if (!data)
		rg_diag_hint(
			rg_diags_error(diags, "provider.not-found", "there is no provider \"aws\""),
			"install it");
	return data;
}

static RgSchema *schema_new(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *attributes = json_pack("{s:{s:s}, s:{s:s, s:b}, s:{s:s, s:b}}",
		"instance_type", "type", "string", "user_data", "type", "string", "unreadable", 1,
		"private_ip", "type", "string", "sensitive", 1);
	json_auto_t *document = json_pack("{s:s, s:{s:{s:O}}}", "provider", "aws", "kinds",
		"aws.instance", "attributes", attributes);
	RgSchema *schema = rg_schema_new(document, diags);
	assert_fine(diags);
	return schema;
}

static void test_redacted_documents_hold_no_secret(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgSchema) schema = schema_new();
	const RgStateRedactor redactor = {no_schema, schema}, blind = {no_schema, NULL};
	g_free(old_document(f)); /* fills the state */
	g_assert_true(rg_store_put_secret(
		f->store, CLUSTER, "raygpu.secret.ray_token", NULL, "s3cr3t-token", f->diags));
	open_batch(f, 5, 1);
	json_auto_t *document = rg_state_pull(f->store, NULL, &redactor, f->diags);
	assert_fine(f->diags);
	g_autofree char *text = rg_json_canonical(document);
	g_assert_null(strstr(text, "s3cr3t"));
	g_assert_nonnull(strstr(text, "p4d.24xlarge"));
	const json_t *node = rg_json_at(document, "/clusters/0/resources/0");
	g_assert_true(json_is_true(rg_json_at(node, "/outputs/private_ip/$redacted")));
	check_refused(f, text, true, "state.redacted");
	/* nor if the word for it is removed */
	json_object_del(document, "redacted");
	json_object_set_new(
		json_array_get(json_object_get(document, "clusters"), 0), "journal", json_array());
	g_autofree char *masked = rg_json_canonical(document);
	check_refused(f, masked, true, "state.redacted");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_assert_null(rg_state_pull(f->store, NULL, &blind, f->diags));
	assert_code(f->diags, "provider.not-found");
}

#define ADD(path, function)                                                                        \
	g_test_add("/transfer/document/" path, Fixture, NULL, fixture_up, function, fixture_down)
#define ADD_PAIR(path, function)                                                                   \
	g_test_add("/transfer/document/" path, Pair, NULL, pair_up, function, pair_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD_PAIR("every-state-comes-back", test_every_state_comes_back_byte_for_byte);
	ADD("older-is-refused", test_an_older_document_is_refused);
	ADD("newer-takes-its-place", test_a_newer_document_takes_its_place);
	ADD("forced-tells-what-is-lost", test_a_forced_push_tells_what_is_lost);
	ADD("removed-ids-stay-removed", test_removed_ids_stay_removed);
	ADD_PAIR("another-lineage-is-refused", test_another_lineage_is_refused);
	ADD("nothing-while-a-creation-is-open", test_nothing_is_pushed_while_a_creation_is_open);
	ADD("clusters-share-nothing", test_clusters_share_nothing);
	ADD("pull-of-nothing-is-an-error", test_pull_of_nothing_is_an_error);
	ADD("redacted-holds-no-secret", test_redacted_documents_hold_no_secret);
	return g_test_run();
}
