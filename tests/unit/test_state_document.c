/* The state as a document: out of a file and into another, what a push refuses, and what it makes
 * of documents that somebody else wrote. */
#include "state_fixture.h"
#include "base/json_place.h"
#include "state/document.h"
#include <string.h>

#define STATES 30
#define HURT_TEXTS 1500
#define HURT_VALUES 400

static char *pull_text(RgStore *store, RgDiags *diags)
{
	g_autoptr(RgJson) document = rg_state_pull(store, NULL, NULL, diags);
	assert_fine(diags);
	char *dumped = json_dumps(document, JSON_INDENT(2));
	char *text = g_strdup(dumped);
	free(dumped);
	return text;
}

/* The file that is pushed to, beside the fixture's own. */
typedef struct {
	Fixture own, other;
} Pair;

static void pair_up(Pair *pair, gconstpointer unused)
{
	fixture_up(&pair->own, NULL);
	fixture_up(&pair->other, NULL);
}

static void pair_down(Pair *pair, gconstpointer unused)
{
	fixture_down(&pair->own, NULL);
	fixture_down(&pair->other, NULL);
}

static json_t *parse(const char *text, bool force, RgDiags *diags)
{
	return rg_state_document_parse(text, strlen(text), "state.json", force, diags);
}

/* As the command does it, under the lock of each cluster; NULL and diagnostics. */
static json_t *push(Fixture *to, const char *text, bool force, char **backup)
{
	g_autofree char *unused = NULL;
	g_autoptr(RgJson) document = parse(text, force, to->diags);
	g_autoptr(RgJson) meta = json_pack("{s:s}", "command", "state push --force");
	if (document == NULL)
		return NULL;
	fixture_close(to);
	to->store = rg_store_open(to->path, RG_STORE_WRITE, to->diags);
	g_auto(GStrv) names = rg_state_document_clusters(document);
	g_autoptr(GPtrArray) locks =
		g_ptr_array_new_with_free_func((GDestroyNotify)(void *)rg_lock_release);
	for (char **name = names; *name != NULL; name++)
		g_ptr_array_add(locks, rg_lock_take(to->store, *name, "state push", 0, to->diags));
	return rg_state_push(
		to->store, document, force, meta, backup != NULL ? backup : &unused, to->diags);
}

/* ---- states as they come */

static json_t *random_attrs(GRand *rand)
{
	static const char *const texts[] = {"", "x", "ü\"\\\n", "$ref", "null", "1e5"};
	json_t *attrs = json_pack("{s:s, s:i}", "instance_type", "p4d.24xlarge", "size",
		g_rand_int_range(rand, 0, 3));
	g_autofree char *many = g_strnfill(3000, 'a' + (char)g_rand_int_range(rand, 0, 3));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "user_data", json_string(many));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "list",
			json_pack("[n, b, f, [], {s:s}]", 1, g_rand_double(rand), "k", many));
	if (g_rand_boolean(rand)) /* looks like what stands for a long value */
		json_object_set_new(attrs, "odd", json_pack("{s:s}", "$blob", "none"));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "subnet_id",
			json_pack(
				"{s:s, s:s}", "$ref", "raygpu.secret.ray_token", "attr", "value"));
	json_object_set_new(attrs, texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))],
		json_string(texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))]));
	return attrs;
}

static void adopt_random(Fixture *f, GRand *rand, int number)
{
	g_autoptr(RgResource) node =
		rg_resource_new("aws.instance", g_rand_boolean(rand) ? "train" : "serve", number);
	node->group = g_rand_boolean(rand) ? node->name : NULL;
	node->origin = g_rand_boolean(rand) ? "/pools/train" : NULL;
	node->id = g_strdup_printf("i-%s-%d", node->name, number);
	node->attrs = random_attrs(rand);
	node->outputs = g_rand_boolean(rand) ? json_pack("{s:s}", "private_ip", "10.0.0.1") : NULL;
	node->pin = g_rand_boolean(rand) ? json_pack("{s:I}", "price_microusd_hour",
						   (json_int_t)g_rand_int_range(rand, 0, 9))
					 : NULL;
	node->depends_on =
		g_rand_boolean(rand) ? g_strsplit("raygpu.secret.ray_token", " ", -1) : NULL;
	node->mismarked = g_rand_int_range(rand, 0, 4) == 0;
	node->marked_as = node->mismarked ? g_strdup("aws.instance.before[7]") : NULL;
	rg_store_adopt(f->store, CLUSTER, node, f->diags);
}

