#include "resource/schema.h"
#include "resource/resource.h"
#include "base/words.h"

struct RgSchema {
	json_t *document; /* names and defaults are borrowed from it */
	json_t *pool_config;
	GHashTable *kinds; /* char* -> RgKind* */
	GStrv names;
	RgWords words;
	GPtrArray *listings; /* GStrv */
};

/* The only kind that raygpu keeps itself: apply generates the value, the state holds it, `$ref`
 * resolves to it. */
static const char *const secret_kind =
	"{\"version\": 1, \"batch\": {\"create\": 1, \"update\": 1, \"remove\": 1}, "
	"\"attributes\": {"
	"\"bytes\": {\"type\": \"integer\", \"required\": true, \"force_new\": true},"
	"\"value\": {\"type\": \"string\", \"computed\": true, \"sensitive\": true}}}";

static void free_kind(gpointer data)
{
	RgKind *kind = data;
	g_hash_table_destroy(kind->attributes);
	g_free(kind);
}

static RgAttribute *read_attribute(const char *name, const json_t *object)
{
	RgAttribute *attribute = g_new0(RgAttribute, 1);
	const json_t *otherwise = json_object_get(object, "default");
	attribute->name = g_intern_string(name);
	attribute->type = g_intern_string(rg_json_str(object, "type", "string"));
	attribute->required = rg_json_bool(object, "required", false);
	attribute->computed = rg_json_bool(object, "computed", false);
	attribute->force_new = rg_json_bool(object, "force_new", false);
	attribute->sensitive = rg_json_bool(object, "sensitive", false);
	attribute->unreadable = rg_json_bool(object, "unreadable", false);
	attribute->create_only = rg_json_bool(object, "create_only", false);
	attribute->ignore_drift = rg_json_bool(object, "ignore_drift", false);
	attribute->set = rg_json_bool(object, "set", false);
	attribute->partial = rg_json_bool(object, "partial", false);
	attribute->attaches = rg_json_bool(object, "attaches", false);
	attribute->role = g_intern_string(rg_json_str(object, "role", NULL));
	attribute->pinned = g_intern_string(rg_json_str(object, "pinned", NULL));
	attribute->field = g_intern_string(rg_json_str(object, "field", NULL));
	attribute->restarts = rg_json_bool(object, "restarts", false);
	attribute->detail = rg_json_bool(object, "detail", false);
	attribute->gzip_base64 = g_str_equal(rg_json_str(object, "encoding", ""), "gzip_base64");
	attribute->default_value = json_is_null(otherwise) ? NULL : otherwise;
	return attribute;
}

static RgKind *read_kind(const char *name, json_t *object)
{
	RgKind *kind = g_new0(RgKind, 1);
	const json_t *batch = json_object_get(object, "batch");
	const json_t *requests = json_object_get(object, "requests_per_item");
	kind->name = g_intern_string(name);
	kind->listing = g_intern_string(rg_json_str(object, "listing", NULL));
	kind->node = rg_json_bool(object, "node", false);
	kind->read_if_used = rg_json_bool(object, "read_if_used", false);
	kind->updates_marks = rg_json_bool(object, "updates_marks", false);
	kind->removes_marks = rg_json_bool(object, "removes_marks", false);
	kind->tries_updates = rg_json_bool(object, "tries_updates", false);
	kind->runs_once = rg_json_bool(object, "runs_once", false);
	kind->create_finds = rg_json_bool(object, "create_finds", false);
	kind->version = rg_json_int(object, "version", 1);
	kind->batch_create = MAX(1, rg_json_int(batch, "create", 1));
	kind->batch_update = MAX(1, rg_json_int(batch, "update", 1));
	kind->batch_remove = MAX(1, rg_json_int(batch, "remove", 1));
	kind->list_page = MAX(1, rg_json_int(object, "list_page", 100));
	kind->consistency_s = MAX(0, rg_json_int(object, "consistency_s", 0));
	kind->replay_s = MAX(0, rg_json_int(object, "replay_s", 0));
	kind->ready_timeout_s = MAX(0, rg_json_int(object, "ready_timeout_s", 0));
	kind->update_timeout_s = MAX(0, rg_json_int(object, "update_timeout_s", 0));
	kind->unseen_update_s =
		rg_json_bool(object, "update_ends_with_run", false) ? 0 : kind->update_timeout_s;
	kind->changing_s = rg_json_int(object, "changing_s", 0);
	kind->remove_timeout_s = MAX(0, rg_json_int(object, "remove_timeout_s", 0));
	kind->requests.create = rg_json_int(requests, "create", 0);
	kind->requests.ready = rg_json_int(requests, "ready", 0);
	kind->requests.update = rg_json_int(requests, "update", 0);
	kind->requests.remove = rg_json_int(requests, "remove", 0);
	kind->removal = json_object_get(object, "removal");
	kind->attributes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	rg_json_foreach_member (key, attribute, json_object_get(object, "attributes")) {
		RgAttribute *read = read_attribute(key, attribute);
		g_hash_table_insert(kind->attributes, (gpointer)(uintptr_t)read->name, read);
	}
	return kind;
}

