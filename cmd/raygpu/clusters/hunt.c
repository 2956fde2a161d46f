#include "clusters/turn.h"
#include "base/clock.h"

/* --capacity-timeout: how long the cloud is asked for nodes that it has no capacity for. */

static int64_t seconds_of(const char *unit)
{
	return *unit == 'd' ? 86400 : *unit == 'h' ? 3600 : *unit == 'm' ? 60 : 1;
}

/* Until that time of today, or of tomorrow when it is over; local time. */
static int64_t until_s(int64_t now_s, int hour, int minute)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_local(now_s);
	g_autoptr(GDateTime) today = g_date_time_new_local(g_date_time_get_year(now),
		g_date_time_get_month(now), g_date_time_get_day_of_month(now), hour, minute, 0);
	g_autoptr(GDateTime) tomorrow = g_date_time_add_days(today, 1);
	bool over = g_date_time_compare(today, now) <= 0;
	return g_date_time_to_unix(over ? tomorrow : today) - now_s;
}

bool hunt_parse(const char *text, int64_t *capacity_ms)
{
	static const char form[] = "^(?:(\\d{1,6})([smhd])|([01]?\\d|2[0-3]):([0-5]\\d)|0)$";
	g_autoptr(GRegex) regex = g_regex_new(form, G_REGEX_DOLLAR_ENDONLY, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	if (!g_regex_match(regex, text, 0, &match))
		return false;
	g_autofree char *count = g_match_info_fetch(match, 1);
	g_autofree char *unit = g_match_info_fetch(match, 2);
	g_autofree char *hour = g_match_info_fetch(match, 3);
	g_autofree char *minute = g_match_info_fetch(match, 4);
	int64_t seconds = 0;
	if (count && *count)
		seconds = g_ascii_strtoll(count, NULL, 10) * seconds_of(unit);
	else if (hour && *hour)
		seconds = until_s(rg_clock_now_s(), (int)g_ascii_strtoll(hour, NULL, 10),
			(int)g_ascii_strtoll(minute, NULL, 10));
	*capacity_ms = seconds * 1000;
	return true;
}
