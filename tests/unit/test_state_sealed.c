/* Sealed secrets in a state file: what is written, what opens again, and what does not. */
#include "state_fixture.h"
#include <string.h>

#define SECRET "raygpu.secret.ray_token"
#define TOKEN "t0k3n-t0k3n-t0k3n"
#define INPUT "s3cr3t-input" /* of open_batch */
#define ONE "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define TWO "/////////////////////////////////////////38="

static RgKeys *keys_of(const char *current, const char *old)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgKeys *keys = rg_keys_new();
	g_assert_true(!current || rg_keys_add(keys, current, "CURRENT", false, diags));
	g_assert_true(!old || rg_keys_add(keys, old, "OLD", true, diags));
	return keys;
}

static bool file_has(const Fixture *f, const char *text)
{
	g_autofree char *bytes = NULL;
	gsize len = 0;
	g_assert_true(g_file_get_contents(f->path, &bytes, &len, NULL));
	return memmem(bytes, len, text, strlen(text)) != NULL;
}

static bool put_token(Fixture *f)
{
	json_auto_t *attrs = json_object();
	return rg_store_put_secret(f->store, CLUSTER, SECRET, attrs, TOKEN, f->diags);
}

/* A state with a token and an open creation, closed. */
static void write_state(Fixture *f, const RgKeys *keys)
{
	fixture_open(f);
	rg_store_set_keys(f->store, keys);
	g_assert_true(put_token(f));
	g_assert_cmpint(open_batch(f, 0, 2), >, 0);
	assert_fine(f->diags);
	fixture_close(f);
}

static void open_store(Fixture *f, RgStoreMode mode, const RgKeys *keys)
{
	f->store = rg_store_open(f->path, mode, f->diags);
	assert_fine(f->diags);
	rg_store_set_keys(f->store, keys);
	if (mode == RG_STORE_WRITE)
		f->lock = rg_lock_take(f->store, CLUSTER, "apply", 0, f->diags);
}

static const char *token_of(const RgSnapshot *snapshot)
{
	const RgResource *secret = rg_resource_set_find(snapshot->recorded, SECRET);
	return rg_json_str(rg_resource_outputs(secret), "value", NULL);
}

static const char *input_of(const RgSnapshot *snapshot)
{
	const RgJournalRow *row = snapshot->journal->pdata[0];
	return rg_json_str(row->input, "secret", NULL);
}

/* Whether all secrets open with these keys; if not, all are left out. */
static bool opens(Fixture *f, const RgKeys *keys)
{
	open_store(f, RG_STORE_READ, keys);
	g_autoptr(RgSnapshot) snapshot = load(f);
	bool whole = !snapshot->sealed;
	g_assert_cmpstr(token_of(snapshot), ==, whole ? TOKEN : NULL);
	g_assert_cmpstr(input_of(snapshot), ==, whole ? INPUT : NULL);
	fixture_close(f);
	return whole;
}

static void test_nothing_is_in_clear_text(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgKeys) one = keys_of(ONE, NULL), two = keys_of(TWO, NULL);
	write_state(f, NULL);
	g_assert_true(file_has(f, TOKEN) && file_has(f, INPUT) && !file_has(f, "$sealed"));
	g_assert_true(opens(f, NULL));
	fixture_down(f, NULL);
	fixture_up(f, NULL);
	write_state(f, one);
	g_assert_false(file_has(f, TOKEN) || file_has(f, INPUT));
	g_assert_true(file_has(f, rg_keys_id(one)));
	g_assert_true(opens(f, one));
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 0);
	g_assert_false(opens(f, NULL));
	const RgDiag *note = rg_diags_get(f->diags, 0);
	g_assert_cmpstr(note->code, ==, "state.sealed");
	g_assert_cmpint(note->severity, ==, RG_SEVERITY_NOTE);
	diags_reset(f);
	g_assert_false(opens(f, two));
	const RgDiag *warning = rg_diags_get(f->diags, 0);
	g_assert_cmpint(warning->severity, ==, RG_SEVERITY_WARNING);
	g_assert_nonnull(strstr(warning->detail, rg_keys_id(one)));
	g_assert_nonnull(strstr(warning->detail, rg_keys_id(two)));
}

