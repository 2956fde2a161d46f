/* list, find, resolve, lower and diagnostics: what a module may return, and what is refused. */
#include "provider/provider.h"

#include <string.h>
#include "scripted.h"

#define DONE "['result', 'done', {'complete': true}]"
#define ONE(item) "['result', 'page', {'resources': [" item "]}]"
#define BAD "module scripted returned a bad result from "

static void collect(void *data, RgResource *resource)
{
	g_ptr_array_add(data, resource);
}

static void free_resource(gpointer resource)
{
	rg_resource_free(resource);
}

static bool list(Scripted *scripted, GPtrArray *seen)
{
	return rg_provider_list(
		scripted->provider, &scripted_nodes, collect, seen, scripted->diags);
}

static GPtrArray *new_seen(void)
{
	return g_ptr_array_new_with_free_func(free_resource);
}

static void test_hands_over_what_pages_tell(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[" ONE(
			"{'id': 'i-1', 'address': 'scripted.node.p[3]', 'state': 'present', "
			"'token': 't', 'status': 'running', 'attributes': {'size': 'b', "
			"'tags': null}}") "," ONE("{'id': 'i-2', 'state': 'gone', "
						  "'attributes': {}}") "," DONE "]]}",
		false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_true(list(scripted, seen));
	g_assert_cmpuint(seen->len, ==, 2);
	const RgResource *first = g_ptr_array_index(seen, 0), *second = g_ptr_array_index(seen, 1);
	g_assert_cmpstr(first->id, ==, "i-1");
	g_assert_cmpstr(first->address, ==, "scripted.node.p[3]");
	g_assert_cmpstr(first->name, ==, "p");
	g_assert_cmpint(first->index, ==, 3);
	g_assert_cmpstr(first->token, ==, "t");
	g_assert_cmpstr(first->status, ==, "running");
	g_assert_cmpint(first->presence, ==, RG_PRESENT);
	g_assert_cmpuint(json_object_size(first->attrs), ==, 1);
	g_assert_cmpint(second->presence, ==, RG_ABSENT);
	g_assert_null(second->address);
	g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 0);
}

