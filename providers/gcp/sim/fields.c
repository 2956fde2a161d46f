#include <string.h>
#include "gcp/sim/gce.h"

/* Partial responses: `fields=nextPageToken,items(name,disks/source)`; the scopes of an aggregated
 * list are named one by one or as "*". A tree is {name: tree}, with {} for a member that is
 * selected whole. */

#define MAX_DEPTH 20

typedef struct {
	RgSimCall *call;
	const char *at;
	const char *text;
} Reader;

static bool fail_fields(const Reader *reader, const char *name)
{
	return rg_sim_fail(
		reader->call, 400, "invalidParameter", "Invalid field selection %s", name);
}

/* The schema of a member; *known says whether the schema has one. */
static const json_t *below(
	const Reader *reader, const json_t *schema, const char *name, bool *known)
{
	const json_t *schemas = call_data(reader->call)->schemas;
	for (;;) {
		const char *reference = rg_json_str(schema, "$ref", NULL);
		const json_t *items = json_object_get(schema, "items");
		if (reference)
			schema = json_object_get(schemas, reference);
		else if (items)
			schema = items;
		else
			break;
	}
	const json_t *own = json_object_get(json_object_get(schema, "properties"), name);
	const json_t *any = json_object_get(schema, "additionalProperties");
	*known = own || any || g_str_equal(name, "*");
	return own ? own : any;
}

static bool read_list(Reader *reader, json_t *tree, const json_t *schema, int depth);

static json_t *member_of(json_t *tree, const char *name)
{
	json_t *member = json_object_get(tree, name);
	if (!member) {
		member = json_object();
		json_object_set_new(tree, name, member);
	}
	return member;
}

/* One path: a/b/c or a/b(c,d). */
static bool read_path(Reader *reader, json_t *tree, const json_t *schema, int depth)
{
	for (;;) {
		gsize len = strcspn(reader->at, ",/()");
		g_autofree char *name = g_strndup(reader->at, len);
		g_strstrip(name);
		bool known;
		schema = below(reader, schema, name, &known);
		if (!*name || !known || ++depth > MAX_DEPTH)
			return fail_fields(reader, *name ? name : reader->text);
		tree = member_of(tree, name);
		reader->at += len;
		if (*reader->at == '(')
			break;
		if (*reader->at != '/')
			return true;
		reader->at++;
	}
	reader->at++;
	if (!read_list(reader, tree, schema, depth))
		return false;
	return *reader->at++ == ')' || fail_fields(reader, reader->text);
}

static bool read_list(Reader *reader, json_t *tree, const json_t *schema, int depth)
{
	for (;;) {
		if (!read_path(reader, tree, schema, depth))
			return false;
		if (*reader->at != ',')
			return true;
		reader->at++;
	}
}

bool gce_fields_read(RgSimCall *call, json_t **tree)
{
	const char *text = call_str(call, "fields");
	*tree = NULL;
	if (!text || g_str_equal(text, "*"))
		return true;
	const json_t *method = json_object_get(call_data(call)->methods, call->action->name);
	json_auto_t *schema = json_pack("{s:s}", "$ref", doc_str(method, "response"));
	json_auto_t *out = json_object();
	Reader reader = {call, text, text};
	if (!read_list(&reader, out, schema, 0))
		return false;
	if (*reader.at)
		return fail_fields(&reader, text);
	*tree = g_steal_pointer(&out);
	return true;
}

static json_t *pick_object(const json_t *tree, const json_t *value)
{
	json_t *out = json_object();
	const json_t *any = json_object_get(tree, "*");
	rg_json_foreach_member (name, member, value) {
		const json_t *own = json_object_get(tree, name);
		if (*name != '_' && (own || any))
			json_object_set_new(out, name, gce_fields_pick(own ? own : any, member));
	}
	return out;
}

/* Whole: only the internal members are left out, which are in the outermost object. */
static json_t *pick_all(const json_t *value)
{
	rg_json_foreach_member (internal, ignored, value) {
		if (*internal != '_')
			continue;
		json_t *out = json_object();
		rg_json_foreach_member (name, member, value) {
			if (*name != '_')
				json_object_set(out, name, member);
		}
		return out;
	}
	return json_incref(rg_json_unconst(value));
}

json_t *gce_fields_pick(const json_t *tree, const json_t *value)
{
	if (!json_object_size(tree))
		return pick_all(value);
	if (json_is_object(value))
		return pick_object(tree, value);
	if (!json_is_array(value))
		return json_incref(rg_json_unconst(value));
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(value); i++)
		json_array_append_new(out, gce_fields_pick(tree, json_array_get(value, i)));
	return out;
}
