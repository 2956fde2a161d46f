/* json, money, clock, log and redact. */
#include <string.h>
#include <unistd.h>
#include "base/caps.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/money.h"
#include "base/redact.h"

static void equal_values_give_equal_bytes(void)
{
	json_auto_t *a = json_pack("{s:i, s:[s, n]}", "b", 1, "a", "x");
	json_auto_t *b = json_pack("{s:[s, n], s:i}", "a", "x", "b", 1);
	g_autofree char *text = rg_json_canonical(a);
	g_assert_cmpstr(text, ==, "{\"a\":[\"x\",null],\"b\":1}");
	g_autofree char *digest_a = rg_json_digest(a);
	g_autofree char *digest_b = rg_json_digest(b);
	g_assert_cmpstr(digest_a, ==, digest_b);
	/* printf '{"a":["x",null],"b":1}' | sha256sum */
	g_assert_cmpstr(
		digest_a, ==, "51ea4a015bf57b32336168fc743a8366704ee3f1c1b5668a57068719f24a4d8f");
	json_auto_t *number = json_integer(7);
	g_autofree char *bare = rg_json_canonical(number);
	g_assert_cmpstr(bare, ==, "7");
}

static json_t *parse(const char *text, RgDiags *diags)
{
	return rg_json_parse(text, strlen(text), "the reply", "http.bad-reply", diags);
}

static void bad_json_is_located(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(parse("{\"a\": 1,\n\"a\": 2}", diags));
	g_assert_null(parse("{\"a\": ", diags));
	g_assert_null(parse("\"\\u0000\"", diags));
	g_assert_null(parse("", diags));
	g_assert_cmpuint(rg_diags_count(diags), ==, 4);
	g_assert_true(g_str_has_prefix(
		rg_diags_get(diags, 0)->summary, "the reply is not valid JSON: line 2, column "));
	json_auto_t *text = parse("\"bare\"", diags);
	g_assert_cmpstr(json_string_value(text), ==, "bare");
}

static void whole_numbers_become_integers(void)
{
	static const char written[] =
		"{\"a\": [2.0, {\"b\": -0.0}, 2.5], \"c\": 1e300, \"d\": \"3.0\", "
		"\"e\": 9007199254740992.0, \"f\": 7}";
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *value = parse(written, diags), *same = json_deep_copy(value);
	json_auto_t *integers = rg_json_with_integers(value);
	g_autofree char *text = rg_json_canonical(integers);
	g_assert_cmpstr(text, ==,
		"{\"a\":[2,{\"b\":0},2.5],\"c\":1.0000000000000001e300,\"d\":\"3.0\","
		"\"e\":9007199254740992,\"f\":7}");
	g_assert_true(json_equal(value, same));
	g_assert_null(rg_json_with_integers(NULL));
}

static void deep_json_is_refused(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GString) text = g_string_new(NULL);
	for (int i = 0; i < RG_CAP_JSON_DEPTH; i++)
		g_string_append_c(text, '[');
	for (int i = 0; i < RG_CAP_JSON_DEPTH; i++)
		g_string_append_c(text, ']');
	json_auto_t *deep = parse(text->str, diags);
	g_assert_nonnull(deep);
	g_string_prepend(text, "{\"a\":");
	g_string_append(text, "}");
	g_assert_null(parse(text->str, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "http.bad-reply");
}

static void members_of_another_type_give_the_default(void)
{
	json_auto_t *o = json_pack("{s:s, s:i, s:b}", "s", "x", "i", 3, "b", 1);
	g_assert_cmpstr(rg_json_str(o, "s", "-"), ==, "x");
	g_assert_cmpstr(rg_json_str(o, "i", "-"), ==, "-");
	g_assert_cmpint(rg_json_int(o, "i", 9), ==, 3);
	g_assert_cmpint(rg_json_int(o, "s", 9), ==, 9);
	g_assert_true(rg_json_bool(o, "b", false));
	g_assert_true(rg_json_bool(o, "none", true));
	g_assert_null(rg_json_str(NULL, "s", NULL));
	rg_json_set_str(o, "s", NULL);
	g_assert_true(json_is_null(json_object_get(o, "s")));
}

/* The example document of RFC 6901, section 5. */
static void pointers_follow_rfc_6901(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *doc = parse(
		"{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"m~n\":8,\"~1\":9}", diags);
	g_assert_true(rg_json_at(doc, "") == doc);
	g_assert_cmpstr(json_string_value(rg_json_at(doc, "/foo/0")), ==, "bar");
	g_assert_cmpint(json_integer_value(rg_json_at(doc, "/a~1b")), ==, 1);
	g_assert_cmpint(json_integer_value(rg_json_at(doc, "/m~0n")), ==, 8);
	g_assert_cmpint(json_integer_value(rg_json_at(doc, "/~01")), ==, 9);
	g_assert_true(rg_json_at(doc, "/") == json_object_get(doc, ""));
	const char *nowhere[] = {"foo", "/foo/2", "/foo/01", "/foo/-", "/foo/+1", "/foo/0/x",
		"/bar", "/foo/99999999999999999999", NULL};
	for (int i = 0; nowhere[i] != NULL; i++)
		g_assert_null(rg_json_at(doc, nowhere[i]));
	g_autofree char *pointer = rg_json_pointer_add("/x", "a/b~c");
	g_assert_cmpstr(pointer, ==, "/x/a~1b~0c");
}

