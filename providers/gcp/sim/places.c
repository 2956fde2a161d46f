#include <string.h>
#include "gcp/sim/gce.h"

/* What nobody creates: the project, regions, zones, machine, accelerator and disk types, images.
 * Made from the facts for each answer. */

#define EPOCH "2014-05-30T18:35:16.413-07:00"

static json_t *fact_new(const RgSimPlace *place, const char *scope, const char *resource,
	const char *singular, const char *name)
{
	g_autofree char *key = g_strjoin("/", scope, resource, name, NULL);
	g_autofree char *kind = g_strconcat("compute#", singular, NULL);
	g_autofree char *id = gce_fixed_number(singular, name);
	/* Zones and regions have no scope in their own address. */
	g_autofree char *self = gce_link(place,
		g_str_has_prefix(key, "global/zones/") || g_str_has_prefix(key, "global/regions/")
			? key + strlen("global/")
			: key);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", GCE_KEY, key, "kind", kind, "id", id,
		"creationTimestamp", EPOCH, "name", name, "selfLink", self);
}

static bool answer_named(RgSimCall *call, json_t *docs, const char *parameter, const char *resource)
{
	json_auto_t *owned = docs;
	json_t *found = rg_sim_entry(owned, "name", call_str(call, parameter));
	if (found)
		return gce_answer(call, json_incref(found));
	g_autofree char *scope = gce_scope(call);
	g_autofree char *key = g_strjoin("/", scope, resource, call_str(call, parameter), NULL);
	return gce_fail_missing(call, call->place_name,
		g_str_has_prefix(key, "global/") ? key + strlen("global/") : key);
}

/* ---- zones and regions */

static json_t *zone_json(const RgSimPlace *place, const char *region, const char *name)
{
	g_autofree char *key = g_strconcat("regions/", region, NULL);
	g_autofree char *link = gce_link(place, key);
	json_t *doc = fact_new(place, "global", "zones", "zone", name);
	json_object_set_new(doc, "description", json_string(name));
	json_object_set_new(doc, "status", json_string("UP"));
	json_object_set_new(doc, "region", json_string(link));
	return doc;
}

static json_t *zones_json(const RgSimPlace *place)
{
	json_t *out = json_array();
	rg_json_foreach_member (region, zones, gce_data(place)->regions) {
		for (size_t i = 0; i < json_array_size(zones); i++)
			json_array_append_new(
				out, zone_json(place, region,
					     json_string_value(json_array_get(zones, i))));
	}
	return out;
}

static json_t *regions_json(const RgSimPlace *place)
{
	json_t *out = json_array();
	rg_json_foreach_member (region, zones, gce_data(place)->regions) {
		json_t *doc = fact_new(place, "global", "regions", "region", region);
		json_t *links = json_array();
		for (size_t i = 0; i < json_array_size(zones); i++) {
			g_autofree char *key = g_strconcat(
				"zones/", json_string_value(json_array_get(zones, i)), NULL);
			g_autofree char *link = gce_link(place, key);
			json_array_append_new(links, json_string(link));
		}
		json_object_set_new(doc, "description", json_string(region));
		json_object_set_new(doc, "status", json_string("UP"));
		json_object_set_new(doc, "zones", links);
		json_array_append_new(out, doc);
	}
	return out;
}

static bool zones_list(RgSimCall *call)
{
	return gce_list_docs(call, zones_json(call->place));
}

static bool zones_get(RgSimCall *call)
{
	return answer_named(call, zones_json(call->place), "zone", "zones");
}

static bool regions_list(RgSimCall *call)
{
	json_t *docs = regions_json(call->place);
	rg_json_foreach (doc, docs)
		json_object_set_new(
			doc, "quotas", gce_quotas_json(call->place, doc_str(doc, "name")));
	return gce_list_docs(call, docs);
}

static bool regions_get(RgSimCall *call)
{
	const char *name = call_str(call, "region");
	json_t *docs = regions_json(call->place);
	json_t *doc = rg_sim_entry(docs, "name", name);
	if (doc)
		json_object_set_new(doc, "quotas", gce_quotas_json(call->place, name));
	return answer_named(call, docs, "region", "regions");
}

static bool projects_get(RgSimCall *call)
{
	const RgSimPlace *place = call->place;
	g_autofree char *number = gce_fixed_number("project", place->name);
	g_autofree char *self = g_strconcat(GCE_ROOT "projects/", place->name, NULL);
	g_autofree char *account =
		g_strconcat(number, "-compute@developer.gserviceaccount.com", NULL);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "kind",
		"compute#project", "id", number, "creationTimestamp", EPOCH, "name", place->name,
		"selfLink", self, "defaultNetworkTier", "PREMIUM", "xpnProjectStatus",
		"UNSPECIFIED_XPN_PROJECT_STATUS", "defaultServiceAccount", account,
		"commonInstanceMetadata", "kind", "compute#metadata", "fingerprint",
		"l7-yGbXE6lE=");
	json_object_set_new(doc, "quotas", gce_quotas_json(place, NULL));
	return gce_answer(call, doc);
}

