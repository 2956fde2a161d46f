/* resolve and lower: facts of a small cluster, and resources derived from them without the
 * cloud. */
#include <string.h>
#include "provider/conform_internal.h"

static json_t *ask(const RgConform *c, const char *type)
{
	return json_pack("{s:[{s:s, s:n, s:s}], s:b, s:[s], s:[]}", "images", "key",
		"default/x86_64", "image", "arch", "x86_64", "place", 1, "instance_types", type,
		"zones");
}

/* Of a finite stock nothing else can be planned. */
static void check_stock(RgConform *c)
{
	json_t *stock = json_object_get(c->facts, "stock");
	g_autofree char *wrong = NULL;
	rg_json_foreach_member (type, zones, stock)
		rg_json_foreach_member (zone, n, zones)
			if (!wrong && !rg_json_has_text(json_object_get(c->facts, "zones"), zone))
				wrong = g_strdup_printf("%s in %s", type, zone);
	if (stock)
		rg_conform_tell(c, "resolve reports stock in the zones that it reports", !wrong,
			wrong, NULL);
}

static bool check_resolve(RgConform *c)
{
	g_autoptr(RgDiags) diags = rg_diags_new(), unread = rg_diags_new();
	json_auto_t *wants = ask(c, c->type), *strange = ask(c, "raygpu-check-no-such-type");
	c->facts = rg_provider_resolve(c->provider, wants, diags);
	if (!rg_conform_tell(
		    c, "resolve reports image, zones and offerings", c->facts != NULL, NULL, diags))
		return false;
	check_stock(c);
	json_auto_t *none = rg_provider_resolve(c->provider, strange, unread);
	json_t *zones =
		json_object_get(json_object_get(none, "offerings"), "raygpu-check-no-such-type");
	rg_conform_tell(c, "resolve offers no instance type that does not exist",
		!none || json_array_size(zones) == 0, "it names zones for one", NULL);
	return true;
}

/* A usable zone that offers the type; NULL if there is none. */
static const char *choose_zone(const RgConform *c)
{
	rg_json_foreach (zone, json_object_get(json_object_get(c->facts, "offerings"), c->type)) {
		const char *name = json_string_value(zone);
		if (rg_json_has_text(json_object_get(c->facts, "zones"), name))
			return name;
	}
	return NULL;
}

/* As src/boot renders it, for what the schema's nodes boot from. */
static json_t *boot(const RgConform *c, bool is_head)
{
	const json_t *said = rg_schema_boot(rg_provider_get_schema(c->provider));
	const char *by = rg_json_str(said, "by", "nothing");
	bool container = g_str_equal(by, "container");
	json_auto_t *head = json_pack("{s:[s, {s:s, s:s}]}", "$join",
		container ? "--address=" : "#cloud-config\n# head: ", "$ref", "@head", "attr",
		"address");
	json_t *boot = json_pack("{s:{s:s}, s:{}, s:{}, s:i}", "env", "RAY_NODE_TYPE_NAME",
		is_head ? "head" : "check", "labels", "resources", "gpus", 0);
	if (container)
		json_object_update_new(
			boot, json_pack("{s:s, s:[s, s, o]}", "image", "rayproject/ray:2.56.1",
				      "command", "ray", "start",
				      is_head ? json_string("--head") : json_incref(head)));
	else if (rg_schema_runs_start_ray(c->schema))
		json_object_set_new(boot, g_str_equal(by, "script") ? "script" : "user_data",
			is_head ? json_string("#cloud-config\n") : json_incref(head));
	return boot;
}

static json_t *node(const RgConform *c, const char *zone, bool is_head)
{
	const json_t *image = rg_json_at(c->facts, "/images/default~1x86_64");
	const char *device = rg_json_str(image, "root_device", NULL);
	json_t *offer = json_pack("{s:s, s:s, s:s, s:n, s:i, s:n, s:i, s:i, s:n, s:n, s:n}",
		"instance_type", c->type, "zone", zone, "market", "on-demand", "gpu", "gpus", 0,
		"gpu_memory_gib", "vcpus", 8, "memory_gib", 32, "price_microusd_hour", "price_date",
		"price_quality");
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:s, s:s, s:s?}, s:{s:i, s:n}, s:{}, s:{}, "
			 "s:{}, s:o}",
		"pool", is_head ? "head" : "check", "role", is_head ? "head" : "worker", "origin",
		is_head ? "/head" : "/pools/check", "indexes",
		is_head ? json_null() : json_pack("[i, i]", 0, 1), "offer", offer, "image", "key",
		"default/x86_64", "id", rg_json_str(image, "id", ""), "root_device", device, "disk",
		"size_gb", 100, "type", "labels", "resources", "env", "boot", boot(c, is_head));
}

