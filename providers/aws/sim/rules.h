/* Security group rules. A group's document keeps them flat in "_rules", each in the spelling of
 * DescribeSecurityGroupRules; its ipPermissions lists are made from them. */
#pragma once
#include "sim/core/call.h"

/* The rule that lets everything out, which each new group has. */
json_t *rg_sim_rule_allow_all_out(RgSimWorld *world, const char *group_id);
/* All traffic from the group's own members, which the default group has. */
json_t *rg_sim_rule_allow_itself(RgSimWorld *world, const char *group_id, const char *vpc_id);
/* Replaces the rules of a group's document (takes them) and what is derived from them. */
void rg_sim_rules_set(json_t *group, json_t *rules);
/* Does one of the group's rules refer to another group? */
bool rg_sim_rules_refer_to(const json_t *group, const char *group_id);

bool rg_sim_authorize_ingress(RgSimCall *call);
bool rg_sim_authorize_egress(RgSimCall *call);
bool rg_sim_revoke_ingress(RgSimCall *call);
bool rg_sim_revoke_egress(RgSimCall *call);
bool rg_sim_describe_rules(RgSimCall *call);
