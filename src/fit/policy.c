#include "fit/policy.h"
#include <string.h>
#include "fit/internal.h"

/* One policy of one file applied to one cluster. */
typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	const RgLimits *limits;
	const json_t *policy;
	RgDiags *diags;
	bool good;
} Check;

static const json_t *rule_of(const Check *check, const char *name)
{
	return json_object_get(check->policy, name);
}

/* `pointer`: of the rule, under /policy. */
static RgDiag *policy_refuse(Check *check, const char *code, RgSource at, const char *pointer,
	const char *format, ...) G_GNUC_PRINTF(5, 6);

static RgDiag *policy_refuse(
	Check *check, const char *code, RgSource at, const char *pointer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *whole = g_strconcat("/policy", pointer, NULL);
	RgDiag *diag = rg_diags_error(check->diags, code, "%s", summary);
	rg_diag_at(diag, at);
	rg_diag_related(diag, rg_limits_source(check->limits, whole), "policy");
	check->good = false;
	return diag;
}

static bool matches_pattern(const char *name, const char *pattern)
{
	return g_pattern_match_simple(pattern, name);
}

static bool is_same(const Check *check, const char *name, const char *pattern, const void *model)
{
	(void)check;
	(void)model;
	return matches_pattern(name, pattern);
}

/* Any name of the model, "A100" for an A100-40GB, or a pattern over its names. */
static bool is_gpu(const Check *check, const char *name, const char *pattern, const void *model)
{
	const RgGpuModel *gpu = model;
	return rg_catalog_is_model(check->shapes->catalog, pattern, gpu) ||
	       matches_pattern(name, pattern) || matches_pattern(gpu->ray_type, pattern);
}

/* What allow_THING and deny_THING are compared with; `what` NULL: use the provider's term. */
typedef struct {
	const char *allow, *deny, *code, *what;
	bool (*matches)(
		const Check *check, const char *name, const char *pattern, const void *model);
} Thing;

static const Thing accelerators = {
	"allow_accelerators", "deny_accelerators", "policy.accelerator", "accelerator", is_gpu};
static const Thing types = {
	"allow_instance_types", "deny_instance_types", "policy.instance-type", NULL, is_same};
static const Thing regions = {"allow_regions", "deny_regions", "policy.region", NULL, is_same};
static const Thing providers = {
	"allow_providers", "deny_providers", "policy.provider", "provider", is_same};
static const Thing markets = {"allow_markets", "deny_markets", "policy.market", "market", is_same};

static const char *word_for(const Check *check, const Thing *thing)
{
	const RgWords *words = rg_catalog_words(check->shapes->catalog);
	return thing == &types	   ? words->instance_type
	       : thing == &regions ? words->region
				   : thing->what;
}

/* Index of the first pattern that matches, or -1. */
static int find_match(const Check *check, const Thing *thing, const json_t *list, const char *name,
	const void *model)
{
	rg_json_foreach_at (i, pattern, list) {
		if (thing->matches(check, name, json_string_value(pattern), model))
			return (int)i;
	}
	return -1;
}

/* `whose`: " (pool train)" or "". */
static void check_thing(Check *check, const Thing *thing, const char *name, const void *model,
	RgSource at, const char *whose)
{
	const json_t *allow = rule_of(check, thing->allow), *deny = rule_of(check, thing->deny);
	const char *what = word_for(check, thing);
	int denied = find_match(check, thing, deny, name, model);
	if (denied >= 0) {
		g_autofree char *pointer = g_strdup_printf("/%s/%d", thing->deny, denied);
		policy_refuse(check, thing->code, at, pointer, "the %s %s%s is denied by policy",
			what, name, whose);
		return;
	}
	if (!allow || find_match(check, thing, allow, name, model) >= 0)
		return;
	g_autofree char *pointer = g_strdup_printf("/%s", thing->allow);
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_at (i, word, allow)
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", json_string_value(word));
	g_autofree char *words = g_strdup(text->str);
	RgDiag *diag = policy_refuse(check, thing->code, at, pointer,
		"the %s %s%s is not among those that the policy allows", what, name, whose);
	rg_diag_hint(diag, "allowed: %s", words);
}

