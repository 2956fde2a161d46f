#include "resource/graph.h"
#include "resource/expr.h"

static gint compare_addresses(gconstpointer a, gconstpointer b)
{
	return rg_address_compare(*(char *const *)a, *(char *const *)b);
}

GStrv rg_resource_dependencies(const RgResource *resource)
{
	g_autoptr(GHashTable) found = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, NULL);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	rg_expr_refs(resource->attrs, found);
	for (size_t i = 0; resource->depends_on && resource->depends_on[i]; i++)
		if (!g_hash_table_contains(found, resource->depends_on[i]))
			g_hash_table_add(found, g_strdup(resource->depends_on[i]));
	rg_hash_keys (char, address, found)
		g_ptr_array_add(sorted, address);
	g_ptr_array_sort(sorted, compare_addresses);
	g_ptr_array_add(sorted, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&sorted), FALSE);
}

struct RgDependencies {
	GHashTable *latest; /* attributes object (NULL too) -> Entry* */
	GPtrArray *entries; /* owns them all */
};

typedef struct {
	GStrv depends_on; /* borrowed from the resource it was made for */
	GStrv list;
} Entry;

static void entry_free(gpointer data)
{
	Entry *entry = data;
	g_strfreev(entry->list);
	g_free(entry);
}

RgDependencies *rg_dependencies_new(void)
{
	RgDependencies *cache = g_new0(RgDependencies, 1);
	cache->latest = g_hash_table_new(g_direct_hash, g_direct_equal);
	cache->entries = g_ptr_array_new_with_free_func(entry_free);
	return cache;
}

void rg_dependencies_free(RgDependencies *cache)
{
	if (!cache)
		return;
	g_hash_table_destroy(cache->latest);
	g_ptr_array_unref(cache->entries);
	g_free(cache);
}

static bool same_list(GStrv a, GStrv b)
{
	static char *nothing[] = {NULL};
	const char *const *x = (const char *const *)(a ? a : nothing);
	const char *const *y = (const char *const *)(b ? b : nothing);
	return x == y || g_strv_equal(x, y);
}

GStrv rg_dependencies_get(RgDependencies *cache, const RgResource *resource)
{
	Entry *entry = g_hash_table_lookup(cache->latest, resource->attrs);
	if (entry && same_list(entry->depends_on, resource->depends_on))
		return entry->list;
	entry = g_new0(Entry, 1);
	entry->depends_on = resource->depends_on;
	entry->list = rg_resource_dependencies(resource);
	g_ptr_array_add(cache->entries, entry);
	g_hash_table_insert(cache->latest, resource->attrs, entry);
	return entry->list;
}

/* One resource while it is being ordered. */
typedef struct {
	const RgResource *resource;
	GStrv dependencies; /* of the cache */
	GArray *dependents; /* positions, guint; NULL = none */
	unsigned open;	    /* dependencies inside the set that are not yet placed */
} Node;

typedef struct {
	Node *nodes; /* in address order: a position is a rank */
	size_t n;
	GHashTable *positions; /* char* -> position */
	RgDependencies *dependencies;
} Graph;

static void graph_clear(Graph *graph)
{
	for (size_t i = 0; i < graph->n; i++)
		g_clear_pointer(&graph->nodes[i].dependents, g_array_unref);
	rg_dependencies_free(graph->dependencies);
	g_free(graph->nodes);
	g_hash_table_destroy(graph->positions);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Graph, graph_clear)

static bool find_position(const Graph *graph, const char *address, guint *position)
{
	gpointer value;
	if (!g_hash_table_lookup_extended(graph->positions, address, NULL, &value))
		return false;
	*position = GPOINTER_TO_UINT(value);
	return true;
}

static void graph_init(Graph *graph, const RgResourceSet *set)
{
	graph->n = rg_resource_set_size(set);
	graph->nodes = g_new0(Node, graph->n);
	graph->positions = g_hash_table_new(g_str_hash, g_str_equal);
	graph->dependencies = rg_dependencies_new();
	for (size_t i = 0; i < graph->n; i++) {
		RgResource *resource = rg_resource_set_get(set, i);
		graph->nodes[i] = (Node){.resource = resource,
			.dependencies = rg_dependencies_get(graph->dependencies, resource)};
		g_hash_table_insert(graph->positions, resource->address, GUINT_TO_POINTER(i));
	}
	for (guint i = 0; i < graph->n; i++) {
		Node *node = &graph->nodes[i];
		guint other;
		for (size_t d = 0; node->dependencies[d] != NULL; d++) {
			if (!find_position(graph, node->dependencies[d], &other))
				continue;
			if (!graph->nodes[other].dependents)
				graph->nodes[other].dependents =
					g_array_new(FALSE, FALSE, sizeof(guint));
			g_array_append_val(graph->nodes[other].dependents, i);
			node->open++;
		}
	}
}

/* Each unplaced node has an unplaced dependency, so following them must lead to a cycle. */
static void report_cycle(const Graph *graph, RgDiags *diags)
{
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint));
	g_autofree unsigned *seen = g_new0(unsigned, graph->n);
	g_autoptr(GString) text = g_string_new(NULL);
	guint at = 0, next;
	while (graph->nodes[at].open == 0)
		at++;
	while (seen[at] == 0) {
		g_array_append_val(path, at);
		seen[at] = path->len;
		GStrv names = graph->nodes[at].dependencies;
		for (size_t d = 0; names[d] != NULL; d++)
			if (find_position(graph, names[d], &next) && graph->nodes[next].open > 0) {
				at = next;
				break;
			}
	}
	for (guint i = seen[at] - 1; i < path->len; i++)
		g_string_append_printf(text, "%s -> ",
			graph->nodes[g_array_index(path, guint, i)].resource->address);
	g_string_append(text, graph->nodes[at].resource->address);
	rg_diag_address(rg_diags_error(diags, "provider.bad-result",
				"resources depend on each other in a circle: %s", text->str),
		graph->nodes[at].resource->address, NULL);
}

static gint compare_ranks(gconstpointer a, gconstpointer b, gpointer data)
{
	guint x = GPOINTER_TO_UINT(a), y = GPOINTER_TO_UINT(b);
	return (x > y) - (x < y);
}

GPtrArray *rg_graph_order(const RgResourceSet *set, RgDiags *diags)
{
	g_auto(Graph) graph = {0};
	graph_init(&graph, set);
	g_autoptr(GTree) ready = g_tree_new_full(compare_ranks, NULL, NULL, NULL);
	g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < graph.n; i++)
		if (graph.nodes[i].open == 0)
			g_tree_insert(ready, GUINT_TO_POINTER(i), NULL);
	for (GTreeNode *first; (first = g_tree_node_first(ready)) != NULL;) {
		gpointer key = g_tree_node_key(first);
		Node *node = &graph.nodes[GPOINTER_TO_UINT(key)];
		g_tree_remove(ready, key);
		g_ptr_array_add(order, g_strdup(node->resource->address));
		for (guint d = 0; node->dependents && d < node->dependents->len; d++) {
			guint other = g_array_index(node->dependents, guint, d);
			if (--graph.nodes[other].open == 0)
				g_tree_insert(ready, GUINT_TO_POINTER(other), NULL);
		}
	}
	if (order->len < graph.n) {
		report_cycle(&graph, diags);
		return NULL;
	}
	return g_steal_pointer(&order);
}
