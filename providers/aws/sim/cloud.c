#include "aws/sim/cloud.h"
#include <string.h>
#include "aws/sim/auth.h"
#include "aws/sim/ec2.h"
#include "aws/sim/resources.h"

/* Four protocols on one port: EC2's query forms, those of STS and IAM, JSON 1.1, SSO's paths. */
#define EC2_VERSION "2016-11-15"
#define EC2_NAMESPACE "http://ec2.amazonaws.com/doc/" EC2_VERSION "/"

/* How they differ: a form's Version, or the prefix of the target header. */
static const struct {
	const char *version, *target;
} apis[AWS_APIS] = {
	[EC2_API] = {EC2_VERSION, NULL},
	[STS_API] = {"2011-06-15", NULL},
	[IAM_API] = {"2010-05-08", NULL},
	[SSM_API] = {NULL, "AmazonSSM."},
	[QUOTAS_API] = {NULL, "ServiceQuotasV20190624."},
};

/* ---- its parts */

static const RgSimKind kinds[EC2_KINDS] = {
	[EC2_INSTANCE] = {"instances", "instanceId"},
	[EC2_INTERFACE] = {"network_interfaces", "networkInterfaceId"},
	[EC2_VOLUME] = {"volumes", "volumeId"},
	[EC2_GROUP] = {"security_groups", "groupId"},
	[EC2_VPC] = {"vpcs", "vpcId"},
	[EC2_SUBNET] = {"subnets", "subnetId"},
	[EC2_IMAGE] = {"images", "imageId"},
	[EC2_PLACEMENT] = {"placement_groups", "groupId"},
	[EC2_SPOT] = {"spot_requests", "spotInstanceRequestId"},
	[EC2_RESERVATION] = {"capacity_reservations", "capacityReservationId"},
	[EC2_TOKEN] = {"client_tokens", "key"},
	[EC2_USER_DATA] = {"user_data", "digest"},
};

static bool is_account(const json_t *value)
{
	const char *text = json_string_value(value);
	return text && strlen(text) == 12 && strspn(text, "0123456789") == 12;
}

