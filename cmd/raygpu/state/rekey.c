#include "command.h"
#include "state/write.h"

/* raygpu state rekey: one transaction a cluster, so after an interruption each is sealed with the
 * old key or the new one, and the next run goes on. */

static bool rekey_one(Context *context, const char *cluster, const RekeyOptions *options, size_t *n)
{
	g_autoptr(RgLock) lock = rg_lock_take(
		context->store, cluster, "state rekey", options->lock_timeout_ms, context->diags);
	return lock && rg_store_rekey(context->store, cluster, options->unseal, n, context->diags);
}

static void add_line(GString *text, const char *cluster, size_t n, const char *id)
{
	g_string_append_printf(text, "Cluster %s: ", cluster);
	if (n == 0 && id)
		g_string_append_printf(text, "nothing to do for the key %s.\n", id);
	else if (n == 0)
		g_string_append(text, "no secret is sealed.\n");
	else if (id)
		g_string_append_printf(
			text, "%zu secret%s sealed with the key %s.\n", n, n == 1 ? "" : "s", id);
	else
		g_string_append_printf(
			text, "%zu secret%s no longer sealed.\n", n, n == 1 ? " is" : "s are");
}

static GStrv clusters_of(Context *context)
{
	if (!context->cluster)
		return rg_store_clusters(context->store, context->diags);
	if (!context_has_cluster(context, context->cluster))
		return NULL;
	const char *const one[] = {context->cluster, NULL};
	return g_strdupv((char **)(uintptr_t)one);
}

int state_rekey(Context *context, const RekeyOptions *options)
{
	context->store = context_open_state(context, RG_STORE_WRITE, context->diags);
	g_auto(GStrv) clusters = context->store ? clusters_of(context) : NULL;
	json_auto_t *rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	const char *id = options->unseal ? NULL : rg_keys_id(context->keys);
	bool ok = clusters != NULL;
	for (guint i = 0; ok && clusters[i]; i++) {
		size_t n = 0;
		ok = rekey_one(context, clusters[i], options, &n);
		if (!ok)
			break;
		json_array_append_new(rows, json_pack("{s:s, s:I, s:s?}", "cluster", clusters[i],
						    "sealed", (json_int_t)n, "key", id));
		add_line(text, clusters[i], n, id);
	}
	if (context->json && ok)
		out_json(rows);
	else if (!context->json)
		out_text(text->str); /* what was done is done */
	return ok ? EXIT_FINE : rg_diags_exit_code(context->diags);
}