/* ---- machine, accelerator and disk types */

static bool is_offered(const json_t *regions, const char *region)
{
	return !regions || rg_json_has_text(regions, region);
}

static json_t *machine_json(
	const RgSimPlace *place, const char *scope, const char *name, const json_t *facts)
{
	json_t *doc = fact_new(place, scope, "machineTypes", "machineType", name);
	json_object_set_new(doc, "zone", json_string(gce_last(scope)));
	json_object_set_new(doc, "isSharedCpu", json_false());
	json_object_set_new(doc, "maximumPersistentDisks", json_integer(128));
	json_object_set_new(doc, "maximumPersistentDisksSizeGb", json_string("263168"));
	static const char *const copied[] = {
		"guestCpus", "memoryMb", "architecture", "accelerators", "description"};
	for (gsize i = 0; i < G_N_ELEMENTS(copied); i++) {
		json_t *value = json_object_get(facts, copied[i]);
		if (value)
			json_object_set(doc, copied[i], value);
	}
	return doc;
}

static json_t *accelerator_json(const RgSimPlace *place, const char *scope, const char *name)
{
	json_t *doc = fact_new(place, scope, "acceleratorTypes", "acceleratorType", name);
	g_autofree char *link = gce_link(place, scope);
	json_object_set_new(doc, "description", json_string(name));
	json_object_set_new(doc, "zone", json_string(link));
	json_object_set_new(doc, "maximumCardsPerInstance", json_integer(8));
	return doc;
}

static json_t *disk_type_json(const RgSimPlace *place, const char *scope, const char *name)
{
	json_t *doc = fact_new(place, scope, "diskTypes", "diskType", name);
	g_autofree char *link = gce_link(place, scope);
	json_object_set_new(doc, "description", json_string(name));
	json_object_set_new(doc, "zone", json_string(link));
	json_object_set_new(doc, "validDiskSize", json_string("10GB-65536GB"));
	return doc;
}

typedef void (*AddFacts)(
	const RgSimPlace *place, const char *region, const char *scope, json_t *out);

static void add_machines(
	const RgSimPlace *place, const char *region, const char *scope, json_t *out)
{
	rg_json_foreach_member (name, facts, gce_data(place)->types) {
		if (is_offered(json_object_get(facts, "regions"), region))
			json_array_append_new(out, machine_json(place, scope, name, facts));
	}
}

static void add_once(json_t *out, const RgSimPlace *place, const char *scope, const char *name)
{
	g_autofree char *key = g_strjoin("/", scope, "acceleratorTypes", name, NULL);
	if (!rg_sim_entry(out, GCE_KEY, key))
		json_array_append_new(out, accelerator_json(place, scope, name));
}

/* One that a type brings, or that can be attached to one, where that type is offered. */
static void add_accelerators(
	const RgSimPlace *place, const char *region, const char *scope, json_t *out)
{
	json_auto_t *own = json_array();
	rg_json_foreach_member (name, facts, gce_data(place)->types) {
		const json_t *first = json_array_get(json_object_get(facts, "accelerators"), 0);
		if (first && is_offered(json_object_get(facts, "regions"), region))
			add_once(own, place, scope, doc_str(first, "guestAcceleratorType"));
		rg_json_foreach_member (accelerator, counts, json_object_get(facts, "attachable")) {
			rg_json_foreach_member (count, regions, counts) {
				if (is_offered(regions, region))
					add_once(own, place, scope, accelerator);
			}
		}
	}
	json_array_extend(out, own);
}

static void add_disk_types(
	const RgSimPlace *place, const char *region, const char *scope, json_t *out)
{
	static const char *const names[] = {
		"hyperdisk-balanced", "local-ssd", "pd-balanced", "pd-ssd", "pd-standard"};
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		json_array_append_new(out, disk_type_json(place, scope, names[i]));
}

static json_t *zonal(const RgSimCall *call, AddFacts add)
{
	const char *wanted = call_str(call, "zone");
	json_t *out = json_array();
	rg_json_foreach_member (region, zones, call_data(call)->regions) {
		for (size_t i = 0; i < json_array_size(zones); i++) {
			const char *zone = json_string_value(json_array_get(zones, i));
			g_autofree char *scope = g_strconcat("zones/", zone, NULL);
			if (!wanted || g_str_equal(wanted, zone))
				add(call->place, region, scope, out);
		}
	}
	return out;
}

static bool machines_list(RgSimCall *call)
{
	return gce_list_docs(call, zonal(call, add_machines));
}

static bool machines_aggregate(RgSimCall *call)
{
	return gce_aggregate_docs(call, zonal(call, add_machines));
}

/* Custom types too, which lists do not have. */
static bool machines_get(RgSimCall *call)
{
	const char *name = call_str(call, "machineType"), *zone = call_str(call, "zone");
	const json_t *facts = gce_type_facts(call_data(call), name);
	const char *region = gce_region_of(call_data(call), zone);
	g_autofree char *scope = gce_scope(call);
	if (facts && !json_object_get(call_data(call)->types, name) && region &&
		is_offered(json_object_get(facts, "regions"), region))
		return gce_answer(call, machine_json(call->place, scope, name, facts));
	return answer_named(call, zonal(call, add_machines), "machineType", "machineTypes");
}