/* What is bound to a value, and the value itself. */
static void test_a_value_opens_only_where_it_belongs(Fixture *f, gconstpointer unused)
{
	static const char *const edits[] = {
		"UPDATE clusters SET lineage = 'ffffffffffffffffffffffffffffffff'",
		"UPDATE resources SET address = 'raygpu.secret.other', name = 'other'",
		"UPDATE resources SET outputs = replace(outputs, 'value', 'other')",
		"UPDATE resources SET outputs = replace(outputs, '\"}}', 'AAAA\"}}')",
		"UPDATE resources SET outputs = substr(outputs, 1, 60) || '\"}}'",
		"UPDATE resources SET outputs = '{\"value\":{\"$sealed\":\"\"}}'",
		"UPDATE resources SET outputs = '{\"value\":{\"$sealed\":\"x:y\"}}'",
		"UPDATE resources SET outputs = '{\"v\":' || (SELECT input FROM journal) || '}'",
		"UPDATE journal SET token = '0124'",
		"UPDATE journal SET input = (SELECT outputs ->> '$.value' FROM resources)",
		"UPDATE journal SET input = '{\"$sealed\":\"\"}'",
	};
	g_autoptr(RgKeys) one = keys_of(ONE, NULL);
	write_state(f, one);
	g_autofree char *kept = NULL;
	gsize len = 0;
	g_assert_true(g_file_get_contents(f->path, &kept, &len, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(edits); i++) {
		execute(f->path, edits[i]);
		open_store(f, RG_STORE_READ, one);
		RgSnapshot *snapshot = rg_store_load(f->store, CLUSTER, f->diags);
		g_test_message("%s", edits[i]);
		g_assert_null(snapshot);
		assert_code(f->diags, "state.corrupt");
		diags_reset(f);
		fixture_close(f);
		g_assert_true(g_file_set_contents(f->path, kept, (gssize)len, NULL));
	}
	execute(f->path, "UPDATE clusters SET name = 'other'");
	open_store(f, RG_STORE_READ, one);
	g_assert_null(rg_store_load(f->store, "other", f->diags));
	assert_code(f->diags, "state.corrupt");
	g_assert_true(g_file_set_contents(f->path, kept, (gssize)len, NULL));
	fixture_close(f);
	diags_reset(f);
	g_assert_true(opens(f, one));
}

static void test_a_sealed_state_gets_no_clear_text(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgKeys) one = keys_of(ONE, NULL), reads = keys_of(NULL, ONE);
	write_state(f, one);
	const RgKeys *const without[] = {NULL, reads};
	for (size_t i = 0; i < G_N_ELEMENTS(without); i++) {
		open_store(f, RG_STORE_WRITE, without[i]);
		g_assert_false(put_token(f));
		assert_code(f->diags, "state.sealed");
		diags_reset(f);
		g_assert_cmpint(open_batch(f, 5, 1), ==, 0);
		assert_code(f->diags, "state.sealed");
		diags_reset(f);
		fixture_close(f);
	}
	g_assert_false(file_has(f, TOKEN));
	g_assert_true(opens(f, reads));
}

static void test_clear_text_is_never_sealed_on_the_way(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgKeys) one = keys_of(ONE, NULL);
	write_state(f, NULL);
	open_store(f, RG_STORE_READ, one);
	g_autoptr(RgSnapshot) snapshot = rg_store_load(f->store, CLUSTER, f->diags);
	g_assert_cmpuint(snapshot->clear, ==, 2);
	g_assert_true(rg_snapshot_refuse_secrets(snapshot, "the run", f->diags));
	fixture_close(f);
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 2);
	g_assert_cmpstr(rg_diags_get(f->diags, 1)->code, ==, "state.unsealed");
	g_assert_cmpint(rg_diags_exit_code(f->diags), ==, 7);
	diags_reset(f);
	g_assert_true(opens(f, one));
	g_assert_cmpstr(rg_diags_get(f->diags, 0)->code, ==, "state.unsealed");
	g_assert_cmpuint(rg_diags_count(f->diags), ==, 1);
	diags_reset(f);
	open_store(f, RG_STORE_WRITE, one);
	const RgRunBegin begin = {.cluster = CLUSTER, .provider = "aws", .region = "us-east-1"};
	g_assert_true(rg_store_begin_run(f->store, &begin, &f->run, &f->lineage, f->diags));
	fixture_close(f);
	g_assert_true(file_has(f, TOKEN));
	open_store(f, RG_STORE_READ, NULL);
	g_autoptr(RgSnapshot) without = rg_store_load(f->store, CLUSTER, f->diags);
	g_assert_false(rg_snapshot_refuse_secrets(without, "the run", f->diags));
	fixture_close(f);
}

static size_t rekey(Fixture *f, const RgKeys *keys, bool open)
{
	size_t n = 0;
	open_store(f, RG_STORE_WRITE, keys);
	g_assert_true(rg_store_rekey(f->store, CLUSTER, open, &n, f->diags));
	assert_fine(f->diags);
	fixture_close(f);
	return n;
}

static void test_rekey(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgKeys) one = keys_of(ONE, NULL), two = keys_of(TWO, NULL);
	g_autoptr(RgKeys) rotated = keys_of(TWO, ONE);
	write_state(f, one);
	size_t n = 0;
	open_store(f, RG_STORE_WRITE, two);
	g_assert_false(rg_store_rekey(f->store, CLUSTER, false, &n, f->diags));
	g_assert_nonnull(strstr(assert_code(f->diags, "state.sealed")->detail, rg_keys_id(one)));
	diags_reset(f);
	rg_store_set_keys(f->store, NULL);
	g_assert_false(rg_store_rekey(f->store, CLUSTER, false, &n, f->diags));
	assert_code(f->diags, "state.sealed");
	diags_reset(f);
	fixture_close(f);
	g_assert_true(opens(f, one));
	int64_t updated = query_int(f->path, "SELECT sum(updated_s) FROM resources");
	g_assert_cmpuint(rekey(f, rotated, false), ==, 2);
	int64_t serial = query_int(f->path, "SELECT serial FROM clusters");
	g_assert_cmpuint(rekey(f, rotated, false), ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT serial FROM clusters"), ==, serial);
	g_assert_cmpint(query_int(f->path, "SELECT sum(updated_s) FROM resources"), ==, updated);
	g_assert_true(opens(f, two));
	g_assert_false(file_has(f, rg_keys_id(one)));
	diags_reset(f);
	g_assert_false(opens(f, one));
	diags_reset(f);
	g_assert_cmpuint(rekey(f, two, true), ==, 2);
	g_assert_true(opens(f, NULL));
	g_assert_false(file_has(f, "$sealed"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/state/sealed/" #name, Fixture, NULL, fixture_up, test_##name, fixture_down)
	ADD(nothing_is_in_clear_text);
	ADD(a_value_opens_only_where_it_belongs);
	ADD(a_sealed_state_gets_no_clear_text);
	ADD(clear_text_is_never_sealed_on_the_way);
	ADD(rekey);
	return g_test_run();
}
