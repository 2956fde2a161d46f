/* The IAM instance profile of aws.instance: the permissions of its nodes in the account. The
 * attribute instance_profile is the profile's name, which is unique in an account;
 * instance_profile_arn is compared only if the spec gives an ARN. */
#include "aws/form.h"
#include "aws/instance.h"
#include <string.h>

static const AwsShape association_members[] = {{"associationId"}, {"state"}, {0}};
static const AwsShape association_set[] = {{"item", association_members, AWS_RECORD}, {0}};
static const AwsShape describe_members[] = {
	{"iamInstanceProfileAssociationSet", association_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_associations = {
	"DescribeIamInstanceProfileAssociationsResponse", describe_members};

/* EC2 does not know a new profile yet, nor the role in it; texts as in terraform-provider-aws
 * (internal/service/ec2/ec2_instance.go). */
static const Ec2Code young_codes[] = {
	AWS_YOUNG_PROFILE_CODES,
	{"IncorrectState", NULL, 60}, /* an association is still being removed */
	{"InvalidInstanceID.NotFound", NULL, 30},
	{0},
};

void aws_instance_profile_set(json_t *attributes, const char *profile)
{
	const char *slash = strrchr(profile, '/');
	if (!*profile)
		return;
	json_object_set_new(
		attributes, "instance_profile", json_string(slash ? slash + 1 : profile));
	if (g_str_has_prefix(profile, "arn:"))
		json_object_set_new(attributes, "instance_profile_arn", json_string(profile));
}

json_t *aws_instance_profile_spec(const json_t *attributes)
{
	const char *name = mod_str(attributes, "instance_profile");
	const char *arn = mod_str(attributes, "instance_profile_arn");
	if (!*name)
		return NULL;
	return *arn ? json_pack("{s:s}", "Arn", arn) : json_pack("{s:s}", "Name", name);
}

typedef struct {
	char *id; /* the active association, or NULL */
} Association;

static void on_association(void *data, const json_t *record)
{
	Association *association = data;
	const char *state = mod_str(record, "state");
	if (strcmp(state, "associating") && strcmp(state, "associated"))
		return;
	g_free(association->id);
	association->id = g_strdup(mod_str(record, "associationId"));
}

static rgp_status send_change(
	const AwsCall *call, const char *action, json_t *params, ModFailure *failure)
{
	json_auto_t *owned = params;
	const Ec2Request request = {.action = action, .params = owned};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, young_codes, &reply);
	if (status == RGP_OK && reply.failure.class_ != RGP_CLASS_OK) {
		mod_failure_copy(failure, &reply.failure);
		failure->attribute = "instance_profile";
	}
	return status;
}

rgp_status aws_instance_profile_change(
	const AwsCall *call, const char *id, const json_t *wanted, ModFailure *failure)
{
	Association association = {0};
	json_t *profile = aws_instance_profile_spec(wanted);
	json_auto_t *params = json_object();
	const Ec2Request request = {
		.action = "DescribeIamInstanceProfileAssociations",
		.shape = &describe_associations,
		.record = on_association,
		.data = &association,
	};
	aws_form_filter(params, "instance-id", &id, 1);
	rgp_status status = ec2_pages(call, &request, params, NULL);
	g_autofree char *old = association.id;
	if (status != RGP_OK)
		json_decref(profile);
	else if (profile && old)
		status = send_change(call, "ReplaceIamInstanceProfileAssociation",
			json_pack(
				"{s:s, s:o}", "AssociationId", old, "IamInstanceProfile", profile),
			failure);
	else if (profile)
		status = send_change(call, "AssociateIamInstanceProfile",
			json_pack("{s:s, s:o}", "InstanceId", id, "IamInstanceProfile", profile),
			failure);
	else if (old)
		status = send_change(call, "DisassociateIamInstanceProfile",
			json_pack("{s:s}", "AssociationId", old), failure);
	return status;
}
