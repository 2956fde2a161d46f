/* create, ready, update, remove: one verified result per item; no id is ever lost. */
#include "provider/provider.h"

#include <string.h>
#include "scripted.h"

#define CREATE                                                                                     \
	"{'kind': 'scripted.node', 'token': '00', 'items': [{'address': 'scripted.node.p[0]', "    \
	"'index': 0}, {'address': 'scripted.node.p[1]', 'index': 1}], 'attributes': {}}"
#define ITEM(n, more) "['result', 'item', {'address': 'scripted.node.p[" n "]', " more "}]"
#define DID(n, id) ITEM(n, "'outcome': 'done', 'id': '" id "'")

typedef GPtrArray *(*CallFn)(RgProvider *, const json_t *, RgDiags *);

static GPtrArray *call(Scripted *scripted, CallFn function)
{
	json_auto_t *input = scripted_json(CREATE);
	GPtrArray *results = function(scripted->provider, input, scripted->diags);
	g_assert_cmpuint(results->len, ==, 2);
	return results;
}

static const RgItemResult *at(const GPtrArray *results, guint i)
{
	const RgItemResult *result = g_ptr_array_index(results, i);
	g_autofree char *address = g_strdup_printf("scripted.node.p[%u]", i);
	g_assert_cmpstr(result->address, ==, address);
	return result;
}

static Scripted *open_with(const char *verb, const char *step)
{
	g_autofree char *script = g_strdup_printf("{'%s': [%s]}", verb, step);
	return scripted_open(script, false);
}

static void test_gives_results_in_the_order_of_the_items(void)
{
	g_autoptr(Scripted) scripted =
		open_with("create", "[" ITEM("1", "'outcome': 'failed', 'class': 'capacity', "
						  "'code': 'Insufficient', 'message': "
						  "'no more', 'request_id': 'r', 'attribute': "
						  "'size', 'definite': true") "," ITEM("0",
					    "'outcome': 'done', 'id': 'i-0', 'attributes': {'ip': "
					    "'1.2.3.4'}") "]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_create);
	const RgItemResult *done = at(results, 0), *failed = at(results, 1);
	g_assert_cmpint(done->outcome, ==, RG_OUTCOME_DONE);
	g_assert_cmpint(done->class_, ==, RG_CLASS_OK);
	g_assert_cmpstr(done->id, ==, "i-0");
	g_assert_cmpstr(rg_json_str(done->attributes, "ip", ""), ==, "1.2.3.4");
	g_assert_cmpint(failed->outcome, ==, RG_OUTCOME_FAILED);
	g_assert_cmpint(failed->class_, ==, RG_CLASS_CAPACITY);
	g_assert_true(failed->definite);
	g_assert_cmpstr(failed->code, ==, "Insufficient");
	g_assert_cmpstr(failed->message, ==, "no more");
	g_assert_cmpstr(failed->request_id, ==, "r");
	g_assert_cmpstr(failed->attribute, ==, "size");
	g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 0);
}

