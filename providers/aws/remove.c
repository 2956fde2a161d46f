/* Deletes resources that EC2 deletes one at a time. What others still use is pending: the host asks
 * again. */
#include "aws/kinds.h"
#include "common/open.h"

static rgp_status delete_one(const AwsCall *call, const json_t *item, const Ec2Request *request,
	const Ec2Code *busy, const Ec2Code *gone)
{
	g_auto(Ec2Reply) reply = {0};
	ModBackoff backoff = mod_backoff_start(&call->talk, 0);
	int64_t start_s = backoff.deadline_s;
	const Ec2Code *missing;
	for (;;) {
		rgp_status status = ec2_send(call, request, &reply);
		if (status != RGP_OK)
			return status;
		/* unknown: gone, or so new that not all of EC2 knows it */
		missing = ec2_match(&reply.failure, gone);
		if (!missing)
			break;
		backoff.deadline_s = start_s + mod_open_wait_s(&call->talk, call->inst->endpoint,
						       missing->limit_s);
		status = mod_backoff_wait(&call->talk, &backoff);
		if (status == RGP_CANCELED)
			return status;
		if (status == RGP_FAIL)
			break;
	}
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	if (ec2_match(&reply.failure, busy))
		return mod_give_pending(&call->talk, address, id, &reply.failure);
	if (reply.failure.class_ == RGP_CLASS_OK || missing)
		return mod_give_item(&call->talk, address, "done", id, NULL);
	return mod_give_failed(&call->talk, address, id, &reply.failure);
}

rgp_status aws_delete_each(const AwsCall *call, const json_t *items, const char *action,
	const char *param, const Ec2Code *busy, const Ec2Code *gone)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		json_auto_t *params = json_pack("{s:s}", param, mod_str(item, "id"));
		const Ec2Request request = {.action = action, .params = params};
		if (status == RGP_OK)
			status = delete_one(call, item, &request, busy, gone);
	}
	return status;
}
