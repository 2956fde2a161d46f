/* The questions of preflight, all pages of each. */
#include "aws/preflight.h"

#define PAGES_MAX 1000

AwsProbe *aws_probe(AwsPreflight *preflight, const char *action, const AwsShape *shape,
	json_t *params, const char *what)
{
	AwsProbe *probe = g_new0(AwsProbe, 1);
	probe->records = json_array();
	probe->params = params;
	probe->what = what;
	probe->request = (Ec2Request){.action = action,
		.shape = shape,
		.record = ec2_collect,
		.data = probe->records,
		.params = params,
		.reading = true};
	g_ptr_array_add(preflight->probes, probe);
	return probe;
}

void aws_probe_free(gpointer data)
{
	AwsProbe *probe = data;
	json_decref(probe->params);
	json_decref(probe->records);
	ec2_reply_clear(&probe->reply);
	g_free(probe);
}

bool aws_probe_ok(const AwsProbe *probe)
{
	return probe && probe->done && probe->reply.failure.class_ == RGP_CLASS_OK;
}

const json_t *aws_probe_record(const AwsProbe *probe, const char *key, const char *value)
{
	if (!probe)
		return NULL;
	mod_foreach (record, probe->records)
		if (g_str_equal(mod_str(record, key), value))
			return record;
	return NULL;
}

static void turn_page(AwsProbe *probe, Ec2Reply *reply)
{
	const char *token = mod_str(reply->reply, "nextToken");
	ec2_reply_clear(&probe->reply);
	probe->reply = *reply;
	*reply = (Ec2Reply){0};
	probe->done = probe->reply.failure.class_ != RGP_CLASS_OK || !*token;
	if (!probe->done)
		json_object_set_new(probe->params, "NextToken", json_string(token));
}

/* One page of each that has more. */
static rgp_status send_round(const AwsPreflight *preflight, bool *more)
{
	Ec2Request requests[EC2_TOGETHER_MAX];
	Ec2Reply replies[EC2_TOGETHER_MAX] = {{0}};
	AwsProbe *open[EC2_TOGETHER_MAX];
	size_t n = 0;
	for (guint i = 0; i < preflight->probes->len && n < EC2_TOGETHER_MAX; i++) {
		AwsProbe *probe = preflight->probes->pdata[i];
		if (probe->done)
			continue;
		open[n] = probe;
		requests[n++] = probe->request;
	}
	*more = n > 0;
	rgp_status status = n ? ec2_send_all(preflight->call, requests, n, replies) : RGP_OK;
	bool answered = false;
	for (size_t i = 0; i < n; i++) {
		answered |= replies[i].reply || replies[i].failure.code;
		turn_page(open[i], &replies[i]);
	}
	/* one service that can't be reached leaves the others */
	return status == RGP_FAIL && answered ? RGP_OK : status;
}

rgp_status aws_probes_send(const AwsPreflight *preflight)
{
	rgp_status status = RGP_OK;
	bool more = true;
	for (unsigned i = 0; i < PAGES_MAX && more && status == RGP_OK; i++)
		status = send_round(preflight, &more);
	return status;
}

const char *aws_attribute_of(const json_t *create, const char *name)
{
	return mod_str(json_object_get(create, "attributes"), name);
}
