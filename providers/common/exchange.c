#include "common/exchange.h"

/* clouds refuse requests at a skew of 5 minutes and more; below this the clock is not the cause */
#define SKEW_TOLD_S 240

static int32_t exchange_classify(void *data, int32_t status, struct rgp_bytes body)
{
	ModTries *tries = data;
	tries->answers++;
	if (status >= 200 && status < 300)
		return RGP_CLASS_OK;
	ModFailure failure = {0};
	tries->reader->read(tries->reader->data, status, body, &failure);
	int32_t class_ = failure.class_;
	/* a refusal that proves that nothing was done comes as 4xx; for capacity and quota, as
	 * 500 */
	if (status >= 500 && class_ != RGP_CLASS_CAPACITY && class_ != RGP_CLASS_QUOTA &&
		class_ != RGP_CLASS_THROTTLED)
		tries->doubtful = true;
	mod_failure_clear(&failure);
	return class_;
}

void mod_explain_skew(const struct rgp_http_resp *answer, const char *cloud, ModFailure *failure)
{
	int64_t skew_s = RGP_HAS(answer, skew_s) ? answer->skew_s : 0;
	if (failure->class_ != RGP_CLASS_DENIED || ABS(skew_s) < SKEW_TOLD_S)
		return;
	g_autofree char *message = g_steal_pointer(&failure->message);
	failure->message = g_strdup_printf("%s; this machine's clock is %" G_GINT64_FORMAT
					   " s (%.1f minutes) %s that of %s",
		message, ABS(skew_s), (double)ABS(skew_s) / 60, skew_s > 0 ? "behind" : "ahead of",
		cloud);
	failure->hint = "set the clock (e.g. `timedatectl set-ntp true`) and try again";
}

void mod_tries_watch(ModTries *tries, const ModReader *reader, struct rgp_http_req *request)
{
	*tries = (ModTries){.reader = reader};
	request->classify = exchange_classify;
	request->classify_data = tries;
}

void mod_tries_judge(const ModTries *tries, const struct rgp_http_resp *answer, ModFailure *failure)
{
	const ModReader *reader = tries->reader;
	if (answer->status >= 200 && answer->status < 300)
		return;
	reader->read(reader->data, answer->status, answer->body, failure);
	if (failure->class_ == RGP_CLASS_OK)
		failure->class_ = RGP_CLASS_UNKNOWN;
	bool all_answered = answer->tries <= tries->answers;
	failure->definite = failure->code && !tries->doubtful && all_answered &&
			    failure->class_ != RGP_CLASS_TRANSIENT &&
			    failure->class_ != RGP_CLASS_UNKNOWN;
	mod_explain_skew(answer, reader->cloud, failure);
}

rgp_status mod_exchange(const ModTalk *talk, const ModReader *reader, struct rgp_http_req *request,
	struct rgp_http_resp *answer, ModFailure *failure)
{
	ModTries tries;
	mod_failure_clear(failure);
	mod_tries_watch(&tries, reader, request);
	*answer = (struct rgp_http_resp){.size = sizeof *answer};
	rgp_status status = talk->host->http(talk->call, request, answer);
	if (status == RGP_OK)
		mod_tries_judge(&tries, answer, failure);
	return status;
}
