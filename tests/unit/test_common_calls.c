/* What all modules share of their calls: the kind of a call, what is refused before the module
 * sees it, updates that are not possible in place, what lower adds to a resource, marks, and
 * tables. */
#include "aws_host.h"
#include "common/calls.h"
#include "common/data.h"
#include "common/lower.h"
#include "common/marks.h"

static const char *const changeable[] = {"labels", "marks", NULL};
static const ModKind node = {"x.node", changeable}, rule = {"x.rule", changeable};
static const ModKind *const kinds[] = {&node, &rule, NULL};

/* Gives {kind, items}: what the module's function was called with. */
static rgp_status told(const ModCall *call, const ModKind *kind, const json_t *input)
{
	return mod_give(&call->talk, "told",
		json_pack("{s:s, s:O*}", "kind", kind->name, "items",
			json_object_get(input, "items")));
}

MOD_CALL(find, mod_call_of_kind, kinds, told)
MOD_CALL(list, mod_call_list, kinds, told)
MOD_CALL(create, mod_call_create, kinds, told)
MOD_CALL(update, mod_call_update, kinds, told)
MOD_CALL(remove, mod_call_remove, kinds, told)

typedef struct {
	const char *title;
	rgp_fn fn;
	const char *input;
	rgp_status status;
	const char *kind;    /* of the first call of the function, NULL: it is not called */
	size_t calls, items; /* the function's, and the first one's */
	const char *summary; /* of the diagnostic, or NULL */
} Case;

static const Case cases[] = {
	{"no-json", call_find, "[", RGP_FAIL},
	{"kind", call_find, "{'kind': 'x.rule'}", RGP_OK, "x.rule", 1, 0},
	{"no-kind", call_find, "{}", RGP_FAIL, .summary = "there is no kind \"\""},
	{"other-kind", call_create, "{'kind': 'y.node', 'token': 't', 'items': [{}]}", RGP_FAIL,
		.summary = "there is no kind \"y.node\""},
	{"list-two", call_list, "{'kinds': ['x.rule', 'x.node']}", RGP_OK, "x.rule", 2, 0},
	{"list-none", call_list, "{'kinds': []}", RGP_FAIL, .summary = "list needs kinds"},
	{"list-number", call_list, "{'kinds': [7]}", RGP_FAIL, .summary = "there is no kind \"\""},
	{"create", call_create, "{'kind': 'x.node', 'token': 't', 'items': [{}, {}]}", RGP_OK,
		"x.node", 1, 2},
	{"create-without-token", call_create, "{'kind': 'x.node', 'items': [{}]}", RGP_FAIL,
		.summary = "create needs items and a token"},
	{"create-of-nothing", call_create, "{'kind': 'x.node', 'token': 't', 'items': []}",
		RGP_FAIL, .summary = "create needs items and a token"},
	{"remove", call_remove, "{'kind': 'x.node', 'items': [{}]}", RGP_OK, "x.node", 1, 1},
	{"remove-of-nothing", call_remove, "{'kind': 'x.node', 'items': []}", RGP_OK},
	{"update", call_update,
		"{'kind': 'x.node', 'items': [{'address': 'a', 'changed': ['labels']}]}", RGP_OK,
		"x.node", 1, 1},
	{"update-in-part", call_update,
		"{'kind': 'x.node', 'items': [{'address': 'a', 'changed': ['labels', 'zone']},"
		" {'address': 'b', 'changed': ['marks']}, {'address': 'c', 'changed': [1]}]}",
		RGP_OK, "x.node", 1, 1},
	{"update-of-nothing", call_update,
		"{'kind': 'x.node', 'items': [{'address': 'a', 'changed': ['zone']}]}", RGP_OK},
	{"update-of-no-items", call_update, "{'kind': 'x.node'}", RGP_OK},
	{"update-of-no-kind", call_update, "{}", RGP_FAIL, .summary = "there is no kind \"\""},
};

