#include <string.h>
#include "aws/sim/ec2.h"

#define MAX_TOKEN 64

const Ec2Resource ec2_resources[EC2_RESOURCES] = {
	[EC2_INSTANCE] = {"i-", "instance", "InvalidInstanceID.NotFound",
		"The instance ID '%s' does not exist", "InvalidInstanceID.Malformed"},
	[EC2_INTERFACE] = {"eni-", "network-interface", "InvalidNetworkInterfaceID.NotFound",
		"The networkInterface ID '%s' does not exist",
		"InvalidNetworkInterfaceId.Malformed"},
	[EC2_VOLUME] = {"vol-", "volume", "InvalidVolume.NotFound",
		"The volume '%s' does not exist.", "InvalidVolumeID.Malformed"},
	[EC2_GROUP] = {"sg-", "security-group", "InvalidGroup.NotFound",
		"The security group '%s' does not exist", "InvalidGroupId.Malformed"},
	[EC2_VPC] = {"vpc-", "vpc", "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist",
		"InvalidVpcID.Malformed"},
	[EC2_SUBNET] = {"subnet-", "subnet", "InvalidSubnetID.NotFound",
		"The subnet ID '%s' does not exist", "InvalidSubnetID.Malformed"},
	[EC2_IMAGE] = {"ami-", "image", "InvalidAMIID.NotFound",
		"The image id '[%s]' does not exist", "InvalidAMIID.Malformed"},
	[EC2_PLACEMENT] = {"pg-", "placement-group", "InvalidPlacementGroup.Unknown",
		"The Placement Group '%s' is unknown.", "InvalidPlacementGroupId.Malformed"},
	[EC2_SPOT] = {"sir-", "spot-instances-request", "InvalidSpotInstanceRequestID.NotFound",
		"The spot instance request ID '%s' does not exist",
		"InvalidSpotInstanceRequestID.Malformed"},
	[EC2_RESERVATION] = {"cr-", "capacity-reservation", "InvalidCapacityReservationId.NotFound",
		"The capacity reservation ID '%s' does not exist",
		"InvalidCapacityReservationId.Malformed"},
};

unsigned ec2_kind_of(const char *id)
{
	unsigned kind = 0;
	while (kind < EC2_RESOURCES && !g_str_has_prefix(id, ec2_resources[kind].prefix))
		kind++;
	return kind < EC2_RESOURCES ? kind : EC2_KINDS;
}

bool ec2_is_id(unsigned kind, const char *id)
{
	const char *prefix = ec2_resources[kind].prefix;
	if (!g_str_has_prefix(id, prefix))
		return false;
	const char *digits = id + strlen(prefix);
	size_t length = strlen(digits);
	return (length == 8 || length == 17) && strspn(digits, "0123456789abcdef") == length;
}

bool ec2_fail_missing(RgSimCall *call, const char *parameter)
{
	return rg_sim_fail(call, 400, "MissingParameter",
		"The request must contain the parameter %s", parameter);
}

bool ec2_fail_value(RgSimCall *call, const char *parameter, const char *value)
{
	return rg_sim_fail(call, 400, "InvalidParameterValue",
		"Value (%s) for parameter %s is invalid.", value, parameter);
}

bool ec2_fail_malformed(RgSimCall *call, unsigned kind, const char *id)
{
	return rg_sim_fail(call, 400, ec2_resources[kind].malformed,
		"Invalid id: \"%s\" (expecting \"%s...\")", id, ec2_resources[kind].prefix);
}

bool ec2_fail_not_found(RgSimCall *call, unsigned kind, const char *ids)
{
	const Ec2Resource *resource = &ec2_resources[kind];
	if (kind == EC2_INSTANCE && strchr(ids, ','))
		return rg_sim_fail(
			call, 400, resource->not_found, "The instance IDs '%s' do not exist", ids);
	g_auto(GStrv) around = g_strsplit(resource->not_found_text, "%s", 2);
	return rg_sim_fail(call, 400, resource->not_found, "%s%s%s", around[0], ids, around[1]);
}