static void test_adds_what_a_page_shares(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[['result', 'page', {'shared': [{'attributes': {'size': 'a', 'tags': "
		"null}, 'state': 'gone'}, {'attributes': {'size': 'b', 'count': 1}, 'state': "
		"'present', 'status': 'up', 'token': 't'}], 'resources': [{'id': 'i-1', 'status': "
		"'down', 'shared': 1, 'attributes': {'count': 2}}, {'id': 'i-2', 'shared': 0}, "
		"{'id': 'i-3', 'state': 'present', 'attributes': {}}]}]," DONE "]]}",
		false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_true(list(scripted, seen));
	static const char *const expected[] = {"{'size': 'b', 'count': 2}", "{'size': 'a'}", "{}"};
	g_assert_cmpuint(seen->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < seen->len; i++) {
		const RgResource *resource = g_ptr_array_index(seen, i);
		g_autofree char *text = g_strdelimit(g_strdup(expected[i]), "'", '"');
		json_auto_t *attributes = json_loads(text, 0, NULL);
		g_assert_true(json_equal(resource->attrs, attributes));
		g_assert_cmpint(resource->presence, ==, i == 1 ? RG_ABSENT : RG_PRESENT);
		g_assert_cmpstr(resource->token, ==, i == 0 ? "t" : NULL);
		g_assert_cmpstr(resource->status, ==, i == 0 ? "down" : NULL);
	}
}

/* Lists that are refused, each with the exact reason. */
static const struct {
	const char *step, *reason;
} bad_lists[] = {
	{"[" ONE("") "]", "it returned without \"done\""},
	{"[['result', 'done', {'complete': 1}]]", "\"done\" /complete is 1, not true"},
	{"[" DONE "," DONE "]", "\"done\" was returned twice"},
	{"[" DONE "," ONE("") "]", "\"page\" comes after \"done\""},
	{"[['result', 'pages', {}]," DONE "]", "\"pages\" is not a result of it"},
	{"[['result', 'page', []]," DONE "]", "\"page\" is a list, not of type \"object\""},
	{"[" ONE("5") "," DONE "]", "\"page\" /resources/0 is 5, not of type \"object\""},
	{"[" ONE("{'id': ''}") "," DONE "]",
		"\"page\" /resources/0/id is \"\", against its minLength of 1"},
	{"[" ONE("{'id': 'a\\u0007b'}") "," DONE "]",
		"the id of a resource has control characters"},
	{"[" ONE("{'id': 'i', 'state': 'here', 'attributes': {}}") "," DONE "]",
		"\"page\" /resources/0/state of \"i\" is \"here\", not \"present\", \"queued\", "
		"\"gone\" "
		"or \"unknown\""},
	{"[" ONE("{'id': 'i', 'state': 'present'}") "," DONE "]", "\"i\" has no attributes"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'nodes': 3, 'attributes': {}}") "," DONE "]",
		"\"page\" /resources/0/nodes of \"i\" is 3, not of type \"object\" or \"null\""},
	{"[" ONE("{'id': 'i', 'state': 'present', 'nodes': {'p': -1}, 'attributes': {}}") "," DONE
											  "]",
		"\"page\" /resources/0/nodes/p of \"i\" is -1, against its minimum of 0"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {}, 'shared': 0}") "," DONE "]",
		"\"shared\" of \"i\" refers to nothing"},
	{"[['result', 'page', {'resources': [{'id': 'i', 'state': 'present', 'attributes': {}, "
	 "'shared': -1}], 'shared': [{}]}]," DONE "]",
		"\"page\" /resources/0/shared of \"i\" is -1, against its minimum of 0"},
	{"[['result', 'page', {'resources': [{'id': 'i', 'shared': 0}], 'shared': [{'attributes': "
	 "{}}]}]," DONE "]",
		"\"i\" has no \"state\""},
	{"[['result', 'page', {'resources': [{'id': 'i', 'state': 'present', 'shared': 0}], "
	 "'shared': [{}]}]," DONE "]",
		"\"i\" has no attributes"},
	{"[['result', 'page', {'resources': [], 'shared': {}}]," DONE "]",
		"\"page\" /shared is an object, not of type \"array\""},
	{"[['result', 'page', {'resources': [], 'shared': [5]}]," DONE "]",
		"\"page\" /shared/0 is 5, not of type \"object\""},
	{"[['result', 'page', {'resources': [], 'shared': [{'attributes': []}]}]," DONE "]",
		"\"page\" /shared/0/attributes is a list, not of type \"object\""},
	{"[['result', 'page', {'resources': [], 'shared': [{'sate': 'gone'}]}]," DONE "]",
		"\"page\" /shared/0 has \"sate\", which is not known"},
	{"[['result', 'page', {'resources': [], 'shared': [{'attributes': {'count': '1'}}]}]," DONE
	 "]",
		"attribute \"count\" of a page's \"shared\" is not of type integer"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {}, 'addres': 'x'}") "," DONE "]",
		"\"page\" /resources/0 of \"i\" has \"addres\", which is not known"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {}, 'address': 5}") "," DONE "]",
		"\"page\" /resources/0/address of \"i\" is 5, not of type \"string\" or \"null\""},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {'colour': 'x'}}") "," DONE "]",
		"i has an attribute \"colour\" that scripted.node does not have"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {'count': '1'}}") "," DONE "]",
		"attribute \"count\" of i is not of type integer"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {'reached': 'a;b'}}") "," DONE "]",
		"attribute \"reached\" of i is not an address"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {'reached': '-x'}}") "," DONE "]",
		"attribute \"reached\" of i is not an address"},
	{"[" ONE("{'id': 'i', 'state': 'present', 'attributes': {}}") "," ONE(
		 "{'id': 'i', 'state': 'gone', 'attributes': {}}") "," DONE "]",
		"\"i\" was returned twice"},
	{"[['raw', 'page', '{\\u0022resources\\u0022: [']," DONE "]",
		"\"page\": the text is not valid JSON: line 1, column 15: ']' expected near end of "
		"file"},
	{"[['utf8', 'page']," DONE "]", "\"page\": the text is not valid JSON: line 1, column 1: "
					"unable to decode byte 0xff "
					"near '\"'"},
	{"[['deep', 'page', 1000000]," DONE "]",
		"\"page\": the text is not valid JSON: line 1, column 2049: maximum parsing depth "
		"reached near '['"},
	{"[['raw', 'page', '{\\u0022a\\u0022:1,\\u0022a\\u0022:2}']," DONE "]",
		"\"page\": the text is not valid JSON: line 1, column 10: duplicate object key "
		"near "
		"'\"a\"'"},
	{"[['huge', 'page', 67108865]," DONE "]", "\"page\" is larger than 64 MiB"},
	{"[['null', 'page']," DONE "]", "\"page\" has no bytes"},
	{"[['noslot']," DONE "]", "a result without a name"},
	{"[['thread', 'page', {'resources': []}]," DONE "]",
		"it used the call from another thread"},
	{"[['http', 'POST', 'http://127.0.0.1:1/', false]," DONE "]",
		"it sent Thing, which is not marked as reading, in list"},
	{"[['status', 77]," DONE "]", "77 is not a status"},
};