static void test_case(gconstpointer data)
{
	const Case *c = data;
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	g_assert_cmpint(aws_test_run(c->fn, NULL, call, c->input), ==, c->status);
	const json_t *first = aws_test_given(call, "told", 0);
	g_assert_cmpint(first != NULL, ==, c->kind != NULL);
	if (c->kind)
		g_assert_cmpstr(mod_str(first, "kind"), ==, c->kind);
	g_assert_null(aws_test_given(call, "told", c->calls));
	if (c->calls)
		g_assert_nonnull(aws_test_given(call, "told", c->calls - 1));
	g_assert_cmpuint(json_array_size(json_object_get(first, "items")), ==, c->items);
	if (c->summary)
		g_assert_cmpstr(aws_test_said(call, 0, "summary"), ==, c->summary);
	else
		g_assert_cmpint(json_array_size(call->diags) > 0, ==, c->status != RGP_OK);
}

static void test_unsupported(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	aws_test_run(call_update, NULL, call,
		"{'kind': 'x.node', 'items': [{'address': 'a', 'id': '1', 'changed': ['zone']},"
		" {'address': 'b', 'id': '2', 'changed': ['labels']}]}");
	g_assert_cmpstr(mod_str(aws_test_item(call, "a"), "outcome"), ==, "unsupported");
	g_assert_null(aws_test_item(call, "b"));
	const json_t *items = json_object_get(aws_test_given(call, "told", 0), "items");
	g_assert_cmpstr(mod_str(json_array_get(items, 0), "address"), ==, "b");
	g_assert_true(mod_is_changed(json_array_get(items, 0), "labels"));
	g_assert_false(mod_is_changed(json_array_get(items, 0), "label"));
}

/* ---- lower */

static const char *const rules[] = {"x.rule.all", NULL};

#define HEAD_TEXT "{s:[{s:s, s:s}, s]}", "$join", "$ref", "@head", "attr", "ip", ":6379"

static const json_t *lower_two(struct rgp_call *call)
{
	const ModTalk talk = {&aws_test_host, call};
	json_auto_t *fitted = json_pack("{s:{s:{s:s}}}", "scope", "config", "network", "n");
	json_auto_t *head = json_pack("{s:{s:o}, s:{s:i}}", "boot", "user_data",
		json_pack(HEAD_TEXT), "disk", "size_gb", 80);
	json_auto_t *train = json_pack("{s:s, s:s, s:s, s:[i, i]}", "pool", "train", "role",
		"worker", "origin", "/pools/train", "indexes", 0, 4);
	json_auto_t *empty = json_pack("{s:s, s:s, s:s, s:[]}", "pool", "empty", "role", "worker",
		"origin", "/pools/empty", "indexes");
	ModLowering lowering = {.talk = &talk,
		.fitted = fitted,
		.node_kind = "x.node",
		.head = "x.address.head",
		.head_attribute = "address",
		.first = rules};
	json_t *attributes = json_object();
	mod_lower_user_data(&lowering, head, attributes);
	mod_lower_disk(head, attributes);
	g_assert_cmpstr(json_string_value(mod_lower_setting(&lowering, "network")), ==, "n");
	mod_lower_add(&lowering, "x.rule", "all", "/provider", json_pack("{s:s}", "allow", "all"));
	mod_lower_add_node(&lowering, train, attributes);
	mod_lower_add_node(&lowering, empty, json_object());
	g_assert_cmpint(mod_lower_give(&lowering), ==, RGP_OK);
	return aws_test_given(call, "resources", 0);
}

