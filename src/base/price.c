#include "base/price.h"
#include <glib.h>
#include <string.h>

bool rg_date_is_valid(const char *text)
{
	static const char form[] = "dddd-dd-dd";
	size_t len = strlen(text);
	if (len != 4 && len != 7 && len != 10)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (form[i] == 'd' ? !g_ascii_isdigit(text[i]) : text[i] != form[i])
			return false;
	}
	return true;
}

/* The last day that the date can mean: a year or a month is not older than its end. */
static char *last_day(const char *date)
{
	return g_strconcat(date,
		strlen(date) == 4   ? "-12-31"
		: strlen(date) == 7 ? "-31"
				    : "",
		NULL);
}

const char *rg_price_marks(const char *quality, const char *date, const char *today)
{
	static const char *const marks[] = {"", "~", "*", "~*"};
	bool derived = g_strcmp0(quality, "derived") == 0, old = false;
	if (date && today && rg_date_is_valid(date) && rg_date_is_valid(today)) {
		g_autofree char *day = last_day(date);
		g_autofree char *year_on =
			g_strdup_printf("%04d%s", (int)g_ascii_strtoll(day, NULL, 10) + 1, day + 4);
		old = strcmp(year_on, today) < 0;
	}
	return marks[derived + 2 * old];
}

const char *rg_price_mark(
	RgPriceMarks *seen, const char *quality, const char *date, const char *today)
{
	const char *marks = rg_price_marks(quality, date, today);
	seen->derived |= strchr(marks, '~') != NULL;
	seen->old |= strchr(marks, '*') != NULL;
	return marks;
}

void rg_price_basis_add(RgPriceBasis *basis, const char *quality, const char *date)
{
	basis->derived |= g_strcmp0(quality, "derived") == 0;
	if (date && (!basis->oldest || strcmp(date, basis->oldest) < 0))
		basis->oldest = g_intern_string(date);
}

const char *rg_price_mark_sum(RgPriceMarks *seen, const RgPriceBasis *basis, const char *today)
{
	return rg_price_mark(seen, basis->derived ? "derived" : NULL, basis->oldest, today);
}

const char *rg_price_legend(const RgPriceMarks *seen)
{
	static const char *const legends[] = {NULL, "~ derived from other prices",
		"* older than a year", "~ derived from other prices; * older than a year"};
	return legends[seen->derived + 2 * seen->old];
}
