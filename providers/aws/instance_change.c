/* A request that changes one instance. */
#include "aws/instance.h"

const Ec2Code aws_instance_state_codes[] = {
	{"IncorrectInstanceState", NULL, 300}, /* still stopping */
	{"InvalidInstanceID.NotFound", NULL, 30},
	{0},
};

rgp_status aws_instance_change(
	const AwsCall *call, AwsUpdate *update, size_t i, const char *action, json_t *params)
{
	json_auto_t *owned = params;
	const Ec2Request request = {.action = action, .params = owned};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, aws_instance_state_codes, &reply);
	if (status == RGP_OK && reply.failure.class_ != RGP_CLASS_OK)
		mod_failure_copy(&update->failures[i], &reply.failure);
	return status;
}