static const RgSimKnob knobs[] = {
	{"reject_access_keys", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of access key ids"}, /* 401 AuthFailure */
	/* The pair of AWS's own signing examples. */
	{"access_keys", .check = rg_sim_knob_is_texts,
		.json = "{\"AKIDEXAMPLE\": \"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\"}",
		.form = "an object {access key id: secret}"},
	{"key_pairs", .check = rg_sim_knob_is_words, .json = "[]", .form = "a list of names"},
	{"instance_profiles", .check = rg_sim_knob_is_words, .json = "[\"*\"]",
		.form = "a list of names"},
	{"roles", .check = rg_sim_knob_is_words, .json = "[\"*\"]", .form = "a list of ARNs"},
	{"role_denies", .check = rg_sim_knob_is_texts, .json = "{}",
		.form = "an object {action: implicitDeny or explicitDeny}"},
	{"vpc_endpoints", .check = rg_sim_knob_is_words, .json = "[]",
		.form = "a list of services"},
	{"sso_tokens", .check = rg_sim_knob_is_texts, .json = "{}",
		.form = "an object {token: access or refresh}"},
	{"egress", .check = ec2_is_egress, .json = "{\"*\": \"internet_gateway\"}",
		.form = "an object {zone or *: where its default route goes}, with *"},
	{"capacity_blocks", .check = ec2_are_blocks, .json = "[]",
		.form = "a list of {type, zone, count, hours, fee, starts_in_ms, lasts_ms, "
			"clear_ms}"},
	{"parameters", .check = rg_sim_knob_is_texts, .json = "{}",
		.form = "an object {name: value}"},
	{"same_hosts", 0, 0, 1}, /* a launch gets the GPUs of an instance that has ended */
	{"detached_public_ip", 1, 0,
		1}, /* 0: a detached interface forgets that it should get one */
	{"request_log", .check = rg_sim_knob_is_path, .json = "\"\"",
		.form = "the absolute path of a file"},
	{"account", .check = is_account, .json = "\"" EC2_ACCOUNT "\"", .form = "12 digits"},
	{NULL},
};

static const RgSimAction *const actions[] = {
	ec2_block_actions,
	ec2_console_actions,
	ec2_account_actions,
	ec2_group_actions,
	ec2_health_actions,
	ec2_image_actions,
	ec2_instance_actions,
	ec2_interface_actions,
	ec2_launch_actions,
	ec2_lifecycle_actions,
	ec2_network_actions,
	ec2_placement_group_actions,
	ec2_reservation_actions,
	ec2_route_actions,
	ec2_rule_actions,
	ec2_spot_actions,
	ec2_sso_actions,
	ec2_tag_actions,
	ec2_type_actions,
	sts_actions,
};

static const RgSimAction *find_action(const char *name, const char *version, int service)
{
	for (size_t i = 0; i < G_N_ELEMENTS(actions); i++) {
		for (const RgSimAction *action = actions[i]; action->name; action++) {
			if (g_strcmp0(action->name, name) == 0 && action->service == service &&
				g_strcmp0(apis[service].version, version) == 0)
				return action;
		}
	}
	return NULL;
}

static void cloud_seed(RgSimPlace *region)
{
	unsigned at = 0;
	if (rg_sim_next(region, EC2_VPC, &at))
		return;
	ec2_network_seed(region);
	ec2_images_seed(region);
}

/* ---- from the request to parameters */

/* The API of the target header; AWS_APIS: it has none that is known, *action is not set. */
static int target_of(const RgSimRequest *request, const char **action)
{
	const char *header = g_hash_table_lookup(request->headers, "x-amz-target");
	for (int i = 0; header && i < AWS_APIS; i++) {
		if (!apis[i].target || !g_str_has_prefix(header, apis[i].target))
			continue;
		*action = header + strlen(apis[i].target);
		return i;
	}
	return AWS_APIS;
}

/* By the target header or the form's Version; EC2 if neither decides. */
static int service_of(const RgSimRequest *request, const json_t *params)
{
	const char *action, *version = ec2_param_str(params, "Version");
	if (ec2_sso_claims(request))
		return SSO_API;
	int target = target_of(request, &action);
	if (target < AWS_APIS)
		return target;
	for (int i = 0; i < AWS_APIS; i++) {
		if (version && g_strcmp0(apis[i].version, version) == 0)
			return i;
	}
	return EC2_API;
}

/* JSON in the form of a parsed form: text at the leaves, lists as objects with numbers as keys.
 * jansson's parser limits the depth. */
static json_t *tree_of(const json_t *value)
{
	if (json_is_integer(value)) {
		g_autofree char *text =
			g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return json_string(text);
	}
	if (json_is_boolean(value))
		return json_string(json_is_true(value) ? "true" : "false");
	if (!json_is_object(value) && !json_is_array(value))
		return json_string(json_is_string(value) ? json_string_value(value) : "");
	json_t *tree = json_object();
	rg_json_foreach_member (key, member, value) {
		if (!json_is_null(member))
			json_object_set_new(tree, key, tree_of(member));
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *number = g_strdup_printf("%zu", i + 1);
		json_object_set_new(tree, number, tree_of(json_array_get(value, i)));
	}
	return tree;
}

static json_t *parse_json(const RgSimRequest *request, const char *action, char **problem)
{
	json_error_t error;
	json_auto_t *given =
		json_loadb(request->body, request->body_length, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(given)) {
		*problem = g_strdup(given ? "the body is not a JSON object" : error.text);
		return NULL;
	}
	json_t *tree = tree_of(given);
	json_object_set_new(tree, "Action", json_string(action));
	return tree;
}

/* The parameters in the form of params.h, including the action's name and version. */
static json_t *params_of(const RgSimRequest *request, char **problem)
{
	const char *action;
	if (ec2_sso_claims(request))
		return ec2_sso_params(request, problem);
	if (target_of(request, &action) < AWS_APIS)
		return parse_json(request, action, problem);
	if (strlen(request->body) != request->body_length) {
		*problem = g_strdup("the form contains a NUL byte");
		return NULL;
	}
	bool is_get = g_str_equal(request->method, "GET");
	return ec2_params_parse(is_get ? request->query : request->body, problem);
}

static bool cloud_claims(const RgSimRequest *request)
{
	return g_str_equal(request->method, "POST") || g_str_equal(request->method, "GET");
}

static bool fail_syntax(RgSimCall *call, const char *problem)
{
	bool json = ec2_is_json(call->service);
	return rg_sim_fail(call, 400, json ? "SerializationException" : "MalformedQueryString",
		"The %s contains a syntax error: %s", json ? "body" : "query string", problem);
}

static bool cloud_admit(RgSimCall *call)
{
	g_autofree char *problem = NULL;
	call->params = params_of(call->request, &problem);
	call->service = service_of(call->request, call->params);
	if (!call->params)
		return fail_syntax(call, problem);
	call->dry_run = call_bool(call, "DryRun", false);
	const char *name = call_str(call, "Action");
	const RgSimAction *action = find_action(name, call_str(call, "Version"), call->service);
	if (!ec2_auth_check(call, action && action->unsigned_allowed))
		return false;
	call->action = action;
	if (action)
		return ec2_throttle_request(call);
	if (!name)
		return rg_sim_fail(call, 400, "MissingAction",
			"The request is missing an action or a required parameter.");
	if (ec2_is_json(call->service))
		return rg_sim_fail(
			call, 400, "UnknownOperationException", "The operation is unknown");
	return rg_sim_fail(call, 400, "InvalidAction",
		"The action %s is not valid for this web service.", name);
}

/* ---- from the outcome to the reply */

/* STS and IAM: their answers and errors have this namespace. */
static bool is_plain_query(int service)
{
	return service == STS_API || service == IAM_API;
}

static char *namespace_of(int service)
{
	return g_strdup_printf("https://%s.amazonaws.com/doc/%s/",
		service == STS_API ? "sts" : "iam", apis[service].version);
}

static void write_answer(const RgSimCall *call, GString *out)
{
	const char *name = call->action->name;
	bool query = is_plain_query(call->service);
	g_autofree char *namespace = query ? namespace_of(call->service) : NULL;
	if (query)
		g_string_append_printf(
			out, "<%sResponse xmlns=\"%s\"><%sResult>", name, namespace, name);
	else if (call->service == EC2_API)
		g_string_append_printf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse "
			"xmlns=\"" EC2_NAMESPACE "\"><requestId>%s</requestId>",
			name, call->request_id);
	g_string_append_len(out, call->body->str, (gssize)call->body->len);
	if (query)
		g_string_append_printf(out,
			"</%sResult><ResponseMetadata><RequestId>%s</RequestId>"
			"</ResponseMetadata>",
			name, call->request_id);
	if (!ec2_is_json(call->service))
		g_string_append_printf(out, "</%sResponse>", name);
}

