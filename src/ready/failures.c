#include "ready/internal.h"

#define SHOWN_MAX 10

/* Where it is and why, as the end of a sentence. g_free */
static char *reason_of(const Wait *wait, const Node *node)
{
	const RgConsole *own = node->console;
	int64_t limit_s = node->deadline_s - node->resource->created_s;
	if (own && own->reason)
		return g_strdup_printf("step %s failed%s: %s", own->failed_step,
			node->final ? "" : " and is tried again", own->reason);
	if (node != wait->head && wait->head->fate == NODE_FAILED)
		return g_strdup("the head has not joined");
	if (own && *own->step)
		return g_strdup_printf("step %s did not end within %" G_GINT64_FORMAT " seconds",
			own->step, limit_s);
	return g_strdup_printf(
		"its start script reported nothing within %" G_GINT64_FORMAT " seconds", limit_s);
}

static char *tail_of(const Node *node)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; node->console && i < node->console->tail->len; i++)
		g_string_append_printf(text, "%s%s", text->len ? "\n" : "",
			(const char *)node->console->tail->pdata[i]);
	return g_string_free(text, FALSE);
}

static json_t *row_of(const Node *node, const char *reason)
{
	const RgConsole *own = node->console;
	const char *step = own && own->failed_step ? own->failed_step
			   : own && *own->step	   ? own->step
						   : NULL;
	return json_pack("{s:s, s:s, s:b, s:s?, s:s}", "address", node->resource->address, "pool",
		node->pool, "final", node->final, "step", step, "reason", reason);
}

/* One diagnostic for nodes that failed for the same reason; the first one's last lines stand for
 * all.
 */
static void tell_group(const Wait *wait, const char *reason, const GPtrArray *nodes)
{
	const Node *first = nodes->pdata[0];
	const char *address = first->resource->address;
	g_autofree char *more =
		nodes->len > 1 ? g_strdup_printf(" and %u more", nodes->len - 1) : g_strdup("");
	g_autofree char *tail = tail_of(first);
	RgDiag *diag = rg_diags_error(wait->diags, first->final ? "ready.failed" : "ready.timeout",
		"%s%s did not join Ray: %s", address, more, reason);
	rg_diag_address(diag, address, NULL);
	rg_diag_origin(diag, first->resource->origin);
	if (*tail)
		rg_diag_detail(diag, "last lines of the console of %s:\n%s", address, tail);
	rg_diag_hint(diag,
		"`raygpu logs '%s'` prints its console; the machine runs and is paid for: "
		"`raygpu apply --replace '%s'` replaces it",
		address, address);
}

void wait_report(Wait *wait)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	wait->result->failed = json_array();
	for (guint i = 0; i < wait->nodes->len; i++) {
		Node *node = wait->nodes->pdata[i];
		if (node->fate != NODE_FAILED)
			continue;
		char *reason = reason_of(wait, node);
		json_array_append_new(wait->result->failed, row_of(node, reason));
		GPtrArray *group = g_hash_table_lookup(groups, reason);
		if (!group) {
			g_hash_table_insert(groups, reason, group = g_ptr_array_new());
			g_ptr_array_add(order, reason);
		} else {
			g_free(reason);
		}
		g_ptr_array_add(group, node);
	}
	for (guint i = 0; i < order->len && i < SHOWN_MAX; i++)
		tell_group(wait, order->pdata[i], g_hash_table_lookup(groups, order->pdata[i]));
}
