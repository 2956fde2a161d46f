#include "aws/errors.h"
#include "aws/data.h"
#include "aws/xml.h"
#include <string.h>

static const AwsShape error_members[] = {{"Code"}, {"Message"}, {0}};
static const AwsShape error_items[] = {{"Error", error_members}, {0}};
static const AwsShape response_members[] = {{"Errors", error_items}, {"RequestID"}, {0}};
static const AwsShape response_shape = {"Response", response_members};
static const AwsShape error_response_members[] = {{"Error", error_members}, {"RequestId"}, {0}};
static const AwsShape error_response_shape = {"ErrorResponse", error_response_members};

ModErrors *aws_errors_new(void)
{
	return mod_errors_new(
		aws_data_find("errors.csv")->data, aws_data_find("error_texts.csv")->data);
}

/* The <Error> of an answer, or NULL; also sets *request_id. g_free and json_decref. */
static json_t *read_error(struct rgp_bytes body, char **request_id)
{
	g_autofree char *problem = NULL, *other = NULL;
	json_t *root = aws_xml_read(body, &response_shape, NULL, NULL, &problem);
	const char *id = mod_str(root, "RequestID");
	json_t *error = json_object_get(json_object_get(root, "Errors"), "Error");
	if (!root) {
		root = aws_xml_read(body, &error_response_shape, NULL, NULL, &other);
		id = mod_str(root, "RequestId");
		error = json_object_get(root, "Error");
	}
	*request_id = *id ? g_strdup(id) : NULL;
	json_incref(error);
	json_decref(root);
	if (*mod_str(error, "Code"))
		return error;
	json_decref(error);
	return NULL;
}

void aws_errors_read(
	const ModErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	g_autofree char *request_id = NULL;
	json_auto_t *error = read_error(body, &request_id);
	if (error) {
		const char *code = mod_str(error, "Code");
		/* some tools and proxies keep the old fault prefix */
		if (g_str_has_prefix(code, "Client.") && !mod_errors_find(errors, code))
			code += strlen("Client.");
		mod_errors_describe(errors, code, mod_str(error, "Message"), failure);
		if (failure->class_ == RGP_CLASS_UNKNOWN)
			failure->class_ = mod_class_of_status(status);
	} else {
		mod_failure_set(failure, mod_class_of_status(status), NULL,
			"HTTP status %d with %s instead of an EC2 answer", (int)status,
			body.len ? "a text" : "an empty body");
		if (failure->class_ == RGP_CLASS_INVALID || failure->class_ == RGP_CLASS_DENIED ||
			failure->class_ == RGP_CLASS_UNKNOWN)
			failure->hint = "check that the endpoint is an EC2 API, and that no proxy "
					"intervenes";
	}
	failure->request_id = g_steal_pointer(&request_id);
}

void aws_errors_read_json(
	const ModErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	json_auto_t *reply = json_loadb(body.data, body.len, 0, NULL);
	/* "com.amazonaws.NAME#CODE" or without the namespace */
	const char *type = mod_str(reply, "__type"), *hash = strchr(type, '#');
	const char *code = hash ? hash + 1 : type, *message = mod_str(reply, "message");
	if (!*message)
		message = mod_str(reply, "Message");
	if (*code)
		mod_errors_describe(errors, code, message, failure);
	else
		mod_failure_set(failure, RGP_CLASS_UNKNOWN, NULL,
			"HTTP status %d without an error code", (int)status);
	if (failure->class_ == RGP_CLASS_UNKNOWN)
		failure->class_ = mod_class_of_status(status);
}
