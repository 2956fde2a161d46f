/* Writing: a transaction is one new object, whose name is the next number of its cluster. It is
 * created only if it does not exist, so of two that have read the same, one writes. */
#include "remote/documents.h"
#include <sys/random.h>

#define FENCE_TRIES 50
#define IDS_MAX (G_MAXINT64 - ((int64_t)RG_ID_BLOCK << 21))

static guint64 random_bits(unsigned n)
{
	guint64 random;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		random = ((guint64)g_random_int() << 32) | g_random_int();
	return random >> (64 - n);
}

/* Greater than all of the clusters whose locks are ours, because the order of rows is that of their
 * ids; how much greater is random, so that clusters, which do not know of each other, do not meet:
 * their first blocks have 41 random bits. A cluster has room for 8 million runs. */
bool doc_ids(RgRemote *remote, int64_t *first, RgDiags *diags)
{
	int64_t top = remote->ids;
	rg_hash_keys (const char, name, remote->leases)
		top = MAX(top, doc_cluster(remote, name)->ids);
	if (top > IDS_MAX)
		top = 0;
	*first = top + (int64_t)(random_bits(top == 0 ? 41 : 20) + 1) * RG_ID_BLOCK;
	remote->ids = *first + RG_ID_BLOCK;
	return true;
}

/* Is it ours? After a lost answer, only its content is proof. */
static RgObjectResult find_fate(
	RgRemote *remote, const char *name, const char *token, RgDiags *diags)
{
	bool absent;
	json_auto_t *there = doc_get(remote, name, NULL, &absent, diags);
	if (!there)
		return absent ? RG_OBJECT_ABSENT : RG_OBJECT_FAILED;
	return g_str_equal(rg_json_str(there, "by", ""), token) ? RG_OBJECT_DONE
								: RG_OBJECT_CONFLICT;
}

/* DONE, CONFLICT (someone else has this number), ABSENT (it was certainly not written, diagnostics
 * say why), FAILED (unknown). */
static RgObjectResult write_change(
	RgRemote *remote, const char *name, GBytes *bytes, const char *token, RgDiags *diags)
{
	g_autofree char *version = NULL;
	g_autoptr(RgDiags) unused = rg_diags_new();
	RgObjectResult result =
		remote->objects->put(remote->objects, name, bytes, NULL, &version, diags);
	if (result == RG_OBJECT_DONE)
		return result;
	RgObjectResult fate =
		find_fate(remote, name, token, result == RG_OBJECT_CONFLICT ? diags : unused);
	if (fate == RG_OBJECT_DONE)
		rg_diags_clear(diags);
	return fate;
}

static bool commit_cluster(RgRemote *remote, const RgCommit *commit, const RgGuard *guard,
	bool *unknown, RgDiags *diags)
{
	DocCluster *cluster = doc_cluster(remote, guard->name);
	DocLease *lease = g_hash_table_lookup(remote->leases, guard->name);
	if (cluster->serial != guard->before || !lease || !doc_lease_holds(lease))
		return rg_remote_lost_lock(remote->shown, guard->name, diags);
	g_autofree char *token = rg_remote_token();
	g_autofree char *name = doc_name(guard->name, DOC_CHANGE, cluster->last + 1);
	int64_t ids = MAX(cluster->ids, remote->ids);
	g_autoptr(GBytes) bytes =
		doc_pack(json_pack("{s:i, s:s, s:I, s:I, s:I, s:o}", "format", DOC_FORMAT, "by",
			token, "cluster", (json_int_t)guard->id, "serial", (json_int_t)guard->after,
			"ids", (json_int_t)ids, "rows", doc_rows_of_commit(commit, guard)));
	RgObjectResult result = write_change(remote, name, bytes, token, diags);
	*unknown = result == RG_OBJECT_FAILED;
	bool refused = result == RG_OBJECT_ABSENT && !rg_diags_has_errors(diags); /* and gone */
	if (result == RG_OBJECT_CONFLICT || refused)
		return rg_remote_lost_lock(remote->shown, guard->name, diags);
	if (result != RG_OBJECT_DONE)
		return false;
	g_ptr_array_add(cluster->changes, g_bytes_ref(bytes));
	cluster->last++;
	cluster->id = guard->id;
	cluster->serial = guard->after;
	cluster->ids = ids;
	if (doc_lease_is_lost(lease)) /* while it was written: it is open for the next run */
		return rg_remote_lost_lock(remote->shown, guard->name, diags);
	if (cluster->changes->len >= DOC_PENDING_MAX)
		doc_compact(remote, cluster);
	return true;
}

/* Several clusters (only `state push` and `state migrate` write them together) are written one
 * after the other: what failed can be done again. */
bool doc_commit(RgRemote *remote, const RgCommit *commit, bool *unknown, RgDiags *diags)
{
	if (!doc_write_tables(remote, diags))
		return false;
	for (guint i = 0; i < commit->guards->len; i++) {
		bool lost = false;
		if (commit_cluster(remote, commit, &g_array_index(commit->guards, RgGuard, i),
			    &lost, diags))
			continue;
		*unknown = lost || i > 0;
		return false;
	}
	return true;
}

bool doc_fence(RgRemote *remote, const char *cluster, RgDiags *diags)
{
	g_autofree char *folder = doc_folder(cluster);
	for (unsigned tries = 0; tries < FENCE_TRIES; tries++) {
		uint64_t base, last;
		GPtrArray *names = NULL;
		bool ok = doc_list(remote, folder, &names, diags);
		doc_newest(names, cluster, &base, &last);
		g_ptr_array_unref(names);
		if (!ok)
			return false;
		g_autofree char *token = rg_remote_token();
		g_autofree char *name = doc_name(cluster, DOC_CHANGE, last + 1);
		g_autoptr(GBytes) bytes = doc_pack(json_pack(
			"{s:i, s:s, s:b}", "format", DOC_FORMAT, "by", token, "fence", true));
		RgObjectResult result = write_change(remote, name, bytes, token, diags);
		if (result != RG_OBJECT_CONFLICT)
			return result == RG_OBJECT_DONE;
	}
	return doc_corrupt(remote, cluster, diags);
}