static void add_kind(RgSchema *schema, RgKind *kind)
{
	g_hash_table_insert(schema->kinds, (gpointer)(uintptr_t)kind->name, kind);
}

/* The kinds of one listing, from the n-th on; NULL if an earlier kind has that listing. */
static GStrv kinds_of_listing(const RgSchema *schema, size_t n)
{
	const RgKind *first = rg_schema_kind(schema, schema->names[n]);
	g_autoptr(GStrvBuilder) kinds = g_strv_builder_new();
	for (size_t i = 0; schema->names[i]; i++) {
		const RgKind *kind = rg_schema_kind(schema, schema->names[i]);
		if (kind != first && (!kind->listing || kind->listing != first->listing))
			continue;
		if (i < n)
			return NULL;
		g_strv_builder_add(kinds, kind->name);
	}
	return g_strv_builder_end(kinds);
}

static GPtrArray *make_listings(const RgSchema *schema)
{
	GPtrArray *listings = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	for (size_t n = 0; schema->names[n]; n++) {
		GStrv kinds = kinds_of_listing(schema, n);
		if (kinds)
			g_ptr_array_add(listings, kinds);
	}
	return listings;
}

/* If two attributes had one role, chance would decide which one is read. Members of a set have no
 * position by which they could be compared in part. */
static bool check_attributes(const RgKind *kind, RgDiags *diags)
{
	rg_hash_values (const RgAttribute, attribute, kind->attributes) {
		bool twice =
			attribute->role && rg_kind_with_role(kind, attribute->role) != attribute;
		if (twice)
			rg_diags_error(diags, "provider.refused",
				"two attributes of the provider's kind %s have the role \"%s\"",
				kind->name, attribute->role);
		else if (attribute->set && attribute->partial)
			rg_diags_error(diags, "provider.refused",
				"%s of the provider's kind %s is a set and partial",
				attribute->name, kind->name);
		else
			continue;
		return false;
	}
	return true;
}

/* pool_config may refer to the $defs of config, and be such a reference. */
static json_t *make_pool_config(const json_t *document)
{
	const json_t *config = json_object_get(document, "config");
	json_t *defs = json_object_get(config, "$defs");
	json_t *rules = json_object_get(document, "pool_config");
	const char *ref = rg_json_str(rules, "$ref", NULL);
	json_t *whole = json_copy(ref && *ref == '#' ? rg_json_at(config, ref + 1) : rules);
	if (whole && defs)
		json_object_set(whole, "$defs", defs);
	return whole;
}

