#include "spec/build.h"
#include "spec/once.h"

#include <math.h>
#include <string.h>
#include "spec/disk.h"
#include "spec/ray_image.h"

/* A new reference to a mapping, an empty one if the spec has none. */
static json_t *ref_object(const json_t *parent, const char *key)
{
	json_t *object = json_object_get(parent, key);
	return object ? json_incref(object) : json_object();
}

static char *dup_str(const json_t *object, const char *key)
{
	return g_strdup(rg_json_str(object, key, NULL));
}

static RgSource member_source(const RgDocument *document, const char *pointer, const char *key)
{
	g_autofree char *member = rg_json_pointer_add(pointer, key);
	return rg_document_source(document, member);
}

/* A count may be written as 2.0, which is an integer to JSON Schema. */
static void build_nodes(RgPool *pool, const json_t *nodes)
{
	pool->is_elastic = json_is_object(nodes);
	const json_t *min = pool->is_elastic ? json_object_get(nodes, "min") : nodes;
	const json_t *max = pool->is_elastic ? json_object_get(nodes, "max") : nodes;
	pool->nodes = pool->is_head ? 1 : (unsigned)json_number_value(min);
	pool->nodes_max = pool->is_head ? 1 : (unsigned)json_number_value(max);
	pool->wanted = pool->nodes;
	pool->wanted_max = pool->nodes_max;
}

/* After everything that depends on the number of nodes that the spec says. */
static void build_enabled(RgPool *pool, const RgDocument *document)
{
	g_autofree char *own = rg_json_pointer_add(pool->origin, "enabled");
	const char *const at[] = {own, "/workers/enabled"};
	for (size_t i = 0; i < G_N_ELEMENTS(at) && !pool->is_head && !pool->is_disabled; i++) {
		pool->is_disabled = json_is_false(rg_json_at(document->value, at[i]));
		pool->enabled_source = rg_document_source(document, at[i]);
	}
	if (pool->is_disabled)
		pool->nodes = pool->nodes_max = 0;
}

static void build_market(
	RgMarket *market, const RgDocument *document, const char *pointer, const json_t *value)
{
	const json_t *spot = json_object_get(value, "spot");
	const json_t *max = json_object_get(spot, "max_price");
	g_autofree char *at = rg_json_pointer_add(pointer, "market");
	g_autofree char *limit = g_strconcat(at, max ? "/spot/max_price" : "/reservation", NULL);
	market->reservation = dup_str(value, "reservation");
	market->is_spot = spot || g_strcmp0(json_string_value(value), "spot") == 0;
	if (max)
		market->max_microusd = llround(json_number_value(max) * 1e6);
	market->falls_back = rg_json_str(spot, "fallback", NULL) != NULL;
	market->floor = (unsigned)json_number_value(json_object_get(spot, "on_demand_floor"));
	market->source = rg_document_source(document, max || market->reservation ? limit : at);
}

const char *rg_market_word(bool is_spot)
{
	return is_spot ? "spot" : "on-demand";
}

const char *rg_pool_market_word(const RgPool *pool, bool is_spot)
{
	return pool->market.reservation ? "reserved" : rg_market_word(is_spot);
}

bool rg_pool_is_empty(const RgPool *pool)
{
	return !(pool->is_elastic ? pool->nodes_max : pool->nodes);
}

bool rg_pool_is_spot(const RgPool *pool, unsigned index)
{
	return pool->market.is_spot && index >= pool->market.floor;
}

/* A number of nodes, or "25%" of them, rounded down; at least 1. 0: not given. */
static unsigned node_share(const json_t *value, unsigned nodes)
{
	if (!json_is_string(value))
		return (unsigned)json_integer_value(value);
	guint64 percent = g_ascii_strtoull(json_string_value(value), NULL, 10);
	return (unsigned)MAX(1, nodes * percent / 100);
}

static void build_replace(RgPool *pool, const json_t *value)
{
	unsigned unavailable = node_share(json_object_get(value, "max_unavailable"), pool->nodes);
	pool->max_unavailable = MAX(1, unavailable);
	pool->max_surge = node_share(json_object_get(value, "max_surge"), pool->nodes);
}