static void change_random(Fixture *f, GRand *rand, const char *address)
{
	g_autoptr(RgJson) attrs = random_attrs(rand);
	g_autoptr(RgJson) pin =
		json_pack("{s:I}", "price_microusd_hour", (json_int_t)g_rand_int_range(rand, 0, 9));
	g_autoptr(RgJson) pools = json_pack("[s]", g_rand_boolean(rand) ? "train" : "serve");
	switch (g_rand_int_range(rand, 0, 6)) {
	case 0:
		rg_store_record(f->store, CLUSTER, address, attrs, NULL, pin, f->diags);
		break;
	case 1:
		rg_store_leaving(f->store, CLUSTER, &address, 1, true, f->diags);
		break;
	case 2:
		rg_store_updating(f->store, CLUSTER, &address, 1, true, f->diags);
		break;
	case 3:
		rg_store_removed(f->store, CLUSTER, &address, 1, f->diags);
		break;
	case 4:
		rg_store_gone(f->store, CLUSTER, &address, 1, f->diags);
		break;
	default:
		rg_store_protect(f->store, CLUSTER, pools, f->diags);
		break;
	}
}

/* What the nodes of state_fixture.h refer to. */
static void add_group(Fixture *f)
{
	g_autoptr(RgResource) group = rg_resource_new("aws.security_group", "cluster", -1);
	group->id = g_strdup_printf("sg-%.8s", f->lineage);
	group->attrs = json_object();
	g_assert_true(rg_store_adopt(f->store, CLUSTER, group, f->diags));
}

/* Some runs with some changes each; every creation is settled. */
static void fill(Fixture *f, guint32 seed)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	for (int run = g_rand_int_range(rand, 1, 4); run > 0; run--) {
		fixture_open(f);
		add_group(f);
		rg_store_put_secret(f->store, CLUSTER, "raygpu.secret.ray_token", NULL,
			"s3cr3t-token", f->diags);
		int64_t row = open_batch(f, 100 * run, 3);
		for (int i = 0; i < 3; i++) {
			g_autofree char *address =
				rg_address_format("aws.instance", "train", 100 * run + i);
			g_autofree char *id = g_strdup_printf("i-batch-%d-%d", run, i);
			if (g_rand_boolean(rand))
				settle_created(f, row, address, id);
			else
				settle_failed(f, row, address);
		}
		for (int i = g_rand_int_range(rand, 0, 12); i > 0; i--)
			adopt_random(f, rand, g_rand_int_range(rand, 0, 20));
		g_autoptr(RgSnapshot) snapshot = load(f);
		for (int i = g_rand_int_range(rand, 0, 12); i > 0; i--) {
			size_t n = rg_resource_set_size(snapshot->recorded);
			const RgResource *one = rg_resource_set_get(
				snapshot->recorded, (size_t)g_rand_int_range(rand, 0, (gint32)n));
			if (one->index >= 0)
				change_random(f, rand, one->address);
		}
		if (g_rand_boolean(rand))
			rg_store_end_run(f->store, f->run, "done", f->diags);
		diags_reset(f); /* what was refused is no matter */
		fixture_close(f);
	}
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
}

static void check_file(const Fixture *f)
{
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM pragma_integrity_check"
					   " WHERE integrity_check = 'ok'"),
		==, 1);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM pragma_foreign_key_check"), ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs WHERE sha256 NOT IN"
					   " (SELECT attrs FROM resources)"),
		==, 0);
}

