#include "remote/documents.h"

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

GHashTable *doc_clusters_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, cluster_free);
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
