/* What every file of the simulated EC2 and its neighbours works with: kinds, facts, the parameters
 * of a call, its errors and its XML. Documents have the spelling of EC2's answers. */
#pragma once
#include "aws/sim/params.h"
#include "sim/core/call.h"
#include "sim/core/knobs.h"
#include "sim/core/world.h"

/* The world is stored with this account; answers contain the knob `account`, of the same length. */
#define EC2_ACCOUNT "123456789012"

enum {
	EC2_INSTANCE,
	EC2_INTERFACE,
	EC2_VOLUME,
	EC2_GROUP,
	EC2_VPC,
	EC2_SUBNET,
	EC2_IMAGE,
	EC2_PLACEMENT,	 /* placement groups */
	EC2_SPOT,	 /* spot instance requests */
	EC2_RESERVATION, /* capacity reservations */
	EC2_RESOURCES,
	EC2_TOKEN = EC2_RESOURCES, /* ClientTokens and their results */
	EC2_USER_DATA,		   /* texts by digest, because instances of a batch share one */
	EC2_KINDS,
};

/* For a kind that is a resource. */
typedef struct {
	const char *prefix; /* of ids */
	const char *tag_type;
	const char *not_found; /* error code, and its text with one %s */
	const char *not_found_text;
	const char *malformed;
} Ec2Resource;

extern const Ec2Resource ec2_resources[EC2_RESOURCES];
/* The kind of an id, by its prefix; EC2_KINDS if none. */
unsigned ec2_kind_of(const char *id);
/* Is it prefix-8hex or prefix-17hex? */
bool ec2_is_id(unsigned kind, const char *id);

/* RgSimAction.service */
enum { EC2_API, STS_API, IAM_API, SSM_API, QUOTAS_API, SSO_API, AWS_APIS };
/* JSON 1.1 with a target header, or SSO's paths; the others are query forms, of EC2 and of the
 * rest.
 */
static inline bool ec2_is_json(int service)
{
	return service == SSM_API || service == QUOTAS_API || service == SSO_API;
}

/* Each family's actions; the tables end with a NULL name. */
extern const RgSimAction ec2_account_actions[], ec2_block_actions[], ec2_console_actions[],
	ec2_group_actions[], ec2_health_actions[], ec2_image_actions[], ec2_instance_actions[],
	ec2_interface_actions[], ec2_launch_actions[], ec2_lifecycle_actions[],
	ec2_network_actions[], ec2_placement_group_actions[], ec2_reservation_actions[],
	ec2_route_actions[], ec2_rule_actions[], ec2_spot_actions[], ec2_sso_actions[],
	ec2_tag_actions[], ec2_type_actions[], sts_actions[];
#define PAGED " DryRun Filter MaxResults NextToken"

/* ---- facts (data/, and the types of a scenario: types.c) */

typedef struct {
	json_t *requests;      /* {action: {members, required}} */
	json_t *types;	       /* {name: DescribeInstanceTypes entry} in wire spelling */
	json_t *offerings;     /* {type: {region: [zone id]}} */
	json_t *regions;       /* {name: {name, opt_in, zones: [{name, id}]}} */
	json_t *parameters;    /* {SSM name: {image: glob, owner}} */
	json_t *own_types;     /* {name: entry} of the scenario */
	json_t *own_offerings; /* {type: {region: [zone id]}} of these */
	json_t *images;	       /* [{name, owner, alias?, arch, created, root_gb, description}] */
} Ec2Data;

/* Aborts if the embedded files are broken, which is a bug of the build. */
void *ec2_data_new(void);
void ec2_data_free(void *data);
bool ec2_has_region(const void *data, const char *name);
static inline const Ec2Data *ec2_data(const RgSimPlace *region)
{
	return region->realm->data;
}
/* [{name, id}], and one of them by name (NULL: unknown). Borrowed. */
const json_t *ec2_zones(const RgSimPlace *region);
const json_t *ec2_zone(const RgSimPlace *region, const char *name);