static void test_every_state_comes_back_byte_for_byte(Pair *pair, gconstpointer unused)
{
	size_t bytes = 0, records = 0;
	for (guint32 seed = 0; seed < STATES; seed++) {
		Pair one = {0};
		pair_up(&one, NULL);
		fill(&one.own, seed);
		g_autofree char *before = pull_text(one.own.store, one.own.diags);
		g_autoptr(RgJson) reports = push(&one.other, before, false, NULL);
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

/* A node more on top of the state: the next serials. */
static void add_node(Fixture *f, int64_t index, const char *id)
{
	g_autofree char *address = rg_address_format("aws.instance", "train", index);
	fixture_close(f);
	fixture_open(f);
	add_group(f);
	g_assert_true(settle_created(f, open_batch(f, index, 1), address, id));
	assert_fine(f->diags);
}

static int64_t list_size(const json_t *report, const char *key)
{
	return (int64_t)json_array_size(json_object_get(report, key));
}

/* A document to push: the file has gone on since. */
static char *old_document(Fixture *f)
{
	add_node(f, 0, "i-0");
	g_assert_true(rg_store_forget(f->store, CLUSTER, "aws.instance.train[0]", f->diags));
	add_node(f, 1, "i-1");
	return pull_text(f->store, f->diags);
}

static char *edited(const char *text, const char *pointer, const char *key, json_t *value)
{
	g_autoptr(RgJson) document = json_loads(text, 0, NULL);
	json_t *at = rg_json_at(document, pointer);
	g_assert_nonnull(at);
	if (json_is_array(at))
		json_array_append_new(at, value);
	else
		json_object_set_new(at, key, value);
	char *dumped = json_dumps(document, JSON_INDENT(2));
	char *copy = g_strdup(dumped);
	free(dumped);
	return copy;
}

/* Refused with this code, and not a byte of the file is another; a reader says the same. */
static void check_refused(Fixture *f, const char *text, bool force, const char *code)
{
	fixture_close(f);
	diags_reset(f);
	g_autofree char *before = folder_digest(f);
	g_autoptr(RgJson) document = parse(text, force, f->diags);
	if (document != NULL) {
		g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
		g_assert_null(rg_state_push_look(store, document, force, f->diags));
	}
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
	g_assert_cmpstr(rg_diags_get(f->diags, 0)->code, ==, code);
	g_assert_nonnull(rg_diags_get(f->diags, 0)->hint);
	diags_reset(f);
	if (document == NULL)
		return;
	g_assert_null(push(f, text, force, NULL));
	g_assert_cmpstr(rg_diags_get(f->diags, 0)->code, ==, code);
	diags_reset(f);
}

static void test_an_older_document_is_refused(Fixture *f, gconstpointer unused)
{
	g_autofree char *old = old_document(f);
	add_node(f, 2, "i-2");
	check_refused(f, old, false, "state.push-refused");
	g_autofree char *now = pull_text(f->store, f->diags);
	g_autofree char *other = edited(now, "/clusters/0", "region", json_string("eu-west-1"));
	check_refused(f, other, false, "state.push-refused");
	g_autoptr(RgJson) same = push(f, now, false, NULL);
	assert_fine(f->diags);
	g_assert_true(json_is_false(json_object_get(json_array_get(same, 0), "changed")));
}

static void test_a_newer_document_takes_its_place(Fixture *f, gconstpointer unused)
{
	g_autofree char *old = old_document(f), *backup = NULL;
	g_autoptr(RgJson) serial = json_loads(old, 0, NULL);
	int64_t next = json_integer_value(rg_json_at(serial, "/clusters/0/serial")) + 5;
	g_autofree char *newer = edited(old, "/clusters/0", "serial", json_integer(next));
	g_autoptr(RgJson) reports = push(f, newer, false, &backup);
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
	g_assert_true(rg_store_removed(f->store, CLUSTER, &gone, 1, f->diags));
	add_node(f, 2, "i-2");
	g_autoptr(RgSnapshot) before = load(f);
	int64_t g[2], a[2];
	g_assert_true(rg_store_identity(f->store, CLUSTER, gone, &g[0], &a[0], f->diags));
	g_autoptr(RgJson) reports = push(f, old, true, &backup);
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
	/* the record is back, and not counted among what was removed; identities went on */
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_nonnull(rg_resource_set_find(after->recorded, gone));
	g_assert_false(g_hash_table_contains(after->tombstones, "i-1"));
	g_assert_true(rg_store_identity(f->store, CLUSTER, gone, &g[1], &a[1], f->diags));
	g_assert_cmpint(g[1], ==, g[0]);
	g_assert_true(rg_store_identity(
		f->store, CLUSTER, "aws.instance.train[2]", &g[1], &a[1], f->diags));
	g_assert_cmpint(g[1], ==, 1);
	g_autoptr(RgJson) runs = rg_store_runs(f->store, CLUSTER, f->diags);
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
	g_assert_true(rg_store_removed(f->store, CLUSTER, &gone, 1, f->diags));
	g_autoptr(RgJson) reports = push(f, old, true, NULL);
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
	g_autoptr(RgJson) reports = push(&pair->other, own, true, &backup);
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
	g_autoptr(RgJson) document = json_loads(open, 0, NULL);
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
	g_autoptr(RgJson) document = json_loads(one, 0, NULL);
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
	g_autoptr(RgJson) reports = push(f, fine, false, &backup);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) first = load(f);
	g_assert_cmpuint(rg_resource_set_size(first->recorded), ==, 2);
	g_auto(GStrv) names = rg_store_clusters(f->store, f->diags);
	g_assert_cmpuint(g_strv_length(names), ==, 2);
	/* and the document of both can be cut to one */
	g_autofree char *both = pull_text(f->store, f->diags);
	g_autoptr(RgJson) cut = parse(both, false, f->diags);
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

/* ---- hostile documents */

typedef struct {
	const char *pointer, *key, *value; /* JSON */
	const char *at;			   /* where the first error stands */
} Hurt;

static const Hurt hurts[] = {
	{"/clusters/0", "serial", "\"7\"", "/clusters/0/serial"},
	{"/clusters/0", "serial", "-1", "/clusters/0/serial"},
	{"/clusters/0", "serial", "9223372036854775807", "/clusters/0/serial"},
	{"/clusters/0", "serial", "7.5", "/clusters/0/serial"},
	{"/clusters/0", "lineage", "\"XYZ\"", "/clusters/0/lineage"},
	{"/clusters/0", "name", "\"\"", "/clusters/0/name"},
	{"/clusters/0", "more", "1", "/clusters/0/more"},
	{"/clusters/0", "resources", "{}", "/clusters/0/resources"},
	{"/clusters/0", "resources", "[7]", "/clusters/0/resources/0"},
	{"/clusters/0/resources/0", "address", "\"train\"", "/clusters/0/resources/0/address"},
	{"/clusters/0/resources/0", "address", "\"a.b.c[01]\"", "/clusters/0/resources/0/address"},
	{"/clusters/0/resources/0", "attributes", "null", "/clusters/0/resources/0/attributes"},
	{"/clusters/0/resources/0", "ownership", "\"mine\"", "/clusters/0/resources/0/ownership"},
	{"/clusters/0/resources/0", "protect", "1", "/clusters/0/resources/0/protect"},
	{"/clusters/0/resources/0", "depends_on", "[1]", "/clusters/0/resources/0/depends_on/0"},
	{"/clusters/0/resources/0", "depends_on", "[\"a.b.none\"]", "/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x", "{\"$ref\": \"a.b.none\", \"attr\": \"id\"}",
		"/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x",
		"{\"$join\": [\"\", {\"$ref\": \"a.b.none\","
		" \"attr\": \"id\"}]}",
		"/clusters/0/resources/0"},
	{"/clusters/0/resources/0/attributes", "x", "{\"$blob\": \"none\"}",
		"/clusters/0/resources/0/attributes/x"},
	{"/clusters/0/lifetimes/0", "resource", "\"a.b.none\"", "/clusters/0/lifetimes/0"},
	{"/clusters/0/lifetimes/0", "ending", "\"lost\"", "/clusters/0/lifetimes/0/ending"},
	{"/clusters/0/runs/0", "meta", "[]", "/clusters/0/runs/0/meta"},
	{"/clusters/0/runs/0", "changes", "[{}]", "/clusters/0/runs/0/changes/0"},
	{"/clusters/0/identities/0", "generation", "1e300", "/clusters/0/identities/0/generation"},
	{"", "clusters", "[]", "/clusters"},
	{"", "blobs", "[]", "/blobs"},
	{"", "raygpu_format", "\"1\"", ""},
};

static void check_place(const RgDiags *diags, const char *text, const char *pointer)
{
	const RgDiag *diag = rg_diags_get(diags, 0);
	unsigned line = 0, column = 0;
	g_test_message("%s (%u:%u)", diag->summary, diag->source.line, diag->source.column);
	g_assert_cmpstr(diag->code, ==, "state.bad-document");
	g_assert_true(g_str_has_prefix(diag->summary, pointer));
	rg_json_place(text, strlen(text), pointer, &line, &column);
	g_assert_cmpuint(diag->source.line, ==, line);
	g_assert_cmpuint(diag->source.column, ==, column);
	g_assert_cmpstr(diag->source.file, ==, "state.json");
}

static void test_each_fault_is_told_with_its_place(Fixture *f, gconstpointer unused)
{
	g_autofree char *fine = old_document(f);
	g_autoptr(RgJson) good = parse(fine, false, f->diags);
	assert_fine(f->diags);
	for (size_t i = 0; i < G_N_ELEMENTS(hurts); i++) {
		json_t *value = json_loads(hurts[i].value, JSON_DECODE_ANY, NULL);
		g_assert_nonnull(value);
		g_autofree char *bad = edited(fine, hurts[i].pointer, hurts[i].key, value);
		g_assert_null(parse(bad, false, f->diags));
		check_place(f->diags, bad, hurts[i].at);
		diags_reset(f);
	}
}

/* What may stand once only stands twice. */
static void test_doubles_are_told(Fixture *f, gconstpointer unused)
{
	static const char *const lists[] = {"/clusters", "/clusters/0/resources",
		"/clusters/0/identities", "/clusters/0/runs", "/clusters/0/tombstones",
		"/clusters/0/lifetimes"};
	add_node(f, 3, "i-3");
	const char *gone = "aws.instance.train[3]";
	g_assert_true(rg_store_removed(f->store, CLUSTER, &gone, 1, f->diags));
	g_autofree char *one = old_document(f);
	g_autoptr(RgJson) document = json_loads(one, 0, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
		const json_t *list = rg_json_at(document, lists[i]);
		size_t last = json_array_size(list);
		g_assert_cmpuint(last, >, 0);
		g_autofree char *twice =
			edited(one, lists[i], NULL, json_deep_copy(json_array_get(list, last - 1)));
		g_assert_null(parse(twice, true, f->diags));
		g_autofree char *at = g_strdup_printf("%s/%zu/", lists[i], last);
		g_assert_true(g_str_has_prefix(rg_diags_get(f->diags, 0)->summary, at));
		g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "already"));
		diags_reset(f);
	}
	/* one thing under two addresses */
	json_t *copy = json_deep_copy(rg_json_at(document, "/clusters/0/resources/0"));
	rg_json_set_str(copy, "address", "aws.instance.train[9]");
	g_autofree char *twin = edited(one, "/clusters/0/resources", NULL, copy);
	g_assert_null(parse(twin, true, f->diags));
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "/id: id stands at"));
}

