#include <string.h>
#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* Limits of the EC2 user guide, "Tag restrictions". */
#define MAX_TAGS 50
#define MAX_KEY 128
#define MAX_VALUE 256

static bool check_tag(RgSimCall *call, const char *key, const char *value)
{
	if (!key || !*key)
		return rg_sim_fail(
			call, 400, "InvalidParameterValue", "Tag key cannot be null or empty");
	if (g_ascii_strncasecmp(key, "aws:", 4) == 0)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Tag keys starting with 'aws:' are reserved for internal use");
	if (g_utf8_strlen(key, -1) > MAX_KEY)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Tag key exceeds the maximum length of %d characters", MAX_KEY);
	if (value && g_utf8_strlen(value, -1) > MAX_VALUE)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Tag value exceeds the maximum length of %d characters", MAX_VALUE);
	return true;
}

static int tag_index(const json_t *tags, const char *key)
{
	for (size_t i = 0; i < json_array_size(tags); i++) {
		if (g_str_equal(doc_str(json_array_get(tags, i), "key"), key))
			return (int)i;
	}
	return -1;
}

static json_t *tag_new(const char *key, const char *value)
{
	return json_pack("{s:s, s:s}", "key", key, "value", value ? value : "");
}

static bool read_specification(RgSimCall *call, const json_t *entry, json_t *tags)
{
	g_autoptr(GPtrArray) given = ec2_param_list(entry, "Tag");
	for (unsigned i = 0; i < given->len; i++) {
		const char *key = ec2_param_str(g_ptr_array_index(given, i), "Key");
		const char *value = ec2_param_str(g_ptr_array_index(given, i), "Value");
		if (!check_tag(call, key, value))
			return false;
		if (tag_index(tags, key) >= 0)
			return rg_sim_fail(call, 400, "InvalidParameterValue",
				"Duplicate tag key '%s' specified.", key);
		json_array_append_new(tags, tag_new(key, value));
	}
	if (json_array_size(tags) > MAX_TAGS)
		return rg_sim_fail(call, 400, "TagLimitExceeded",
			"The maximum number of Tags for a resource has been reached.");
	return true;
}

json_t *ec2_tags_of_request(RgSimCall *call, const char *type, const char *types)
{
	json_auto_t *tags = json_array();
	g_auto(GStrv) allowed = g_strsplit(types, " ", -1);
	g_autoptr(GPtrArray) entries = call_list(call, "TagSpecification");
	rg_ptr_foreach (const json_t, entry, entries) {
		const char *for_type = ec2_param_str(entry, "ResourceType");
		if (!for_type || !g_strv_contains((const char *const *)allowed, for_type)) {
			rg_sim_fail(call, 400, "InvalidParameterValue",
				"'%s' is not a valid taggable resource type for this operation.",
				for_type ? for_type : "");
			return NULL;
		}
		if (g_str_equal(for_type, type) && !read_specification(call, entry, tags))
			return NULL;
	}
	return g_steal_pointer(&tags);
}

/* All ids must exist before anything is changed. */
static GPtrArray *tagged_ids(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = call_texts(call, "ResourceId");
	if (ids->len == 0) {
		ec2_fail_missing(call, "resourceIdSet");
		return NULL;
	}
	rg_ptr_foreach (const char, id, ids) {
		unsigned kind = ec2_kind_of(id);
		if (kind == EC2_KINDS) {
			rg_sim_fail(call, 400, "InvalidID", "The ID '%s' is not valid", id);
			return NULL;
		}
		if (!ec2_find(call, kind, id))
			return NULL;
	}
	return g_steal_pointer(&ids);
}

static void store_tags(RgSimCall *call, const char *id, json_t *tags)
{
	unsigned kind = ec2_kind_of(id);
	json_t *doc = rg_sim_edit(call->place, kind, id);
	json_object_set_new(doc, "tagSet", tags);
	if (kind == EC2_INSTANCE)
		ec2_lease_plan(call->place, doc);
	rg_sim_put(call->place, kind, doc);
}

static json_t *tags_with(const json_t *old, const GPtrArray *given)
{
	json_t *tags = json_copy(rg_json_unconst(old));
	if (!tags)
		tags = json_array();
	rg_ptr_foreach (const json_t, entry, given) {
		json_t *tag = tag_new(ec2_param_str(entry, "Key"), ec2_param_str(entry, "Value"));
		int at = tag_index(tags, doc_str(tag, "key"));
		if (at >= 0)
			json_array_set_new(tags, (size_t)at, tag);
		else
			json_array_append_new(tags, tag);
	}
	return tags;
}