RgSchema *rg_schema_new(const json_t *document, RgDiags *diags)
{
	json_t *kinds = json_object_get(document, "kinds");
	if (!json_is_object(kinds)) {
		rg_diags_error(diags, "provider.refused", "the provider's schema names no kinds");
		return NULL;
	}
	if (json_object_get(kinds, RG_SECRET_KIND)) {
		rg_diags_error(diags, "provider.refused",
			"the provider's schema claims the kind `" RG_SECRET_KIND "`");
		return NULL;
	}
	RgSchema *schema = g_new0(RgSchema, 1);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	schema->document = json_incref(rg_json_unconst(document));
	schema->pool_config = make_pool_config(schema->document);
	schema->words = rg_words_of(json_object_get(document, "words"));
	schema->kinds = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_kind);
	bool ok = true;
	rg_json_foreach_member (name, object, json_object_get(schema->document, "kinds")) {
		RgKind *kind = read_kind(name, object);
		add_kind(schema, kind);
		g_strv_builder_add(names, name);
		ok = check_attributes(kind, diags) && ok;
	}
	schema->names = g_strv_builder_end(names);
	schema->listings = make_listings(schema);
	json_auto_t *secret = json_loads(secret_kind, 0, NULL);
	add_kind(schema, read_kind(RG_SECRET_KIND, secret));
	if (!ok)
		g_clear_pointer(&schema, rg_schema_free);
	return schema;
}

void rg_schema_free(RgSchema *schema)
{
	if (!schema)
		return;
	g_hash_table_destroy(schema->kinds);
	g_strfreev(schema->names);
	g_ptr_array_unref(schema->listings);
	json_decref(schema->pool_config);
	json_decref(schema->document);
	g_free(schema);
}

const RgKind *rg_schema_kind(const RgSchema *schema, const char *kind)
{
	return g_hash_table_lookup(schema->kinds, kind);
}

bool rg_kind_is_of_create(const RgKind *kind, const char *token, const char *seen)
{
	return !token || !seen || (kind && kind->create_finds) || g_str_equal(token, seen);
}

const RgAttribute *rg_kind_attribute(const RgKind *kind, const char *name)
{
	return g_hash_table_lookup(kind->attributes, name);
}

const RgAttribute *rg_kind_with_role(const RgKind *kind, const char *role)
{
	rg_hash_values (const RgAttribute, attribute, kind->attributes) {
		if (g_strcmp0(attribute->role, role) == 0)
			return attribute;
	}
	return NULL;
}

bool rg_schema_hides(const RgSchema *schema, const char *kind, const char *name)
{
	const RgKind *known = rg_schema_kind(schema, kind);
	const RgAttribute *attribute = known ? rg_kind_attribute(known, name) : NULL;
	return !attribute || attribute->sensitive || g_str_equal(kind, RG_SECRET_KIND);
}

GStrv rg_schema_kinds(const RgSchema *schema)
{
	return schema->names;
}

const GPtrArray *rg_schema_listings(const RgSchema *schema)
{
	return schema->listings;
}

static const json_t *limits(const RgSchema *schema)
{
	return json_object_get(schema->document, "limits");
}

