/* reveal: attributes that no Describe call reports for many resources at once; one request each. */
#include "aws/instance.h"

static const AwsShape value_members[] = {{"value"}, {0}};
static const AwsShape attribute_members[] = {{"userData", value_members}, {0}};
static const AwsShape attribute_answer = {"DescribeInstanceAttributeResponse", attribute_members};

json_t *aws_instance_reveal(const AwsCall *call, const char *id, ModFailure *failure)
{
	json_auto_t *params = json_pack("{s:s, s:s}", "InstanceId", id, "Attribute", "userData");
	const Ec2Request request = {.action = "DescribeInstanceAttribute",
		.params = params,
		.shape = &attribute_answer,
		.reading = true};
	g_auto(Ec2Reply) reply = {0};
	if (ec2_send(call, &request, &reply) != RGP_OK) {
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL, "no answer came");
		return NULL;
	}
	if (reply.failure.class_ != RGP_CLASS_OK) {
		mod_failure_copy(failure, &reply.failure);
		return NULL;
	}
	/* EC2 returns base64; the content shows which of our two attributes it was. */
	const char *base64 = mod_str(json_object_get(reply.reply, "userData"), "value");
	gsize len = 0;
	g_autofree guchar *data = g_base64_decode(base64, &len);
	if ((len > 2 && data[0] == 0x1f && data[1] == 0x8b) ||
		!g_utf8_validate((const char *)data, (gssize)len, NULL))
		return json_pack("{s:s, s:s}", "user_data", "", "user_data_base64", base64);
	return json_pack(
		"{s:s%, s:s}", "user_data", (const char *)data, len, "user_data_base64", "");
}

rgp_status aws_reveal(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	const json_t *items = json_object_get(input, "items");
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		const char *id = mod_str(item, "id"), *address = mod_str(item, "address");
		ModFailure failure = {0};
		json_t *told = kind->reveal ? kind->reveal(call, id, &failure) : json_object();
		if (told)
			status = mod_give_item(&call->talk, address, "done", id, told);
		else
			status = mod_give_failed(&call->talk, address, NULL, &failure);
		mod_failure_clear(&failure);
		if (status != RGP_OK)
			break;
	}
	return status;
}
