/* The parts of the kind aws.security_group: converting rules between our form and EC2's
 * (group_rules.c), and the calls (group.c). Our form of a rule: {"protocol": "all" | "tcp" | ...,
 * "from_port"?, "to_port"?, "source": "self" | CIDR | group or prefix list id}; for egress `source`
 * is the destination. */
#pragma once
#include "aws/kinds.h"

extern const AwsShape aws_ip_permissions[];

/* An <ipPermissions> list as rules, one per source, sorted. */
json_t *aws_rules_read(const json_t *permissions, const char *group_id);
/* Rules as the IpPermissions parameter; "self" becomes group_id. */
json_t *aws_rules_params(const json_t *rules, const char *group_id);
/* Those of `a` that are not in `b`. */
json_t *aws_rules_without(const json_t *a, const json_t *b);