static void test_lower(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	const json_t *resources = lower_two(call);
	json_auto_t *expected = json_loads(
		"[{\"address\": \"x.rule.all\", \"kind\": \"x.rule\", \"name\": \"all\","
		"  \"index\": null, \"group\": null, \"origin\": \"/provider\","
		"  \"attributes\": {\"allow\": \"all\"}, \"depends_on\": []},"
		" {\"address\": \"x.node.train\", \"kind\": \"x.node\", \"name\": \"train\","
		"  \"index\": null, \"group\": \"train\", \"origin\": \"/pools/train\","
		"  \"attributes\": {\"disk_size_gb\": 80, \"user_data\": {\"$join\": ["
		"   {\"$ref\": \"x.address.head\", \"attr\": \"address\"}, \":6379\"]}},"
		"  \"depends_on\": [\"x.address.head\", \"x.rule.all\"], \"indexes\": [0, 4],"
		"  \"nodes\": [{\"pool\": \"train\", \"role\": \"worker\", \"count\": 1}]}]",
		0, NULL);
	g_assert_nonnull(expected);
	g_assert_true(json_equal(resources, expected));
}

static void test_refused(void)
{
	g_autoptr(AwsTestCall) call = aws_test_call_new();
	const ModTalk talk = {&aws_test_host, call};
	json_auto_t *train = json_pack("{s:s}", "origin", "/pools/train");
	ModLowering lowering = {.talk = &talk, .node_kind = "x.node"};
	mod_lower_add(&lowering, "x.rule", "all", "/", json_object());
	mod_lower_refuse(&lowering, train, "/network", "remove it", "there is no %s", "network");
	g_assert_cmpint(mod_lower_give(&lowering), ==, RGP_FAIL);
	g_assert_null(aws_test_given(call, "resources", 0));
	g_assert_cmpstr(aws_test_said(call, 0, "summary"), ==, "there is no network");
	g_assert_cmpstr(aws_test_said(call, 0, "origin"), ==, "/pools/train/network");
}

/* ---- marks */

static void test_marks(void)
{
	json_auto_t *tags =
		json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "own-kind", "x.node", "own-name",
			"train", "own-index", "4", "own-token", "", "own-cluster", 7, "team", "ml");
	g_auto(ModMarks) marks = {0};
	json_auto_t *others = mod_marks_read(tags, "own-", &marks);
	g_assert_cmpuint(json_object_size(others), ==, 1);
	g_assert_cmpstr(mod_str(others, "team"), ==, "ml");
	g_assert_cmpstr(marks.kind, ==, "x.node");
	g_assert_null(marks.token);
	g_assert_null(marks.cluster);
	g_autofree char *address = mod_marks_address(&marks, "x.node", marks.index);
	g_autofree char *name = mod_marks_name("x.node", address);
	g_autofree char *index = mod_marks_index(address);
	g_assert_cmpstr(address, ==, "x.node.train[4]");
	g_assert_cmpstr(name, ==, "train");
	g_assert_cmpstr(index, ==, "4");
	g_autofree char *single = mod_marks_address(&marks, "x.node", MOD_NO_INDEX);
	g_autofree char *no_index = mod_marks_index(single);
	g_assert_cmpstr(single, ==, "x.node.train");
	g_assert_cmpstr(no_index, ==, MOD_NO_INDEX);
}

static void test_rows(void)
{
	g_autoptr(GPtrArray) none = mod_rows("", 1, -1);
	g_autoptr(GPtrArray) rows = mod_rows("a,b\n1,2\n3\n\n4,5,6\n", 2, 2);
	g_assert_cmpuint(none->len, ==, 0);
	g_assert_cmpuint(rows->len, ==, 2);
	const ModField *first = rows->pdata[0], *last = rows->pdata[1];
	g_assert_cmpstr(first[0], ==, "1");
	g_assert_cmpstr(last[1], ==, "5,6");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strconcat("/common/calls/", cases[i].title, NULL);
		g_test_add_data_func(path, &cases[i], test_case);
	}
	g_test_add_func("/common/calls/update-gives-the-rest-back", test_unsupported);
	g_test_add_func("/common/lower/adds-dependencies-nodes-and-the-head", test_lower);
	g_test_add_func("/common/lower/a-refusal-gives-no-resources", test_refused);
	g_test_add_func("/common/marks/there-and-back", test_marks);
	g_test_add_func("/common/data/rows-of-a-table", test_rows);
	return g_test_run();
}
