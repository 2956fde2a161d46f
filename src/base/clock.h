/* The only place that reads the clock. No setting changes it: unit tests that would sleep link
 * tests/unit/virtual_clock.c, whole programs run under libfaketime. Thread-safe. */
#pragma once
#include <stdint.h>

int64_t rg_clock_now_s(void);	     /* Unix seconds */
int64_t rg_clock_monotonic_ms(void); /* for durations */
/* Now, "2026-11-21T09:47:02.123456Z"; g_free the result. */
char *rg_clock_format_now(void);
/* "2026-11-21T09:47:02Z"; g_free the result. */
char *rg_clock_format(int64_t unix_s);
/* For people: "2026-11-21 09:47 UTC", with seconds if there are any; g_free. */
char *rg_clock_show(int64_t unix_s);
