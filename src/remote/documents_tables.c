/* The version of the tables, in the name of an object; and the mark of a store whose clusters are
 * elsewhere. */
#include "remote/documents.h"
#include <string.h>

#define TABLES "tables."
#define MOVED "moved"

static bool read_moved(RgRemote *remote, char **moved_to, RgDiags *diags)
{
	bool absent;
	json_auto_t *moved = doc_get(remote, MOVED, NULL, &absent, diags);
	*moved_to = g_strdup(rg_json_str(moved, "to", NULL));
	return moved || absent;
}

bool doc_tables(RgRemote *remote, int64_t *version, char **moved_to, RgDiags *diags)
{
	bool moved = false;
	*version = 0;
	*moved_to = NULL;
	g_clear_pointer(&remote->names, g_ptr_array_unref);
	if (!doc_list(remote, "", &remote->names, diags))
		return false;
	rg_ptr_foreach (const char, name, remote->names) {
		gint64 number;
		if (g_str_has_prefix(name, TABLES) &&
			g_ascii_string_to_signed(
				name + strlen(TABLES), 10, 1, G_MAXINT32, &number, NULL))
			*version = MAX(*version, number);
		moved |= g_str_equal(name, MOVED);
	}
	return !moved || read_moved(remote, moved_to, diags);
}

bool doc_write_tables(RgRemote *remote, RgDiags *diags)
{
	if (remote->tables == 0)
		return true;
	g_autofree char *name = g_strdup_printf(TABLES "%" G_GINT64_FORMAT, remote->tables);
	g_autofree char *written = NULL;
	g_autoptr(GBytes) bytes = g_bytes_new_static("", 0);
	RgObjectResult result =
		remote->objects->put(remote->objects, name, bytes, NULL, &written, diags);
	remote->tables = 0;
	return result != RG_OBJECT_FAILED;
}

/* Rows name their columns, so nothing that exists is rewritten. A store with a lock of its own is
 * one document: that there is none yet may be the answer of a proxy, so it is begun with the first
 * change, after the cloud was asked. */
bool doc_migrate(RgRemote *remote, int64_t version, RgDiags *diags)
{
	g_autoptr(GPtrArray) unused = g_ptr_array_new_with_free_func(g_free);
	remote->tables = version;
	return remote->objects->list(remote->objects, TABLES, true, unused, diags) &&
	       (remote->objects->lock || doc_write_tables(remote, diags));
}

static bool is_moved(RgRemote *remote, DocCluster *cluster, bool *moved, RgDiags *diags)
{
	bool strange, absent;
	g_autoptr(DocModel) model = doc_build(remote, cluster, false, &strange, &absent, diags);
	if (!model)
		return false;
	const json_t *mark = doc_model_cluster(model, "moved");
	*moved = cluster->id == 0 || (mark && !json_is_null(mark));
	return true;
}

/* A cluster that is created at this moment is not noticed: its run has read that the state was not
 * moved. */
static bool all_moved(RgRemote *remote, RgDiags *diags)
{
	GHashTableIter iter;
	gpointer name, cluster;
	bool moved = true;
	if (!doc_refresh(remote, NULL, diags))
		return false;
	g_hash_table_iter_init(&iter, remote->clusters);
	while (moved && g_hash_table_iter_next(&iter, &name, &cluster)) {
		if (!is_moved(remote, cluster, &moved, diags))
			return false;
	}
	return moved || rg_remote_has_more(remote->shown, diags);
}

bool doc_mark_moved(RgRemote *remote, const char *to, RgDiags *diags)
{
	if (!to)
		return remote->objects->remove(remote->objects, MOVED, diags);
	g_autofree char *written = NULL;
	g_autoptr(GBytes) bytes = doc_pack(json_pack("{s:i, s:s}", "format", DOC_FORMAT, "to", to));
	return all_moved(remote, diags) && remote->objects->put(remote->objects, MOVED, bytes, NULL,
						   &written, diags) != RG_OBJECT_FAILED;
}
