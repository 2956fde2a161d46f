/* Money is int64 micro-USD. An unknown price is RG_MONEY_UNKNOWN, never zero; a sum ignores unknown
 * prices, and the caller counts them. */
#pragma once
#include <glib.h>
#include <stdint.h>
#include <stdbool.h>

#define RG_MONEY_UNKNOWN INT64_MIN

/* As in the clouds' own calculators. */
#define RG_MONTH_HOURS 730
#define RG_DAY_HOURS 24

/* "21.957642" -> 21957642; false for anything but an unsigned decimal. Digits after the sixth
 * decimal are rounded half up. */
bool rg_money_parse(const char *text, int64_t *microusd);
/* "$21.96" (rounded to cents; negative: "-$1.00"), or "unknown". g_free the result. */
char *rg_money_format(int64_t microusd);
/* Exact decimal without exponent or trailing zeros, "21.957642". g_free the result. */
char *rg_money_exact(int64_t microusd);