static void test_dangling_references_pass_with_force(Fixture *f, gconstpointer unused)
{
	g_autofree char *fine = old_document(f);
	g_autofree char *bad =
		edited(fine, "/clusters/0/resources/0", "depends_on", json_pack("[s]", "a.b.none"));
	g_autoptr(RgJson) document = parse(bad, true, f->diags);
	g_assert_nonnull(document);
	g_assert_cmpuint(rg_diags_count_of(f->diags, RG_SEVERITY_WARNING), ==, 1);
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 0)->summary, "a.b.none"));
}

static void refused_text(Fixture *f, const char *text, const char *code, const char *word)
{
	g_assert_null(parse(text, true, f->diags));
	const RgDiag *diag = assert_code(f->diags, code);
	g_assert_nonnull(strstr(diag->summary, word));
	diags_reset(f);
}

static void test_what_is_no_document(Fixture *f, gconstpointer unused)
{
	g_autofree char *deep = g_strnfill(1000, '['), *deeper = g_strnfill(100000, '{');
	g_autofree char *closed = g_strnfill(1000, ']');
	g_autofree char *nested = g_strconcat(deep, closed, NULL);
	refused_text(f, "", "state.bad-document", "not valid JSON");
	refused_text(f, "{", "state.bad-document", "not valid JSON");
	refused_text(f, "7", "state.bad-document", "no state");
	refused_text(f, "[]", "state.bad-document", "no state");
	refused_text(f, "{\"version\": 4, \"terraform_version\": \"1.11.4\"}", "state.bad-document",
		"no state");
	refused_text(f, nested, "state.bad-document", "nested too deep");
	refused_text(f, deeper, "state.bad-document", "");
	refused_text(f, "{\"raygpu_format\": 1, \"raygpu_format\": 1}", "state.bad-document",
		"duplicate");
	refused_text(f, "{\"raygpu_format\": 2, \"what\": 7}", "state.newer", "formats up to 1");
	refused_text(f, "{\"raygpu_format\": 1, \"redacted\": true, \"clusters\": 7}",
		"state.redacted", "secrets");
	refused_text(f, "{\"raygpu_format\": 1, \"secret\": \"hunter2\"", "state.bad-document", "");
	g_assert_null(parse("{\"a\": \"hunter2\" \"b\"}", true, f->diags));
	g_assert_null(strstr(rg_diags_get(f->diags, 0)->summary, "hunter2"));
}