static void money_is_exact(void)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {{"21.957642", 21957642}, {"0", 0}, {"32.7726", 32772600}, {"0.0000005", 1},
		{"0.00000049", 0}, {"9223372036854.775807", INT64_MAX}, {"007.10", 7100000}};
	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		int64_t value = -1;
		g_assert_true(rg_money_parse(good[i].text, &value));
		g_assert_cmpint(value, ==, good[i].value);
	}
	static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1.", ".5", "1e3", "1,5",
		"NaN", "0x1", "9223372036854.775808", "9223372036854.7758075",
		"99999999999999999999"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		int64_t value = 42;
		g_assert_false(rg_money_parse(bad[i], &value));
		g_assert_cmpint(value, ==, 42);
	}
}

static void assert_money(int64_t value, const char *rounded, const char *exact)
{
	g_autofree char *a = rg_money_format(value);
	g_autofree char *b = rg_money_exact(value);
	g_assert_cmpstr(a, ==, rounded);
	g_assert_cmpstr(b, ==, exact);
}

static void money_is_shown_in_cents_and_exactly(void)
{
	assert_money(21957642, "$21.96", "21.957642");
	assert_money(-1000000, "-$1.00", "-1");
	assert_money(-4999, "$0.00", "-0.004999");
	assert_money(5000, "$0.01", "0.005");
	assert_money(0, "$0.00", "0");
	assert_money(RG_MONEY_UNKNOWN, "unknown", "unknown");
	assert_money(INT64_MAX, "$9223372036854.78", "9223372036854.775807");
}

static void times_are_utc(void)
{
	g_autofree char *text = rg_clock_format(1795254422);
	g_assert_cmpstr(text, ==, "2026-11-21T09:47:02Z");
	g_autofree char *far = rg_clock_format(INT64_MAX);
	g_assert_cmpstr(far, ==, "9223372036854775807");
	g_assert_cmpint(rg_clock_now_s(), >, 1700000000);
	int64_t before = rg_clock_monotonic_ms();
	g_usleep(20000);
	g_assert_cmpint(rg_clock_monotonic_ms() - before, >=, 19);
}

#define SECRET "s3cret/with+odd=\"chars\"&<"

static void assert_redacted(const char *text)
{
	g_autofree char *clean = rg_redact(text, strlen(text));
	if (!strstr(clean, "[redacted]"))
		g_error("not redacted: %s -> %s", text, clean);
}

static void secrets_vanish_in_every_form(void)
{
	rg_redact_add(SECRET, strlen(SECRET));
	rg_redact_add("short", 5);
	rg_redact_add("line\nbreak", 10);
	assert_redacted("a " SECRET " b");
	g_autofree char *url = g_uri_escape_string(SECRET, NULL, FALSE);
	assert_redacted(url);
	json_auto_t *json = json_pack("[s, s]", SECRET, "line\nbreak");
	g_autofree char *text = rg_json_canonical(json);
	g_autofree char *clean = rg_redact(text, strlen(text));
	g_assert_cmpstr(clean, ==, "[\"[redacted]\",\"[redacted]\"]");
	for (int shift = 0; shift < 7; shift++) {
		g_autofree char *script =
			g_strdup_printf("%.*s" SECRET "export more", shift, "abcdefg");
		g_autofree char *base64 = g_base64_encode((const guchar *)script, strlen(script));
		assert_redacted(base64);
		g_autofree char *form = g_uri_escape_string(base64, NULL, FALSE);
		assert_redacted(form);
	}
	g_autofree char *kept = rg_redact("short", 5);
	g_assert_cmpstr(kept, ==, "short");
	g_autofree char *twice = rg_redact(SECRET SECRET, 2 * strlen(SECRET));
	g_assert_cmpstr(twice, ==, "[redacted][redacted]");
}

static void the_log_redacts_and_keeps_to_one_line(void)
{
	int ends[2];
	g_assert_cmpint(pipe(ends), ==, 0);
	rg_redact_add("topsecret-value", 15);
	rg_log_init(RG_LOG_INFO, ends[1]);
	rg_log(RG_LOG_DEBUG, "not at this level");
	rg_log(RG_LOG_INFO, "key is %s\nand more", "topsecret-value");
	rg_log_init(RG_LOG_OFF, -1);
	rg_log(RG_LOG_INFO, "nor when off");
	close(ends[1]);
	char text[256] = "";
	ssize_t n = read(ends[0], text, sizeof text - 1);
	g_assert_cmpint(n, >, 0);
	close(ends[0]);
	g_assert_nonnull(strstr(text, "Z info key is [redacted] and more\n"));
	g_assert_null(strstr(text, "level"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json/equal values give equal bytes", equal_values_give_equal_bytes);
	g_test_add_func("/json/bad text is located", bad_json_is_located);
	g_test_add_func("/json/whole numbers become integers", whole_numbers_become_integers);
	g_test_add_func("/json/deep text is refused", deep_json_is_refused);
	g_test_add_func("/json/members of another type give the default",
		members_of_another_type_give_the_default);
	g_test_add_func("/json/pointers follow RFC 6901", pointers_follow_rfc_6901);
	g_test_add_func("/money/parsing is exact", money_is_exact);
	g_test_add_func("/money/shown in cents and exactly", money_is_shown_in_cents_and_exactly);
	g_test_add_func("/clock/times are UTC", times_are_utc);
	g_test_add_func("/redact/secrets vanish in every form", secrets_vanish_in_every_form);
	g_test_add_func(
		"/log/redacts and keeps to one line", the_log_redacts_and_keeps_to_one_line);
	return g_test_run();
}
