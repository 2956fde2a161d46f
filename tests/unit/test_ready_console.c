/* How raygpu interprets a node's console. */
#include "ready/console.h"

#define R "raygpu: v1 "
#define B " boot=0a1b2c3d"

static void test_each_report_moves_the_node_on(void)
{
	static const struct {
		const char *line, *step;
		RgNodeState state;
	} lines[] = {
		{R "booted" B " step=docker end", "docker", RG_NODE_BOOTED},
		{R "doing" B " step=driver end", "driver", RG_NODE_BOOTED},
		{R "driver" B " step=driver driver=550.1 end", "driver", RG_NODE_DRIVER},
		{R "gpus" B " step=gpus seen=8 end", "gpus", RG_NODE_GPUS},
		{R "pulling" B " step=pull image=a/b:c end", "pull", RG_NODE_PULLING},
		{R "unheard-of" B " step=scrub end", "scrub", RG_NODE_PULLING},
		{"login: " R "pulled" B " step=pull end\r", "pull", RG_NODE_PULLED},
		{R "joined" B " step=ray gpus=8 driver=550.1 end", "ray", RG_NODE_JOINED},
	};
	g_autoptr(GString) text = g_string_new("[    0.0] Linux\n");
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_string_append_printf(text, "%s\n", lines[i].line);
		g_autoptr(RgConsole) console = rg_console_parse(text->str);
		g_assert_cmpint(console->state, ==, lines[i].state);
		g_assert_cmpstr(console->step, ==, lines[i].step);
		g_assert_cmpstr(console->driver, ==, i < 2 ? NULL : "550.1");
		g_assert_cmpint(console->gpus, ==, lines[i].state == RG_NODE_JOINED ? 8 : -1);
		g_assert_null(console->reason);
		g_assert_cmpuint(console->tail->len, ==, 1);
	}
}

static void test_a_failure_is_kept_until_the_node_joins(void)
{
	static const char failed[] =
		R "booted" B " step=docker end\n"
		  "start-ray[8]: raygpu: can't pull x; trying again\n" R "failed" B
		  " step=pull code=1 reason=\"can't pull `$x\" end\n";
	g_autofree char *again = g_strconcat(failed, R "booted" B " step=docker end\n", NULL);
	g_autofree char *joined =
		g_strconcat(again, R "joined" B " step=ray gpus=0 driver=\"\" end\n", NULL);
	g_autoptr(RgConsole) one = rg_console_parse(failed), two = rg_console_parse(again),
			     three = rg_console_parse(joined);
	g_assert_cmpint(one->state, ==, RG_NODE_FAILED);
	g_assert_cmpint(one->code, ==, 1);
	g_assert_cmpstr(one->reason, ==, "can't pull `$x");
	g_assert_cmpstr(
		one->tail->pdata[0], ==, "start-ray[8]: raygpu: can't pull x; trying again");
	g_assert_cmpint(two->state, ==, RG_NODE_BOOTED);
	g_assert_cmpstr(two->step, ==, "docker");
	g_assert_cmpstr(two->failed_step, ==, "pull");
	g_assert_cmpstr(two->reason, ==, "can't pull `$x");
	g_assert_cmpint(three->state, ==, RG_NODE_JOINED);
	g_assert_null(three->reason);
	g_assert_null(three->driver);
}

static void test_gpus_are_named(void)
{
	static const char seen[] = R "gpus" B " step=gpus seen=2 gpu=GPU-a,GPU-b end\n";
	g_autofree char *failed = g_strconcat(seen,
		R "failed" B
		  " step=gate code=78 reason=\"GPU 1: Xid 79\" gpu=GPU-b serial=\"\" end\n",
		NULL);
	g_autofree char *joined =
		g_strconcat(failed, R "joined" B " step=ray gpus=2 driver=550.1 end\n", NULL);
	g_autofree char *booted =
		g_strconcat(failed, R "booted boot=ffffffff step=docker end\n", NULL);
	g_autoptr(RgConsole) one = rg_console_parse(failed), two = rg_console_parse(joined),
			     three = rg_console_parse(booted);
	g_assert_cmpuint(g_strv_length(one->uuids), ==, 2);
	g_assert_cmpstr(one->uuids[1], ==, "GPU-b");
	g_assert_cmpuint(g_strv_length(one->bad_uuids), ==, 1);
	g_assert_cmpstr(one->bad_uuids[0], ==, "GPU-b");
	g_assert_null(one->bad_serials);
	g_assert_nonnull(two->uuids);
	g_assert_null(two->bad_uuids);
	g_assert_null(three->uuids);
	g_assert_null(three->bad_uuids);
}

static void test_a_cut_line_counts_for_nothing(void)
{
	static const char *const lines[] = {
		R "joined" B " step=ray gpus=8",
		R "joined" B " step=ray gpus=8 driver=550.1 en",
		R "joined" B " step=ray gpus=8 reason=\"a end",
		R "joined step=ray gpus=8 end",
		R "end",
		"raygpu: v2 joined" B " step=ray gpus=8 end",
		"raygpu: joined the cluster end",
	};
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autoptr(RgConsole) console = rg_console_parse(lines[i]);
		g_assert_cmpint(console->state, ==, RG_NODE_SILENT);
	}
	g_autoptr(RgConsole) empty = rg_console_parse(NULL);
	g_assert_cmpint(empty->state, ==, RG_NODE_SILENT);
	g_assert_cmpstr(empty->step, ==, "");
}