static void test_many_faults_are_counted(Fixture *f, gconstpointer unused)
{
	g_autoptr(GString) text = g_string_new("{\"raygpu_format\": 1, \"clusters\": [0");
	for (int i = 0; i < 300000; i++)
		g_string_append(text, ",0");
	g_string_append(text, "]}");
	g_assert_null(parse(text->str, false, f->diags));
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 21);
	g_assert_nonnull(strstr(rg_diags_get(f->diags, 20)->summary, "faults more"));
	diags_reset(f);
	g_autofree char *huge = g_strnfill(20000001, ',');
	g_assert_null(parse(huge, false, f->diags));
	assert_code(f->diags, "file.too-large");
}

/* Texts with some bytes changed, cut or doubled: an error with a code, or a document that can be
 * pushed and pulled. */
static void test_hurt_texts_do_no_harm(Fixture *f, gconstpointer unused)
{
	static const char bytes[] = "{}[]\",:0-9.eE\\u\n\x80\xff"
				    "nulltrue$ref";
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	g_autofree char *fine = old_document(f);
	size_t passed = 0;
	for (int i = 0; i < HURT_TEXTS; i++) {
		g_autoptr(GString) text = g_string_new(fine);
		for (int n = g_rand_int_range(rand, 1, 4); n > 0 && text->len > 100; n--) {
			gssize at = g_rand_int_range(rand, 0, (gint32)text->len - 20);
			switch (g_rand_int_range(rand, 0, 4)) {
			case 0:
				text->str[at] = bytes[g_rand_int_range(rand, 0, sizeof(bytes) - 1)];
				break;
			case 1:
				g_string_erase(text, at, g_rand_int_range(rand, 1, 20));
				break;
			case 2:
				g_string_insert_len(
					text, at, fine + at / 2, g_rand_int_range(rand, 1, 20));
				break;
			default:
				if (g_rand_int_range(rand, 0, 8) == 0)
					g_string_truncate(text, (gsize)at + 1);
				break;
			}
		}
		g_autoptr(RgJson) document =
			rg_state_document_parse(text->str, text->len, "state.json", true, f->diags);
		g_assert_true((document == NULL) == rg_diags_has_errors(f->diags));
		passed += document != NULL;
		diags_reset(f);
	}
	g_test_message("%zu of %d hurt texts are documents still", passed, HURT_TEXTS);
}

