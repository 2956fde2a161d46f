/* What a price is worth, as marks behind it in a table. Pure: the day is an argument. */
#pragma once
#include <stdbool.h>

/* "2026", "2026-07" or "2026-07-20", by its form. */
bool rg_date_is_valid(const char *text);
/* "~" if the price is derived from others, "*" if it is older than a year on `today`
 * ("2026-11-22"), both or neither. Each may be NULL: not known. */
const char *rg_price_marks(const char *quality, const char *date, const char *today);

/* The marks that a table has. */
typedef struct {
	bool derived, old;
} RgPriceMarks;
/* The same, and adds them to `seen`. */
const char *rg_price_mark(
	RgPriceMarks *seen, const char *quality, const char *date, const char *today);
/* What a sum of prices rests on. */
typedef struct {
	const char *oldest; /* date, interned; NULL: not known */
	bool derived;	    /* one of them is */
} RgPriceBasis;
void rg_price_basis_add(RgPriceBasis *basis, const char *quality, const char *date);
/* The marks of that sum. */
const char *rg_price_mark_sum(RgPriceMarks *seen, const RgPriceBasis *basis, const char *today);
/* The line below such a table, without a line feed; NULL: it has no marks. */
const char *rg_price_legend(const RgPriceMarks *seen);
