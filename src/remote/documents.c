#include "remote/documents.h"
#include <string.h>

#define TABLES "tables."
#define MOVED "moved"

static void cluster_free(gpointer data)
{
	DocCluster *cluster = data;
	json_decref(cluster->snapshot);
	json_decref(cluster->fences);
	g_clear_pointer(&cluster->bytes, g_bytes_unref);
	g_ptr_array_unref(cluster->changes);
	g_free(cluster->name);
	g_free(cluster);
}

DocCluster *doc_cluster(RgRemote *remote, const char *name)
{
	DocCluster *cluster = g_hash_table_lookup(remote->clusters, name);
	if (cluster)
		return cluster;
	cluster = g_new0(DocCluster, 1);
	cluster->name = g_strdup(name);
	cluster->fences = json_array();
	cluster->changes = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	g_hash_table_insert(remote->clusters, g_strdup(name), cluster);
	return cluster;
}

bool doc_corrupt(const RgRemote *remote, const char *object, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.corrupt",
		"%s in the state \"%s\" is missing or is not what raygpu wrote", object,
		remote->shown);
	rg_diag_hint(diag, "restore an earlier version of the object, or of the whole place; "
			   "`raygpu state rebuild` makes a new state from what the cloud has");
	return false;
}

bool doc_lost_lock(const RgRemote *remote, const char *cluster, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.lost-lock",
		"the lock of cluster %s in the state \"%s\" is lost", cluster, remote->shown);
	rg_diag_detail(diag, "another run has taken it, or has changed the cluster");
	rg_diag_hint(diag, "wait until the other run has ended, then run the command again: it "
			   "resolves what this run left open");
	return false;
}

static void doc_close(RgRemote *remote)
{
	GHashTableIter iter;
	gpointer name, lease;
	g_hash_table_iter_init(&iter, remote->leases);
	while (g_hash_table_iter_next(&iter, &name, &lease))
		doc_lease_end(lease, false);
	g_hash_table_unref(remote->leases);
	g_hash_table_unref(remote->clusters);
	g_clear_pointer(&remote->names, g_ptr_array_unref);
	json_decref(remote->held);
	if (remote->objects)
		remote->objects->close(remote->objects);
	g_free(remote->shown);
	g_free(remote);
}

static RgRemote *doc_open(const RgRemoteOpen *how, RgDiags *diags)
{
	RgRemote *remote = g_new0(RgRemote, 1);
	remote->shown = g_strdup(how->shown);
	remote->writes = how->writes;
	remote->canceled = how->canceled;
	remote->data = how->data;
	remote->clusters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, cluster_free);
	remote->leases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	remote->objects = how->stores->open(how->stores->data, how, diags);
	if (remote->objects)
		return remote;
	doc_close(remote);
	return NULL;
}

/* ---- tables: an object whose name says their version */

static bool read_moved(RgRemote *remote, char **moved_to, RgDiags *diags)
{
	bool absent;
	json_auto_t *moved = doc_get(remote, MOVED, NULL, &absent, diags);
	*moved_to = g_strdup(rg_json_str(moved, "to", NULL));
	return moved || absent;
}

static bool doc_tables(RgRemote *remote, int64_t *version, char **moved_to, RgDiags *diags)
{
	bool moved = false;
	*version = 0;
	*moved_to = NULL;
	g_clear_pointer(&remote->names, g_ptr_array_unref);
	if (!doc_list(remote, "", &remote->names, diags))
		return false;
	for (guint i = 0; i < remote->names->len; i++) {
		const char *name = remote->names->pdata[i];
		gint64 number;
		if (g_str_has_prefix(name, TABLES) &&
			g_ascii_string_to_signed(
				name + strlen(TABLES), 10, 1, G_MAXINT32, &number, NULL))
			*version = MAX(*version, number);
		moved |= g_str_equal(name, MOVED);
	}
	return !moved || read_moved(remote, moved_to, diags);
}

bool doc_write_tables(RgRemote *remote, int64_t version, RgDiags *diags)
{
	g_autofree char *name = g_strdup_printf(TABLES "%" G_GINT64_FORMAT, version);
	g_autofree char *written = NULL;
	g_autoptr(GBytes) bytes = g_bytes_new_static("", 0);
	RgObjectResult result =
		remote->objects->put(remote->objects, name, bytes, NULL, &written, diags);
	bool later = result == RG_OBJECT_CONFLICT && remote->objects->lock && remote->tables == 0;
	remote->tables = later ? version : 0;
	return result != RG_OBJECT_FAILED;
}

