/* The lock of a cluster is an object with its holder, free or held, written on the condition of its
 * version. It is never deleted. */
#include "remote/documents.h"
#include "base/log.h"

/* The lock as it is. */
typedef struct {
	json_t *lock; /* NULL: there is none */
	char *version;
	int64_t age_s;
} Found;

static void found_clear(Found *found)
{
	json_decref(found->lock);
	g_free(found->version);
	*found = (Found){0};
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Found, found_clear)

static bool find(RgRemote *remote, const char *name, Found *found, RgDiags *diags)
{
	g_auto(RgObject) object = {0};
	RgObjectResult result = remote->objects->get(remote->objects, name, &object, diags);
	if (result != RG_OBJECT_DONE)
		return result == RG_OBJECT_ABSENT;
	found->lock = doc_parse(remote, name, object.content, diags);
	found->version = g_steal_pointer(&object.version);
	found->age_s = object.age_s;
	return found->lock != NULL;
}

static void keep_held(RgRemote *remote, json_t *lock, int64_t age_s)
{
	json_decref(remote->held);
	remote->held = lock;
	remote->held_age_s = age_s;
}

/* *version stays NULL if someone else was faster. */
static bool write_lock(RgRemote *remote, const char *name, json_t *mine, const Found *found,
	char **version, RgDiags *diags)
{
	g_autoptr(GBytes) bytes = doc_pack(json_incref(mine));
	RgObjectResult result =
		remote->objects->put(remote->objects, name, bytes, found->version, version, diags);
	if (result != RG_OBJECT_CONFLICT)
		return result == RG_OBJECT_DONE;
	g_auto(Found) now = {0};
	if (!find(remote, name, &now, diags))
		return false;
	if (now.lock && json_equal(now.lock, mine))
		*version = g_steal_pointer(&now.version);
	else if (now.lock)
		keep_held(remote, g_steal_pointer(&now.lock), now.age_s);
	return true;
}

/* Nobody may believe in a lock whose server ignores conditions. */
static bool check_conditions(RgRemote *remote, RgDiags *diags)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("", 0);
	g_autofree char *version = NULL;
	if (remote->probed || remote->objects->lock)
		return true;
	RgObjectResult first =
		remote->objects->put(remote->objects, "conditions", bytes, NULL, &version, diags);
	if (first == RG_OBJECT_DONE) {
		g_clear_pointer(&version, g_free);
		first = remote->objects->put(
			remote->objects, "conditions", bytes, NULL, &version, diags);
	}
	remote->probed = first == RG_OBJECT_CONFLICT;
	if (first == RG_OBJECT_DONE) {
		RgDiag *diag = rg_diags_error(diags, "state.unwritable",
			"the server of the state \"%s\" ignores conditions for writing",
			remote->shown);
		rg_diag_hint(diag, "two runs could overwrite each other's state: use a server that "
				   "supports them, or another store (raygpu-state(5))");
	}
	return remote->probed;
}

static void hold(
	RgRemote *remote, const char *cluster, const char *name, json_t *mine, const char *version)
{
	g_hash_table_insert(remote->leases, g_strdup(cluster),
		doc_lease_start(remote->objects, name, mine, version));
}

/* A lock of the store's own is one for all clusters. */
static RgLockResult lock_store(RgRemote *remote, const char *cluster, json_t *mine, RgDiags *diags)
{
	json_t *holder = NULL;
	RgObjectResult result = remote->objects->lock(remote->objects, mine, &holder, diags);
	if (result == RG_OBJECT_DONE) {
		hold(remote, cluster, "", mine, NULL);
		return RG_LOCK_TAKEN;
	}
	json_decref(mine);
	keep_held(remote, holder, -1);
	return result == RG_OBJECT_CONFLICT ? RG_LOCK_HELD : RG_LOCK_BROKEN;
}

static RgLockResult take(RgRemote *remote, const char *cluster, const char *name, json_t *mine,
	Found *found, RgDiags *diags)
{
	g_autofree char *version = NULL;
	bool held = found->lock && !doc_holder_is_free(found->lock);
	bool over = held && (rg_object_holder_is_dead(found->lock) ||
				    doc_holder_has_expired(found->lock, found->age_s));
	if (held && !over) {
		keep_held(remote, g_steal_pointer(&found->lock), found->age_s);
		return RG_LOCK_HELD;
	}
	if (!write_lock(remote, name, mine, found, &version, diags))
		return RG_LOCK_BROKEN;
	if (!version)
		return RG_LOCK_HELD;
	if (over)
		rg_log(RG_LOG_INFO, "took over the lock of cluster %s", cluster);
	hold(remote, cluster, name, json_incref(mine), version);
	if (!over || doc_fence(remote, cluster, diags))
		return RG_LOCK_TAKEN;
	doc_unlock(remote, cluster);
	return RG_LOCK_BROKEN;
}

