#include "http/rate.h"

#include <glib.h>

#define SLOWEST 0.1   /* minimum share of the configured rate that throttling leaves */
#define RECOVERY 0.02 /* share of it that each good answer restores */

void rg_rate_init(RgRate *rate, double requests_per_s, unsigned burst, int64_t now_ms)
{
	*rate = (RgRate){.configured = requests_per_s,
		.rate = requests_per_s,
		.burst = MAX(burst, 1),
		.tokens = MAX(burst, 1),
		.filled_ms = now_ms};
	pthread_mutex_init(&rate->lock, NULL);
}

void rg_rate_clear(RgRate *rate)
{
	pthread_mutex_destroy(&rate->lock);
}

unsigned rg_rate_take(RgRate *rate, int64_t now_ms)
{
	if (rate->configured <= 0)
		return 0;
	pthread_mutex_lock(&rate->lock);
	double gained = (double)MAX(now_ms - rate->filled_ms, 0) / 1000 * rate->rate;
	rate->tokens = MIN(rate->tokens + gained, rate->burst) - 1;
	rate->filled_ms = MAX(rate->filled_ms, now_ms);
	double wait_s = rate->tokens < 0 ? -rate->tokens / rate->rate : 0;
	pthread_mutex_unlock(&rate->lock);
	return (unsigned)(MIN(wait_s, 3600) * 1000);
}

void rg_rate_throttled(RgRate *rate)
{
	pthread_mutex_lock(&rate->lock);
	rate->rate = MAX(rate->rate / 2, rate->configured * SLOWEST);
	rate->tokens = MIN(rate->tokens, 0);
	pthread_mutex_unlock(&rate->lock);
}

void rg_rate_answered(RgRate *rate)
{
	pthread_mutex_lock(&rate->lock);
	rate->rate = MIN(rate->rate + rate->configured * RECOVERY, rate->configured);
	pthread_mutex_unlock(&rate->lock);
}
