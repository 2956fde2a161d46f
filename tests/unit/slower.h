/* For limits of processor time: how many times slower than normal the test runs. 1, or the value of
 * RAYGPU_TEST_SLOWER, which tests/valgrind sets. */
#pragma once
#include <glib.h>

static inline int times_slower(void)
{
	const char *said = g_getenv("RAYGPU_TEST_SLOWER");
	return said ? MAX(1, (int)g_ascii_strtoll(said, NULL, 10)) : 1;
}
