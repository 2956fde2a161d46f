/* The one place that asks what time it is. RAYGPU_FAKE_TIME does not exist: tests that need
 * another time use libfaketime. Thread-safe. */
#pragma once
#include <stdint.h>

int64_t rg_clock_now_s(void);	     /* Unix seconds */
int64_t rg_clock_monotonic_ms(void); /* for durations */
/* "2026-11-21T09:47:02Z"; g_free the result. */
char *rg_clock_format(int64_t unix_s);