/* What the pool does not have itself is the cluster's. */
static json_t *build_prepare(const json_t *pool, const json_t *cluster)
{
	static const char *const names[] = {"initialization_commands", "setup_commands", "mounts"};
	json_t *prepare = NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		json_t *own = json_object_get(pool, names[i]);
		json_t *list = own ? own : json_object_get(cluster, names[i]);
		if (!json_array_size(list))
			continue;
		if (!prepare)
			prepare = json_object();
		json_object_set(prepare, names[i], list);
	}
	return prepare;
}

static void build_lease(
	RgLease *lease, const RgDocument *document, const char *pointer, const json_t *value)
{
	lease->text = dup_str(value, "expires");
	if (lease->text)
		rg_lease_parse(lease->text, &lease->end_s, &lease->duration_s);
	lease->source = member_source(document, pointer, "expires");
}

/* A number of seconds, or a duration such as "20m"; absent: 0. */
static unsigned seconds_of(const json_t *value)
{
	if (!json_is_string(value))
		return (unsigned)json_number_value(value);
	char *unit;
	guint64 number = g_ascii_strtoull(json_string_value(value), &unit, 10);
	return (unsigned)number * (*unit == 'h' ? 3600 : *unit == 'm' ? 60 : 1);
}

/* NULL: none. Sizes are whole GiB. */
static json_t *build_ray_start(const json_t *said)
{
	static const char *const sizes[] = {"memory", "object_store_memory"};
	if (!said)
		return NULL;
	json_t *start = json_object(), *config = json_object_get(said, "system_config");
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		const json_t *size = json_object_get(said, sizes[i]);
		if (size)
			json_object_set_new(start, sizes[i], json_integer(rg_disk_gib(size) << 30));
	}
	if (config)
		json_object_set_new(start, "system_config", rg_json_with_integers(config));
	return start;
}

static RgPool *build_pool(
	const RgDocument *document, const char *name, const char *pointer, const json_t *value)
{
	RgPool *pool = g_new0(RgPool, 1);
	pool->name = g_strdup(name);
	pool->origin = g_strdup(pointer);
	pool->is_head = g_str_equal(pointer, "/head");
	pool->source = rg_document_key_source(document, pointer);
	pool->instance_type = dup_str(value, "instance_type");
	const json_t *accelerators = json_object_get(value, "accelerators");
	g_autofree char *wish = rg_json_pointer_add(pointer, "accelerators");
	if (accelerators)
		pool->accelerators = rg_accelerators_build(document, wish, accelerators);
	pool->shape_source =
		member_source(document, pointer, accelerators ? "accelerators" : "instance_type");
	build_nodes(pool, json_object_get(value, "nodes"));
	pool->nodes_source = member_source(document, pointer, "nodes");
	pool->zones = rg_json_texts(json_object_get(value, "zones"));
	pool->zones_source = member_source(document, pointer, "zones");
	pool->image = dup_str(value, "image");
	pool->driver = dup_str(value, "driver");
	pool->image_source = member_source(document, pointer, "image");
	const json_t *disk = json_object_get(value, "disk");
	const json_t *size = json_object_get(disk, "size");
	pool->disk.size_gb = size ? rg_disk_gib(size) : 0;
	pool->disk.type = dup_str(disk, "type");
	pool->disk.iops = (int64_t)json_number_value(json_object_get(disk, "iops"));
	pool->disk.throughput_mib_s =
		(int64_t)json_number_value(json_object_get(disk, "throughput"));
	pool->disk.source = member_source(document, pointer, "disk");
	rg_share_build(&pool->share, document, pointer, json_object_get(value, "share"));
	const json_t *health = json_object_get(value, "health");
	pool->gate = !json_is_false(json_object_get(health, "gate"));
	pool->diag = (unsigned)json_number_value(json_object_get(health, "diag"));
	const json_t *near = json_object_get(value, "network");
	pool->min_gbps = json_number_value(json_object_get(near, "min_gbps"));
	pool->public_ip = json_is_true(json_object_get(value, "public_ip"));
	const char *placement = rg_json_str(json_object_get(value, "network"), "placement", NULL);
	pool->placement = g_strcmp0(placement, "cluster") == 0;
	g_autofree char *network = rg_json_pointer_add(pointer, "network");
	pool->placement_source = member_source(document, network, "placement");
	pool->rdma = json_is_true(json_object_get(near, "rdma"));
	pool->rdma_source = member_source(document, network, "rdma");
	build_market(&pool->market, document, pointer, json_object_get(value, "market"));
	pool->gang = json_is_true(json_object_get(value, "gang"));
	build_replace(pool, json_object_get(value, "replace"));
	pool->ready_timeout_s = seconds_of(json_object_get(value, "ready_timeout"));
	build_lease(&pool->lease, document, pointer, value);
	pool->renamed_from = rg_json_texts(json_object_get(value, "renamed_from"));
	pool->protect = json_is_true(json_object_get(value, "protect"));
	pool->labels = ref_object(value, "labels");
	pool->resources = ref_object(value, "resources");
	const json_t *cpus = json_object_get(value, "num_cpus");
	pool->num_cpus = cpus ? (int)json_number_value(cpus) : -1;
	pool->ray_start = build_ray_start(json_object_get(value, "ray_start"));
	pool->env = ref_object(value, "env");
	pool->config = rg_json_with_integers(json_object_get(value, "provider"));
	pool->prepare = build_prepare(value, document->value);
	build_enabled(pool, document);
	return pool;
}

