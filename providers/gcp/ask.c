/* Questions of resolve, which are sent together. */
#include "gcp/resolve.h"

GcpQuestion *gcp_ask(GcpAsking *asking, const char *what, char *url, const char *origin)
{
	GcpQuestion *question = g_new0(GcpQuestion, 1);
	question->url = url;
	question->origin = origin;
	question->request = gcp_get(asking->call, what, url);
	g_ptr_array_add(asking->questions, question);
	return question;
}

GcpQuestion *gcp_ask_list(GcpAsking *asking, const char *what, char *url, const char *origin)
{
	GcpQuestion *question = gcp_ask(asking, what, url, origin);
	question->is_list = true;
	return question;
}

rgp_status gcp_answered(const GcpCall *call, const GcpQuestion *question, bool *exists)
{
	const ModFailure *failure = &question->answer.failure;
	*exists = failure->class_ == RGP_CLASS_OK;
	if (*exists || failure->class_ == RGP_CLASS_GONE)
		return RGP_OK;
	return gcp_report(call, question->request.what, &question->answer);
}
