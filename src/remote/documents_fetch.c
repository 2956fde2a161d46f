/* Reading: a listing says which snapshot and which changes there are; the snapshot is one object. A
 * run that makes a new snapshot deletes what is in it, so a reader that does not find an object
 * looks again: the numbers only rise. */
#include "remote/documents.h"
#include "base/caps.h"
#include "resource/gzip.h"
#include <string.h>

#define LOOKS_MAX 20

json_t *doc_parse(const RgRemote *remote, const char *name, GBytes *bytes, RgDiags *diags)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autoptr(GBytes) text = rg_gunzip(bytes, RG_CAP_STATE_BYTES);
	gsize len = 0;
	const char *data = text ? g_bytes_get_data(text, &len) : NULL;
	json_auto_t *document =
		data ? rg_json_parse(data, len, name, "state.corrupt", unused) : NULL;
	if (json_is_object(document) && rg_json_int(document, "format", 0) == DOC_FORMAT)
		return g_steal_pointer(&document);
	doc_corrupt(remote, name, diags);
	return NULL;
}

json_t *doc_get(RgRemote *remote, const char *name, GBytes **bytes, bool *absent, RgDiags *diags)
{
	g_auto(RgObject) object = {0};
	RgObjectResult result = remote->objects->get(remote->objects, name, &object, diags);
	*absent = result == RG_OBJECT_ABSENT;
	if (result != RG_OBJECT_DONE)
		return NULL;
	json_t *document = doc_parse(remote, name, object.content, diags);
	if (document && bytes)
		*bytes = g_bytes_ref(object.content);
	return document;
}

GBytes *doc_pack(json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);
	GBytes *bytes = rg_gzip(text, strlen(text));
	free(text);
	json_decref(document);
	return bytes;
}

bool doc_list(RgRemote *remote, const char *prefix, GPtrArray **names, RgDiags *diags)
{
	*names = g_ptr_array_new_with_free_func(g_free);
	return remote->objects->list(remote->objects, prefix, false, *names, diags);
}

/* ---- one cluster */

static void forget(DocCluster *cluster)
{
	g_clear_pointer(&cluster->snapshot, json_decref);
	g_clear_pointer(&cluster->bytes, g_bytes_unref);
	g_ptr_array_set_size(cluster->changes, 0);
	json_array_clear(cluster->fences);
	cluster->base = cluster->last = 0;
	cluster->id = cluster->serial = cluster->ids = 0;
}

static void take_numbers(DocCluster *cluster, const json_t *document)
{
	if (rg_json_int(document, "cluster", 0) == 0)
		return; /* a fence */
	cluster->id = rg_json_int(document, "cluster", 0);
	cluster->serial = rg_json_int(document, "serial", 0);
	cluster->ids = MAX(cluster->ids, rg_json_int(document, "ids", 0));
}

static bool fetch_snapshot(
	RgRemote *remote, DocCluster *cluster, uint64_t base, bool *absent, RgDiags *diags)
{
	forget(cluster);
	if (base == 0)
		return true;
	g_autofree char *name = doc_name(cluster->name, DOC_SNAPSHOT, base);
	cluster->snapshot = doc_get(remote, name, &cluster->bytes, absent, diags);
	if (!cluster->snapshot)
		return false;
	cluster->base = cluster->last = base;
	json_array_extend(cluster->fences, json_object_get(cluster->snapshot, "fences"));
	take_numbers(cluster, cluster->snapshot);
	return true;
}

/* A change that is read, or why not. */
typedef struct {
	GBytes *bytes;
	json_t *document;
	bool absent;
	RgDiags *diags;
} Change;

typedef struct {
	RgRemote *remote;
	const DocCluster *cluster;
	Change *changes;
} Fetch;

static void get_change(void *data, guint i)
{
	const Fetch *fetch = data;
	Change *change = &fetch->changes[i];
	g_autofree char *name =
		doc_name(fetch->cluster->name, DOC_CHANGE, fetch->cluster->last + 1 + i);
	change->diags = rg_diags_new();
	change->document =
		doc_get(fetch->remote, name, &change->bytes, &change->absent, change->diags);
}

static void add_change(DocCluster *cluster, GBytes *bytes, const json_t *change)
{
	g_ptr_array_add(cluster->changes, g_bytes_ref(bytes));
	cluster->last++;
	if (rg_json_bool(change, "fence", false))
		json_array_append_new(cluster->fences, json_integer((json_int_t)cluster->last));
	if (json_array_size(cluster->fences) > DOC_FENCES_MAX)
		json_array_remove(cluster->fences, 0);
	take_numbers(cluster, change);
}