static RgProviderRef *build_place(
	const RgDocument *document, const char *pointer, const json_t *value)
{
	RgProviderRef *place = g_new0(RgProviderRef, 1);
	place->name = dup_str(value, "name");
	place->region = g_strdup(rg_json_str(value, "region", ""));
	place->origin = g_strdup(pointer);
	place->config = rg_json_with_integers(value);
	json_object_del(place->config, "name");
	json_object_del(place->config, "region");
	place->source = rg_document_key_source(document, pointer);
	place->region_source = member_source(document, pointer, "region");
	return place;
}

static void free_place(gpointer data)
{
	RgProviderRef *place = data;
	g_free(place->name);
	g_free(place->region);
	g_free(place->origin);
	json_decref(place->config);
	g_free(place);
}

static GPtrArray *build_places(const RgDocument *document)
{
	GPtrArray *places = g_ptr_array_new_with_free_func(free_place);
	const json_t *value = json_object_get(document->value, "provider");
	const json_t *any_of = json_object_get(value, "any_of");
	if (!any_of)
		g_ptr_array_add(places, build_place(document, "/provider", value));
	rg_json_foreach_at (i, item, any_of) {
		g_autofree char *pointer = g_strdup_printf("/provider/any_of/%zu", i);
		g_ptr_array_add(places, build_place(document, pointer, item));
	}
	return places;
}

const RgPool *rg_cluster_pool(const RgCluster *cluster, guint i)
{
	if (i == 0)
		return cluster->head;
	return i <= cluster->pools->len ? cluster->pools->pdata[i - 1] : NULL;
}

const RgPool *rg_cluster_find_pool(const RgCluster *cluster, const char *name)
{
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		if (g_strcmp0(name, pool->name) == 0)
			return pool;
	}
	return NULL;
}

void rg_cluster_settle(RgCluster *cluster, guint i)
{
	cluster->provider = *(const RgProviderRef *)g_ptr_array_index(cluster->places, i);
}

bool rg_optimize_parse(const char *text, RgOptimize *optimize)
{
	static const char *const words[] = {[RG_OPTIMIZE_COST] = "cost",
		[RG_OPTIMIZE_CARBON] = "carbon",
		[RG_OPTIMIZE_BALANCED] = "balanced"};
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!g_str_equal(text, words[i]))
			continue;
		*optimize = (RgOptimize)i;
		return true;
	}
	return false;
}

static void build_ray(RgRay *ray, const RgDocument *document)
{
	const json_t *value = json_object_get(document->value, "ray");
	ray->version = dup_str(value, "version");
	ray->python = dup_str(value, "python");
	const json_t *registry = json_object_get(value, "registry");
	const json_t *login = json_object_get(registry, "login");
	g_autofree char *image = dup_str(value, "image");
	ray->is_default = !image;
	if (!image)
		image = rg_ray_image_default(ray->version, ray->python);
	ray->image = rg_ray_image_mirrored(image, rg_json_str(registry, "mirror", NULL));
	ray->registry_user = dup_str(login, "username");
	ray->registry_secret = dup_str(login, "password_secret");
	ray->auth_token = g_str_equal(rg_json_str(value, "auth", "token"), "token");
	ray->source = rg_document_key_source(document, "/ray");
}

