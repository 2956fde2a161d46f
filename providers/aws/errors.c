#include "aws/errors.h"
#include "aws/data.h"
#include "aws/xml.h"
#include <string.h>

struct AwsErrors {
	GHashTable *rows; /* char * -> AwsErrorRow * */
	GStrv lines;	  /* the rows' texts */
};

static const AwsShape error_members[] = {{"Code"}, {"Message"}, {0}};
static const AwsShape error_items[] = {{"Error", error_members}, {0}};
static const AwsShape response_members[] = {{"Errors", error_items}, {"RequestID"}, {0}};
static const AwsShape response_shape = {"Response", response_members};
static const AwsShape error_response_members[] = {{"Error", error_members}, {"RequestId"}, {0}};
static const AwsShape error_response_shape = {"ErrorResponse", error_response_members};

/* Cuts the first comma-ended field off *rest, in place. No field of the table holds a comma or a
 * quote (a test holds that). */
static const char *next_field(char **rest)
{
	char *field = *rest ? *rest : NULL;
	if (!field)
		return NULL;
	char *comma = strchr(field, ',');
	*rest = comma ? comma + 1 : NULL;
	if (comma)
		*comma = '\0';
	return *field ? field : NULL;
}

AwsErrors *aws_errors_new(void)
{
	AwsErrors *errors = g_new0(AwsErrors, 1);
	errors->rows = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	errors->lines = g_strsplit(aws_data_find("errors.csv")->data, "\n", -1);
	for (size_t i = 1; errors->lines[0] && errors->lines[i]; i++) {
		char *rest = errors->lines[i];
		const char *code = next_field(&rest), *class_ = next_field(&rest);
		if (!code || !class_)
			continue;
		AwsErrorRow *row = g_new0(AwsErrorRow, 1);
		row->class_ = mod_class_parse(class_);
		row->attribute = next_field(&rest);
		row->hint = next_field(&rest);
		g_hash_table_insert(errors->rows, (char *)(uintptr_t)code, row);
	}
	return errors;
}

void aws_errors_free(AwsErrors *errors)
{
	if (!errors)
		return;
	g_hash_table_unref(errors->rows);
	g_strfreev(errors->lines);
	g_free(errors);
}

const AwsErrorRow *aws_errors_find(const AwsErrors *errors, const char *code)
{
	return g_hash_table_lookup(errors->rows, code);
}

/* What a bare status says; codes that the table lacks fall back on it too. */
static int32_t class_of_status(int32_t status)
{
	switch (status) {
	case 401:
	case 403:
		return RGP_CLASS_DENIED;
	case 408:
	case 500:
	case 502:
	case 503:
	case 504:
		return RGP_CLASS_TRANSIENT;
	case 429:
		return RGP_CLASS_THROTTLED;
	default:
		return status >= 400 && status < 500 ? RGP_CLASS_INVALID : RGP_CLASS_UNKNOWN;
	}
}

void aws_errors_describe(
	const AwsErrors *errors, const char *code, const char *message, ModFailure *failure)
{
	const AwsErrorRow *row = aws_errors_find(errors, code);
	if (*message)
		mod_failure_set(
			failure, row ? row->class_ : RGP_CLASS_UNKNOWN, code, "%s", message);
	else
		mod_failure_set(failure, row ? row->class_ : RGP_CLASS_UNKNOWN, code, "%s", code);
	if (!row)
		return;
	failure->attribute = row->attribute;
	failure->hint = row->hint;
}

/* The <Error> of an answer, or NULL; *request_id is set beside it. g_free and json_decref. */
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
	const AwsErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	g_autofree char *request_id = NULL;
	json_auto_t *error = read_error(body, &request_id);
	if (error) {
		const char *code = mod_str(error, "Code");
		/* some tools and proxies keep the old fault prefix */
		if (g_str_has_prefix(code, "Client.") && !aws_errors_find(errors, code))
			code += strlen("Client.");
		aws_errors_describe(errors, code, mod_str(error, "Message"), failure);
		if (failure->class_ == RGP_CLASS_UNKNOWN)
			failure->class_ = class_of_status(status);
	} else {
		mod_failure_set(failure, class_of_status(status), NULL,
			"HTTP status %d with %s instead of an EC2 answer", (int)status,
			body.len ? "a text" : "an empty body");
		if (failure->class_ == RGP_CLASS_INVALID || failure->class_ == RGP_CLASS_DENIED ||
			failure->class_ == RGP_CLASS_UNKNOWN)
			failure->hint = "is the endpoint an EC2 API, and no proxy in between?";
	}
	failure->request_id = g_steal_pointer(&request_id);
}