static void test_another_boot_ends_what_was_reported(void)
{
	g_autoptr(RgConsole) console = rg_console_parse(R
		"nodes" B " step=ray at=7 part=1 parts=1 width=6 gpus=8 driver=5 ids=abcdef end\n" R
		"joined" B " step=ray gpus=8 driver=550.1 end\n" R
		"booted boot=ffffffff step=docker end\n");
	g_assert_cmpint(console->state, ==, RG_NODE_BOOTED);
	g_assert_null(console->driver);
	g_assert_null(console->roster);
}

/* sha256("i-1") and ("i-2") in base64, by python3 */
#define FIRST "8QWxHf"
#define SECOND "tJpA9H"

static char *nodes_line(int at, int part, int parts, int gpus, const char *ids)
{
	return g_strdup_printf(R "nodes" B " step=ray at=%d part=%d parts=%d width=6 gpus=%d "
				 "driver=550.1 ids=%s end\n",
		at, part, parts, gpus, ids);
}

static void test_the_heads_roster_names_the_members(void)
{
	g_autofree char *one = nodes_line(7, 1, 2, 8, FIRST "123456");
	g_autofree char *two = nodes_line(7, 2, 2, 0, SECOND);
	g_autofree char *text = g_strconcat(one, "[  9.1] kernel\n", two, NULL);
	g_autoptr(RgConsole) console = rg_console_parse(text);
	const RgRoster *roster = console->roster;
	g_assert_nonnull(roster);
	g_assert_cmpint(roster->at, ==, 7);
	g_assert_cmpuint(g_hash_table_size(roster->members), ==, 3);
	g_assert_cmpint(rg_roster_find(roster, "i-1")->gpus, ==, 8);
	g_assert_cmpstr(rg_roster_find(roster, "i-1")->driver, ==, "550.1");
	g_assert_cmpint(rg_roster_find(roster, "i-2")->gpus, ==, 0);
	g_assert_null(rg_roster_find(roster, "i-3"));
}

static void test_the_head_says_what_ray_waits_for(void)
{
	g_autoptr(RgConsole) silent = rg_console_parse(R "booted" B " step=start end\n");
	g_assert_cmpint(silent->demand.at, ==, -1);
	g_autoptr(RgConsole) console = rg_console_parse(
		R "demand" B " step=ray at=7 requests=3 groups=1 shapes=3xCPU:1+GPU:8 end\n");
	g_assert_cmpint(console->demand.at, ==, 7);
	g_assert_cmpint(console->demand.requests, ==, 3);
	g_assert_cmpint(console->demand.groups, ==, 1);
	g_assert_cmpstr(console->demand.shapes, ==, "3xCPU:1+GPU:8");
	g_autoptr(RgConsole) wrong =
		rg_console_parse(R "demand" B " step=ray at=7 requests=-3 groups=1 shapes=x end\n");
	g_assert_cmpint(wrong->demand.at, ==, -1);
}

static void test_an_incomplete_roster_leaves_the_last_whole_one(void)
{
	g_autofree char *whole = nodes_line(7, 1, 1, 8, FIRST);
	g_autofree char *begun = nodes_line(9, 1, 2, 8, SECOND);
	g_autofree char *other = nodes_line(8, 2, 2, 8, SECOND);
	g_autofree char *late = nodes_line(9, 3, 3, 8, SECOND);
	const char *const wrong[] = {"", other, late};
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *text = g_strconcat(whole, begun, wrong[i], NULL);
		g_autoptr(RgConsole) console = rg_console_parse(text);
		g_assert_cmpint(console->roster->at, ==, 7);
		g_assert_nonnull(rg_roster_find(console->roster, "i-1"));
		g_assert_null(rg_roster_find(console->roster, "i-2"));
	}
}

static void test_the_last_lines_are_clean_and_few(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (int i = 0; i < 30; i++)
		g_string_append_printf(text, "line %d\t\x1b[31m\xff\r\n\n", i);
	g_autofree char *grown = g_strnfill(5000, 'x');
	g_string_append(text, grown);
	g_autoptr(RgConsole) console = rg_console_parse(text->str);
	g_assert_cmpuint(console->tail->len, ==, 10);
	g_assert_cmpstr(console->tail->pdata[0], ==, "line 21  [31m\357\277\275");
	g_assert_cmpuint(strlen(console->tail->pdata[9]), ==, 199);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/console/each-report-moves-the-node-on", test_each_report_moves_the_node_on);
	g_test_add_func("/console/a-failure-is-kept-until-the-node-joins",
		test_a_failure_is_kept_until_the_node_joins);
	g_test_add_func("/console/gpus-are-named", test_gpus_are_named);
	g_test_add_func(
		"/console/a-cut-line-counts-for-nothing", test_a_cut_line_counts_for_nothing);
	g_test_add_func("/console/another-boot-ends-what-was-reported",
		test_another_boot_ends_what_was_reported);
	g_test_add_func("/console/the-heads-roster-names-the-members",
		test_the_heads_roster_names_the_members);
	g_test_add_func(
		"/console/the-head-says-what-ray-waits-for", test_the_head_says_what_ray_waits_for);
	g_test_add_func("/console/an-incomplete-roster-leaves-the-last-whole-one",
		test_an_incomplete_roster_leaves_the_last_whole_one);
	g_test_add_func(
		"/console/the-last-lines-are-clean-and-few", test_the_last_lines_are_clean_and_few);
	return g_test_run();
}
