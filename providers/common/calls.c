#include "common/calls.h"

rgp_status mod_call_whole(const ModCall *call, const struct rgp_args *args, ModWholeFn whole)
{
	json_auto_t *input = mod_input(&call->talk, args);
	return input ? whole(call, input) : RGP_FAIL;
}

static const ModKind *find_kind(const ModCall *call, const ModKind *const *kinds, const char *name)
{
	for (; *kinds; kinds++)
		if (g_str_equal((*kinds)->name, name))
			return *kinds;
	g_autofree char *summary = g_strdup_printf("there is no kind \"%s\"", name);
	mod_report_text(&call->talk, RGP_CLASS_INVALID, summary, NULL, NULL);
	return NULL;
}

/* The input, a new reference, and the kind that it names; NULL after a diagnostic. */
static json_t *open_input(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, const ModKind **kind)
{
	json_auto_t *input = mod_input(&call->talk, args);
	*kind = input ? find_kind(call, kinds, mod_str(input, "kind")) : NULL;
	return *kind ? json_incref(input) : NULL;
}

rgp_status mod_call_of_kind(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn of_kind)
{
	const ModKind *kind;
	json_auto_t *input = open_input(call, args, kinds, &kind);
	return input ? of_kind(call, kind, input) : RGP_FAIL;
}

rgp_status mod_call_list(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn list)
{
	json_auto_t *input = mod_input(&call->talk, args);
	const json_t *names = json_object_get(input, "kinds");
	rgp_status status = RGP_OK;
	if (!input)
		return RGP_FAIL;
	if (!json_array_size(names)) {
		mod_report_text(&call->talk, RGP_CLASS_INVALID, "list needs kinds", NULL, NULL);
		return RGP_FAIL;
	}
	for (size_t i = 0; i < json_array_size(names) && status == RGP_OK; i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const ModKind *kind = find_kind(call, kinds, name ? name : "");
		status = kind ? list(call, kind, input) : RGP_FAIL;
	}
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

rgp_status mod_call_create(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn create)
{
	const ModKind *kind;
	json_auto_t *input = open_input(call, args, kinds, &kind);
	if (!input)
		return RGP_FAIL;
	if (json_array_size(json_object_get(input, "items")) && *mod_str(input, "token"))
		return create(call, kind, input);
	mod_report_text(
		&call->talk, RGP_CLASS_INVALID, "create needs items and a token", NULL, NULL);
	return RGP_FAIL;
}

static bool is_changeable(const ModKind *kind, const json_t *item)
{
	mod_foreach (name, json_object_get(item, "changed"))
		if (!json_is_string(name) ||
			!g_strv_contains(kind->changeable, json_string_value(name)))
			return false;
	return true;
}

rgp_status mod_call_update(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn update)
{
	const ModKind *kind;
	json_auto_t *input = open_input(call, args, kinds, &kind);
	json_t *items = json_array();
	rgp_status status = input ? RGP_OK : RGP_FAIL;
	mod_foreach (item, json_object_get(input, "items"))
		if (is_changeable(kind, item))
			json_array_append(items, item);
		else if (status == RGP_OK)
			status = mod_give_item(&call->talk, mod_str(item, "address"), "unsupported",
				mod_str(item, "id"), NULL);
	bool any = json_array_size(items) > 0;
	json_object_set_new(input, "items", items);
	return status == RGP_OK && any ? update(call, kind, input) : status;
}

rgp_status mod_call_remove(const ModCall *call, const struct rgp_args *args,
	const ModKind *const *kinds, ModKindFn remove)
{
	const ModKind *kind;
	json_auto_t *input = open_input(call, args, kinds, &kind);
	if (!input)
		return RGP_FAIL;
	return json_array_size(json_object_get(input, "items")) ? remove(call, kind, input)
								: RGP_OK;
}

bool mod_is_changed(const json_t *item, const char *attribute)
{
	return mod_has_text(json_object_get(item, "changed"), attribute);
}

bool mod_is_release(const json_t *item)
{
	return mod_is_changed(item, "marks") && json_is_null(json_object_get(item, "marks"));
}

rgp_status mod_fail_items(const ModCall *call, const json_t *items, const ModFailure *failure)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = mod_give_failed(
				&call->talk, mod_str(item, "address"), NULL, failure);
	return status;
}

rgp_status mod_refuse(
	const ModCall *call, const char *origin, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	mod_report_origin(&call->talk, RGP_CLASS_INVALID, origin, summary, hint);
	return RGP_FAIL;
}
