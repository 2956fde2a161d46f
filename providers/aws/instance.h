/* The parts of the kind aws.instance: reading a DescribeInstances record (instance_read.c) and the
 * calls that create and change instances (instance.c, instance_create.c). */
#pragma once
#include "aws/kinds.h"
#include "common/lower.h"

/* The market of Capacity Blocks, and what EC2 answers before one has started. */
#define AWS_BLOCK "capacity-block"
#define AWS_NOT_ACTIVE "InvalidCapacityReservationState.PendingActivation"

extern const AwsShape aws_describe_instances, aws_run_instances;

void aws_instance_read(const json_t *record, AwsSeen *seen);
/* Only what AWS_OWN elements give. */
void aws_instance_read_own(const json_t *record, AwsSeen *seen);
/* Whether the type has two threads on each core, which an instance may do without. */
bool aws_instance_has_threads(const char *type);
void aws_instance_readiness(const AwsCall *call, const json_t *record, ModFailure *failure);
/* Terminated, or terminating. */
bool aws_instance_is_gone(const json_t *record);
bool aws_instance_is_terminated(const json_t *record);

/* Rows of an Ec2Code table: a profile, or the role in it, that EC2 does not know yet. */
#define AWS_YOUNG_PROFILE_CODES                                                                    \
	{"InvalidParameterValue", "Invalid IAM Instance Profile", 60},                             \
	{                                                                                          \
		"InvalidParameterValue", "has no associated IAM Roles", 60                         \
	}
/* From the spec's value (a name, an ARN, "" = none) to attributes (instance_profile.c). */
void aws_instance_profile_set(json_t *attributes, const char *profile);
/* The request's IamInstanceProfile, a new reference; NULL if there is none. */
json_t *aws_instance_profile_spec(const json_t *attributes);
/* Sets the desired profile of one instance, or removes it. */
rgp_status aws_instance_profile_change(
	const AwsCall *call, const char *id, const json_t *wanted, ModFailure *failure);

/* Sets the desired security groups of one instance's interfaces (instance_groups.c). */
rgp_status aws_instance_groups_change(
	const AwsCall *call, const char *id, const json_t *wanted, ModFailure *failure);

/* instance_change.c */
/* One request for the i-th item; a failure affects only this item. Steals `params`. */
rgp_status aws_instance_change(
	const AwsCall *call, AwsUpdate *update, size_t i, const char *action, json_t *params);
/* What EC2 answers while an instance is between two states, with the seconds that it may last. */
extern const Ec2Code aws_instance_state_codes[];

/* The lease (instance_lease.c): the attributes of a node, after its tags; a warning if EC2 would
 * not let the nodes see it; the attributes of a record. */
void aws_lease_lower(const json_t *node, json_t *attributes);
void aws_lease_warn(const ModLowering *lowering);
void aws_lease_read(const json_t *record, json_t *attributes);
/* The tag of a launch, appended; CreateTags' and DeleteTags' tags of an item; RunInstances'
 * MetadataOptions. */
void aws_lease_add_tag(const json_t *attributes, json_t *tags);
void aws_lease_change_tag(const json_t *item, json_t *set, json_t *unset);
void aws_lease_launch(const json_t *attributes, json_t *options);
rgp_status aws_lease_before_tags(const AwsCall *call, AwsUpdate *update);
rgp_status aws_lease_after_tags(const AwsCall *call, AwsUpdate *update);

/* User data, one request per instance (reveal.c). */
json_t *aws_instance_reveal(const AwsCall *call, const char *id, ModFailure *failure);
/* RunInstances' parameters for a create's input; a new reference. */
json_t *aws_instance_params(const AwsCall *call, const json_t *input);
rgp_status aws_instance_create(const AwsCall *call, const json_t *input);
