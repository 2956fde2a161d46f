#include "aws/sim/protocol.h"
#include <string.h>
#include "aws/sim/xml.h"

#define EC2_NAMESPACE "http://ec2.amazonaws.com/doc/2016-11-15/"
#define STS_NAMESPACE "https://sts.amazonaws.com/doc/2011-06-15/"
#define SSM_TARGET "AmazonSSM."

static const char *target(const RgSimRequest *request)
{
	const char *header = g_hash_table_lookup(request->headers, "x-amz-target");
	return header && g_str_has_prefix(header, SSM_TARGET) ? header : NULL;
}

RgSimService rg_sim_protocol_service(const RgSimRequest *request, const json_t *params)
{
	if (target(request))
		return RG_SIM_SSM;
	const char *version = rg_sim_param_str(params, "Version");
	return g_strcmp0(version, "2011-06-15") == 0 ? RG_SIM_STS : RG_SIM_EC2;
}

/* JSON as the tree that a form gives: text at the leaves, lists as objects with numbers for keys.
 * Depth is bounded by jansson's parser. */
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
	const char *key;
	json_t *member;
	json_object_foreach ((json_t *)(guintptr)value, key, member) {
		if (!json_is_null(member))
			json_object_set_new(tree, key, tree_of(member));
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *number = g_strdup_printf("%zu", i + 1);
		json_object_set_new(tree, number, tree_of(json_array_get(value, i)));
	}
	return tree;
}

static json_t *parse_json(const RgSimRequest *request, char **problem)
{
	json_error_t error;
	json_auto_t *given =
		json_loadb(request->body, request->body_length, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(given)) {
		*problem = g_strdup(given ? "the body is not a JSON object" : error.text);
		return NULL;
	}
	json_t *tree = tree_of(given);
	json_object_set_new(tree, "Action", json_string(target(request) + strlen(SSM_TARGET)));
	return tree;
}

json_t *rg_sim_protocol_parse(const RgSimRequest *request, char **problem)
{
	if (target(request))
		return parse_json(request, problem);
	if (strlen(request->body) != request->body_length) {
		*problem = g_strdup("the form contains a NUL byte");
		return NULL;
	}
	bool is_get = g_str_equal(request->method, "GET");
	return rg_sim_params_parse(is_get ? request->query : request->body, problem);
}

const char *rg_sim_protocol_type(RgSimService service)
{
	return service == RG_SIM_SSM ? "application/x-amz-json-1.1" : "text/xml;charset=UTF-8";
}

void rg_sim_protocol_success(const RgSimCall *call, const char *request_id, GString *out)
{
	const char *name = call->action->name;
	const char *body = call->body->str;
	switch (call->service) {
	case RG_SIM_STS:
		g_string_append_printf(out,
			"<%sResponse xmlns=\"" STS_NAMESPACE "\"><%sResult>%s</%sResult>"
			"<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></"
			"%sResponse>",
			name, name, body, name, request_id, name);
		break;
	case RG_SIM_SSM:
		g_string_append(out, body);
		break;
	case RG_SIM_EC2:
	case RG_SIM_SERVICES:
		g_string_append_printf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse "
			"xmlns=\"" EC2_NAMESPACE "\"><requestId>%s</requestId>%s</%sResponse>",
			name, request_id, body, name);
		break;
	}
}

static void sts_error(
	int status, const char *code, const char *message, const char *request_id, GString *out)
{
	g_string_append(out, "<ErrorResponse xmlns=\"" STS_NAMESPACE "\"><Error>");
	rg_sim_xml_text(out, "Type", status < 500 ? "Sender" : "Receiver");
	rg_sim_xml_text(out, "Code", code);
	rg_sim_xml_text(out, "Message", message);
	g_string_append(out, "</Error>");
	rg_sim_xml_text(out, "RequestId", request_id);
	rg_sim_xml_close(out, "ErrorResponse");
}

static void ssm_error(const char *code, const char *message, GString *out)
{
	json_auto_t *error = json_pack("{s:s, s:s}", "__type", code, "message", message);
	g_autofree char *text = json_dumps(error, JSON_COMPACT);
	g_string_append(out, text);
}

void rg_sim_protocol_error(RgSimService service, int status, const char *code, const char *message,
	const char *request_id, GString *out)
{
	if (service == RG_SIM_STS) {
		sts_error(status, code, message, request_id, out);
		return;
	}
	if (service == RG_SIM_SSM) {
		ssm_error(code, message, out);
		return;
	}
	g_string_append(
		out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>");
	rg_sim_xml_text(out, "Code", code);
	rg_sim_xml_text(out, "Message", message);
	g_string_append(out, "</Error></Errors>");
	rg_sim_xml_text(out, "RequestID", request_id);
	rg_sim_xml_close(out, "Response");
}