/* Some value of the document, or NULL. */
static json_t *random_place(json_t *value, GRand *rand)
{
	for (int depth = g_rand_int_range(rand, 0, 7); depth > 0; depth--) {
		size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value);
		if (n == 0)
			return value;
		size_t at = (size_t)g_rand_int_range(rand, 0, (gint32)n);
		json_t *next = json_array_get(value, at);
		void *iter = json_object_iter(value);
		while (json_is_object(value) && at-- > 0)
			iter = json_object_iter_next(value, iter);
		value = next != NULL ? next : json_object_iter_value(iter);
	}
	return value;
}

static void hurt_value(json_t *at, GRand *rand, json_t *root)
{
	json_t *other = json_deep_copy(random_place(root, rand));
	if (json_is_array(at) && json_array_size(at) > 0 && g_rand_boolean(rand))
		json_array_remove(at, 0);
	else if (json_is_array(at))
		json_array_append(at, other);
	else if (json_is_object(at) && json_object_size(at) > 0)
		json_object_set(at, json_object_iter_key(json_object_iter(at)), other);
	else if (json_is_integer(at))
		json_integer_set(at, (json_int_t)g_rand_int(rand) << g_rand_int_range(rand, 0, 32));
	else if (json_is_string(at))
		json_string_set(at, "aws.instance.train[1]");
	json_decref(other);
}

/* Whatever is accepted is pushed whole, or refused with nothing changed, and can be pulled again.
 */
