/* console: GetConsoleOutput, one request per machine, concurrently. */
#include "aws/kinds.h"

static const AwsShape answer_members[] = {{"output"}, {0}};
static const AwsShape answer = {"GetConsoleOutputResponse", answer_members};

/* EC2 API reference, GetConsoleOutput: without Latest it is what was there soon after the last boot
 * or stop; Latest needs an instance type of the Nitro System. */
typedef struct {
	const json_t *items;
	size_t n;
	bool latest;
} Batch;

static rgp_status send_batch(const AwsCall *call, const Batch *batch, Ec2Reply *replies)
{
	Ec2Request requests[EC2_TOGETHER_MAX];
	for (size_t i = 0; i < batch->n; i++) {
		json_t *params = json_pack(
			"{s:s}", "InstanceId", mod_str(json_array_get(batch->items, i), "id"));
		if (batch->latest)
			json_object_set_new(params, "Latest", json_true());
		requests[i] = (Ec2Request){.action = "GetConsoleOutput",
			.params = params,
			.shape = &answer,
			.reading = true};
	}
	rgp_status status = ec2_send_all(call, requests, batch->n, replies);
	for (size_t i = 0; i < batch->n; i++)
		json_decref(mod_unconst(requests[i].params));
	return status;
}

/* The base64 text of the answer as UTF-8: a console holds any bytes. */
static json_t *text_of(const json_t *reply)
{
	gsize len = 0;
	g_autofree guchar *data = g_base64_decode(mod_str(reply, "output"), &len);
	g_autofree char *text = g_utf8_make_valid((const char *)data, (gssize)len);
	return json_string(text);
}

static rgp_status give_one(
	const AwsCall *call, const char *address, const Ec2Reply *reply, bool stale)
{
	if (reply->failure.class_ != RGP_CLASS_OK)
		return mod_give_failed(&call->talk, address, NULL, &reply->failure);
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:o, s:b}", "address", address, "outcome", "done", "text",
			text_of(reply->reply), "stale", stale));
}

/* Once more, for a type that has no newest output. */
static rgp_status ask_older(const AwsCall *call, const json_t *item, Ec2Reply *reply, bool *stale)
{
	static const Ec2Code codes[] = {{"UnsupportedOperation", NULL, 0}, {0}};
	*stale = reply->failure.class_ != RGP_CLASS_OK && ec2_match(&reply->failure, codes);
	if (!*stale)
		return RGP_OK;
	json_auto_t *one = json_pack("[O]", mod_unconst(item));
	const Batch batch = {one, 1, false};
	ec2_reply_clear(reply);
	return send_batch(call, &batch, reply);
}

static rgp_status batch_run(const AwsCall *call, const json_t *items)
{
	const Batch batch = {items, json_array_size(items), true};
	Ec2Reply replies[EC2_TOGETHER_MAX] = {{0}};
	rgp_status status = send_batch(call, &batch, replies);
	for (size_t i = 0; i < batch.n; i++) {
		const json_t *item = json_array_get(items, i);
		bool stale = false;
		if (status == RGP_OK)
			status = ask_older(call, item, &replies[i], &stale);
		if (status == RGP_OK)
			status = give_one(call, mod_str(item, "address"), &replies[i], stale);
		ec2_reply_clear(&replies[i]);
	}
	return status;
}

rgp_status aws_console(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	rgp_status status = RGP_OK;
	if (!kind->has_console)
		return RGP_UNSUPPORTED;
	for (size_t at = 0; at < json_array_size(items) && status == RGP_OK;
		at += EC2_TOGETHER_MAX) {
		json_auto_t *some = json_array();
		for (size_t i = at; i < json_array_size(items) && i < at + EC2_TOGETHER_MAX; i++)
			json_array_append(some, json_array_get(items, i));
		status = batch_run(call, some);
	}
	return status;
}