static void free_pool(gpointer data)
{
	RgPool *pool = data;
	if (!pool)
		return;
	g_free(pool->name);
	g_free(pool->origin);
	if (pool->accelerators)
		g_ptr_array_unref(pool->accelerators);
	g_free(pool->instance_type);
	g_strfreev(pool->zones);
	g_strfreev(pool->renamed_from);
	g_free(pool->lease.text);
	g_free(pool->image);
	g_free(pool->driver);
	g_free(pool->market.reservation);
	g_free(pool->disk.type);
	g_strfreev(pool->share.mig);
	json_decref(pool->labels);
	json_decref(pool->resources);
	json_decref(pool->ray_start);
	json_decref(pool->env);
	json_decref(pool->config);
	json_decref(pool->prepare);
	g_free(pool);
}

RgCluster *rg_cluster_build(RgDocument *document)
{
	RgCluster *cluster = g_new0(RgCluster, 1);
	const json_t *view = document->value;
	cluster->name = dup_str(view, "cluster");
	cluster->file = g_strdup(document->file);
	cluster->digest = rg_json_digest(view);
	cluster->labels = ref_object(view, "labels");
	cluster->ignore_tags = json_incref(json_object_get(view, "ignore_tags"));
	cluster->places = build_places(document);
	rg_cluster_settle(cluster, 0);
	rg_optimize_parse(rg_json_str(view, "optimize", "cost"), &cluster->optimize);
	build_lease(&cluster->lease, document, "", view);
	build_ray(&cluster->ray, document);
	cluster->head = build_pool(document, "head", "/head", json_object_get(view, "head"));
	cluster->pools = g_ptr_array_new_with_free_func(free_pool);
	json_t *pools = json_object_get(view, "pools");
	rg_json_foreach_member (name, pool, pools) {
		g_autofree char *pointer = rg_json_pointer_add("/pools", name);
		g_ptr_array_add(cluster->pools, build_pool(document, name, pointer, pool));
	}
	cluster->workloads = g_ptr_array_new_with_free_func(rg_workload_free);
	json_t *workloads = json_object_get(view, "workloads");
	rg_json_foreach_member (name, workload, workloads) {
		g_autofree char *pointer = rg_json_pointer_add("/workloads", name);
		g_ptr_array_add(
			cluster->workloads, rg_workload_build(document, name, pointer, workload));
	}
	cluster->jobs = json_incref(json_object_get(view, "jobs"));
	cluster->imports = rg_imports_build(json_object_get(view, "imports"));
	cluster->removed = rg_removed_build(json_object_get(view, "removed"));
	cluster->sources = g_steal_pointer(&document->sources);
	cluster->files = g_steal_pointer(&document->files);
	cluster->view = g_steal_pointer(&document->value);
	return cluster;
}

void rg_cluster_free(RgCluster *cluster)
{
	if (!cluster)
		return;
	g_free(cluster->name);
	g_free(cluster->file);
	g_free(cluster->digest);
	json_decref(cluster->labels);
	json_decref(cluster->ignore_tags);
	g_ptr_array_unref(cluster->places);
	g_free(cluster->lease.text);
	g_free(cluster->ray.version);
	g_free(cluster->ray.python);
	g_free(cluster->ray.image);
	g_free(cluster->ray.registry_user);
	g_free(cluster->ray.registry_secret);
	free_pool(cluster->head);
	g_ptr_array_unref(cluster->pools);
	g_ptr_array_unref(cluster->workloads);
	json_decref(cluster->jobs);
	g_ptr_array_unref(cluster->imports);
	g_ptr_array_unref(cluster->removed);
	g_hash_table_unref(cluster->sources);
	g_ptr_array_unref(cluster->files);
	json_decref(cluster->view);
	g_free(cluster);
}

RgSource rg_cluster_source(const RgCluster *cluster, const char *pointer)
{
	const char *rest = pointer + strlen("/provider");
	bool of_place = g_str_has_prefix(pointer, "/provider") && (*rest == '/' || *rest == '\0') &&
			!g_str_has_prefix(rest, "/any_of");
	g_autofree char *moved =
		of_place ? g_strconcat(cluster->provider.origin, rest, NULL) : g_strdup(pointer);
	const RgSource *source = rg_source_find(cluster->sources, moved);
	return source ? *source : (RgSource){.file = g_intern_string(cluster->file)};
}

unsigned rg_cluster_nodes(const RgCluster *cluster)
{
	unsigned nodes = cluster->head->nodes;
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		nodes += pool->nodes;
	return nodes;
}
