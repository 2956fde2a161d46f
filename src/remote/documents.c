/* A store of documents: opening, reading, and the table of its functions. */
#include "remote/documents.h"

static void doc_close(RgRemote *remote)
{
	rg_hash_values (void, lease, remote->leases)
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
	remote->clusters = doc_clusters_new();
	remote->leases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	remote->objects = how->stores->open(how->stores->data, how, diags);
	if (remote->objects)
		return remote;
	doc_close(remote);
	return NULL;
}

/* ---- reading */

static bool doc_begin(
	RgRemote *remote, const char *cluster, RgRemoteSeen seen, void *data, RgDiags *diags)
{
	if (!doc_refresh(remote, cluster, diags))
		return false;
	rg_hash_foreach (name, const DocCluster, found, remote->clusters) {
		if (found->id != 0 && (!cluster || g_str_equal(name, cluster)))
			seen(data, found->id, name, found->serial);
	}
	return true;
}

static DocCluster *by_id(RgRemote *remote, int64_t id)
{
	rg_hash_values (DocCluster, cluster, remote->clusters) {
		if (cluster->id == id)
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
	rg_hash_values (DocCluster, cluster, remote->clusters)
		g_clear_pointer(&cluster->snapshot, json_decref);
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