/* The result of p[0] if the module's is bad; p[1] is always good. */
static const struct {
	const char *verb;
	CallFn function;
	const char *actions, *reason;
	RgOutcome outcome;
	const char *id;
} bad_items[] = {
	{"create", rg_provider_create, ITEM("0", "'outcome': 'done'"),
		"\"item\" of \"scripted.node.p[0]\" lacks \"id\"", RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create, ITEM("0", "'outcome': 'done', 'id': ''"),
		"\"item\" /id of \"scripted.node.p[0]\" is \"\", against its minLength of 1",
		RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create, ITEM("0", "'outcome': 'done', 'id': 5"),
		"\"item\" /id of \"scripted.node.p[0]\" is 5, not of type \"string\"",
		RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create, DID("0", "i-1"),
		"the id of scripted.node.p[0] was also returned for another item",
		RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create,
		ITEM("0",
			"'outcome': 'done', 'id': 'i-0', 'attributes': {'colour': 'x', 'ip': 'y'}"),
		"scripted.node.p[0] has an attribute \"colour\" that scripted.node does not have",
		RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create,
		ITEM("0", "'outcome': 'done', 'id': 'i-0', 'attributes': [1]"),
		"\"item\" /attributes of \"scripted.node.p[0]\" is a list, not of type \"object\" "
		"or \"null\"",
		RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create, DID("0", "i-0") "," DID("0", "i-2"),
		"\"scripted.node.p[0]\" was returned twice", RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create, DID("0", "i-0") "," DID("7", "i-7"),
		"an item for \"scripted.node.p[7]\", which was not requested", RG_OUTCOME_DONE,
		"i-0"},
	{"create", rg_provider_create, DID("0", "i-0") ",['result', 'item', 5]",
		"\"item\" is 5, not of type \"object\"", RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create, DID("0", "i-0") ",['result', 'itm', {}]",
		"\"itm\" is not a result of it", RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create, ITEM("0", "'outcome': 'pending', 'id': 'i-0'"),
		"\"item\" /outcome of \"scripted.node.p[0]\" is \"pending\", not \"done\", "
		"\"queued\" or "
		"\"failed\"",
		RG_OUTCOME_FAILED, "i-0"},
	{"create", rg_provider_create, ITEM("0", "'outcome': 5, 'id': 'i-0'"),
		"\"item\" /outcome of \"scripted.node.p[0]\" is 5, not \"done\", \"queued\" or "
		"\"failed\"",
		RG_OUTCOME_FAILED, "i-0"},
	{"create", rg_provider_create,
		ITEM("0", "'outcome': 'failed', 'class': 'odd', 'definite': true"),
		"\"item\" /class of \"scripted.node.p[0]\" is \"odd\", not \"capacity\", "
		"\"quota\", \"denied\", \"throttled\", \"conflict\", \"invalid\", \"transient\", "
		"\"gone\", \"unknown\" or \"canceled\"",
		RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create, ITEM("0", "'outcome': 'failed'"),
		"\"item\" of \"scripted.node.p[0]\" lacks \"class\"", RG_OUTCOME_FAILED, NULL},
	{"create", rg_provider_create, DID("0", "i-0") ",['utf8', 'item']",
		"\"item\": the text is not valid JSON: line 1, column 1: unable to decode byte "
		"0xff "
		"near '\"'",
		RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create, DID("0", "i-0") ",['huge', 'item', 67108864]",
		"\"item\" is larger than 64 MiB", RG_OUTCOME_DONE, "i-0"},
	{"create", rg_provider_create,
		ITEM("0",
			"'outcome': 'failed', 'id': 'i-0', 'class': 'capacity', 'definite': true"),
		"scripted.node.p[0] is reported as not created, but has an id", RG_OUTCOME_FAILED,
		"i-0"},
	{"remove", rg_provider_remove, ITEM("0", "'outcome': 'unsupported'"),
		"\"item\" /outcome of \"scripted.node.p[0]\" is \"unsupported\", not \"done\", "
		"\"pending\" or \"failed\"",
		RG_OUTCOME_FAILED, NULL},
	{"remove", rg_provider_remove, ITEM("0", "'outcome': 'pending'"),
		"scripted.node.p[0] is pending, but scripted.node has no remove_timeout_s",
		RG_OUTCOME_FAILED, NULL},
	{"update", rg_provider_update, ITEM("0", "'outcome': 'pending', 'operation': ''"),
		"\"item\" /operation of \"scripted.node.p[0]\" is \"\", against its minLength of 1",
		RG_OUTCOME_PENDING, NULL},
	{"remove", rg_provider_remove, ITEM("0", "'outcome': 'done', 'operation': 5"),
		"\"item\" /operation of \"scripted.node.p[0]\" is 5, not of type \"string\" or "
		"\"null\"",
		RG_OUTCOME_DONE, NULL},
};

static void test_contains_bad_items_without_losing_ids(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_items); i++) {
		g_autofree char *step =
			g_strdup_printf("[" DID("1", "i-1") ", %s]", bad_items[i].actions);
		g_autofree char *reason = g_strconcat("module scripted returned a bad result from ",
			bad_items[i].verb, ": ", bad_items[i].reason, NULL);
		g_autoptr(Scripted) scripted = open_with(bad_items[i].verb, step);
		g_autoptr(GPtrArray) results = call(scripted, bad_items[i].function);
		scripted_assert_diag(scripted->diags, 0, "provider.bad-result", reason);
		g_assert_cmpint(at(results, 0)->outcome, ==, bad_items[i].outcome);
		g_assert_cmpstr(at(results, 0)->id, ==, bad_items[i].id);
		g_assert_false(at(results, 0)->definite);
		g_assert_cmpstr(at(results, 1)->id, ==, "i-1");
		g_assert_cmpint(at(results, 1)->outcome, ==, RG_OUTCOME_DONE);
	}
}

