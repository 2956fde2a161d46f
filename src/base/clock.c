#include "base/clock.h"

#include <glib.h>
#include <inttypes.h>
#include <time.h>

int64_t rg_clock_now_s(void)
{
	return (int64_t)time(NULL);
}

int64_t rg_clock_monotonic_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *rg_clock_format_now(void)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	return g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");
}

char *rg_clock_format(int64_t unix_s)
{
	g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(unix_s);
	/* GLib supports the years 1 to 9999; a time outside is shown as a number. */
	if (!date)
		return g_strdup_printf("%" PRId64, unix_s);
	return g_date_time_format(date, "%Y-%m-%dT%H:%M:%SZ");
}

char *rg_clock_show(int64_t unix_s)
{
	g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(unix_s);
	if (!date)
		return rg_clock_format(unix_s);
	return g_date_time_format(date,
		g_date_time_get_second(date) ? "%Y-%m-%d %H:%M:%S UTC" : "%Y-%m-%d %H:%M UTC");
}
