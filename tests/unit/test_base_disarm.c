/* What GitHub's runner and other CI systems would treat as a command. */
#include "base/disarm.h"
#include "base/json.h"
#include <string.h>

#define X "\357\277\275"

static void check(const char *text, const char *expected)
{
	g_autofree char *shown = rg_disarm(text);
	g_assert_cmpstr(shown, ==, expected);
	g_autofree char *again = rg_disarm(shown);
	g_assert_cmpstr(again, ==, expected);
}

static void a_line_begins_with_no_command(void)
{
	check("::set-output name=a::b", X ":set-output name=a::b");
	check("a\n \t::error::b\n", "a\n \t" X ":error::b\n");
	check("a\r::error::b", "a\r" X ":error::b");
	check("\302\240\343\200\200::error::b", "\302\240\343\200\200" X ":error::b"); /* blanks */
	check("a\342\200\250::error::b", "a\342\200\250" X ":error::b");	       /* U+2028 */
	check(":::error::b", X "::error::b");
	check("from ::1 to aws::x\n: :\n:\n", "from ::1 to aws::x\n: :\n:\n");
}

static void a_hidden_character_hides_nothing(void)
{
	check("\342\200\213:\302\255:error::b", "\342\200\213" X "\302\255:error::b");
	check("#\342\200\213#\315\217[x]", "#\342\200\213" X "\315\217[x]");
	check("\001::error::b", "\001" X ":error::b");
}

static void no_line_has_a_bracket_command(void)
{
	check("image: \"##[set-output name=x;]0\"", "image: \"#" X "[set-output name=x;]0\"");
	check("###[a]##vso[task.setvariable]##team_city[x",
		"##" X "[a]#" X "vso[task.setvariable]#" X "team_city[x");
	check("## heading [a] ## b[ #[ ##\n[", "## heading [a] ## b[ #[ ##\n[");
	check("##\033[0m", "##\033[0m"); /* a colour's end */
	check("##", "##");
}

static void bytes_that_are_no_text_stay(void)
{
	check("\377::error::b\n\377\n::error::\377", "\377::error::b\n\377\n" X ":error::\377");
}

static void json_stays_the_same_document(void)
{
	static const char text[] = "{\"a##[b]\":[\"##vso[x.y]\",\"##[\"]}";
	g_autofree char *shown = rg_disarm_json(text);
	g_assert_null(strstr(shown, "##"));
	json_auto_t *before = json_loads(text, 0, NULL);
	json_auto_t *after = json_loads(shown, 0, NULL);
	g_assert_true(json_equal(before, after));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/disarm/line", a_line_begins_with_no_command);
	g_test_add_func("/disarm/hidden", a_hidden_character_hides_nothing);
	g_test_add_func("/disarm/bracket", no_line_has_a_bracket_command);
	g_test_add_func("/disarm/bytes", bytes_that_are_no_text_stay);
	g_test_add_func("/disarm/json", json_stays_the_same_document);
	return g_test_run();
}
