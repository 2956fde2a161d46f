/* Token bucket for all threads of one transport. A thread reserves its token at once and learns how
 * long to wait for it, so waiting threads are served in order. Throttling halves the rate; answers
 * raise it slowly. Thread-safe. */
#pragma once
#include <pthread.h>
#include <stdint.h>

typedef struct {
	pthread_mutex_t lock;
	double configured, rate; /* tokens per second; configured 0 = no limit */
	double burst, tokens;	 /* tokens may be negative: reserved in advance */
	int64_t filled_ms;	 /* on the monotonic clock */
} RgRate;

void rg_rate_init(RgRate *rate, double requests_per_s, unsigned burst, int64_t now_ms);
void rg_rate_clear(RgRate *rate);
/* Reserves one request; returns the milliseconds to wait before sending it. */
unsigned rg_rate_take(RgRate *rate, int64_t now_ms);
void rg_rate_throttled(RgRate *rate);
void rg_rate_answered(RgRate *rate);
