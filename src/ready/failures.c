#include "ready/internal.h"
#include "base/clock.h"

#define SHOWN_MAX 10

static char *again_of(const Node *node)
{
	const json_t *row = node->given_back;
	g_autofree char *when = rg_clock_format(rg_json_int(row, "failed_s", 0));
	return g_strdup_printf("the cloud gave back the same GPU, %s, that failed on %s as part of "
			       "%s: %s",
		rg_json_str(row, "gpu", ""), when, rg_json_str(row, "address", ""),
		rg_json_str(row, "reason", ""));
}

/* Where it is and why, as the end of a sentence. g_free */
static char *reason_of(const Wait *wait, const Node *node)
{
	const RgConsole *own = node->console;
	int64_t limit_s = node->deadline_s - node->resource->created_s;
	if (node->given_back)
		return again_of(node);
	if (wait_is_gone(node))
		return g_strdup(
			"its machine is gone: the cloud reclaimed it, or it was deleted outside "
			"of raygpu");
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
	json_t *row = json_pack("{s:s, s:s, s:b, s:s?, s:s}", "address", node->resource->address,
		"pool", node->pool, "final", node->final, "step", step, "reason", reason);
	json_auto_t *gpus = wait_bad_gpus(node);
	if (json_array_size(gpus))
		json_object_set(row, "gpus", gpus);
	if (node->given_back)
		json_object_set_new(row, "given_back", json_true());
	return row;
}

/* The GPUs at fault, and the last lines of the console. */
static void add_details(RgDiag *diag, const Node *node)
{
	g_autofree char *tail = tail_of(node);
	json_auto_t *gpus = wait_bad_gpus(node);
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_at (i, gpu, gpus) {
		const char *serial = rg_json_str(gpu, "serial", NULL);
		g_string_append_printf(text, "%sbad GPU: %s%s%s", i ? "\n" : "",
			rg_json_str(gpu, "gpu", ""), serial ? ", serial number " : "",
			serial ? serial : "");
	}
	if (*tail)
		g_string_append_printf(text, "%slast lines of the console of %s:\n%s",
			text->len ? "\n" : "", node->resource->address, tail);
	if (text->len)
		rg_diag_detail(diag, "%s", text->str);
}

static void add_hint(RgDiag *diag, const Node *node)
{
	const char *address = node->resource->address;
	if (node->given_back)
		rg_diag_hint(diag,
			"the machine runs and is paid for: `raygpu apply --replace '%s'` requests "
			"another one; `raygpu state forget-hardware %s` admits this one",
			address, rg_json_str(node->given_back, "gpu", ""));
	else if (wait_is_gone(node))
		rg_diag_hint(diag, "`raygpu apply` creates another one");
	else
		rg_diag_hint(diag,
			"`raygpu logs '%s'` prints its console; the machine runs and is paid for: "
			"`raygpu apply --replace '%s'` replaces it",
			address, address);
}

static const char *code_of(const Node *node)
{
	return node->given_back	    ? "ready.same-gpu"
	       : wait_is_gone(node) ? "ready.gone"
	       : node->final	    ? "ready.failed"
				    : "ready.timeout";
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
	RgDiag *diag = rg_diags_error(wait->diags, code_of(first), "%s%s %s: %s", address, more,
		first->given_back ? "is not used" : "did not join Ray", reason);
	rg_diag_address(diag, address, NULL);
	rg_diag_origin(diag, first->resource->origin);
	add_details(diag, first);
	add_hint(diag, first);
}

void wait_report(Wait *wait)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	wait->result->failed = json_array();
	wait_keep_hardware(wait);
	rg_ptr_foreach (Node, node, wait->nodes) {
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