bool ec2_go(RgSimCall *call)
{
	return !call->dry_run || rg_sim_fail(call, 412, "DryRunOperation",
					 "Request would have succeeded, but DryRun flag is set.");
}

bool ec2_done(RgSimCall *call)
{
	ec2_xml_text(call->body, "return", "true");
	return true;
}

json_t *ec2_find(RgSimCall *call, unsigned kind, const char *id)
{
	if (!ec2_is_id(kind, id)) {
		ec2_fail_malformed(call, kind, id);
		return NULL;
	}
	json_t *doc = rg_sim_find(call->place, kind, id);
	if (!doc)
		ec2_fail_not_found(call, kind, id);
	return doc;
}

GPtrArray *ec2_ids(RgSimCall *call, unsigned kind, const char *parameter)
{
	g_autoptr(GPtrArray) ids = call_texts(call, parameter);
	for (unsigned i = 0; i < ids->len; i++) {
		if (!ec2_find(call, kind, ids->pdata[i]))
			return NULL;
	}
	if (ids->len)
		return g_steal_pointer(&ids);
	ec2_fail_missing(call, parameter);
	return NULL;
}

bool ec2_is_asked(const RgSimCall *call, const char *parameter, const char *text)
{
	g_autoptr(GPtrArray) texts = call_texts(call, parameter);
	return !texts->len || g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL);
}

char *ec2_time_text(gint64 unix_ms)
{
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(unix_ms / 1000);
	return g_date_time_format(when, "%Y-%m-%dT%H:%M:%S.000Z");
}

gint64 ec2_time_ms(const char *text)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(text, utc);
	return when ? g_date_time_to_unix(when) * 1000 + g_date_time_get_microsecond(when) / 1000
		    : 0;
}

static char *token_key(const RgSimCall *call, const char *zone)
{
	return g_strconcat(call->action->name, "/", zone, "/", call_str(call, "ClientToken"), NULL);
}

/* Everything except the token itself and what does not change the request's meaning. */
static char *fingerprint(const RgSimCall *call)
{
	json_auto_t *rest = json_copy(call->params);
	json_object_del(rest, "Action");
	json_object_del(rest, "Version");
	json_object_del(rest, "ClientToken");
	json_object_del(rest, "DryRun");
	return rg_json_digest(rest);
}

bool ec2_token_check(RgSimCall *call, const char *zone, const json_t **earlier)
{
	const char *token = call_str(call, "ClientToken");
	*earlier = NULL;
	if (!token || !*token)
		return true;
	if (strlen(token) > MAX_TOKEN || !g_str_is_ascii(token))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter clientToken is invalid. The length exceeds the "
			"maximum of %d ASCII characters.",
			token, MAX_TOKEN);
	g_autofree char *key = token_key(call, zone);
	const json_t *known = rg_sim_find(call->place, EC2_TOKEN, key);
	g_autofree char *print = known ? fingerprint(call) : NULL;
	if (known && !g_str_equal(print, doc_str(known, "fingerprint")))
		return rg_sim_fail(call, 400, "IdempotentParameterMismatch",
			"Arguments on this idempotent request are inconsistent with arguments used "
			"in previous request(s).");
	*earlier = known;
	return true;
}

void ec2_token_store(RgSimCall *call, const char *zone, json_t *ids, json_t *answer)
{
	const char *token = call_str(call, "ClientToken");
	if (!token || !*token)
		return;
	g_autofree char *key = token_key(call, zone);
	g_autofree char *print = fingerprint(call);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:O}", "key", key, "action",
		call->action->name, "token", token, "fingerprint", print, "ids", ids);
	if (answer)
		json_object_set(doc, "answer", answer);
	rg_sim_put(call->place, EC2_TOKEN, doc);
}

bool ec2_json_answer(RgSimCall *call, json_t *reply)
{
	g_autofree char *text = json_dumps(reply, JSON_COMPACT);
	g_string_append(call->body, text);
	json_decref(reply);
	return true;
}