static bool fetch_changes(
	RgRemote *remote, DocCluster *cluster, uint64_t last, bool *absent, RgDiags *diags)
{
	guint n = (guint)(last - cluster->last);
	bool ok = true;
	g_autofree Change *changes = g_new0(Change, MAX(n, 1));
	Fetch fetch = {remote, cluster, changes};
	doc_together(remote, n, get_change, &fetch);
	for (guint i = 0; i < n; i++) {
		Change *change = &changes[i];
		if (ok && change->document)
			add_change(cluster, change->bytes, change->document);
		else if (ok)
			rg_diags_take_all(diags, change->diags);
		*absent |= ok && change->absent;
		ok = ok && change->document;
		json_decref(change->document);
		g_clear_pointer(&change->bytes, g_bytes_unref);
		rg_diags_free(change->diags);
	}
	return ok;
}

static bool fetch_cluster(RgRemote *remote, DocCluster *cluster, uint64_t base, uint64_t last,
	bool *absent, RgDiags *diags)
{
	if ((cluster->base != base || cluster->last > last) &&
		!fetch_snapshot(remote, cluster, base, absent, diags))
		return false;
	return fetch_changes(remote, cluster, last, absent, diags);
}

/* ---- listings */

void doc_newest(const GPtrArray *names, const char *cluster, uint64_t *base, uint64_t *last)
{
	*base = *last = 0;
	for (guint i = 0; i < names->len; i++) {
		uint64_t number;
		const char *what;
		g_autofree char *whose = doc_parse_name(names->pdata[i], &number, &what);
		if (g_strcmp0(whose, cluster) != 0 || !what)
			continue;
		if (g_str_equal(what, DOC_SNAPSHOT))
			*base = MAX(*base, number);
		if (g_str_equal(what, DOC_CHANGE))
			*last = MAX(*last, number);
	}
	*last = MAX(*last, *base);
}

static GHashTable *clusters_in(const GPtrArray *names, const char *only)
{
	GHashTable *clusters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < names->len; i++) {
		uint64_t number;
		const char *what;
		char *whose = doc_parse_name(names->pdata[i], &number, &what);
		if (whose && (!only || g_str_equal(whose, only)))
			g_hash_table_add(clusters, whose);
		else
			g_free(whose);
	}
	return clusters;
}

static bool look(RgRemote *remote, const char *only, bool *absent, RgDiags *diags)
{
	g_autofree char *prefix = only ? doc_folder(only) : g_strdup("clusters/");
	g_autoptr(GPtrArray) names = g_steal_pointer(&remote->names);
	*absent = false;
	if (!names && !doc_list(remote, prefix, &names, diags))
		return false;
	g_autoptr(GHashTable) clusters = clusters_in(names, only);
	rg_hash_keys (const char, name, clusters) {
		uint64_t base, last;
		doc_newest(names, name, &base, &last);
		if (!fetch_cluster(remote, doc_cluster(remote, name), base, last, absent, diags))
			return false;
	}
	return true;
}

bool doc_refresh(RgRemote *remote, const char *cluster, RgDiags *diags)
{
	bool absent = false;
	for (unsigned looks = 0; looks < LOOKS_MAX; looks++) {
		if (look(remote, cluster, &absent, diags))
			return true;
		if (!absent || remote->canceled(remote->data))
			break;
	}
	return absent ? doc_corrupt(remote, cluster ? cluster : "clusters", diags) : false;
}

/* ---- rows */

static bool apply(RgRemote *remote, DocModel *model, const DocCluster *cluster,
	const json_t *document, bool *strange, RgDiags *diags)
{
	return doc_model_apply(model, document, strange) ||
	       doc_corrupt(remote, cluster->name, diags);
}

static bool apply_chunks(
	RgRemote *remote, DocModel *model, DocCluster *cluster, bool *absent, RgDiags *diags)
{
	const json_t *chunks = json_object_get(cluster->snapshot, "history");
	bool unused = false;
	rg_json_foreach (chunk, chunks) {
		g_autofree char *name =
			doc_name(cluster->name, DOC_HISTORY, (uint64_t)json_integer_value(chunk));
		json_auto_t *document = doc_get(remote, name, NULL, absent, diags);
		if (!document || !apply(remote, model, cluster, document, &unused, diags))
			return false;
	}
	return true;
}

static bool parse_snapshot(RgRemote *remote, DocCluster *cluster, RgDiags *diags)
{
	if (!cluster->snapshot && cluster->bytes)
		cluster->snapshot = doc_parse(remote, cluster->name, cluster->bytes, diags);
	return cluster->snapshot || !cluster->bytes;
}

DocModel *doc_build(RgRemote *remote, DocCluster *cluster, bool history, bool *strange,
	bool *absent, RgDiags *diags)
{
	g_autoptr(DocModel) model = doc_model_new();
	*absent = *strange = false;
	bool ignored = false;
	if (!parse_snapshot(remote, cluster, diags) ||
		(history && !apply_chunks(remote, model, cluster, absent, diags)) ||
		!apply(remote, model, cluster, cluster->snapshot, &ignored, diags))
		return NULL;
	for (guint i = 0; i < cluster->changes->len; i++) {
		json_auto_t *change =
			doc_parse(remote, cluster->name, cluster->changes->pdata[i], diags);
		if (!change || !apply(remote, model, cluster, change, strange, diags))
			return NULL;
	}
	return g_steal_pointer(&model);
}
