/* The clock of a host. */
#include "ssh/skew.h"
#include <glib.h>

#define BEFORE 1800000000
#define AFTER (BEFORE + 120)

static void assert_skew(const char *clock, int64_t expected)
{
	g_assert_cmpint(ssh_skew_s(clock, BEFORE, AFTER), ==, expected);
}

static void another_host_that_is_slow_moves_no_clock(void)
{
	assert_skew("1800000000", 0);
	assert_skew("1800000001", 0);
	assert_skew("1800000120", 0);
}

static void what_cannot_be_its_delay_is_a_wrong_clock(void)
{
	assert_skew("1799999910", -90);
	assert_skew("1800003720", 3600);
	assert_skew("0", -BEFORE);
}

static void no_answer_overflows(void)
{
	assert_skew("-9223372036854775808", -BEFORE);
	assert_skew("9223372036854775807", 3000000000LL - AFTER);
	assert_skew("99999999999999999999999", 3000000000LL - AFTER);
	assert_skew("noon", -BEFORE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/skew/slow", another_host_that_is_slow_moves_no_clock);
	g_test_add_func("/ssh/skew/wrong", what_cannot_be_its_delay_is_a_wrong_clock);
	g_test_add_func("/ssh/skew/hostile", no_answer_overflows);
	return g_test_run();
}
