/* console: GetConsoleOutput, one request per machine, concurrently. EC2 answers it for a while
 * after a machine was terminated, too, so DescribeInstances goes with them where nodes are missed.
 */
#include "aws/form.h"
#include "aws/instance.h"

#define AT_ONCE (EC2_TOGETHER_MAX - 1)

static const AwsShape answer_members[] = {{"output"}, {0}};
static const AwsShape answer = {"GetConsoleOutputResponse", answer_members};

/* EC2 API reference, GetConsoleOutput: without Latest it is what was there soon after the last boot
 * or stop; Latest needs an instance type of the Nitro System. */
typedef struct {
	const json_t *items;
	size_t n;
	bool latest;
	GHashTable *gone; /* gets the ids of terminated machines; NULL: nothing is asked */
} Batch;

/* ---- which of them are gone */

static const AwsShape state_members[] = {{"name"}, {0}};
static const AwsShape instance_members[] = {{"instanceId"}, {"instanceState", state_members}, {0}};
static const AwsShape instance_set[] = {{"item", instance_members, AWS_RECORD}, {0}};
static const AwsShape reservation_members[] = {{"instancesSet", instance_set, AWS_DROP}, {0}};
static const AwsShape reservation_set[] = {{"item", reservation_members, AWS_DROP}, {0}};
static const AwsShape describe_members[] = {{"reservationSet", reservation_set, AWS_DROP}, {0}};
static const AwsShape describe_states = {"DescribeInstancesResponse", describe_members};

static void take_state(void *data, const json_t *record)
{
	if (aws_instance_is_gone(record))
		g_hash_table_add(data, g_strdup(mod_str(record, "instanceId")));
}

/* By a filter: an id that EC2 does not know fails no other one. */
static Ec2Request states_of(const Batch *batch)
{
	const char *ids[EC2_TOGETHER_MAX];
	json_t *params = json_object();
	for (size_t i = 0; i < batch->n; i++)
		ids[i] = mod_str(json_array_get(batch->items, i), "id");
	aws_form_filter(params, "instance-id", ids, batch->n);
	return (Ec2Request){.action = "DescribeInstances",
		.params = params,
		.shape = &describe_states,
		.record = take_state,
		.data = batch->gone,
		.reading = true};
}

/* ---- what they print */

static rgp_status send_batch(const AwsCall *call, const Batch *batch, Ec2Reply *replies)
{
	Ec2Request requests[EC2_TOGETHER_MAX] = {{0}};
	size_t n = batch->n;
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
	if (batch->gone)
		requests[n++] = states_of(batch);
	rgp_status status = ec2_send_all(call, requests, n, replies);
	for (size_t i = 0; i < n; i++)
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
	const Batch batch = {one, 1, false, NULL};
	ec2_reply_clear(reply);
	return send_batch(call, &batch, reply);
}

static rgp_status batch_run(const AwsCall *call, const json_t *items, bool several)
{
	g_autoptr(GHashTable) gone =
		several ? g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) : NULL;
	const Batch batch = {items, json_array_size(items), true, gone};
	Ec2Reply replies[EC2_TOGETHER_MAX] = {{0}};
	rgp_status status = send_batch(call, &batch, replies);
	for (size_t i = 0; i < batch.n; i++) {
		const json_t *item = json_array_get(items, i);
		bool stale = false;
		if (gone && g_hash_table_contains(gone, mod_str(item, "id")))
			mod_failure_set(&replies[i].failure, RGP_CLASS_GONE, NULL,
				"the instance is terminated");
		if (status == RGP_OK)
			status = ask_older(call, item, &replies[i], &stale);
		if (status == RGP_OK)
			status = give_one(call, mod_str(item, "address"), &replies[i], stale);
		ec2_reply_clear(&replies[i]);
	}
	if (several)
		ec2_reply_clear(&replies[batch.n]);
	return status;
}

rgp_status aws_console(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	const json_t *items = json_object_get(input, "items");
	rgp_status status = RGP_OK;
	if (!kind->has_console)
		return RGP_UNSUPPORTED;
	for (size_t at = 0; at < json_array_size(items) && status == RGP_OK; at += AT_ONCE) {
		json_auto_t *some = json_array();
		for (size_t i = at; i < json_array_size(items) && i < at + AT_ONCE; i++)
			json_array_append(some, json_array_get(items, i));
		status = batch_run(call, some, json_array_size(items) > 1);
	}
	return status;
}
