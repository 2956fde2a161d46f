/* The core schema of YAML 1.2.2 (section 10.3.2) as a table: text, kind, JSON. */
#include "base/json.h"
#include "spec/scalar.h"

static const struct {
	const char *text;
	RgScalarKind kind;
	const char *json;
} rows[] = {
	{"", RG_SCALAR_NULL, "null"},
	{"~", RG_SCALAR_NULL, "null"},
	{"null", RG_SCALAR_NULL, "null"},
	{"NULL", RG_SCALAR_NULL, "null"},
	{"nULL", RG_SCALAR_TEXT, "\"nULL\""},
	{"true", RG_SCALAR_BOOLEAN, "true"},
	{"True", RG_SCALAR_BOOLEAN, "true"},
	{"FALSE", RG_SCALAR_BOOLEAN, "false"},
	{"tRUE", RG_SCALAR_TEXT, "\"tRUE\""},
	{"yes", RG_SCALAR_WORD11, "\"yes\""},
	{"No", RG_SCALAR_WORD11, "\"No\""},
	{"on", RG_SCALAR_WORD11, "\"on\""},
	{"OFF", RG_SCALAR_WORD11, "\"OFF\""},
	{"y", RG_SCALAR_WORD11, "\"y\""},
	{"N", RG_SCALAR_WORD11, "\"N\""},
	{"yEs", RG_SCALAR_TEXT, "\"yEs\""},
	{"none", RG_SCALAR_TEXT, "\"none\""},
	{"0", RG_SCALAR_NUMBER, "0"},
	{"-12", RG_SCALAR_NUMBER, "-12"},
	{"+12", RG_SCALAR_NUMBER, "12"},
	{"010", RG_SCALAR_NUMBER, "10"},
	{"0o17", RG_SCALAR_NUMBER, "15"},
	{"0x1F", RG_SCALAR_NUMBER, "31"},
	{"0o8", RG_SCALAR_TEXT, "\"0o8\""},
	{"0x", RG_SCALAR_TEXT, "\"0x\""},
	{"-0x1", RG_SCALAR_TEXT, "\"-0x1\""},
	{"0o-7", RG_SCALAR_TEXT, "\"0o-7\""},
	{"1_000", RG_SCALAR_TEXT, "\"1_000\""},
	{"1:30", RG_SCALAR_TEXT, "\"1:30\""},
	{"0b11", RG_SCALAR_TEXT, "\"0b11\""},
	{"3.10", RG_SCALAR_NUMBER, "3.1"},
	{"3.", RG_SCALAR_NUMBER, "3.0"},
	{".5", RG_SCALAR_NUMBER, "0.5"},
	{"-.5", RG_SCALAR_NUMBER, "-0.5"},
	{"1e3", RG_SCALAR_NUMBER, "1000.0"},
	{"1.5E-3", RG_SCALAR_NUMBER, "0.0015"},
	{".", RG_SCALAR_TEXT, "\".\""},
	{"-", RG_SCALAR_TEXT, "\"-\""},
	{"+", RG_SCALAR_TEXT, "\"+\""},
	{"1e", RG_SCALAR_TEXT, "\"1e\""},
	{"1e+", RG_SCALAR_TEXT, "\"1e+\""},
	{"e3", RG_SCALAR_TEXT, "\"e3\""},
	{"2.52.0", RG_SCALAR_TEXT, "\"2.52.0\""},
	{"2026-11-21", RG_SCALAR_TEXT, "\"2026-11-21\""},
	{"9223372036854775807", RG_SCALAR_NUMBER, "9223372036854775807"},
	{"9223372036854775808", RG_SCALAR_TOO_LARGE, "null"},
	{"0xffffffffffffffff", RG_SCALAR_TOO_LARGE, "null"},
	{"1e999", RG_SCALAR_TOO_LARGE, "null"},
	{"1e-999", RG_SCALAR_NUMBER, "0.0"},
	{".inf", RG_SCALAR_NOT_FINITE, "null"},
	{"-.INF", RG_SCALAR_NOT_FINITE, "null"},
	{".NaN", RG_SCALAR_NOT_FINITE, "null"},
	{"inf", RG_SCALAR_TEXT, "\"inf\""},
	{"nan", RG_SCALAR_TEXT, "\"nan\""},
};

static void resolves_as_yaml_1_2(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		json_auto_t *value = NULL;
		g_test_message("\"%s\"", rows[i].text);
		g_assert_cmpint(rg_scalar_resolve(rows[i].text, &value), ==, rows[i].kind);
		json_auto_t *wanted = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
		g_assert_nonnull(wanted);
		g_assert_true(json_equal(value, wanted));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spec/scalar/resolves-as-yaml-1-2", resolves_as_yaml_1_2);
	return g_test_run();
}
