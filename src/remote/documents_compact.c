/* A new snapshot has what the last one and the changes since have, so
 * making one needs no lock: two of the same number say the same. What it replaces is deleted. */
#include "remote/documents.h"
#include "base/log.h"

typedef struct {
	json_t *chunks; /* of the history, by number */
	GBytes *bytes;
} Compaction;

static bool put(RgRemote *remote, const char *name, GBytes *bytes, RgDiags *diags)
{
	g_autofree char *version = NULL;
	RgObjectResult result =
		remote->objects->put(remote->objects, name, bytes, NULL, &version, diags);
	return result == RG_OBJECT_DONE || result == RG_OBJECT_CONFLICT;
}

/* All parts of the history become one if rows of them have changed, or if there are many. */
static bool write_history(RgRemote *remote, DocCluster *cluster, const DocModel *model, bool whole,
	Compaction *made, RgDiags *diags)
{
	const json_t *old = json_object_get(cluster->snapshot, "history");
	rg_json_foreach (chunk, old) {
		if (!whole)
			json_array_append(made->chunks, rg_json_unconst(chunk));
	}
	if (!doc_model_has(model, RG_PART_HISTORY))
		return true;
	g_autofree char *name = doc_name(cluster->name, DOC_HISTORY, cluster->last);
	g_autoptr(GBytes) bytes = doc_pack(json_pack("{s:i, s:o}", "format", DOC_FORMAT, "rows",
		doc_rows_of_model(model, RG_PART_HISTORY)));
	json_array_append_new(made->chunks, json_integer((json_int_t)cluster->last));
	return put(remote, name, bytes, diags);
}

static bool write_snapshot(RgRemote *remote, DocCluster *cluster, const DocModel *model,
	Compaction *made, RgDiags *diags)
{
	g_autofree char *name = doc_name(cluster->name, DOC_SNAPSHOT, cluster->last);
	made->bytes = doc_pack(json_pack("{s:i, s:s, s:I, s:I, s:I, s:O, s:O, s:o}", "format",
		DOC_FORMAT, "name", cluster->name, "cluster", (json_int_t)cluster->id, "serial",
		(json_int_t)cluster->serial, "ids", (json_int_t)cluster->ids, "fences",
		cluster->fences, "history", made->chunks, "rows",
		doc_rows_of_model(model, RG_PART_LIVE)));
	return put(remote, name, made->bytes, diags);
}

static bool has_number(const json_t *numbers, uint64_t number)
{
	rg_json_foreach (value, numbers) {
		if ((uint64_t)json_integer_value(value) == number)
			return true;
	}
	return false;
}

typedef struct {
	RgObjects *objects;
	const GPtrArray *names;
} Old;

/* What stays is deleted with the next snapshot. */
static void remove_one(void *data, guint i)
{
	const Old *old = data;
	g_autoptr(RgDiags) unused = rg_diags_new();
	old->objects->remove(old->objects, old->names->pdata[i], unused);
}

/* Everything up to the snapshot that it does not name; also what a run that was killed here has
 * left. */
static void remove_old(
	RgRemote *remote, const DocCluster *cluster, const Compaction *made, RgDiags *diags)
{
	g_autofree char *folder = doc_folder(cluster->name);
	g_autoptr(GPtrArray) old = g_ptr_array_new();
	GPtrArray *names = NULL;
	bool ok = doc_list(remote, folder, &names, diags);
	for (guint i = 0; ok && i < names->len; i++) {
		uint64_t number;
		const char *what;
		g_autofree char *whose = doc_parse_name(names->pdata[i], &number, &what);
		if (!whose || !what || number > cluster->last)
			continue;
		bool kept = g_str_equal(what, DOC_CHANGE)    ? has_number(cluster->fences, number)
			    : g_str_equal(what, DOC_HISTORY) ? has_number(made->chunks, number)
							     : number == cluster->last;
		if (!kept)
			g_ptr_array_add(old, names->pdata[i]);
	}
	const Old what = {remote->objects, old};
	doc_together(remote, old->len, remove_one, (void *)(uintptr_t)&what);
	g_ptr_array_unref(names);
}

static void replace(RgRemote *remote, DocCluster *cluster, Compaction *made, RgDiags *diags)
{
	remove_old(remote, cluster, made, diags);
	cluster->base = cluster->last;
	g_ptr_array_set_size(cluster->changes, 0);
	g_clear_pointer(&cluster->snapshot, json_decref);
	g_clear_pointer(&cluster->bytes, g_bytes_unref);
	cluster->bytes = g_steal_pointer(&made->bytes);
}

static DocModel *build(RgRemote *remote, DocCluster *cluster, bool *whole, RgDiags *diags)
{
	bool strange = false, absent;
	DocModel *model = doc_build(remote, cluster, false, &strange, &absent, diags);
	*whole = strange ||
		 json_array_size(json_object_get(cluster->snapshot, "history")) >= DOC_CHUNKS_MAX;
	if (!model || !*whole)
		return model;
	doc_model_free(model);
	return doc_build(remote, cluster, true, &strange, &absent, diags);
}

void doc_compact(RgRemote *remote, DocCluster *cluster)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	bool whole = false;
	if (cluster->changes->len == 0 || cluster->id == 0)
		return;
	g_autoptr(DocModel) model = build(remote, cluster, &whole, diags);
	Compaction made = {.chunks = json_array()};
	if (model && write_history(remote, cluster, model, whole, &made, diags) &&
		write_snapshot(remote, cluster, model, &made, diags))
		replace(remote, cluster, &made, diags);
	if (rg_diags_has_errors(diags)) /* the changes are as good */
		rg_log(RG_LOG_INFO, "no snapshot of cluster %s: %s", cluster->name,
			rg_diags_get(diags, 0)->summary);
	json_decref(made.chunks);
	g_clear_pointer(&made.bytes, g_bytes_unref);
}