static void check_pool(Check *check, const RgShape *shape)
{
	const RgPool *pool = shape->pool;
	g_autofree char *whose =
		pool->is_head ? g_strdup(" (head)") : g_strdup_printf(" (pool %s)", pool->name);
	const RgGpuModel *gpu = shape->type->gpu;
	check_thing(check, &types, shape->type->name, NULL, pool->shape_source, whose);
	if (gpu)
		check_thing(check, &accelerators, gpu->name, gpu, pool->shape_source, whose);
	bool chosen = pool->market.is_spot || pool->market.reservation;
	check_thing(check, &markets, rg_fit_market_word(shape), NULL,
		chosen ? pool->market.source : pool->source, whose);
	if (shape->is_spot && pool->market.floor > 0)
		check_thing(
			check, &markets, rg_market_word(false), NULL, pool->market.source, whose);
	if (pool->public_ip && json_is_false(rule_of(check, "public_addresses"))) {
		g_autofree char *at = rg_json_pointer_add(pool->origin, "public_ip");
		RgDiag *diag = policy_refuse(check, "policy.public-address",
			rg_cluster_source(check->cluster, at), "/public_addresses",
			"public addresses are denied by policy%s", whose);
		rg_diag_hint(diag, "remove public_ip; connect to the nodes through a VPN, peering "
				   "or a bastion");
	}
}

/* Ray's autoscaler may grow an elastic pool to its max at any time. */
static unsigned most_nodes(const RgCluster *cluster)
{
	unsigned nodes = cluster->head->nodes;
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		nodes += MAX(pool->nodes, pool->nodes_max);
	return nodes;
}

uint64_t rg_fit_policy_room(
	const RgCluster *cluster, const RgLimits *limits, size_t n, uint64_t most)
{
	double nodes = most_nodes(cluster);
	for (size_t i = 0; i < n; i++) {
		const json_t *rule = rg_json_at(limits[i].view, "/policy/max_nodes");
		double allowed = json_number_value(rule);
		if (json_is_number(rule))
			most = MIN(most, allowed > nodes ? (uint64_t)(allowed - nodes) : 0);
	}
	return most;
}

static void check_nodes(Check *check)
{
	const json_t *most = rule_of(check, "max_nodes");
	unsigned nodes = most_nodes(check->cluster);
	/* a count may be written as 40.0, which is an integer to JSON Schema */
	if (!most || nodes <= json_number_value(most))
		return;
	policy_refuse(check, "policy.max-nodes", rg_cluster_source(check->cluster, "/pools"),
		"/max_nodes", "the cluster %s %u nodes, including the head; the policy allows %.0f",
		nodes > rg_cluster_nodes(check->cluster) ? "may come to" : "has", nodes,
		json_number_value(most));
}

static void check_required_labels(Check *check)
{
	json_t *labels = rg_json_unconst(rule_of(check, "required_labels"));
	rg_json_foreach_member (key, pattern, labels) {
		const char *value = rg_json_str(check->cluster->labels, key, NULL);
		g_autofree char *rule = rg_json_pointer_add("/required_labels", key);
		g_autofree char *at = rg_json_pointer_add("/labels", key);
		RgSource source = rg_cluster_source(check->cluster, at);
		if (value && matches_pattern(value, json_string_value(pattern)))
			continue;
		if (value) {
			policy_refuse(check, "policy.label", source, rule,
				"the label %s is \"%s\"; the policy requires \"%s\"", key, value,
				json_string_value(pattern));
			continue;
		}
		RgDiag *diag = policy_refuse(check, "policy.label", source, rule,
			"the label %s is missing, which the policy requires", key);
		rg_diag_hint(diag, "add it to `labels`: {%s: ...}, matching \"%s\"", key,
			json_string_value(pattern));
	}
}