/* What the document says in one member, as schema.h promises it. */
#define MEMBER(noun)                                                                               \
	const json_t *rg_schema_##noun(const RgSchema *schema)                                     \
	{                                                                                          \
		return json_object_get(schema->document, #noun);                                   \
	}
#define FLAG(verb, name, otherwise)                                                                \
	bool rg_schema_##verb(const RgSchema *schema)                                              \
	{                                                                                          \
		return rg_json_bool(schema->document, name, otherwise);                            \
	}
MEMBER(boot)
MEMBER(exports)
MEMBER(connect)
MEMBER(labels)
MEMBER(stores)
MEMBER(disk)
MEMBER(zones)
MEMBER(image)
MEMBER(reservation)
MEMBER(secrets)
MEMBER(config)
FLAG(has_regions, "regions", true)
FLAG(spot_max_price, "spot_max_price", false)
FLAG(zones_start_with_region, "zones_start_with_region", false)
FLAG(elastic, "elastic", false)
FLAG(jobs, "jobs", false)
FLAG(describes_types, "describes_types", false)
FLAG(describes_shapes, "describes_shapes", false)
FLAG(shared_nodes, "shared_nodes", false)

double rg_schema_requests_per_s(const RgSchema *schema)
{
	double rate = json_number_value(json_object_get(limits(schema), "requests_per_s"));
	return rate > 0 ? rate : 1;
}

unsigned rg_schema_burst(const RgSchema *schema)
{
	return (unsigned)CLAMP(rg_json_int(limits(schema), "burst", 1), 1, 1000000);
}

bool rg_schema_has_no_zones(const RgSchema *schema)
{
	const json_t *zones = rg_schema_zones(schema);
	return zones && json_array_size(zones) == 0;
}

bool rg_schema_runs_start_ray(const RgSchema *schema)
{
	const char *by = rg_json_str(rg_schema_boot(schema), "by", "nothing");
	return g_str_equal(by, "cloud_init") || g_str_equal(by, "script");
}

const RgWords *rg_schema_words(const RgSchema *schema)
{
	return &schema->words;
}

static const json_t *marks(const RgSchema *schema)
{
	return json_object_get(schema->document, "marks");
}

const json_t *rg_schema_mark_form(const RgSchema *schema)
{
	return json_object_get(marks(schema), "value");
}

size_t rg_schema_indexes_max(const RgSchema *schema)
{
	return (size_t)rg_json_int(marks(schema), "indexes_max", INT64_MAX);
}

const char *rg_schema_ca_bundle_env(const RgSchema *schema)
{
	return rg_json_str(schema->document, "ca_bundle_env", NULL);
}

const json_t *rg_schema_pool_config(const RgSchema *schema)
{
	return schema->pool_config;
}

json_t *rg_schema_own_settings(const RgSchema *schema, const json_t *settings)
{
	const json_t *known = json_object_get(schema->pool_config, "properties");
	json_t *own = json_object();
	rg_json_foreach_member (name, value, settings)
		if (json_object_get(known, name))
			json_object_set(own, name, value);
	return own;
}

static json_t *sorted_set(const json_t *list)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	rg_json_foreach (member, list)
		g_ptr_array_add(texts, rg_json_canonical(member));
	g_ptr_array_sort(texts, rg_by_text);
	json_t *sorted = json_array();
	for (guint t = 0; t < texts->len; t++)
		if (t == 0 || !g_str_equal(texts->pdata[t], texts->pdata[t - 1]))
			json_array_append_new(sorted, json_string(texts->pdata[t]));
	return sorted;
}

bool rg_attribute_equal(const RgAttribute *attribute, const json_t *a, const json_t *b)
{
	json_t *x = rg_json_unconst(a), *y = rg_json_unconst(b);
	if (x == y)
		return true;
	if (!x || !y)
		return false;
	if (json_equal(x, y))
		return true;
	if (!attribute->set || !json_is_array(x) || !json_is_array(y))
		return false;
	json_auto_t *one = sorted_set(x), *two = sorted_set(y);
	return json_equal(one, two) != 0;
}

static const json_t *of_length(const json_t *list, const json_t *like)
{
	return json_array_size(list) == json_array_size(like) ? list : NULL;
}

static json_t *cut(json_t *observed, const json_t *wish, const json_t *record)
{
	json_t *part;
	if (json_is_object(observed) && (json_is_object(wish) || json_is_object(record))) {
		part = json_object();
		rg_json_foreach_member (name, value, observed) {
			const json_t *wished = json_object_get(wish, name);
			const json_t *recorded = json_object_get(record, name);
			if (wished || recorded)
				json_object_set_new(part, name, cut(value, wished, recorded));
		}
		return part;
	}
	if (!json_is_array(observed))
		return json_incref(observed);
	wish = of_length(wish, observed);
	record = of_length(record, observed);
	part = json_array();
	rg_json_foreach_at (i, value, observed)
		json_array_append_new(
			part, cut(value, json_array_get(wish, i), json_array_get(record, i)));
	return part;
}

json_t *rg_attribute_cut(const RgAttribute *attribute, const json_t *observed, const json_t *wish,
	const json_t *record)
{
	if (!attribute->partial || !observed)
		return json_incref(rg_json_unconst(observed));
	if (!wish && !record)
		return NULL;
	json_auto_t *part = cut(rg_json_unconst(observed), wish, record);
	/* what the record had is gone, the rest is the cloud's */
	bool nothing = !wish && json_is_object(part) && !json_object_size(part);
	return nothing ? NULL : g_steal_pointer(&part);
}