static void write_error(const RgSimCall *call, GString *out)
{
	bool query = is_plain_query(call->service);
	if (ec2_is_json(call->service)) {
		json_auto_t *error =
			json_pack("{s:s, s:s}", "__type", call->code, "message", call->message);
		g_autofree char *text = json_dumps(error, JSON_COMPACT);
		g_string_append(out, text);
		return;
	}
	g_autofree char *namespace = query ? namespace_of(call->service) : NULL;
	if (query)
		g_string_append_printf(out, "<ErrorResponse xmlns=\"%s\"><Error>", namespace);
	else
		g_string_append(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>");
	if (query)
		ec2_xml_text(out, "Type", call->status < 500 ? "Sender" : "Receiver");
	ec2_xml_text(out, "Code", call->code);
	ec2_xml_text(out, "Message", call->message);
	g_string_append(out, query ? "</Error>" : "</Error></Errors>");
	ec2_xml_text(out, query ? "RequestId" : "RequestID", call->request_id);
	ec2_xml_close(out, query ? "ErrorResponse" : "Response");
}

static void cloud_answer(const RgSimCall *call)
{
	RgSimReply *reply = call->reply;
	if (call->code)
		write_error(call, reply->body);
	else
		write_answer(call, reply->body);
	reply->status = call->status;
	rg_sim_reply_header(reply, "Content-Type",
		call->service == SSO_API     ? "application/json"
		: ec2_is_json(call->service) ? "application/x-amz-json-1.1"
					     : "text/xml;charset=UTF-8");
	if (call->service == SSO_API && call->code)
		rg_sim_reply_header(reply, "x-amzn-ErrorType", call->code);
	rg_sim_reply_header(reply, "x-amzn-RequestId", call->request_id);
	const char *account = doc_str(call->sim->knobs, "account");
	if (!g_str_equal(account, EC2_ACCOUNT))
		g_string_replace(reply->body, EC2_ACCOUNT, account, 0);
}

const RgSimCloud aws_sim_cloud = {
	.name = "aws",
	.section = "regions",
	.kinds = kinds,
	.n_kinds = EC2_KINDS,
	.knobs = knobs,
	.data_new = ec2_data_new,
	.data_free = ec2_data_free,
	.has_place = ec2_has_region,
	.seed = cloud_seed,
	.place_clear = ec2_addresses_free,
	.due = ec2_instance_due,
	.claims = cloud_claims,
	.admit = cloud_admit,
	.check = ec2_requests_check,
	.answer = cloud_answer,
	.is_quota = ec2_is_quota,
	.reclaim = ec2_spot_reclaim,
	.type_check = ec2_own_type_check,
	.type_add = ec2_own_type_add,
};
