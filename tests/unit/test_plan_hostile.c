/* Seeded mutations of golden plan files: for any input, loading returns a plan or plan.bad-file,
 * and an accepted plan is written again unchanged. Meant to run under ASan and UBSan. */
#include "../golden/golden.h"
#include "plan/plan.h"
#include <string.h>

#define ROUNDS 600

static const char *golden_dir;

static char *plan_of(const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/plan/%s.test", golden_dir, name);
	g_autofree char *schema = g_build_filename(golden_dir, "schema.json", NULL);
	GoldenCase *test = golden_load(path, schema);
	char *text = g_strdup(golden_section(test, "expect"));
	golden_free(test);
	return text;
}

static bool try_document(const json_t *document)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgPlan) plan = rg_plan_from_json(document, diags);
	if (!plan) {
		g_assert_cmpuint(rg_diags_count(diags), >, 0);
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "plan.bad-file");
		return false;
	}
	json_auto_t *again = rg_plan_to_json(plan);
	g_assert_true(json_equal(again, document));
	return true;
}

static void mutate_bytes(GString *text, GRand *random)
{
	static const char *const pieces[] = {"null", "{}", "[]", "-1", "1e99", "\"\"", "true",
		"\\u0000", "{\"$blob\":\"x\"}", "9223372036854775807", ",", "}", "]"};
	gint32 times = g_rand_int_range(random, 1, 4);
	for (gint32 i = 0; i < times && text->len > 8; i++) {
		gssize at = g_rand_int_range(random, 0, (gint32)text->len);
		gssize len = g_rand_int_range(random, 1, 40);
		len = MIN((gssize)text->len - at, len);
		switch (g_rand_int_range(random, 0, 4)) {
		case 0:
			text->str[at] = (char)g_rand_int_range(random, 1, 128);
			break;
		case 1:
			g_string_erase(text, at, len);
			break;
		case 2: {
			g_autofree char *piece = g_strndup(text->str + at, (gsize)len);
			g_string_insert(
				text, g_rand_int_range(random, 0, (gint32)text->len), piece);
			break;
		}
		default:
			g_string_insert(text, at,
				pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
		}
	}
}

static void test_bytes(gconstpointer name)
{
	g_autofree char *good = plan_of(name);
	g_autoptr(GRand) random = g_rand_new_with_seed(20261121);
	unsigned parsed = 0;
	for (int i = 0; i < ROUNDS; i++) {
		g_autoptr(GString) text = g_string_new(good);
		g_autoptr(RgDiags) diags = rg_diags_new();
		mutate_bytes(text, random);
		json_auto_t *document =
			rg_json_parse(text->str, text->len, "plan", "plan.bad-file", diags);
		if (!document)
			continue;
		parsed++;
		try_document(document);
	}
	g_assert_cmpuint(parsed, >, ROUNDS / 50);
}

static void collect(json_t *value, GPtrArray *containers)
{
	json_t *member;
	const char *key;
	size_t i;
	if (!json_is_object(value) && !json_is_array(value))
		return;
	g_ptr_array_add(containers, value);
	json_object_foreach (value, key, member)
		collect(member, containers);
	json_array_foreach (value, i, member)
		collect(member, containers);
}

static json_t *random_value(GRand *random, const GPtrArray *containers)
{
	switch (g_rand_int_range(random, 0, 8)) {
	case 0:
		return json_null();
	case 1:
		return json_true();
	case 2:
		return json_integer(g_rand_int_range(random, -2, 20));
	case 3:
		return json_integer(INT64_MAX);
	case 4:
		return json_string("t.node.train[0]");
	case 5:
		return json_pack("{s:s, s:s}", "$ref", "t.node.train[1]", "attr", "id");
	case 6:
		return json_real(0.5);
	default:
		return json_deep_copy(containers->pdata[g_rand_int_range(
			random, 0, (gint32)MIN(containers->len, 40u))]);
	}
}

/* Changes or removes one member of one container. */
static void mutate_tree(json_t *document, GRand *random)
{
	g_autoptr(GPtrArray) containers = g_ptr_array_new();
	collect(document, containers);
	json_t *at = containers->pdata[g_rand_int_range(random, 0, (gint32)containers->len)];
	json_auto_t *value = random_value(random, containers);
	size_t n = json_is_object(at) ? json_object_size(at) : json_array_size(at);
	size_t pick = n > 0 ? (size_t)g_rand_int_range(random, 0, (gint32)n) : 0;
	bool drop = g_rand_boolean(random);
	if (json_is_array(at)) {
		if (n == 0 || !drop)
			json_array_append(at, value);
		else
			json_array_remove(at, pick);
		return;
	}
	void *iter = json_object_iter(at);
	for (size_t i = 0; i < pick; i++)
		iter = json_object_iter_next(at, iter);
	g_autofree char *key = g_strdup(iter ? json_object_iter_key(iter) : "new");
	if (drop)
		json_object_del(at, key);
	else
		json_object_set(at, key, value);
}

static void test_trees(gconstpointer name)
{
	g_autofree char *good = plan_of(name);
	g_autoptr(GRand) random = g_rand_new_with_seed(1121);
	json_auto_t *original = json_loads(good, 0, NULL);
	unsigned taken = 0;
	g_assert_true(try_document(original));
	for (int i = 0; i < ROUNDS; i++) {
		json_auto_t *document = json_deep_copy(original);
		gint32 times = g_rand_int_range(random, 1, 3);
		for (gint32 t = 0; t < times; t++)
			mutate_tree(document, random);
		taken += try_document(document) && !json_equal(document, original);
	}
	/* free text (a digest of the spec, a status) may differ and still be a plan */
	g_assert_cmpuint(taken, <, ROUNDS / 4);
}

/* So many pools at the highest price that their cost of a month is not a number any more. */
static void test_amounts_that_cannot_be_added(void)
{
	g_autofree char *good = plan_of("create");
	json_auto_t *document = json_loads(good, 0, NULL);
	json_t *pools = json_object_get(json_object_get(document, "raygpu"), "pools");
	json_t *first = json_array_get(pools, 0);
	json_object_set_new(
		json_object_get(first, "after"), "microusd_hour", json_integer(10000000000000));
	for (int i = 0; i < 1300; i++) {
		json_t *copy = json_deep_copy(first);
		g_autofree char *name = g_strdup_printf("p%d", i);
		json_object_set_new(copy, "pool", json_string(name));
		json_array_append_new(pools, copy);
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_plan_from_json(document, diags));
	g_assert_nonnull(strstr(rg_diags_get(diags, 0)->summary, "amounts that no cluster has"));
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"create", "mixed", "replace", "destroy"};
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	golden_dir = argv[1];
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *bytes = g_strconcat("/hostile/bytes/", names[i], NULL);
		g_autofree char *trees = g_strconcat("/hostile/trees/", names[i], NULL);
		g_test_add_data_func(bytes, names[i], test_bytes);
		g_test_add_data_func(trees, names[i], test_trees);
	}
	g_test_add_func("/hostile/amounts", test_amounts_that_cannot_be_added);
	return g_test_run();
}
