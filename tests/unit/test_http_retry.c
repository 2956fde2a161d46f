/* The arithmetic of waiting: retry.c and rate.c. */
#include "http/rate.h"
#include "http/retry.h"

static void only_these_statuses_are_tried_again(void)
{
	g_assert_cmpint(rg_retry_classify(200), ==, RG_HTTP_OK);
	g_assert_cmpint(rg_retry_classify(204), ==, RG_HTTP_OK);
	g_assert_cmpint(rg_retry_classify(429), ==, RG_HTTP_THROTTLED);
	g_assert_cmpint(rg_retry_classify(503), ==, RG_HTTP_THROTTLED);
	for (int status = 100; status < 600; status++) {
		bool again = rg_retry_classify(status) == RG_HTTP_TRANSIENT;
		g_assert_cmpint(again, ==, status == 500 || status == 502 || status == 504);
	}
	g_assert_cmpint(rg_retry_classify(400), ==, RG_HTTP_FAILED);
	g_assert_cmpint(rg_retry_classify(301), ==, RG_HTTP_FAILED);
}

static void assert_backoff(RgHttpVerdict verdict, unsigned tries, unsigned max_ms)
{
	unsigned lowest = G_MAXUINT, highest = 0;
	for (int i = 0; i < 2000; i++) {
		unsigned ms = rg_retry_backoff_ms(verdict, tries);
		lowest = MIN(lowest, ms);
		highest = MAX(highest, ms);
	}
	g_assert_cmpuint(highest, <=, max_ms);
	g_assert_cmpuint(highest, >, max_ms - max_ms / 20);
	g_assert_cmpuint(lowest, <, max_ms / 20);
}

static void backoff_doubles_with_full_jitter_to_its_cap(void)
{
	assert_backoff(RG_HTTP_TRANSIENT, 1, 500);
	assert_backoff(RG_HTTP_TRANSIENT, 2, 1000);
	assert_backoff(RG_HTTP_TRANSIENT, 6, 16000);
	assert_backoff(RG_HTTP_THROTTLED, 1, 1000);
	assert_backoff(RG_HTTP_THROTTLED, 5, 16000);
	assert_backoff(RG_HTTP_THROTTLED, 6, 20000);
	assert_backoff(RG_HTTP_THROTTLED, 4000000000u, 20000);
	assert_backoff(RG_HTTP_THROTTLED, 0, 1000);
}

static void retry_after_is_seconds_or_a_date(void)
{
	const int64_t now = 784111777; /* the example date of RFC 9110, 5.6.7 */
	g_assert_cmpuint(rg_retry_after_ms("2", now), ==, 2000);
	g_assert_cmpuint(rg_retry_after_ms("0", now), ==, 0);
	g_assert_cmpuint(rg_retry_after_ms("999999", now), ==, 999999000);
	g_assert_cmpuint(rg_retry_after_ms("99999999999999999999999", now), ==, 1000000000);
	g_assert_cmpuint(rg_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", now - 7), ==, 7000);
	g_assert_cmpuint(rg_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", now + 7), ==, 0);
	g_assert_cmpuint(rg_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", 0), ==, 1000000000);
	g_assert_cmpuint(rg_retry_after_ms("soon", now), ==, 0);
	g_assert_cmpuint(rg_retry_after_ms("", now), ==, 0);
}

static void tokens_come_at_the_rate_after_the_burst(void)
{
	RgRate rate;
	rg_rate_init(&rate, 10, 3, 1000);
	for (int i = 0; i < 3; i++)
		g_assert_cmpuint(rg_rate_take(&rate, 1000), ==, 0);
	g_assert_cmpuint(rg_rate_take(&rate, 1000), ==, 100);
	g_assert_cmpuint(rg_rate_take(&rate, 1000), ==, 200);
	g_assert_cmpuint(rg_rate_take(&rate, 1100), ==, 200);
	g_assert_cmpuint(rg_rate_take(&rate, 900), ==, 300); /* never backwards */
	for (int i = 0; i < 3; i++)
		g_assert_cmpuint(rg_rate_take(&rate, 1000000), ==, 0);
	g_assert_cmpuint(rg_rate_take(&rate, 1000000), ==, 100);
	rg_rate_clear(&rate);
}

static void throttling_halves_the_rate_and_answers_restore_it(void)
{
	RgRate rate;
	rg_rate_init(&rate, 10, 1, 0);
	rg_rate_throttled(&rate);
	g_assert_cmpuint(rg_rate_take(&rate, 0), ==, 200);
	for (int i = 0; i < 100; i++)
		rg_rate_throttled(&rate);
	g_assert_cmpuint(rg_rate_take(&rate, 0), <=, 2000 + 1000); /* a tenth at least */
	for (int i = 0; i < 100; i++)
		rg_rate_answered(&rate);
	rg_rate_take(&rate, 1000000);
	g_assert_cmpuint(rg_rate_take(&rate, 1000000), ==, 100);
	rg_rate_clear(&rate);
	rg_rate_init(&rate, 0, 0, 0);
	rg_rate_throttled(&rate);
	g_assert_cmpuint(rg_rate_take(&rate, 0), ==, 0);
	rg_rate_clear(&rate);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/retry/only these statuses are tried again", only_these_statuses_are_tried_again);
	g_test_add_func("/retry/backoff doubles with full jitter to its cap",
		backoff_doubles_with_full_jitter_to_its_cap);
	g_test_add_func(
		"/retry/Retry-After is seconds or a date", retry_after_is_seconds_or_a_date);
	g_test_add_func("/rate/tokens come at the rate after the burst",
		tokens_come_at_the_rate_after_the_burst);
	g_test_add_func("/rate/throttling halves the rate and answers restore it",
		throttling_halves_the_rate_and_answers_restore_it);
	return g_test_run();
}