static bool tags_fit(RgSimCall *call, const GPtrArray *ids, const GPtrArray *given)
{
	rg_ptr_foreach (const char, id, ids) {
		json_t *doc = rg_sim_find(call->place, ec2_kind_of(id), id);
		json_auto_t *tags = tags_with(json_object_get(doc, "tagSet"), given);
		if (json_array_size(tags) > MAX_TAGS)
			return rg_sim_fail(call, 400, "TagLimitExceeded",
				"The maximum number of Tags for a resource has been reached.");
		if (ec2_kind_of(id) == EC2_INSTANCE && ec2_shows_tags(doc) &&
			!ec2_tags_can_show(call, tags))
			return false;
	}
	return true;
}

static bool create_tags(RgSimCall *call)
{
	g_autoptr(GPtrArray) given = call_list(call, "Tag");
	if (given->len == 0)
		return ec2_fail_missing(call, "tagSet");
	rg_ptr_foreach (const json_t, entry, given) {
		if (!check_tag(call, ec2_param_str(entry, "Key"), ec2_param_str(entry, "Value")))
			return false;
	}
	g_autoptr(GPtrArray) ids = tagged_ids(call);
	if (!ids || !tags_fit(call, ids, given) || !ec2_go(call))
		return false;
	rg_ptr_foreach (const char, id, ids) {
		json_t *doc = rg_sim_find(call->place, ec2_kind_of(id), id);
		store_tags(call, id, tags_with(json_object_get(doc, "tagSet"), given));
	}
	return ec2_done(call);
}

/* A tag is removed if its key is named, and its value too if one is given; without a list, all tags
 * are removed. */
static bool is_named(const json_t *tag, const GPtrArray *given)
{
	rg_ptr_foreach (const json_t, entry, given) {
		const char *value = ec2_param_str(entry, "Value");
		if (g_strcmp0(ec2_param_str(entry, "Key"), doc_str(tag, "key")) == 0 &&
			(!value || g_str_equal(value, doc_str(tag, "value"))))
			return true;
	}
	return given->len == 0;
}

static bool delete_tags(RgSimCall *call)
{
	g_autoptr(GPtrArray) given = call_list(call, "Tag");
	g_autoptr(GPtrArray) ids = tagged_ids(call);
	if (!ids || !ec2_go(call))
		return false;
	rg_ptr_foreach (const char, id, ids) {
		const json_t *doc = rg_sim_find(call->place, ec2_kind_of(id), id);
		const json_t *old = json_object_get(doc, "tagSet");
		json_t *kept = json_array();
		rg_json_foreach (tag, old) {
			if (!is_named(tag, given))
				json_array_append(kept, tag);
		}
		store_tags(call, id, kept);
	}
	return ec2_done(call);
}

static void collect_tags(const RgSimCall *call, unsigned kind, GPtrArray *out)
{
	const RgSimTable *table = call->place->tables[kind];
	rg_ptr_foreach (const RgSimItem, item, table->order) {
		const json_t *tags =
			json_object_get(rg_sim_item_view(item, call->view_ms), "tagSet");
		rg_json_foreach (tag, tags) {
			g_ptr_array_add(out, json_pack("{s:s, s:s, s:s, s:s}", "key",
						     doc_str(tag, "key"), "resourceId", item->id,
						     "resourceType", ec2_resources[kind].tag_type,
						     "value", doc_str(tag, "value")));
		}
	}
}

static bool describe_tags(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"key", "key"}, {"resource-id", "resourceId"},
		{"resource-type", "resourceType"}, {"value", "value"}, {NULL}};
	static const Ec2Listing listing = {.set = "tagSet", .filters = filters};
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(rg_json_unref);
	for (int kind = 0; kind < EC2_RESOURCES; kind++)
		collect_tags(call, kind, docs);
	return ec2_describe_docs(call, &listing, docs);
}

const RgSimAction ec2_tag_actions[] = {
	{"CreateTags", create_tags, true, "DryRun ResourceId Tag"},
	{"DeleteTags", delete_tags, true, "DryRun ResourceId Tag"},
	{"DescribeTags", describe_tags, false, PAGED},
	{NULL},
};
