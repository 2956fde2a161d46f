#include "intent/found_internal.h"
#include "resource/expr.h"
#include <string.h>

#define USER_DATA_MAX (1024 * 1024)
#define TOKEN_MIN 16

/* ---- the token, out of user data */

/* What precedes the token on its line: long enough to be found in user data of an older spec too.
 * NULL if the expression has no token, or nothing before it. */
static const char *line_before_token(const json_t *pieces)
{
	rg_json_foreach_at (i, piece, pieces) {
		const char *before = i ? json_string_value(json_array_get(pieces, i - 1)) : NULL;
		if (!g_str_equal(rg_json_str(piece, "$ref", ""), RG_SECRET_RAY_TOKEN) || !before)
			continue;
		const char *line = strrchr(before, '\n');
		line = line ? line + 1 : before;
		return *line ? line : NULL;
	}
	return NULL;
}

static char *token_in(const char *text, const char *before)
{
	const char *at = strstr(text, before);
	if (!at || strstr(at + 1, before))
		return NULL;
	at += strlen(before);
	size_t len = 0;
	while (g_ascii_isalnum(at[len]))
		len++;
	return len >= TOKEN_MIN ? g_strndup(at, len) : NULL;
}

/* The token by itself, as an attribute; NULL. */
static char *token_as(const json_t *expression, const json_t *value)
{
	const char *text = json_string_value(value);
	bool whole = g_str_equal(rg_json_str(expression, "$ref", ""), RG_SECRET_RAY_TOKEN);
	return whole && text && *text ? g_strdup(text) : NULL;
}

char *found_token_in(const RgKind *kind, const RgResource *wanted, const json_t *revealed)
{
	rg_json_foreach_member (name, expression, wanted->attrs) {
		char *whole = token_as(expression, json_object_get(revealed, name));
		if (whole)
			return whole;
		const json_t *inner = json_object_get(expression, "$gzip_base64");
		const char *before =
			line_before_token(json_object_get(inner ? inner : expression, "$join"));
		/* compressed then and not now, or the reverse: any attribute may have it */
		rg_json_foreach_member (told, value, revealed) {
			const RgAttribute *attribute = rg_kind_attribute(kind, told);
			const char *shown = json_string_value(value);
			g_autofree char *text = attribute && attribute->gzip_base64
							? rg_expr_gunzip(shown, USER_DATA_MAX)
							: g_strdup(shown);
			char *token = before && text ? token_in(text, before) : NULL;
			if (token)
				return token;
		}
	}
	return NULL;
}

/* ---- records */

static json_t *record_look_up(void *data, const char *address, const char *attr)
{
	const RgFound *all = data;
	if (g_str_equal(address, RG_SECRET_RAY_TOKEN))
		return all->token ? json_string(all->token) : NULL;
	const RgResource *found = rg_resource_set_find(all->found, address);
	if (!found)
		found = rg_resource_set_find(all->snapshot->recorded, address);
	if (!found || !found->id)
		return NULL;
	if (g_str_equal(attr, "id"))
		return json_string(found->id);
	json_t *value = json_object_get(rg_resource_outputs(found), attr);
	if (!value)
		value = json_object_get(found->attrs, attr);
	return value && !json_is_null(value) ? json_incref(value) : NULL;
}

static bool holds(const json_t *list, const json_t *value)
{
	rg_json_foreach (member, list) {
		if (json_equal(member, value))
			return true;
	}
	return false;
}

static bool contains_all(const json_t *list, const json_t *members)
{
	rg_json_foreach (member, members) {
		if (!holds(list, member))
			return false;
	}
	return true;
}

static bool is_same(const RgAttribute *attribute, const json_t *wanted, const json_t *told)
{
	if (!told)
		told = attribute->default_value;
	if (!told || json_is_null(wanted))
		return !told && json_is_null(wanted);
	if (attribute->set && json_is_array(wanted) && json_is_array(told))
		return contains_all(told, wanted) && contains_all(wanted, told);
	return json_equal(rg_json_unconst(wanted), rg_json_unconst(told));
}

/* User data rendered from another spec: the value contains the token and must not be in a record,
 * so its digest is. It differs from every desired one, and the plan must show that. */
static json_t *digest_of(const json_t *value)
{
	const char *text = json_string_value(value);
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	g_autofree char *shown = g_strdup_printf("sha256:%s", sum);
	return *text ? json_string(shown) : json_null();
}

bool found_keeps(const RgFound *all, const RgResource *found)
{
	return all->kept && g_hash_table_contains(all->kept, found->address);
}