static void test_hurt_values_do_no_harm(Pair *pair, gconstpointer unused)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(12);
	fill(&pair->own, 4);
	g_autofree char *fine = pull_text(pair->own.store, pair->own.diags);
	add_node(&pair->other, 0, "i-0");
	size_t pushed = 0;
	for (int i = 0; i < HURT_VALUES; i++) {
		g_autoptr(RgJson) document = json_loads(fine, 0, NULL);
		for (int n = g_rand_int_range(rand, 1, 3); n > 0; n--)
			hurt_value(random_place(document, rand), rand, document);
		char *text = json_dumps(document, 0);
		g_autofree char *before = pull_text(pair->other.store, pair->other.diags);
		g_autoptr(RgJson) reports = push(&pair->other, text, true, NULL);
		free(text);
		if (pair->other.store == NULL)
			pair->other.store =
				rg_store_open(pair->other.path, RG_STORE_READ, pair->other.diags);
		g_assert_true((reports == NULL) == rg_diags_has_errors(pair->other.diags));
		for (size_t k = 0; k < rg_diags_count(pair->other.diags); k++)
			g_assert_cmpstr(
				rg_diags_get(pair->other.diags, k)->code, !=, "state.corrupt");
		diags_reset(&pair->other);
		g_autofree char *after = pull_text(pair->other.store, pair->other.diags);
		if (reports == NULL)
			g_assert_cmpstr(after, ==, before);
		pushed += reports != NULL;
	}
	g_test_message("%zu of %d hurt documents were pushed", pushed, HURT_VALUES);
	g_assert_cmpuint(pushed, >, 10);
	fixture_close(&pair->other);
	check_file(&pair->other);
}

/* ---- without secrets */

static const RgSchema *no_schema(void *data, const char *provider, RgDiags *diags)
{
	g_assert_cmpstr(provider, ==, "aws");
	if (data == NULL)
		rg_diag_hint(
			rg_diags_error(diags, "provider.not-found", "there is no provider \"aws\""),
			"install it");
	return data;
}

static RgSchema *schema_new(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgJson) attributes = json_pack("{s:{s:s}, s:{s:s, s:b}, s:{s:s, s:b}}",
		"instance_type", "type", "string", "user_data", "type", "string", "unreadable", 1,
		"private_ip", "type", "string", "sensitive", 1);
	g_autoptr(RgJson) document = json_pack("{s:s, s:{s:{s:O}}}", "provider", "aws", "kinds",
		"aws.instance", "attributes", attributes);
	RgSchema *schema = rg_schema_new(document, diags);
	assert_fine(diags);
	return schema;
}

static void test_redacted_documents_hold_no_secret(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgSchema) schema = schema_new();
	const RgStateRedactor redactor = {no_schema, schema}, blind = {no_schema, NULL};
	g_autofree char *settled = old_document(f);
	g_assert_true(rg_store_put_secret(
		f->store, CLUSTER, "raygpu.secret.ray_token", NULL, "s3cr3t-token", f->diags));
	open_batch(f, 5, 1);
	g_autoptr(RgJson) document = rg_state_pull(f->store, NULL, &redactor, f->diags);
	assert_fine(f->diags);
	g_autofree char *text = rg_json_canonical(document);
	g_assert_null(strstr(text, "s3cr3t"));
	g_assert_nonnull(strstr(text, "p4d.24xlarge"));
	const json_t *node = rg_json_at(document, "/clusters/0/resources/0");
	g_assert_true(json_is_true(rg_json_at(node, "/outputs/private_ip/$redacted")));
	check_refused(f, text, true, "state.redacted");
	/* nor when the word for it is taken out */
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
	g_test_add("/state/document/" path, Fixture, NULL, fixture_up, function, fixture_down)
#define ADD_PAIR(path, function)                                                                   \
	g_test_add("/state/document/" path, Pair, NULL, pair_up, function, pair_down)

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
	ADD("each-fault-has-its-place", test_each_fault_is_told_with_its_place);
	ADD("doubles-are-told", test_doubles_are_told);
	ADD("dangling-references-pass-with-force", test_dangling_references_pass_with_force);
	ADD("what-is-no-document", test_what_is_no_document);
	ADD("many-faults-are-counted", test_many_faults_are_counted);
	ADD("hurt-texts-do-no-harm", test_hurt_texts_do_no_harm);
	ADD_PAIR("hurt-values-do-no-harm", test_hurt_values_do_no_harm);
	ADD("redacted-holds-no-secret", test_redacted_documents_hold_no_secret);
	return g_test_run();
}