RgLockResult doc_lock(RgRemote *remote, const char *cluster, const RgHolder *holder, RgDiags *diags)
{
	g_auto(Found) found = {0};
	g_autofree char *name = doc_lock_name(cluster), *id = rg_remote_token();
	json_auto_t *mine = doc_holder_json(holder, id, doc_lease_ttl_s(remote->objects));
	keep_held(remote, NULL, -1);
	g_clear_pointer(&remote->names, g_ptr_array_unref); /* what was before the lock is old */
	if (!check_conditions(remote, diags))
		return RG_LOCK_BROKEN;
	if (remote->objects->lock)
		return lock_store(remote, cluster, json_incref(mine), diags);
	if (!find(remote, name, &found, diags))
		return RG_LOCK_BROKEN;
	return take(remote, cluster, name, mine, &found, diags);
}

static RgHolder holder_of(const json_t *lock, int64_t age_s)
{
	int64_t ttl_s = rg_json_int(lock, "ttl_s", -1);
	return (RgHolder){.user = rg_json_str(lock, "user", "?"),
		.host = rg_json_str(lock, "host", "?"),
		.command = rg_json_str(lock, "command", "?"),
		.job = rg_json_str(lock, "job", NULL),
		.id = rg_json_str(lock, "id", NULL),
		.pid = rg_json_int(lock, "pid", 0),
		.started_s = rg_json_int(lock, "started_s", 0),
		.expires_s = ttl_s < 0 || age_s < 0 ? -1 : MAX(ttl_s - age_s, 0)};
}

void doc_holder(RgRemote *remote, const char *cluster,
	void (*told)(void *data, const RgHolder *holder), void *data)
{
	if (!remote->held)
		return;
	const RgHolder holder = holder_of(remote->held, remote->held_age_s);
	told(data, &holder);
}

/* A lock of the store's own shows its holder only to a run that tries to take it. */
bool doc_look(RgRemote *remote, const char *cluster, RgHolderSeen seen, void *data, bool *known,
	RgDiags *diags)
{
	g_auto(Found) found = {0};
	g_autofree char *name = doc_lock_name(cluster);
	*known = !remote->objects->lock;
	if (!*known)
		return true;
	if (!find(remote, name, &found, diags))
		return false;
	if (!found.lock || doc_holder_is_free(found.lock))
		return true;
	const RgHolder holder = holder_of(found.lock, found.age_s);
	bool left = rg_object_holder_is_dead(found.lock) ||
		    doc_holder_has_expired(found.lock, found.age_s);
	seen(data, &holder, left);
	return true;
}

void doc_unlock(RgRemote *remote, const char *cluster)
{
	char *name = NULL;
	DocLease *lease = NULL;
	if (!g_hash_table_steal_extended(
		    remote->leases, cluster, (gpointer *)&name, (gpointer *)&lease))
		return;
	DocCluster *kept = g_hash_table_lookup(remote->clusters, cluster);
	if (kept && doc_lease_holds(lease))
		doc_compact(remote, kept);
	doc_lease_end(lease, true);
	g_free(name);
}

/* ---- state unlock */

static bool is_lock_of(
	RgRemote *remote, const char *object, const char *id, Found *found, RgDiags *diags)
{
	found_clear(found);
	return find(remote, object, found, diags) && found->lock &&
	       g_strcmp0(rg_json_str(found->lock, "id", NULL), id) == 0;
}

static char *find_lock(RgRemote *remote, const char *id, Found *found, RgDiags *diags)
{
	GPtrArray *names = NULL;
	char *cluster = NULL;
	bool ok = doc_list(remote, "clusters/", &names, diags);
	for (guint i = 0; ok && i < names->len && !cluster; i++) {
		uint64_t number;
		const char *what;
		g_autofree char *whose = doc_parse_name(names->pdata[i], &number, &what);
		if (whose && !what && is_lock_of(remote, names->pdata[i], id, found, diags))
			cluster = g_steal_pointer(&whose);
	}
	g_ptr_array_unref(names);
	return cluster;
}

/* The server refuses what its holder writes from now on. */
static bool unlock_store(RgRemote *remote, const char *id, char **cluster, RgDiags *diags)
{
	json_auto_t *lock = json_pack("{s:s}", "id", id);
	if (!remote->objects->unlock(remote->objects, lock, diags))
		return false;
	*cluster = g_strdup("");
	return true;
}

/* The fence comes first: from then on its holder writes nothing, whatever becomes of us. */
bool doc_break_lock(RgRemote *remote, const char *id, char **cluster, RgDiags *diags)
{
	g_auto(Found) found = {0};
	g_autofree char *whose =
		remote->objects->lock ? NULL : find_lock(remote, id, &found, diags);
	g_autofree char *version = NULL;
	*cluster = NULL;
	if (remote->objects->lock)
		return unlock_store(remote, id, cluster, diags);
	if (!whose || !doc_fence(remote, whose, diags))
		return !rg_diags_has_errors(diags);
	g_autofree char *name = doc_lock_name(whose);
	json_auto_t *free_lock = doc_holder_free();
	if (!write_lock(remote, name, free_lock, &found, &version, diags))
		return false;
	*cluster = g_steal_pointer(&whose);
	return true;
}