/* One unreadable attribute: as the cloud revealed it, else as in the spec. */
static json_t *unreadable_value(
	RgFound *all, const RgAttribute *attribute, const json_t *revealed, json_t *wanted)
{
	const json_t *told = json_object_get(revealed, attribute->name);
	if (!told) {
		all->untold = true;
		return json_incref(wanted);
	}
	json_auto_t *value = rg_expr_resolve_known(wanted, record_look_up, all);
	if (json_equal(value, rg_json_unconst(told)))
		return json_incref(wanted);
	/* another zlib compresses the same text to other bytes */
	g_autofree char *a = attribute->gzip_base64 && json_is_string(value)
				     ? rg_expr_gunzip(json_string_value(value), USER_DATA_MAX)
				     : NULL;
	g_autofree char *b = a ? rg_expr_gunzip(json_string_value(told), USER_DATA_MAX) : NULL;
	return b && g_str_equal(a, b) ? json_incref(wanted) : digest_of(told);
}

static json_t *wanted_or_told(
	RgFound *all, const RgAttribute *attribute, json_t *wanted, const json_t *told)
{
	json_auto_t *value = rg_expr_resolve_known(wanted, record_look_up, all);
	/* what the cloud added to a partial attribute was never ours */
	json_auto_t *own = rg_attribute_cut(attribute, told, value, NULL);
	if (is_same(attribute, value, own))
		return json_incref(wanted);
	return own ? json_incref(own) : json_null();
}

/* A partial value without members is compared only if it was wished. */
static bool is_clouds_own(const RgAttribute *attribute, const json_t *value)
{
	return attribute->partial && !json_is_object(value) && !json_is_array(value);
}

/* Adds what the cloud reports in addition to the desired attributes. */
static void add_told(const RgKind *kind, const RgResource *found, bool computed, json_t *to)
{
	rg_json_foreach_member (name, value, found->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (!attribute || attribute->computed != computed || json_object_get(to, name) ||
			json_is_null(value) || is_clouds_own(attribute, value))
			continue;
		if (!attribute->default_value ||
			!json_equal(rg_json_unconst(attribute->default_value), value))
			json_object_set(to, name, value);
	}
}

static json_t *attributes_of(
	RgFound *all, const RgKind *kind, const RgResource *found, const RgResource *wanted)
{
	json_t *attrs = json_object();
	const json_t *revealed =
		found_keeps(all, found) ? NULL : g_hash_table_lookup(all->revealed, found->address);
	rg_json_foreach_member (name, value, wanted ? wanted->attrs : NULL) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		json_t *kept = attribute->unreadable
				       ? unreadable_value(all, attribute, revealed, value)
				       : wanted_or_told(all, attribute, value,
						 json_object_get(found->attrs, name));
		json_object_set_new(attrs, name, kept);
	}
	/* user data that the spec has in another form, or no longer has */
	rg_json_foreach_member (name, value, revealed) {
		if (!json_object_get(attrs, name) && *json_string_value(value))
			json_object_set_new(attrs, name, digest_of(value));
	}
	add_told(kind, found, false, attrs);
	return attrs;
}

static bool mentions(const json_t *value, const char *id)
{
	if (json_is_string(value))
		return g_str_equal(json_string_value(value), id);
	rg_json_foreach (member, value) {
		if (mentions(member, id))
			return true;
	}
	rg_json_foreach_member (key, member, value) {
		if (mentions(member, id))
			return true;
	}
	return false;
}

/* Resources that the spec no longer has are deleted in the order of who uses whose id. */
static GStrv users_order(const RgFound *all, const RgResource *found)
{
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();
	rg_resource_foreach (other, all->found) {
		if (other->kind != found->kind && mentions(found->attrs, other->id))
			g_strv_builder_add(addresses, other->address);
	}
	return g_strv_builder_end(addresses);
}

RgResource *rg_found_record(RgFound *all, const RgResource *found, const RgResource *wanted)
{
	const RgSchema *schema = rg_provider_get_schema(all->provider);
	const RgKind *kind = rg_schema_kind(schema, found->kind);
	RgResource *record = rg_resource_new(found->kind, found->name, found->index);
	record->presence = RG_PRESENT;
	record->id = g_strdup(found->id);
	record->group = wanted ? wanted->group : found->group;
	record->origin = wanted ? wanted->origin : NULL;
	record->attrs = attributes_of(all, kind, found, wanted);
	record->outputs_json = json_object();
	add_told(kind, found, true, record->outputs_json);
	record->depends_on = wanted ? g_strdupv(wanted->depends_on) : users_order(all, found);
	record->pin = json_incref(found->pin);
	record->mismarked = found->mismarked;
	record->marked_as = g_strdup(found->marked_as);
	return record;
}
