#include "http/retry.h"

#include <curl/curl.h>
#include <string.h>
#include <sys/random.h>

#define TRANSIENT_BASE_MS 500u
#define THROTTLED_BASE_MS 1000u
#define BACKOFF_CAP_MS 20000u

RgHttpVerdict rg_retry_classify(int status)
{
	switch (status) {
	case 429:
	case 503:
		return RG_HTTP_THROTTLED;
	case 500:
	case 502:
	case 504:
		return RG_HTTP_TRANSIENT;
	default:
		return status >= 200 && status < 300 ? RG_HTTP_OK : RG_HTTP_FAILED;
	}
}

/* Uniform in 0..max; without the system's random numbers, the full wait. */
static unsigned random_upto(unsigned max)
{
	uint64_t bits;
	if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits)
		return max;
	return (unsigned)(bits % ((uint64_t)max + 1));
}

unsigned rg_retry_backoff_ms(RgHttpVerdict verdict, unsigned tries)
{
	uint64_t base = verdict == RG_HTTP_THROTTLED ? THROTTLED_BASE_MS : TRANSIENT_BASE_MS;
	uint64_t wait = base << MIN(MAX(tries, 1) - 1, 16);
	return random_upto((unsigned)MIN(wait, BACKOFF_CAP_MS));
}

unsigned rg_retry_connect_ms(unsigned tries)
{
	return tries == 1 ? 200 : 800;
}

unsigned rg_retry_after_ms(const char *value, int64_t now_s)
{
	guint64 seconds;
	if (!g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT64, &seconds, NULL)) {
		size_t digits = strspn(value, "0123456789");
		int64_t date = curl_getdate(value, NULL);
		if (digits > 0 && value[digits] == '\0') /* more than 64 bits of seconds */
			seconds = RG_RETRY_AFTER_MAX_S;
		else if (date < 0 || date <= now_s)
			return 0;
		else
			seconds = (guint64)(date - now_s);
	}
	return (unsigned)MIN(seconds, RG_RETRY_AFTER_MAX_S) * 1000;
}
