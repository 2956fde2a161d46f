/* What a trace shows of bodies with secrets in them. */
#include "http/hide.h"

static const struct {
	const char *text, *shown;
} rows[] = {
	{"Action=Run&UserData=H4sI%3D&x=1", "Action=Run&UserData=[redacted]&x=1"},
	{"https://x/?a=1&LaunchSpecification.UserData=H4",
		"https://x/?a=1&LaunchSpecification.UserData=[redacted]"},
	{"grant_type=x&assertion=ey.J&client_secret=s",
		"grant_type=x&assertion=[redacted]&client_secret=[redacted]"},
	{"NextToken=page&TokenKind=b", "NextToken=page&TokenKind=b"},
	{"<r><userData><value>H4</value></userData><b/></r>",
		"<r><userData>[redacted]</userData><b/></r>"},
	{"<r><userData>cut o", "<r><userData>[redacted]"},
	{"{\"access_token\": \"t\", \"expires_in\": 3600}",
		"{\"access_token\":\"[redacted]\",\"expires_in\":3600}"},
	{"{\"items\": [{\"key\": \"user-data\", \"value\": \"H4\"}, {\"key\": \"a\", \"value\": "
	 "\"b\"}]}",
		"{\"items\":[{\"key\":\"user-data\",\"value\":\"[redacted]\"},{\"key\":\"a\","
		"\"value\":\"b\"}]}"},
	{"{\"kind\": \"Secret\", \"data\": {\"token\": \"dA==\", \"ca\": \"Y2E=\"}}",
		"{\"kind\":\"Secret\",\"data\":{\"token\":\"[redacted]\",\"ca\":\"Y2E=\"}}"},
	{" [{\"osProfile\": {\"customData\": {\"any\": [1]}}}]",
		"[{\"osProfile\":{\"customData\":\"[redacted]\"}}]"},
	{"{\"a\": 1, \"customData\": \"H4 \\\" sI", "{\"a\": 1, \"customData\": [redacted]"},
	{"{\"customData\": {\"x\": \"H4\", ", "{\"customData\": [redacted]"},
	{"plain words", "plain words"},
	{"", ""},
};

static void values_are_hidden_by_their_names(void)
{
	json_auto_t *secrets =
		json_pack("{s:[s, s, s]}", "names", "UserData", "user-data", "customData");
	RgHide hide;
	rg_hide_init(&hide, secrets);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *shown = rg_hide(&hide, rows[i].text);
		g_assert_cmpstr(shown, ==, rows[i].shown);
	}
	rg_hide_clear(&hide);
}

static const struct {
	const char *text, *shown;
} pointed[] = {
	{"{\"kind\":\"Secret\",\"data\":{\"a\":\"x\",\"b\":{\"c\":\"y\"}}}",
		"{\"kind\":\"Secret\",\"data\":{\"a\":\"[redacted]\",\"b\":\"[redacted]\"}}"},
	{"{\"items\":[{\"data\":{\"a\":\"x\"},\"n\":1},{\"data\":{}}]}",
		"{\"items\":[{\"data\":{\"a\":\"[redacted]\"},\"n\":1},{\"data\":{}}]}"},
	{"{\"a/b\":[\"x\",\"y\"],\"data\":\"flat\"}",
		"{\"a/b\":[\"x\",\"[redacted]\"],\"data\":\"flat\"}"},
	{"[{\"data\":{\"a\":\"x\"}}]", "[{\"data\":{\"a\":\"x\"}}]"},
	{"{\"data\":{\"a\":\"x", "[redacted]"},
	{"data=x", "data=x"},
};

static void values_are_hidden_by_their_place(void)
{
	json_auto_t *secrets =
		json_pack("{s:[s, s, s]}", "pointers", "/data/*", "/items/*/data/*", "/a~1b/1");
	RgHide hide;
	rg_hide_init(&hide, secrets);
	for (size_t i = 0; i < G_N_ELEMENTS(pointed); i++) {
		g_autofree char *shown = rg_hide(&hide, pointed[i].text);
		g_assert_cmpstr(shown, ==, pointed[i].shown);
	}
	rg_hide_clear(&hide);
}

static void headers_are_hidden_by_their_names(void)
{
	json_auto_t *secrets = json_pack("{s:[s]}", "headers", "X-Vault");
	RgHide hide;
	rg_hide_init(&hide, secrets);
	g_assert_true(rg_hide_is_header(&hide, "x-vault"));
	g_assert_true(rg_hide_is_header(&hide, "Proxy-Authorization"));
	g_assert_false(rg_hide_is_header(&hide, "X-Vault-Request"));
	rg_hide_clear(&hide);
}

static void without_a_provider_oauth_is_hidden(void)
{
	RgHide hide;
	rg_hide_init(&hide, NULL);
	g_autofree char *shown = rg_hide(&hide, "UserData=x&refresh_token=y");
	g_assert_cmpstr(shown, ==, "UserData=x&refresh_token=[redacted]");
	rg_hide_clear(&hide);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hide/values are hidden by their names", values_are_hidden_by_their_names);
	g_test_add_func("/hide/values are hidden by their place", values_are_hidden_by_their_place);
	g_test_add_func(
		"/hide/headers are hidden by their names", headers_are_hidden_by_their_names);
	g_test_add_func(
		"/hide/without a provider OAuth is hidden", without_a_provider_oauth_is_hidden);
	return g_test_run();
}