static bool accelerators_list(RgSimCall *call)
{
	return gce_list_docs(call, zonal(call, add_accelerators));
}

static bool accelerators_aggregate(RgSimCall *call)
{
	return gce_aggregate_docs(call, zonal(call, add_accelerators));
}

static bool accelerators_get(RgSimCall *call)
{
	return answer_named(
		call, zonal(call, add_accelerators), "acceleratorType", "acceleratorTypes");
}

static bool disk_types_list(RgSimCall *call)
{
	return gce_list_docs(call, zonal(call, add_disk_types));
}

static bool disk_types_get(RgSimCall *call)
{
	return answer_named(call, zonal(call, add_disk_types), "diskType", "diskTypes");
}

/* ---- images: public projects have them */

static json_t *images_json(const RgSimPlace *place)
{
	json_t *out = json_array();
	rg_json_foreach (facts, gce_data(place)->images) {
		if (!g_str_equal(doc_str(facts, "project"), place->name))
			continue;
		json_t *doc = fact_new(place, "global", "images", "image", doc_str(facts, "name"));
		static const char *const copied[] = {
			"family", "architecture", "diskSizeGb", "guestOsFeatures"};
		for (gsize k = 0; k < G_N_ELEMENTS(copied); k++)
			json_object_set(doc, copied[k], json_object_get(facts, copied[k]));
		const json_t *without =
			json_object_get(place->sim->knobs, "google_images_without_features");
		if (rg_json_has_text(without, doc_str(facts, "family")))
			json_object_del(doc, "guestOsFeatures");
		json_object_set_new(doc, "status", json_string("READY"));
		json_object_set_new(doc, "sourceType", json_string("RAW"));
		json_array_append_new(out, doc);
	}
	return out;
}

json_t *gce_image_find(RgSimRealm *realm, const char *link)
{
	g_autofree char *project = NULL;
	g_autofree char *key = gce_key_of(link, &project);
	RgSimPlace *place = project ? rg_sim_place(realm, project) : NULL;
	bool view = key && g_regex_match_simple("^zones/[^/]+/imageFamilyViews/", key, 0, 0);
	if (!place || !(view || g_str_has_prefix(key, "global/images/")))
		return NULL;
	json_auto_t *images = images_json(place);
	bool family = view || g_str_has_prefix(key, "global/images/family/");
	const char *name = gce_last(key);
	const char *member = family ? "family" : g_ascii_isdigit(*name) ? "id" : "name";
	return json_incref(rg_sim_entry(images, member, name));
}

bool gce_is_image_project(const GceData *data, const char *project)
{
	return rg_sim_entry(data->images, "project", project) != NULL;
}

static bool images_list(RgSimCall *call)
{
	return gce_list_docs(call, images_json(call->place));
}

static bool images_get(RgSimCall *call)
{
	const char *name = call_str(call, "image");
	json_t *docs = images_json(call->place);
	json_t *numbered = g_ascii_isdigit(*name) ? rg_sim_entry(docs, "id", name) : NULL;
	if (!numbered)
		return answer_named(call, docs, "image", "images");
	json_incref(numbered);
	json_decref(docs);
	return gce_answer(call, numbered);
}

static bool images_of_family(RgSimCall *call)
{
	const char *family = call_str(call, "family");
	json_auto_t *docs = images_json(call->place);
	json_t *found = rg_sim_entry(docs, "family", family);
	if (found)
		return gce_answer(call, json_incref(found));
	g_autofree char *key = g_strconcat("global/images/family/", family, NULL);
	return gce_fail_missing(call, call->place_name, key);
}

const RgSimAction gce_fact_actions[] = {
	{"acceleratorTypes.aggregatedList", accelerators_aggregate, false, GCE_AGGREGATED},
	{"acceleratorTypes.get", accelerators_get, false, ""},
	{"acceleratorTypes.list", accelerators_list, false, GCE_LISTED},
	{"diskTypes.get", disk_types_get, false, ""},
	{"diskTypes.list", disk_types_list, false, GCE_LISTED},
	{"images.get", images_get, false, ""},
	{"images.getFromFamily", images_of_family, false, ""},
	{"images.list", images_list, false, GCE_LISTED},
	{"machineTypes.aggregatedList", machines_aggregate, false, GCE_AGGREGATED},
	{"machineTypes.get", machines_get, false, ""},
	{"machineTypes.list", machines_list, false, GCE_LISTED},
	{"projects.get", projects_get, false, ""},
	{"regions.get", regions_get, false, ""},
	{"regions.list", regions_list, false, GCE_LISTED},
	{"zones.get", zones_get, false, ""},
	{"zones.list", zones_list, false, GCE_LISTED},
	{NULL},
};
