/* What an error's text says that its code does not (error_texts.csv): Compute Engine has one code
 * for an organization policy and for a change by others, and one for whatever is not supported. */
#include <string.h>
#include "gcp/call.h"
#include "gcp/data.h"

#define CONSTRAINT "Constraint constraints/"
#define UNKNOWN_HINT "raygpu does not know this error, so it requested the nodes elsewhere"

enum { CODE, TEXT, OF, CLASS, ATTRIBUTE, HINT, FIELDS };

/* "compute.requireShieldedVm" of "Constraint constraints/compute.requireShieldedVm violated for
 * ..."; g_free. NULL: it is about something else. */
static char *policy_in(const char *message)
{
	const char *start = strstr(message, CONSTRAINT);
	size_t length = 0;
	if (!start)
		return NULL;
	start += strlen(CONSTRAINT);
	while (g_ascii_isalnum(start[length]) || start[length] == '.')
		length++;
	return length ? g_strndup(start, length) : NULL;
}

/* `policy`: NULL unless the error is one of a policy. */
static bool is_about(GStrv row, const ModFailure *failure, const char *policy, bool of_instances)
{
	bool of_policy = g_str_equal(row[OF], "policy");
	if (of_policy)
		return policy && (!*row[TEXT] || g_str_equal(row[TEXT], policy));
	if (g_str_equal(row[OF], "create") && !of_instances)
		return false;
	return (!*row[CODE] || !g_strcmp0(row[CODE], failure->code)) &&
	       strstr(failure->message, row[TEXT]);
}

/* Attribute and hint of a failure are borrowed: those of the table, and of the few policies that an
 * organization has, are kept. */
static const char *kept(const char *text)
{
	return *text ? g_intern_string(text) : NULL;
}

static void take_row(GStrv row, const char *policy, ModFailure *failure)
{
	g_autofree char *hint =
		policy ? g_strdup_printf(
				 "the organization policy %s forbids it: %s", policy, row[HINT])
		       : g_strdup(row[HINT]);
	failure->class_ = mod_class_parse(row[CLASS]);
	failure->attribute = kept(row[ATTRIBUTE]);
	failure->hint = kept(hint);
}

bool gcp_failure_refine(ModFailure *failure, bool of_instances)
{
	g_autoptr(GPtrArray) rows =
		mod_rows(gcp_data_find("error_texts.csv")->data, FIELDS, FIELDS);
	g_autofree char *policy = failure->message ? policy_in(failure->message) : NULL;
	mod_ptr_foreach (ModField, row, rows) {
		if (!failure->message || !is_about(row, failure, policy, of_instances))
			continue;
		take_row(row, policy, failure);
		return true;
	}
	return false;
}

void gcp_answer_refine(int32_t status, const json_t *body, ModFailure *failure)
{
	gcp_failure_refine(failure, false);
}

void gcp_failure_elsewhere(ModFailure *failure)
{
	failure->class_ = RGP_CLASS_CAPACITY;
	failure->attribute = "zone";
	failure->hint = UNKNOWN_HINT;
}