static void assert_bad(Scripted *scripted, const char *verb, const char *reason)
{
	g_autofree char *summary = g_strconcat(BAD, verb, ": ", reason, NULL);
	size_t n = 0;
	while (n + 1 < rg_diags_count(scripted->diags) &&
		rg_diags_get(scripted->diags, n)->severity != RG_SEVERITY_ERROR)
		n++;
	scripted_assert_diag(scripted->diags, n, "provider.bad-result", summary);
	g_assert_cmpstr(rg_diags_get(scripted->diags, n)->hint, ==,
		"this is a bug in the module, not in your spec: report it to the module's author");
}

static void test_refuses_bad_lists_with_the_exact_reason(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_lists); i++) {
		g_autofree char *script = g_strdup_printf("{'list': [%s]}", bad_lists[i].step);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_autoptr(GPtrArray) seen = new_seen();
		g_assert_false(list(scripted, seen));
		assert_bad(scripted, "list", bad_lists[i].reason);
	}
}

static void test_refuses_a_call_that_has_returned(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[" DONE "], [['late', 'page', {'resources': [{'id': 'i-1', 'state': "
		"'present', 'attributes': {}}]}]," DONE "]]}",
		false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_true(list(scripted, seen));
	g_assert_true(list(scripted, seen));
	g_assert_cmpuint(seen->len, ==, 0);
	g_assert_cmpuint(scripted_count(scripted, "list"), ==, 2);
}

static void test_stops_complaining_about_a_flood(void)
{
	g_autoptr(GString) script = g_string_new("{'list': [[");
	for (int i = 0; i < 500; i++)
		g_string_append(script,
			"['result', 'x', 1], ['diag', {'severity': 1, 'summary': 'again'}],");
	g_string_append(script, DONE "]]}");
	g_autoptr(Scripted) scripted = scripted_open(script->str, false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_false(list(scripted, seen));
	g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 210);
}

static void test_turns_the_modules_words_into_diagnostics(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[['secret', 'hunter2hunter2'], ['diag', {'severity': 0, 'class': 3, "
		"'summary': 'you may\\u001b[2J not\\nDescribe', 'detail': 'one\\ntwo "
		"hunter2hunter2', 'hint': 'ask', 'code': 'UnauthorizedOperation', 'request_id': "
		"'r-1', 'address': 'scripted.node.p[0]', 'attribute': 'size'}], ['diag', {'class': "
		"99}], ['diag', {'severity': 1, 'class': 4, 'summary': 'slow'}], ['status', -1]]]}",
		false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_false(list(scripted, seen));
	scripted_assert_diag(scripted->diags, 0, "provider.denied", "you may [2J not Describe");
	const RgDiag *diag = rg_diags_get(scripted->diags, 0);
	g_assert_cmpstr(diag->detail, ==, "one\ntwo [redacted]");
	g_assert_cmpstr(diag->hint, ==, "ask");
	g_assert_cmpstr(diag->cloud_code, ==, "UnauthorizedOperation");
	g_assert_cmpstr(diag->request_id, ==, "r-1");
	g_assert_cmpstr(diag->address, ==, "scripted.node.p[0]");
	g_assert_cmpstr(diag->attribute, ==, "size");
	g_assert_cmpstr(diag->provider, ==, "scripted");
	scripted_assert_diag(scripted->diags, 1, "provider.unknown", "the module gave no reason");
	scripted_assert_diag(scripted->diags, 2, "provider.throttled", "slow");
	g_assert_cmpint(rg_diags_get(scripted->diags, 2)->severity, ==, RG_SEVERITY_WARNING);
}

static void test_says_so_when_a_call_fails_without_a_word(void)
{
	static const struct {
		const char *status, *code, *summary;
	} rows[] = {
		{"-1", "provider.unknown", "provider scripted failed in list without saying why"},
		{"-5", "provider.canceled", "scripted: list was canceled"},
		{"-6", "provider.unknown", "provider scripted failed in list without saying why"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *script =
			g_strdup_printf("{'list': [[" DONE ", ['status', %s]]]}", rows[i].status);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_autoptr(GPtrArray) seen = new_seen();
		g_assert_false(list(scripted, seen));
		scripted_assert_diag(scripted->diags, 0, rows[i].code, rows[i].summary);
		g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 1);
	}
}

static void test_an_error_makes_a_list_fail_although_it_ended_well(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'list': [[['diag', {'class': 7, 'summary': 'half of it'}]," DONE "]]}", false);
	g_autoptr(GPtrArray) seen = new_seen();
	g_assert_false(list(scripted, seen));
	scripted_assert_diag(scripted->diags, 0, "provider.transient", "half of it");
}

static void test_does_not_know_a_strange_kind(void)
{
	g_autoptr(Scripted) scripted = scripted_open("{}", false);
	g_autoptr(GPtrArray) seen = new_seen();
	static const char *const kinds[] = {"scripted.node", "aws.lake", NULL};
	const RgListing listing = {.kinds = kinds, .cluster = "c"};
	g_assert_false(
		rg_provider_list(scripted->provider, &listing, collect, seen, scripted->diags));
	scripted_assert_diag(
		scripted->diags, 0, "provider.invalid", "module scripted has no kind \"aws.lake\"");
	g_assert_cmpuint(scripted_count(scripted, "list"), ==, 0);
}

#define OF_KIND(kind, id)                                                                          \
	"['result', 'page', {'kind': '" kind "', 'resources': [{'id': '" id                        \
	"', 'state': 'present', 'attributes': {}}]}]"

static const struct {
	const char *pages, *why;
} several[] = {
	{OF_KIND("scripted.disk", "1") "," OF_KIND("scripted.port", "1"), NULL},
	{OF_KIND("scripted.disk", "1") "," OF_KIND("scripted.disk", "1"),
		"\"1\" was returned twice"},
	{OF_KIND("scripted.node", "1"),
		"a page is of the kind \"scripted.node\", which was not requested"},
	{"['result', 'page', {'resources': []}]", "a page does not state its kind"},
	{"['result', 'page', {'kind': 5, 'resources': []}]",
		"\"page\" /kind is 5, not of type \"string\" or \"null\""},
};

static void test_a_call_for_several_kinds_has_pages_of_each(void)
{
	static const char *const kinds[] = {"scripted.disk", "scripted.port", NULL};
	const RgListing listing = {.kinds = kinds, .cluster = "c"};
	for (size_t i = 0; i < G_N_ELEMENTS(several); i++) {
		g_autofree char *script =
			g_strdup_printf("{'list': [[%s, " DONE "]]}", several[i].pages);
		g_autofree char *why =
			g_strdup_printf("module scripted returned a bad result from list: %s",
				several[i].why ? several[i].why : "");
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_autoptr(GPtrArray) seen = new_seen();
		bool ok = rg_provider_list(
			scripted->provider, &listing, collect, seen, scripted->diags);
		g_assert_cmpint(ok, ==, !several[i].why);
		if (!ok) {
			scripted_assert_diag(scripted->diags, 0, "provider.bad-result", why);
			continue;
		}
		g_assert_cmpuint(seen->len, ==, 2);
		g_assert_cmpstr(((RgResource *)seen->pdata[0])->kind, ==, "scripted.disk");
		g_assert_cmpstr(((RgResource *)seen->pdata[1])->kind, ==, "scripted.port");
	}
}

#define FINDING(members)                                                                           \
	"['result', 'finding', {'severity': 'error', 'class': 'quota', 'message': 'no "            \
	"more'" members "}]"

static const struct {
	const char *actions, *why;
} bad_findings[] = {
	{"['result', 'findings', []]", "\"findings\" is not a result of it"},
	{"['result', 'finding', {'severity': 'fatal', 'class': 'quota', 'message': 'm'}]",
		"\"finding\" /severity is \"fatal\", not \"error\", \"warning\" or \"note\""},
	{"['result', 'finding', {'severity': 'error', 'class': 'full', 'message': 'm'}]",
		"\"finding\" /class is \"full\", not \"capacity\", \"quota\", \"denied\", "
		"\"throttled\", \"conflict\", \"invalid\", \"transient\", \"gone\", \"unknown\" or "
		"\"canceled\""},
	{"['result', 'finding', {'severity': 'error', 'class': 'quota'}]",
		"\"finding\" lacks \"message\""},
};

static const char creates[] = "[{'kind': 'scripted.node', 'count': 2, 'origin': '/pools/p', "
			      "'addresses': ['scripted.node.p[0]', 'scripted.node.p[1]']}]";

static const RgPreflightAbout preflight_about = {.cluster = "c", .applies = true};

static void test_findings_of_preflight_have_the_origin_of_their_address(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'preflight': [[" FINDING(", 'address': 'scripted.node.p[1]'") "," FINDING(
			", 'origin': '/head', 'address': 'scripted.node.p[1]'") "," FINDING("") "]]"
												"}",
		false);
	g_autoptr(RgDiags) findings = rg_diags_new();
	json_auto_t *list = scripted_json(creates);
	g_assert_true(rg_provider_preflight(
		scripted->provider, &preflight_about, list, findings, NULL, scripted->diags));
	g_assert_cmpuint(rg_diags_count(findings), ==, 3);
	scripted_assert_diag(findings, 0, "provider.quota", "no more");
	g_assert_cmpstr(rg_diags_get(findings, 0)->origin, ==, "/pools/p");
	g_assert_cmpstr(rg_diags_get(findings, 1)->origin, ==, "/head");
	g_assert_null(rg_diags_get(findings, 2)->origin);
	g_assert_cmpint(rg_diags_exit_code(findings), ==, 8);
}

static void test_a_failed_preflight_has_no_findings(void)
{
	json_auto_t *list = scripted_json(creates);
	for (size_t i = 0; i <= G_N_ELEMENTS(bad_findings); i++) {
		bool bad = i < G_N_ELEMENTS(bad_findings);
		g_autofree char *script = g_strdup_printf("{'preflight': [[%s, %s]]}", FINDING(""),
			bad ? bad_findings[i].actions : "['status', -1]");
		g_autofree char *why =
			g_strdup_printf("module scripted returned a bad result from preflight: %s",
				bad ? bad_findings[i].why : "");
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_autoptr(RgDiags) findings = rg_diags_new();
		g_assert_false(rg_provider_preflight(scripted->provider, &preflight_about, list,
			findings, NULL, scripted->diags));
		g_assert_cmpuint(rg_diags_count(findings), ==, 0);
		if (bad)
			scripted_assert_diag(scripted->diags, 0, "provider.bad-result", why);
	}
}

static void test_finds_by_token_in_the_order_given(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'find': [[" ONE(
			"{'id': 'i-9', 'state': 'present', 'attributes': {}}, {'id': 'i-1', "
			"'state': 'present', 'attributes': {}}") "," DONE "]]}",
		false);
	g_autoptr(GPtrArray) seen = new_seen();
	json_auto_t *marks = json_object();
	g_assert_true(rg_provider_find(scripted->provider, "scripted.node", "0123", marks, collect,
		seen, scripted->diags));
	g_assert_cmpstr(((RgResource *)g_ptr_array_index(seen, 0))->id, ==, "i-9");
	g_assert_cmpstr(((RgResource *)g_ptr_array_index(seen, 1))->id, ==, "i-1");
}

#define WANTS                                                                                      \
	"{'images': [{'key': 'k', 'image': null, 'arch': 'x86_64'}], 'place': true, "              \
	"'instance_types': ['big'], 'zones': []}"
#define IMAGES "'images': {'k': {'id': 'ami-1'}}"
#define PLACE "'zones': ['a'], 'module': {'any': 'thing'}"
#define OFFERINGS "'offerings': {'big': ['a']}"

static const struct {
	const char *step, *reason;
} facts[] = {
	{"[['result', 'facts', {" IMAGES "," PLACE "," OFFERINGS "}]]", NULL},
	{"[]", "it returned without \"facts\""},
	{"[['result', 'facts', []]]", "\"facts\" is a list, not of type \"object\""},
	{"[['result', 'fact', {}]]", "\"fact\" is not a result of it"},
	{"[['result', 'facts', {}], ['result', 'facts', {}]]", "\"facts\" was returned twice"},
	{"[['result', 'facts', {" PLACE "," OFFERINGS "}]]",
		"the facts have no id for the image \"k\""},
	{"[['result', 'facts', {'images': {'k': {'id': 5}}," PLACE "," OFFERINGS "}]]",
		"\"facts\" /images/k/id is 5, not of type \"string\""},
	{"[['result', 'facts', {" IMAGES "," OFFERINGS "}]]", "the facts have no zones"},
	{"[['result', 'facts', {" IMAGES ",'zones': ['a', 1]," OFFERINGS "}]]",
		"\"facts\" /zones/1 is 1, not of type \"string\""},
	{"[['result', 'facts', {" IMAGES ",'zones': ['a'], 'module': 'x'," OFFERINGS "}]]",
		"\"facts\" /module is \"x\", not of type \"object\""},
	{"[['result', 'facts', {" IMAGES "," PLACE ",'offerings': {'big': [1]}}]]",
		"\"facts\" /offerings/big/0 is 1, not of type \"string\""},
	{"[['result', 'facts', {" IMAGES "," PLACE "}]]", "the facts have no zones for \"big\""},
};

static void test_checks_facts(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
		g_autofree char *script = g_strdup_printf("{'resolve': [%s]}", facts[i].step);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		json_auto_t *wants = scripted_json(WANTS);
		json_auto_t *result =
			rg_provider_resolve(scripted->provider, wants, scripted->diags);
		g_assert_cmpint(result != NULL, ==, !facts[i].reason);
		if (!result)
			assert_bad(scripted, "resolve", facts[i].reason);
	}
}

#define POOL_P "{'pool': 'p', 'role': 'worker', 'count': 1}"
#define LOWERED(attributes)                                                                        \
	"[['result', 'resources', [{'address': 'scripted.node.p[0]', 'kind': 'scripted.node', "    \
	"'name': 'p', 'index': 0, 'group': 'p', 'origin': '/pools/p', 'nodes': [" POOL_P           \
	"], 'attributes': " attributes ", 'depends_on': []}]]]"
#define COUNTED(kind, attributes, nodes)                                                           \
	"[['result', 'resources', [{'address': 'scripted." kind ".p[0]', 'kind': 'scripted." kind  \
	"', 'name': 'p', 'index': 0, 'attributes': " attributes nodes "}]]]"
#define TOKEN "{'$ref': 'raygpu.secret.ray_token', 'attr': 'value'}"

static const struct {
	const char *step, *reason;
} lowered[] = {
	{LOWERED("{'size': 'big', 'user_data': " TOKEN "}"), NULL},
	{"[]", "it returned without \"resources\""},
	{LOWERED("{'size': 'big', 'colour': 'x'}"),
		"scripted.node.p[0] has an attribute \"colour\" that its kind does not have"},
	{LOWERED("{'size': 7}"), "scripted.node.p[0]: attribute \"size\" has the wrong type"},
	{LOWERED("{'count': 1}"), "scripted.node.p[0] lacks the required attribute \"size\""},
	{LOWERED("{'size': {'$ref': 'scripted.group.g', 'attr': 'id'}}"),
		"scripted.node.p[0] needs \"scripted.group.g\", which is not among the resources"},
	{"[['result', 'resources', [{'address': 'raygpu.secret.x', 'kind': 'raygpu.secret', "
	 "'name': "
	 "'x', 'index': null, 'attributes': {'bytes': 3}}]]]",
		"raygpu.secret.x has a kind that this module does not have"},
	{"[['result', 'resources', [{'address': 'aws.lake.x', 'kind': 'aws.lake', 'name': 'x', "
	 "'index': null, 'attributes': {}}]]]",
		"aws.lake.x has a kind that this module does not have"},
	{COUNTED("node", "{'size': 's'}", ""),
		"scripted.node.p[0] does not state the `nodes` that it stands for"},
	{COUNTED("group", "{}", ", 'nodes': [" POOL_P "]"),
		"scripted.group.p[0] has `nodes`, but its kind has no \"node\": true"},
	{COUNTED("node", "{'size': 's'}", ", 'nodes': 7"),
		"\"resources\" /0/nodes of \"scripted.node.p[0]\" is 7, not of type \"array\" or "
		"\"null\""},
	{COUNTED("node", "{'size': 's'}",
		 ", 'nodes': [{'pool': 'p', 'role': 'worker', 'count': 2}]"),
		"of \"p\" with 1 nodes its resources stand for 2"},
	{COUNTED("node", "{'size': 's'}",
		 ", 'nodes': [{'pool': 'p', 'role': 'worker', 'min': 1, 'max': 4}]"),
		"of \"p\" with 1 nodes its resources stand for 1 to 4"},
	{COUNTED("node", "{'size': 's'}", ", 'nodes': [{'pool': 'p', 'role': 'head', 'count': 1}]"),
		"scripted.node.p[0] stands for nodes of \"p\", which is not the head"},
	{COUNTED("node", "{'size': 's'}",
		 ", 'nodes': [" POOL_P ", {'pool': 'q', 'role': 'worker', 'count': 1}]"),
		"scripted.node.p[0] stands for nodes of \"q\", which is not a pool with nodes"},
	{"[['result', 'resources', []]]", "of \"p\" with 1 nodes its resources stand for 0"},
	{"[['env', 'HOME'], ['result', 'resources', []]]",
		"it used the host's env, but lower must be pure"},
	{"[['http', 'GET', 'http://127.0.0.1:1/', true], ['result', 'resources', []]]",
		"it sent Thing, but lower must be pure"},
	{"[['exec', '/bin/true'], ['result', 'resources', []]]",
		"it ran a helper, but lower must be pure"},
};

static RgResourceSet *lower(Scripted *scripted, const char *auth)
{
	g_autofree char *text =
		g_strdup_printf("{'ray': {'auth': '%s'}, 'nodes': [{'pool': 'p', 'role': 'worker', "
				"'indexes': [0]}]}",
			auth);
	json_auto_t *fitted = scripted_json(text);
	return rg_provider_lower(scripted->provider, fitted, scripted->diags);
}

static void test_checks_lowered_resources(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lowered); i++) {
		g_autofree char *script = g_strdup_printf("{'lower': [%s]}", lowered[i].step);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_autoptr(RgResourceSet) set = lower(scripted, "token");
		g_assert_cmpint(set != NULL, ==, !lowered[i].reason);
		if (!set)
			assert_bad(scripted, "lower", lowered[i].reason);
	}
}

static void test_adds_the_token_only_when_the_spec_wants_it(void)
{
	g_autoptr(Scripted) scripted =
		scripted_open("{'lower': [" LOWERED("{'size': 'big'}") "]}", false);
	g_autoptr(RgResourceSet) with = lower(scripted, "token");
	g_autoptr(RgResourceSet) without = lower(scripted, "none");
	g_assert_cmpuint(rg_resource_set_size(with), ==, 2);
	g_assert_cmpuint(rg_resource_set_size(without), ==, 1);
	const RgResource *secret = rg_resource_set_find(with, RG_SECRET_RAY_TOKEN);
	g_assert_nonnull(secret);
	g_assert_cmpint(rg_json_int(secret->attrs, "bytes", 0), ==, 32);
	const RgResource *node = rg_resource_set_find(with, "scripted.node.p[0]");
	g_assert_cmpstr(node->group, ==, "p");
	g_assert_cmpstr(node->origin, ==, "/pools/p");
}

#define ABOUT "'address': 'scripted.node.r', 'pool': "
#define MEMBERS(pool, members) "['result', 'page', {" ABOUT "'" pool "', 'members': [" members "]}]"
#define GROUP(pool, more) "['result', 'group', {" ABOUT "'" pool "'" more "}]"

/* The groups of one resource, whose pools p and q are elastic, and r is not. */
static json_t *read_members(Scripted *scripted)
{
	RgResource *record = rg_resource_new("scripted.node", "r", -1);
	record->id = g_strdup("i-1");
	record->nodes = scripted_json(
		"[{'pool': 'p', 'role': 'worker', 'min': 0, 'max': 9}, {'pool': 'r', "
		"'role': 'worker', 'count': 2}, {'pool': 'q', 'role': 'worker', 'min': "
		"1, 'max': 2}]");
	g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(free_resource);
	g_ptr_array_add(records, record);
	return rg_provider_members(scripted->provider, "scripted.node", records, scripted->diags);
}

static void test_gathers_the_members_of_elastic_pools(void)
{
	g_autoptr(Scripted) scripted = scripted_open(
		"{'members': [[" MEMBERS("q", "{'id': 'a', 'state': 'running'}") "," GROUP("q",
			", 'wants': 2, "
			"'template': 't\\u0007v'") "," MEMBERS("q",
			"{'id': 'b', 'state': 'leaving', 'zone': 'z'}") "," DONE "]]}",
		false);
	json_auto_t *groups = read_members(scripted);
	json_auto_t *expected =
		scripted_json("[{'address': 'scripted.node.r', 'pool': 'p', 'wants': null, "
			      "'template': null, 'refused': [], "
			      "'members': []}, {'address': 'scripted.node.r', 'pool': 'q', "
			      "'wants': 2, 'template': 't v', "
			      "'refused': [], 'members': [{'id': 'a', 'state': 'running', 'zone': "
			      "null, 'template': null}, {'id': "
			      "'b', 'state': 'leaving', 'zone': 'z', 'template': null}]}]");
	g_assert_true(json_equal(groups, expected));
	g_assert_cmpuint(rg_diags_count(scripted->diags), ==, 0);
}

static const struct {
	const char *step, *reason;
} bad_members[] = {
	{MEMBERS("p", "{'id': 'a', 'state': 'running'}"), "it returned without \"done\""},
	{DONE "," MEMBERS("p", ""), "\"page\" comes after \"done\""},
	{DONE "," GROUP("p", ""), "\"group\" comes after \"done\""},
	{GROUP("p", "") "," GROUP("p", "") "," DONE,
		"the group of scripted.node.r p was returned twice"},
	{MEMBERS("r", "") "," DONE, "\"page\" is about \"scripted.node.r r\", which is not an "
				    "elastic pool of the items"},
	{MEMBERS("p", "{'id': 'a', 'state': 'running'}") "," MEMBERS(
		 "q", "{'id': 'a', 'state': 'running'}") "," DONE,
		"the member \"a\" was returned twice"},
	{MEMBERS("p", "{'id': 'a\\u0007', 'state': 'running'}") "," DONE,
		"the id of a member has control characters"},
	{GROUP("p", ", 'wants': -1") "," DONE,
		"\"group\" /wants of \"scripted.node.r\" is -1, against its minimum of 0"},
	{GROUP("p", ", 'refused': [{'class': 'capacity'}]") "," DONE,
		"\"group\" /refused/0 of \"scripted.node.r\" lacks \"message\""},
};

static void test_refuses_members_that_make_no_sense(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_members); i++) {
		g_autofree char *script =
			g_strdup_printf("{'members': [[%s]]}", bad_members[i].step);
		g_autofree char *why = g_strconcat(BAD "members: ", bad_members[i].reason, NULL);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		g_assert_null(read_members(scripted));
		scripted_assert_diag(scripted->diags, 0, "provider.bad-result", why);
	}
}

static const struct {
	const char *step;
	RgOutcome outcome; /* of the second one, which the module does not return */
} changings[] = {
	{"['result', 'item', {'address': 'scripted.node.p[0]', 'outcome': 'done', 'text': "
	 "'setLabels'}]",
		RG_OUTCOME_DONE},
	{"['result', 'item', {'address': 'scripted.node.p[0]', 'outcome': 'done', 'text': "
	 "'setLabels'}], ['status', -1]",
		RG_OUTCOME_FAILED},
};

/* What the module does not return is not being changed, if the call succeeds. */
static void test_says_what_is_being_changed(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(changings); i++) {
		g_autofree char *script =
			g_strdup_printf("{'changing': [[%s]]}", changings[i].step);
		g_autoptr(Scripted) scripted = scripted_open(script, false);
		json_auto_t *input = scripted_json(
			"{'kind': 'scripted.node', 'items': [{'address': 'scripted.node.p[0]', "
			"'id': 'i-0'}, {'address': 'scripted.node.p[1]', 'id': 'i-1'}]}");
		g_autoptr(GPtrArray) results =
			rg_provider_changing(scripted->provider, input, scripted->diags);
		const RgItemResult *first = results->pdata[0], *second = results->pdata[1];
		g_assert_cmpint(first->outcome, ==, RG_OUTCOME_DONE);
		g_assert_cmpstr(first->text, ==, "setLabels");
		g_assert_cmpint(second->outcome, ==, changings[i].outcome);
		g_assert_null(second->text);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *sentence;
		void (*test)(void);
	} tests[] = {
		{"hands over what pages tell", test_hands_over_what_pages_tell},
		{"adds what a page shares", test_adds_what_a_page_shares},
		{"refuses bad lists with the exact reason",
			test_refuses_bad_lists_with_the_exact_reason},
		{"refuses a call that has returned", test_refuses_a_call_that_has_returned},
		{"stops complaining about a flood", test_stops_complaining_about_a_flood},
		{"turns the modules words into diagnostics",
			test_turns_the_modules_words_into_diagnostics},
		{"says so when a call fails without a word",
			test_says_so_when_a_call_fails_without_a_word},
		{"an error makes a list fail although it ended well",
			test_an_error_makes_a_list_fail_although_it_ended_well},
		{"does not know a strange kind", test_does_not_know_a_strange_kind},
		{"a call for several kinds has pages of each",
			test_a_call_for_several_kinds_has_pages_of_each},
		{"findings of preflight have the origin of their address",
			test_findings_of_preflight_have_the_origin_of_their_address},
		{"a failed preflight has no findings", test_a_failed_preflight_has_no_findings},
		{"finds by token in the order given", test_finds_by_token_in_the_order_given},
		{"gathers the members of elastic pools", test_gathers_the_members_of_elastic_pools},
		{"refuses members that make no sense", test_refuses_members_that_make_no_sense},
		{"says what is being changed", test_says_what_is_being_changed},
		{"checks facts", test_checks_facts},
		{"checks lowered resources", test_checks_lowered_resources},
		{"adds the token only when the spec wants it",
			test_adds_the_token_only_when_the_spec_wants_it},
	};
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strconcat("/provider/calls/", tests[i].sentence, NULL);
		g_test_add_func(path, tests[i].test);
	}
	return g_test_run();
}