/* Why an image's content can change with time; NULL: it is fixed. */
static const char *moving_image(const json_t *rules, const char *image)
{
	if (!image)
		return "the provider's default";
	rg_json_foreach (form, json_object_get(rules, "moving")) {
		if (g_regex_match_simple(
			    rg_json_str(form, "pattern", "^$"), image, G_REGEX_DOLLAR_ENDONLY, 0))
			return rg_json_str(form, "what", "an alias");
	}
	return NULL;
}

/* A digest always names the same content; a tag, an alias and a default may move. */
static void check_pinned_images(Check *check)
{
	const RgCluster *cluster = check->cluster;
	if (!json_is_false(rule_of(check, "unpinned_images")))
		return;
	if (!strstr(cluster->ray.image, "@sha256:")) {
		RgDiag *diag = policy_refuse(check, "policy.image",
			rg_cluster_source(cluster, "/ray/image"), "/unpinned_images",
			"the container image \"%s\" is not given by digest", cluster->ray.image);
		rg_diag_hint(diag, "write it as NAME@sha256:DIGEST");
	}
	for (guint i = 0; i < check->shapes->shapes->len; i++) {
		const RgPool *pool = ((RgShape *)check->shapes->shapes->pdata[i])->pool;
		const char *what = moving_image(check->shapes->image, pool->image);
		if (!what)
			continue;
		RgDiag *diag = policy_refuse(check, "policy.image",
			pool->image ? pool->image_source : pool->source, "/unpinned_images",
			"the image of the nodes of %s is %s, which changes over time", pool->name,
			what);
		rg_diag_hint(diag, "use an `image` that never changes, such as %s",
			rg_json_str(check->shapes->image, "example", "the cloud's id"));
	}
}

/* A name that no GPU has would deny, or allow, nothing, and nobody would notice. */
static void check_words(Check *check, const char *rule)
{
	const RgGpus *gpus = rg_catalog_get_gpus(check->shapes->catalog);
	rg_json_foreach_at (i, word, rule_of(check, rule)) {
		const char *text = json_string_value(word);
		if (strpbrk(text, "*?") || rg_gpus_named(gpus, text))
			continue;
		g_autofree char *pointer = g_strdup_printf("/policy/%s/%zu", rule, i);
		RgDiag *diag = rg_diags_error(check->diags, "catalog.unknown-accelerator",
			"unknown accelerator \"%s\"", text);
		rg_diag_at(diag, rg_limits_source(check->limits, pointer));
		check->good = false;
	}
}

static bool check_one(Check *check)
{
	const RgProviderRef *place = &check->cluster->provider;
	check_words(check, "allow_accelerators");
	check_words(check, "deny_accelerators");
	check_thing(check, &providers, place->name, NULL,
		rg_cluster_source(check->cluster, "/provider/name"), "");
	if (*place->region)
		check_thing(check, &regions, place->region, NULL, place->region_source, "");
	for (guint i = 0; i < check->shapes->shapes->len; i++)
		check_pool(check, check->shapes->shapes->pdata[i]);
	check_nodes(check);
	check_required_labels(check);
	check_pinned_images(check);
	return check->good;
}

static Check check_new(
	const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits, RgDiags *diags)
{
	return (Check){.cluster = cluster,
		.shapes = shapes,
		.limits = limits,
		.policy = json_object_get(limits->view, "policy"),
		.diags = diags,
		.good = true};
}

bool rg_fit_check_policy(const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits,
	size_t n, RgDiags *diags)
{
	bool good = true;
	for (size_t i = 0; i < n; i++) {
		Check check = check_new(cluster, shapes, &limits[i], diags);
		if (check.policy)
			good = check_one(&check) && good;
	}
	return good;
}

bool rg_fit_policy_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const RgLimits *limits, size_t n, RgDiags *diags)
{
	bool good = true;
	for (size_t i = 0; i < n; i++) {
		Check check = check_new(cluster, shapes, &limits[i], diags);
		if (check.policy)
			check_pool(&check, shape);
		good &= check.good;
	}
	return good;
}
