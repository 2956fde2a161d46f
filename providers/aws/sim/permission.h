/* Reads IpPermissions of a request into rules: protocol and address in EC2's normal form, one rule
 * for each source or destination. */
#pragma once
#include "sim/core/call.h"

/* A list of rules without ids, in the spelling of DescribeSecurityGroupRules; NULL and an error on
 * the call otherwise. */
json_t *rg_sim_permissions_read(RgSimCall *call, const json_t *group, bool egress);
/* A rule without id: everything, to or from `peer` ({member: value}). */
json_t *rg_sim_permission_all(const char *group_id, bool egress, json_t *peer);
/* What makes two rules the same, descriptions and ids apart. g_free it. */
char *rg_sim_permission_key(const json_t *rule);
/* "peer: 10.0.0.0/8, TCP, from port: 22, to port: 22, ALLOW", as EC2's errors say it. */
char *rg_sim_permission_text(const json_t *rule);
