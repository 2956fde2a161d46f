#include "common/preflight.h"

rgp_status mod_give_finding(const ModTalk *talk, const ModFinding *finding, const char *message)
{
	const json_t *addresses = json_object_get(finding->create, "addresses");
	const char *address = finding->address ? finding->address
					       : json_string_value(json_array_get(addresses, 0));
	return mod_give(talk, "finding",
		json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:O*}",
			"severity", finding->severity, "class", mod_class_name(finding->class_),
			"message", message, "attribute", finding->attribute, "detail",
			finding->detail, "hint", finding->hint, "code", finding->code, "origin",
			finding->origin, "request_id", finding->request_id, "address", address,
			"limit", finding->limit));
}

void mod_find_out(ModFindings *findings, const ModFinding *finding, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	findings->errors += g_str_equal(finding->severity, "error");
	if (findings->status == RGP_OK)
		findings->status = mod_give_finding(findings->talk, finding, message);
}

void mod_find_nothing(
	ModFindings *findings, const char *about, const char *request, const ModFailure *failure)
{
	const char *why = failure->message && *failure->message ? failure->message : failure->code;
	if (!findings->unchecked)
		findings->unchecked = g_string_new(NULL);
	g_string_append_printf(findings->unchecked, "%s%s: %s: %s",
		findings->unchecked->len ? "\n" : "", about, request, why ? why : "no answer");
}

rgp_status mod_findings_end(ModFindings *findings, const char *hint)
{
	if (!findings->unchecked)
		return findings->status;
	const ModFinding finding = {.severity = "note",
		.class_ = RGP_CLASS_DENIED,
		.detail = findings->unchecked->str,
		.hint = hint};
	mod_find_out(findings, &finding, "not everything could be checked beforehand");
	g_string_free(findings->unchecked, TRUE);
	findings->unchecked = NULL;
	return findings->status;
}

const char *mod_pool_of(const json_t *create)
{
	const char *group = mod_str(create, "group");
	return *group ? group : "head";
}

void mod_sum_add(ModSum *sum, const json_t *create, json_int_t amount, const char *separator,
	const char *format, ...)
{
	va_list args;
	if (!sum->parts)
		sum->parts = g_string_new(NULL);
	else
		g_string_append(sum->parts, separator);
	va_start(args, format);
	g_string_append_vprintf(sum->parts, format, args);
	va_end(args);
	sum->wanted += amount;
	if (sum->create && amount <= sum->largest)
		return;
	sum->largest = amount;
	sum->create = create;
}

void mod_sum_clear(ModSum *sum)
{
	if (sum->parts)
		g_string_free(sum->parts, TRUE);
	*sum = (ModSum){0};
}