static void test_gives_forgotten_items_back_as_unknown(void)
{
	g_autoptr(Scripted) scripted = open_with("create", "[" DID("1", "i-1") "]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_create);
	const RgItemResult *forgotten = at(results, 0);
	g_assert_cmpint(forgotten->outcome, ==, RG_OUTCOME_FAILED);
	g_assert_cmpint(forgotten->class_, ==, RG_CLASS_UNKNOWN);
	g_assert_false(forgotten->definite);
	g_assert_cmpstr(forgotten->message, ==, "module scripted returned no result for it");
	g_assert_cmpint(at(results, 1)->outcome, ==, RG_OUTCOME_DONE);
}

static void test_a_failed_call_spares_the_items_that_were_done(void)
{
	g_autoptr(Scripted) scripted = open_with("create",
		"[" DID("0", "i-0") ", ['diag', {'class': 2, 'summary': 'over the quota', 'code': "
				    "'VcpuLimitExceeded', 'request_id': 'r-2'}], ['status', -1]]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_create);
	g_assert_cmpint(at(results, 0)->outcome, ==, RG_OUTCOME_DONE);
	g_assert_cmpstr(at(results, 0)->id, ==, "i-0");
	const RgItemResult *failed = at(results, 1);
	g_assert_cmpint(failed->outcome, ==, RG_OUTCOME_FAILED);
	g_assert_cmpint(failed->class_, ==, RG_CLASS_QUOTA);
	g_assert_false(failed->definite);
	g_assert_cmpstr(failed->message, ==, "over the quota");
	g_assert_cmpstr(failed->code, ==, "VcpuLimitExceeded");
	g_assert_cmpstr(failed->request_id, ==, "r-2");
	scripted_assert_diag(scripted->diags, 0, "provider.quota", "over the quota");
}

static void test_never_result_fails_every_item(void)
{
	g_autoptr(Scripted) scripted = open_with("remove", "[['status', -5]]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_remove);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpint(at(results, i)->outcome, ==, RG_OUTCOME_FAILED);
		g_assert_cmpint(at(results, i)->class_, ==, RG_CLASS_CANCELED);
	}
	scripted_assert_diag(
		scripted->diags, 0, "provider.canceled", "scripted: remove was canceled");
}

static void test_pending_and_unsupported_where_they_belong(void)
{
	g_autoptr(Scripted) ready = open_with("ready",
		"[" ITEM("0", "'outcome': 'pending'") "," ITEM("1", "'outcome': 'done'") "]");
	g_autoptr(GPtrArray) readiness = call(ready, rg_provider_ready);
	g_assert_cmpint(at(readiness, 0)->outcome, ==, RG_OUTCOME_PENDING);
	g_assert_cmpint(at(readiness, 1)->outcome, ==, RG_OUTCOME_DONE);
	g_autoptr(Scripted) update = open_with("update",
		"[" ITEM("0", "'outcome': 'unsupported'") "," ITEM("1", "'outcome': 'done'") "]");
	g_autoptr(GPtrArray) updates = call(update, rg_provider_update);
	g_assert_cmpint(at(updates, 0)->outcome, ==, RG_OUTCOME_UNSUPPORTED);
	g_assert_cmpint(at(updates, 1)->outcome, ==, RG_OUTCOME_DONE);
	g_assert_cmpuint(rg_diags_count(update->diags), ==, 0);
}

static void test_only_what_update_accepts_is_changed_after_ready(void)
{
	g_autoptr(Scripted) good = open_with("ready",
		"[" ITEM("0", "'outcome': 'done', 'changed': ['tags', 'protect']") "," ITEM(
			"1", "'outcome': 'pending', 'changed': ['tags']") "]");
	g_autoptr(GPtrArray) results = call(good, rg_provider_ready);
	json_auto_t *names = scripted_json("['tags', 'protect']");
	g_assert_true(json_equal(at(results, 0)->changed, names));
	g_assert_null(at(results, 1)->changed); /* it is not ready yet */
	g_assert_cmpuint(rg_diags_count(good->diags), ==, 0);
	static const char *const bad[] = {
		"['ip']", "['size']", "['none']", "[7]", "['tags', 'tags']", "'tags'"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autofree char *step =
			g_strdup_printf("[" ITEM("0", "'outcome': 'done', 'changed': %s") "," ITEM(
						"1", "'outcome': 'done'") "]",
				bad[i]);
		g_autoptr(Scripted) scripted = open_with("ready", step);
		g_autoptr(GPtrArray) checked = call(scripted, rg_provider_ready);
		g_assert_cmpint(at(checked, 0)->outcome, ==, RG_OUTCOME_DONE);
		g_assert_cmpuint(json_array_size(at(checked, 0)->changed), ==, i == 4);
		g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 1);
	}
}

static void test_update_unsupported_as_a_whole_is_no_error(void)
{
	g_autoptr(Scripted) scripted = open_with("update", "[['status', -6]]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_update);
	g_assert_cmpint(at(results, 0)->outcome, ==, RG_OUTCOME_UNSUPPORTED);
	g_assert_cmpint(at(results, 1)->outcome, ==, RG_OUTCOME_UNSUPPORTED);
	g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 0);
}

static void test_remove_may_not_be_unsupported(void)
{
	g_autoptr(Scripted) scripted = open_with("remove", "[['status', -6]]");
	g_autoptr(GPtrArray) results = call(scripted, rg_provider_remove);
	g_assert_cmpint(at(results, 0)->outcome, ==, RG_OUTCOME_FAILED);
	scripted_assert_diag(scripted->diags, 0, "provider.unknown",
		"provider scripted failed in remove without saying why");
}

/* A module without the optional calls: nothing to wait for, nothing can be changed in place. */
static void test_optional_calls_that_are_not_offered(void)
{
	char *directories[] = {g_strdup(MODULES_DIR), NULL};
	RgProviderHostOptions options = {.directories = directories};
	g_autoptr(RgProviderHost) host = rg_provider_host_new(&options);
	g_free(directories[0]);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgProvider) provider =
		rg_provider_open(host, "odd_sound", "r", NULL, NULL, diags);
	json_auto_t *input =
		scripted_json("{'kind': 'odd_sound.thing', 'items': [{'address': 'a'}]}");
	g_autoptr(GPtrArray) ready = rg_provider_ready(provider, input, diags);
	g_autoptr(GPtrArray) update = rg_provider_update(provider, input, diags);
	g_assert_cmpint(
		((RgItemResult *)g_ptr_array_index(ready, 0))->outcome, ==, RG_OUTCOME_DONE);
	g_assert_cmpint(((RgItemResult *)g_ptr_array_index(update, 0))->outcome, ==,
		RG_OUTCOME_UNSUPPORTED);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
}