/* `settings` of each node; NULL: none. `least`: of an elastic pool of workers; -1: it is none. */
static json_t *fitted(const RgConform *c, const char *zone, int least, const json_t *settings)
{
	json_auto_t *none = json_object();
	json_t *config = c->options->config ? rg_json_unconst(c->options->config) : none;
	json_t *head = node(c, zone, true), *workers = node(c, zone, false);
	if (settings) {
		json_object_set(head, "config", rg_json_unconst(settings));
		json_object_set(workers, "config", rg_json_unconst(settings));
	}
	if (least >= 0)
		json_object_update_new(
			workers, json_pack("{s:n, s:i, s:i}", "indexes", "min", least, "max", 3));
	return json_pack("{s:i, s:s, s:s, s:{s:s, s:s, s:O}, s:{s:s}, s:O, s:{s:s, s:n, s:s, s:s}, "
			 "s:[o, o]}",
		"format", 1, "cluster", "raygpu-check", "lineage", c->lineage, "scope", "provider",
		rg_provider_name(c->provider), "region",
		c->options->region ? c->options->region : "", "config", config, "labels", "made-by",
		"raygpu-check", "facts", c->facts, "ray", "version", "2.56.1", "python", "image",
		"rayproject/ray:2.56.1", "auth", "none", "nodes", head, workers);
}

/* Of the workers that the script creates. */
static int usual_least(const RgConform *c)
{
	return rg_conform_is_elastic(c) ? RG_CONFORM_LEAST : -1;
}

static bool is_same(const RgResourceSet *a, const RgResourceSet *b)
{
	bool same = a && b && rg_resource_set_size(a) == rg_resource_set_size(b);
	for (size_t i = 0; same && i < rg_resource_set_size(a); i++) {
		const RgResource *left = rg_resource_set_get(a, i);
		const RgResource *right = rg_resource_set_get(b, i);
		same = g_str_equal(left->address, right->address) &&
		       json_equal(left->attrs, right->attrs);
	}
	return same;
}

/* A range stays with one resource, however many nodes run. */
static void check_elastic(RgConform *c, const char *zone)
{
	static const char step[] = "lower accepts an elastic pool";
	g_autoptr(RgDiags) diags = rg_diags_new();
	if (!rg_schema_elastic(rg_provider_get_schema(c->provider)))
		return;
	json_auto_t *input = fitted(c, zone, 0, NULL);
	g_autoptr(RgResourceSet) desired = rg_provider_lower(c->provider, input, diags);
	rg_conform_tell(c, step, desired != NULL, NULL, diags);
}

/* One step of the settings of pools. A module may refuse an example, which requires other settings.
 * A setting that changes nothing, and is not refused, was forgotten. */
static void tell_setting(
	RgConform *c, const char *step, const RgResourceSet *desired, RgDiags *diags)
{
	if (!desired && rg_diags_has_code(diags, "provider.bad-result")) {
		rg_conform_tell(c, step, false, NULL, diags);
		return;
	}
	rg_conform_tell(c, step, !desired || !is_same(c->desired, desired),
		"the resources are the same without it", NULL);
}

static void check_pool_settings(RgConform *c, const char *zone)
{
	const json_t *rules = rg_schema_pool_config(c->schema);
	json_t *settings = json_object_get(rules, "properties");
	rg_json_foreach_member (name, rule, settings) {
		json_t *example = json_array_get(json_object_get(rule, "examples"), 0);
		json_auto_t *one = json_pack("{s:O}", name, example);
		json_auto_t *input = fitted(c, zone, usual_least(c), one);
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autofree char *step = g_strdup_printf("lower uses the pool setting %s", name);
		if (!rg_provider_module_check_pool(rg_provider_name(c->provider), c->schema,
			    "/pools/check/provider", one, diags)) {
			rg_conform_tell(c, step, false, NULL, diags);
			continue;
		}
		g_autoptr(RgResourceSet) desired = rg_provider_lower(c->provider, input, diags);
		tell_setting(c, step, desired, diags);
	}
}

bool rg_conform_lower(RgConform *c)
{
	g_autoptr(RgDiags) diags = rg_diags_new(), unread = rg_diags_new();
	if (!check_resolve(c))
		return false;
	const char *zone = choose_zone(c);
	if (!zone) {
		const RgWords *words = rg_schema_words(c->schema);
		g_autofree char *why = g_strdup_printf("no %s that resolve reports offers the %s "
						       "%s: choose another with --type",
			words->zone, words->instance_type, c->type);
		rg_conform_skip(c, "life of a cluster", why);
		return false;
	}
	json_auto_t *input = fitted(c, zone, usual_least(c), NULL);
	g_assert(input != NULL);
	c->desired = rg_provider_lower(c->provider, input, diags);
	if (!rg_conform_tell(
		    c, "lower returns resources of its kinds", c->desired != NULL, NULL, diags))
		return false;
	check_elastic(c, zone);
	g_autoptr(RgResourceSet) again = rg_provider_lower(c->provider, input, unread);
	rg_conform_tell(c, "lower returns the same result twice", is_same(c->desired, again),
		"the second answer differs: plans would change spontaneously", NULL);
	check_pool_settings(c, zone);
	return true;
}