/* ---- a call (call.c) */

static inline const char *call_str(const RgSimCall *call, const char *path)
{
	return ec2_param_str(call->params, path);
}
static inline gint64 call_int(const RgSimCall *call, const char *path, gint64 otherwise)
{
	return ec2_param_int(call->params, path, otherwise);
}
static inline bool call_bool(const RgSimCall *call, const char *path, bool otherwise)
{
	return ec2_param_bool(call->params, path, otherwise);
}
static inline GPtrArray *call_list(const RgSimCall *call, const char *path)
{
	return ec2_param_list(call->params, path);
}
static inline GPtrArray *call_texts(const RgSimCall *call, const char *path)
{
	return ec2_param_texts(call->params, path);
}
static inline bool call_has(const RgSimCall *call, const char *path)
{
	return ec2_param_at(call->params, path) != NULL;
}

/* requests.c: ec2_params_check, and the line of the knob `request_log`. */
bool ec2_requests_check(RgSimCall *call);

/* Each ends the call with an error and returns false. */
bool ec2_fail_missing(RgSimCall *call, const char *parameter);
/* Answers in JSON, as services other than EC2 do. Takes the reply over; true. */
bool ec2_json_answer(RgSimCall *call, json_t *reply);
bool ec2_fail_value(RgSimCall *call, const char *parameter, const char *value);
bool ec2_fail_malformed(RgSimCall *call, unsigned kind, const char *id);
/* `ids`: one or more, as the text must list them. */
bool ec2_fail_not_found(RgSimCall *call, unsigned kind, const char *ids);
/* For a mutating action, after its checks and before its first change: with DryRun the call ends
 * here (412 DryRunOperation). */
bool ec2_go(RgSimCall *call);
/* <return>true</return>, the answer of many actions; returns true. */
bool ec2_done(RgSimCall *call);

/* The current document of an id in a parameter; otherwise NULL and the kind's error. */
json_t *ec2_find(RgSimCall *call, unsigned kind, const char *id);
/* A list of ids that must all exist; otherwise NULL and an error. Texts borrowed, free the
 * array. */
GPtrArray *ec2_ids(RgSimCall *call, unsigned kind, const char *parameter);
/* Is the text in the parameter's list, or the list empty? */
bool ec2_is_asked(const RgSimCall *call, const char *parameter, const char *text);
/* EC2's form of an instant: 2026-11-21T09:47:02.000Z. g_free it. */
char *ec2_time_text(gint64 unix_ms);
/* Of a parameter that is a timestamp. */
gint64 ec2_time_ms(const char *text);

/* ClientTokens. As EC2 documents it: the same token and parameters return the earlier result and do
 * nothing; other parameters get IdempotentParameterMismatch. Tokens are valid for one action and
 * region, and for RunInstances with an explicit zone for that zone only ("zonal idempotency"):
 * docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
 * Sets *earlier (borrowed) if the request repeats one that succeeded: {ids, answer?}; NULL if it is
 * new or has no token. False and an error on the call for a mismatch or a bad token. */
bool ec2_token_check(RgSimCall *call, const char *zone, const json_t **earlier);
/* Stores what the request created; nothing if it has no token. `answer` may be NULL. */
void ec2_token_store(RgSimCall *call, const char *zone, json_t *ids, json_t *answer);

/* ---- XML (xml.c): documents are JSON in wire spelling, so writing one is a tree walk */

/* <name>...</name> for any value: members in order, a list's entries as <item>, members whose name
 * begins with "_" omitted (they are the simulator's own). Empty values become <name/>. */
void ec2_xml_value(GString *out, const char *name, const json_t *value);
void ec2_xml_text(GString *out, const char *name, const char *text);
void ec2_xml_open(GString *out, const char *name);
void ec2_xml_close(GString *out, const char *name);