static void test_fails_items_of_a_strange_kind(void)
{
	g_autoptr(Scripted) scripted = scripted_open("{}", false);
	json_auto_t *input =
		scripted_json("{'kind': 'aws.lake', 'items': [{'address': 'aws.lake.x'}]}");
	g_autoptr(GPtrArray) results =
		rg_provider_remove(scripted->provider, input, scripted->diags);
	const RgItemResult *result = g_ptr_array_index(results, 0);
	g_assert_cmpint(result->outcome, ==, RG_OUTCOME_FAILED);
	g_assert_cmpint(result->class_, ==, RG_CLASS_INVALID);
	g_assert_false(result->definite);
	g_assert_cmpuint(scripted_count(scripted, "remove"), ==, 0);
}

/* In tests raygpu ends if it breaks the contract itself; here, the token is too short. */
static void test_stops_at_input_of_its_own_that_the_schema_does_not_have(void)
{
	if (g_test_subprocess()) {
		g_setenv("RAYGPU_CHECK_CALLS", "1", TRUE);
		g_autoptr(Scripted) scripted = open_with("create", "[" DID("0", "i-0") "]");
		g_autoptr(GPtrArray) results = call(scripted, rg_provider_create);
		g_assert_null(results);
		return;
	}
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*the input of create is not in calls.schema.json: \"create\" "
				  "lacks \"min_count\"*");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *sentence;
		void (*test)(void);
	} tests[] = {
		{"gives results in the order of the items",
			test_gives_results_in_the_order_of_the_items},
		{"contains bad items without losing ids",
			test_contains_bad_items_without_losing_ids},
		{"gives forgotten items back as unknown",
			test_gives_forgotten_items_back_as_unknown},
		{"a failed call spares the items that were done",
			test_a_failed_call_spares_the_items_that_were_done},
		{"never result fails every item", test_never_result_fails_every_item},
		{"pending and unsupported where they belong",
			test_pending_and_unsupported_where_they_belong},
		{"only what update accepts is changed after ready",
			test_only_what_update_accepts_is_changed_after_ready},
		{"update unsupported as a whole is no error",
			test_update_unsupported_as_a_whole_is_no_error},
		{"remove may not be unsupported", test_remove_may_not_be_unsupported},
		{"optional calls that are not offered", test_optional_calls_that_are_not_offered},
		{"fails items of a strange kind", test_fails_items_of_a_strange_kind},
		{"stops at input of its own that the schema does not have",
			test_stops_at_input_of_its_own_that_the_schema_does_not_have},
	};
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strconcat("/provider/items/", tests[i].sentence, NULL);
		g_test_add_func(path, tests[i].test);
	}
	return g_test_run();
}
