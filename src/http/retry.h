/* When to retry and how long to wait: pure arithmetic, without a clock. */
#pragma once
#include "http/http.h"

/* The classification for requests without a classifier. */
RgHttpVerdict rg_retry_classify(int status);
/* Full jitter: uniform in 0..min(cap, base * 2^(tries-1)). `tries` = tries made so far, from 1. */
unsigned rg_retry_backoff_ms(RgHttpVerdict verdict, unsigned tries);
/* For hosts that cannot be reached: short, so that a wrong endpoint fails within 3 s. */
unsigned rg_retry_connect_ms(unsigned tries);
/* Retry-After (RFC 9110, 10.2.3: seconds or a date), at most RG_RETRY_AFTER_MAX_S; 0 if
 * absent or past. */
unsigned rg_retry_after_ms(const char *value, int64_t now_s);

#define RG_RETRY_CONNECT_TRIES 3
#define RG_RETRY_AFTER_MAX_S 1000000 /* far longer than a call may take */