/* Rows name their columns, so nothing that exists is rewritten. */
static bool doc_migrate(RgRemote *remote, int64_t version, RgDiags *diags)
{
	g_autoptr(GPtrArray) unused = g_ptr_array_new_with_free_func(g_free);
	return remote->objects->list(remote->objects, TABLES, true, unused, diags) &&
	       doc_write_tables(remote, version, diags);
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
	if (moved)
		return true;
	RgDiag *diag = rg_diags_error(diags, "state.locked",
		"another run has created a cluster in the state \"%s\" in the meantime",
		remote->shown);
	rg_diag_hint(diag, "run the command again: it moves that one too");
	return false;
}

static bool doc_mark_moved(RgRemote *remote, const char *to, RgDiags *diags)
{
	if (!to)
		return remote->objects->remove(remote->objects, MOVED, diags);
	g_autofree char *written = NULL;
	g_autoptr(GBytes) bytes = doc_pack(json_pack("{s:i, s:s}", "format", DOC_FORMAT, "to", to));
	return all_moved(remote, diags) && remote->objects->put(remote->objects, MOVED, bytes, NULL,
						   &written, diags) != RG_OBJECT_FAILED;
}

/* ---- reading */

static bool doc_begin(
	RgRemote *remote, const char *cluster, RgRemoteSeen seen, void *data, RgDiags *diags)
{
	GHashTableIter iter;
	gpointer name, value;
	if (!doc_refresh(remote, cluster, diags))
		return false;
	g_hash_table_iter_init(&iter, remote->clusters);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		const DocCluster *found = value;
		if (found->id != 0 && (!cluster || g_str_equal(name, cluster)))
			seen(data, found->id, name, found->serial);
	}
	return true;
}

static DocCluster *by_id(RgRemote *remote, int64_t id)
{
	GHashTableIter iter;
	gpointer name, cluster;
	g_hash_table_iter_init(&iter, remote->clusters);
	while (g_hash_table_iter_next(&iter, &name, &cluster)) {
		if (((DocCluster *)cluster)->id == id)
			return cluster;
	}
	return NULL;
}

static bool doc_load(RgRemote *remote, int64_t id, const RgShape *const *shapes, size_t n,
	unsigned parts, RgRemoteRow row, void *data, RgDiags *diags)
{
	bool strange, absent = false, history = (parts & RG_PART_HISTORY) != 0;
	DocCluster *cluster = by_id(remote, id);
	g_autoptr(DocModel) model =
		cluster ? doc_build(remote, cluster, history, &strange, &absent, diags) : NULL;
	if (model)
		return doc_model_emit(model, shapes, n, parts, row, data);
	if (!rg_diags_has_errors(diags)) {
		RgDiag *diag = rg_diags_error(diags, "state.unreadable",
			"the state \"%s\" changed while it was read", remote->shown);
		rg_diag_hint(diag, "run the command again");
	}
	return false;
}

/* What was parsed for a view is not kept. */
static void doc_end(RgRemote *remote)
{
	GHashTableIter iter;
	gpointer name, cluster;
	g_hash_table_iter_init(&iter, remote->clusters);
	while (g_hash_table_iter_next(&iter, &name, &cluster))
		g_clear_pointer(&((DocCluster *)cluster)->snapshot, json_decref);
}

const RgRemoteModule *rg_documents_module(void)
{
	static const RgRemoteModule module = {
		.size = sizeof(RgRemoteModule),
		.version = RG_VERSION,
		.open = doc_open,
		.close = doc_close,
		.tables = doc_tables,
		.migrate = doc_migrate,
		.begin = doc_begin,
		.load = doc_load,
		.end = doc_end,
		.ids = doc_ids,
		.commit = doc_commit,
		.lock = doc_lock,
		.holder = doc_holder,
		.look = doc_look,
		.unlock = doc_unlock,
		.break_lock = doc_break_lock,
		.mark_moved = doc_mark_moved,
	};
	return &module;
}
