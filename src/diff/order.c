#include "diff/internal.h"

/* decide.md "Stops" and "Order". */

static bool change_makes(const RgChange *change)
{
	return change->action == RG_ACTION_CREATE || change->action == RG_ACTION_UPDATE ||
	       change->action == RG_ACTION_REPLACE;
}

static bool change_removes(const RgChange *change)
{
	return change->action == RG_ACTION_DELETE || change->action == RG_ACTION_REPLACE;
}

typedef void (*EdgeFn)(RgChange *later, RgChange *earlier, void *data);

/* Calls `edge` for each dependency of `resource` (of the change `from`) that has a change. */
static void each_dependency(
	const Differ *differ, RgChange *from, const RgResource *resource, EdgeFn edge, void *data)
{
	if (!resource)
		return;
	GStrv names = rg_dependencies_get(differ->dependencies, resource);
	for (size_t i = 0; names[i] != NULL; i++) {
		RgChange *other = g_hash_table_lookup(differ->changes, names[i]);
		if (other && other != from)
			edge(from, other, data);
	}
}

static void add_reverse(RgChange *from, RgChange *dependency, void *data)
{
	GPtrArray *list = g_hash_table_lookup(data, dependency);
	if (!list) {
		list = g_ptr_array_new();
		g_hash_table_insert(data, dependency, list);
	}
	g_ptr_array_add(list, from);
}

static void stop_one(RgChange *change, const RgChange *cause, const char *why, GPtrArray *queue)
{
	change_stop(change, cause->grade, cause->row, why);
	g_ptr_array_add(queue, change);
}

/* A resource that is kept only because something may still use it does not block deletions. */
static void stop_dependent(
	Differ *differ, RgChange *change, const RgChange *cause, GPtrArray *queue)
{
	bool kept = g_hash_table_contains(differ->kept, cause);
	if (!change_makes(change) && (kept || !change_removes(change)))
		return;
	g_autofree char *why =
		g_strdup_printf("it depends on %s, which is stopped", cause->address);
	stop_one(change, cause, why, queue);
}

typedef struct {
	Differ *differ;
	GPtrArray *queue;
} Spread;

static void keep_dependency(RgChange *from, RgChange *dependency, void *data)
{
	Spread *spread = data;
	if (!change_removes(dependency))
		return;
	g_autofree char *why =
		g_strdup_printf("%s, which is stopped, may still use it", from->address);
	g_hash_table_add(spread->differ->kept, dependency);
	stop_one(dependency, from, why, spread->queue);
}

static GHashTable *reverse_edges(const Differ *differ)
{
	GHashTable *reverse = g_hash_table_new_full(
		g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	GPtrArray *changes = differ->diff->changes;
	rg_ptr_foreach (RgChange, change, changes) {
		const RgResource *resource = change->desired ? change->desired : change->recorded;
		each_dependency(differ, change, resource, add_reverse, reverse);
	}
	return reverse;
}

void stops_spread(Differ *differ)
{
	GPtrArray *changes = differ->diff->changes;
	g_autoptr(GPtrArray) queue = g_ptr_array_new();
	rg_ptr_foreach (RgChange, change, changes)
		if (change->action == RG_ACTION_STOP)
			g_ptr_array_add(queue, change);
	if (queue->len == 0)
		return;
	g_autoptr(GHashTable) reverse = reverse_edges(differ);
	Spread spread = {.differ = differ, .queue = queue};
	differ->kept = g_hash_table_new(g_direct_hash, g_direct_equal);
	rg_ptr_foreach (RgChange, stopped, queue) {
		const GPtrArray *dependents = g_hash_table_lookup(reverse, stopped);
		for (guint d = 0; dependents && d < dependents->len; d++)
			stop_dependent(differ, dependents->pdata[d], stopped, queue);
		each_dependency(differ, stopped, stopped->recorded, keep_dependency, &spread);
	}
}

static void wait_for_making(RgChange *later, RgChange *earlier, void *data)
{
	if (change_makes(earlier))
		g_ptr_array_add(later->after, earlier);
}

static void wait_for_leaving(RgChange *dependent, RgChange *dependency, void *data)
{
	if (dependency->action == RG_ACTION_DELETE)
		g_ptr_array_add(dependency->after, dependent);
}

/* What makes room stays until its successor is there. */
static void wait_for_successor(const Differ *differ, RgChange *change)
{
	g_autofree char *address = rg_address_successor(change->address);
	RgChange *successor = address ? g_hash_table_lookup(differ->changes, address) : NULL;
	if (successor && change_makes(successor))
		g_ptr_array_add(change->after, successor);
}

void order_edges(Differ *differ)
{
	GPtrArray *changes = differ->diff->changes;
	rg_ptr_foreach (RgChange, change, changes) {
		if (change_makes(change))
			each_dependency(differ, change, change->desired, wait_for_making, NULL);
		if (change_removes(change) || change->action == RG_ACTION_UPDATE)
			each_dependency(differ, change, change->recorded, wait_for_leaving, NULL);
		wait_for_successor(differ, change);
	}
}
