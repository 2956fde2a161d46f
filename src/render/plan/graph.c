#include "render/text/paint.h"

/* A plan in Graphviz' DOT language (graphviz.org/doc/info/lang.html): a box for nodes of a pool
 * with the same change, an arrow to each dependency, as in Terraform's graph, and a dashed one to
 * what is done first without being a dependency. */

/* Inside double quotes only the quote and the backslash are special. */
static char *quoted(const char *text)
{
	g_autofree char *line = clean(text);
	g_autoptr(GString) out = g_string_new("\"");
	for (const char *at = line; *at; at++) {
		if (*at == '"' || *at == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *at);
	}
	g_string_append_c(out, '"');
	return g_strdup(out->str);
}

typedef struct {
	const RgPlan *plan;
	GString *text;
	GHashTable *boxes; /* address -> name of its box, owned */
	GHashTable *edges; /* lines already written, owned */
} Graph;

static bool is_elastic(const RgPlanChange *change)
{
	rg_json_foreach (entry, change->nodes) {
		if (json_object_get(entry, "max"))
			return true;
	}
	return false;
}

/* For a change that does not stand for exactly one node: at the maximum of its elastic pools. */
static guint most_nodes(const RgPlanChange *change)
{
	guint n = 0;
	rg_json_foreach (entry, change->nodes)
		n += (guint)rg_json_int(entry, "max", rg_json_int(entry, "count", 0));
	return n;
}

static char *label_of(const RgPlanChange *change, guint alike, guint nodes)
{
	g_autofree char *what =
		alike > 1 ? g_strdup_printf("%s.%s, %u alike", change->kind, change->name, alike)
			  : g_strdup(change->address);
	return nodes ? g_strdup_printf(
			       "%s: %s%u nodes", what, is_elastic(change) ? "up to " : "", nodes)
		     : g_steal_pointer(&what);
}

static void add_boxes(Graph *graph)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
	const GPtrArray *changes = graph->plan->changes;
	g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (const RgPlanChange, change, changes) {
		char *box = change->index < 0 ? g_strdup(change->address)
					      : g_strdup_printf("%s.%s %s", change->kind,
							change->name, change_phrase(change));
		g_hash_table_insert(graph->boxes, change->address, box);
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, box));
		g_hash_table_replace(counts, box, GUINT_TO_POINTER(n + 1));
		guint stands_for = GPOINTER_TO_UINT(g_hash_table_lookup(nodes, box));
		g_hash_table_replace(nodes, box, GUINT_TO_POINTER(stands_for + most_nodes(change)));
	}
	rg_ptr_foreach (const RgPlanChange, change, changes) {
		const char *box = g_hash_table_lookup(graph->boxes, change->address);
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, box));
		if (!n)
			continue;
		g_hash_table_remove(counts, box);
		g_autofree char *label =
			label_of(change, n, GPOINTER_TO_UINT(g_hash_table_lookup(nodes, box)));
		g_autofree char *name = quoted(box), *words = quoted(label);
		g_string_append_printf(graph->text, "  %s [label=%.*s\\n%s %s\"]\n", name,
			(int)strlen(words) - 1, words, change_symbol(change),
			change_phrase(change));
	}
}

static void add_edge(Graph *graph, const RgPlanChange *from, const char *address, bool needs)
{
	const char *a = g_hash_table_lookup(graph->boxes, from->address);
	const char *b = g_hash_table_lookup(graph->boxes, address);
	if (!b || g_str_equal(a, b))
		return;
	g_autofree char *tail = quoted(a), *head = quoted(b);
	char *edge = g_strdup_printf("%s -> %s", tail, head);
	if (!g_hash_table_add(graph->edges, edge))
		return;
	g_string_append_printf(
		graph->text, "  %s -> %s%s\n", tail, head, needs ? "" : " [style=dashed]");
}

char *rg_render_graph(const RgPlan *plan)
{
	g_autoptr(GHashTable) boxes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	g_autoptr(GHashTable) edges = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Graph graph = {plan, g_string_new(NULL), boxes, edges};
	g_autofree char *name = quoted(plan->cluster);
	g_string_append_printf(
		graph.text, "digraph %s {\n  rankdir = \"RL\"\n  node [shape = \"box\"]\n", name);
	add_boxes(&graph);
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		for (guint k = 0; change->depends_on && change->depends_on[k]; k++)
			add_edge(&graph, change, change->depends_on[k], true);
	}
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		for (guint k = 0; change->after && k < change->after->len; k++)
			add_edge(&graph, change, change->after->pdata[k], false);
	}
	g_string_append(graph.text, "}\n");
	return text_finish(graph.text, &(RgStyle){0});
}
