#include "ssh/skew.h"
#include <glib.h>

#define CLOCK_MAX_S 3000000000LL /* a host may answer anything */

int64_t ssh_skew_s(const char *clock, int64_t before_s, int64_t after_s)
{
	int64_t clock_s = CLAMP(g_ascii_strtoll(clock, NULL, 10), 0, CLOCK_MAX_S);
	return clock_s - CLAMP(clock_s, before_s, after_s);
}
