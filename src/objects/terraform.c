/* Objects in the one document that a server of Terraform's HTTP protocol keeps. It has the form of
 * a Terraform state without resources, because servers read its version, serial and lineage; the
 * objects are in its member "raygpu". Every write sends all of it, on the protocol's lock. */
#include "base/clock.h"
#include "base/log.h"
#include "objects/http.h"
#include <unistd.h>

#define OWN "raygpu"

typedef struct {
	RgObjects base;
	HttpPlace place;
	json_t *document; /* as last read or written; NULL: not read */
	char *id;	  /* of the lock that this process has, or NULL */
	unsigned locks;	  /* clusters that have it */
	bool known;	  /* this process has read or written a document */
	bool dirty;	  /* something was removed */
} HttpObjects;

static void tf_close(RgObjects *objects)
{
	HttpObjects *http = (HttpObjects *)objects;
	http_place_clear(&http->place);
	json_decref(http->document);
	g_free(http->id);
	g_free(http);
}

/* Nothing yet, or another program's state: that one is not ours to replace. */
static json_t *new_document(void)
{
	g_autofree char *lineage = g_uuid_string_random();
	return json_pack("{s:i, s:s, s:i, s:s, s:{}, s:[], s:{}}", "version", 4,
		"terraform_version", "1.11.4", "serial", 0, "lineage", lineage, "outputs",
		"resources", OWN);
}

static bool refuse_foreign(const HttpObjects *http, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.not-a-state",
		"the state \"%s\" is that of another program", http->place.shown);
	rg_diag_hint(diag, "use an address of its own for raygpu");
	return false;
}

/* Members of every state that Terraform (stateV4 of its internal/states/statefile/version4.go) or
 * this file writes. */
static bool is_state(const json_t *document)
{
	return json_is_integer(json_object_get(document, "version")) &&
	       json_is_integer(json_object_get(document, "serial")) &&
	       json_is_string(json_object_get(document, "lineage"));
}

static bool are_objects(const json_t *objects)
{
	rg_json_foreach_member (name, value, objects) {
		if (!json_is_string(value))
			return false;
	}
	return true;
}

static bool refuse_document(const HttpObjects *http, const char *why, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.corrupt",
		"the server of the state \"%s\" sent a document that raygpu did not write",
		http->place.shown);
	rg_diag_detail(diag, "%s", why);
	rg_diag_hint(diag, "check the URL, or restore an earlier version of the document; nothing "
			   "was written");
	return false;
}

static bool check_document(const HttpObjects *http, const json_t *document, RgDiags *diags)
{
	const json_t *own = json_object_get(document, OWN);
	if (!is_state(document))
		return refuse_document(
			http, "version, serial or lineage is missing or has another type", diags);
	if (!own)
		return (json_array_size(json_object_get(document, "resources")) == 0 &&
			       json_object_size(json_object_get(document, "outputs")) == 0) ||
		       refuse_foreign(http, diags);
	return (json_is_object(own) && are_objects(own)) ||
	       refuse_document(http, "a member of \"" OWN "\" has another type", diags);
}

/* A document that this process has read is not deleted by any run of raygpu. */
static bool is_new(const HttpObjects *http, RgDiags *diags)
{
	return !http->known ||
	       refuse_document(http, "the document was there before, and is missing now", diags);
}

static bool read_document(HttpObjects *http, RgDiags *diags)
{
	bool absent = false;
	json_auto_t *document = http_read(&http->place, &absent, diags);
	if (absent ? !is_new(http, diags) : !document || !check_document(http, document, diags))
		return false;
	http->known = !absent;
	json_decref(http->document);
	http->document = absent ? new_document() : g_steal_pointer(&document);
	http->dirty = false;
	return true;
}

static json_t *objects_of(HttpObjects *http)
{
	json_t *all = json_object_get(http->document, OWN);
	if (!json_is_object(all))
		json_object_set_new(http->document, OWN, json_object());
	return json_object_get(http->document, OWN);
}

static RgObjectResult write_document(HttpObjects *http, RgDiags *diags)
{
	json_int_t serial = rg_json_int(http->document, "serial", 0);
	json_object_set_new(http->document, "serial", json_integer(serial + 1));
	RgObjectResult result = http_write(&http->place, http->id, http->document, diags);
	if (result == RG_OBJECT_DONE) {
		http->dirty = false;
		http->known = true;
	}
	return result;
}

static char *version_of(const char *base64)
{
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, base64, -1);
}

static RgObjectResult tf_get(RgObjects *objects, const char *name, RgObject *object, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	if (!http->document && !read_document(http, diags))
		return RG_OBJECT_FAILED;
	const char *base64 = rg_json_str(objects_of(http), name, NULL);
	if (!base64)
		return RG_OBJECT_ABSENT;
	gsize len;
	guchar *bytes = g_base64_decode(base64, &len);
	*object = (RgObject){.content = g_bytes_new_take(bytes, len),
		.version = version_of(base64),
		.age_s = -1};
	return RG_OBJECT_DONE;
}

static RgObjectResult put_locked(HttpObjects *http, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags)
{
	const char *old = rg_json_str(objects_of(http), name, NULL);
	g_autofree char *is = old ? version_of(old) : NULL;
	gsize len;
	const guchar *bytes = g_bytes_get_data(content, &len);
	if (g_strcmp0(is, version) != 0)
		return RG_OBJECT_CONFLICT;
	g_autofree char *base64 = g_base64_encode(bytes, len);
	json_object_set_new(objects_of(http), name, json_string(base64));
	RgObjectResult result = write_document(http, diags);
	if (result == RG_OBJECT_DONE)
		*written = version_of(base64);
	else /* what the server has is unknown */
		g_clear_pointer(&http->document, json_decref);
	return result;
}

/* ---- the lock */

/* As Terraform writes it; what it has no place for is in Info. */
static json_t *info_of(const json_t *mine)
{
	g_autofree char *created = rg_clock_format(rg_json_int(mine, "started_s", 0));
	g_autofree char *who = g_strconcat(
		rg_json_str(mine, "user", "?"), "@", rg_json_str(mine, "host", "?"), NULL);
	g_autofree char *info = rg_json_canonical(mine);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "ID", rg_json_str(mine, "id", ""),
		"Operation", rg_json_str(mine, "command", ""), "Info", info, "Who", who, "Version",
		"1.11.4", "Created", created, "Path", "");
}

static json_t *holder_of(const json_t *info)
{
	const char *text = rg_json_str(info, "Info", "");
	json_t *own = json_loads(text, 0, NULL);
	if (json_is_object(own)) {
		json_object_del(own, "ttl_s"); /* the server's locks do not expire */
		return own;
	}
	json_decref(own);
	if (!info)
		return NULL;
	g_auto(GStrv) who = g_strsplit(rg_json_str(info, "Who", "?"), "@", 2);
	g_autoptr(GDateTime) created =
		g_date_time_new_from_iso8601(rg_json_str(info, "Created", ""), NULL);
	return json_pack("{s:s, s:s, s:s, s:s, s:I}", "id", rg_json_str(info, "ID", ""), "user",
		who[0] ? who[0] : "?", "host", who[0] && who[1] ? who[1] : "?", "command",
		rg_json_str(info, "Operation", "?"), "started_s",
		(json_int_t)(created ? g_date_time_to_unix(created) : 0));
}

/* Of a killed run of this machine it ends first. The server compares the ID, so a lock that another
 * run has taken in the meantime stays. */
static RgObjectResult lock_server(
	HttpObjects *http, const json_t *info, json_t **holder, RgDiags *diags)
{
	json_auto_t *held = NULL, *next = NULL;
	RgObjectResult result = http_lock(&http->place, info, &held, diags);
	if (result != RG_OBJECT_CONFLICT)
		return result;
	*holder = holder_of(held);
	if (!*holder || !rg_object_holder_is_dead(*holder))
		return result;
	g_autoptr(RgDiags) unused = rg_diags_new();
	if (!http_unlock(&http->place, held, unused))
		return result;
	rg_log(RG_LOG_INFO, "ended the lock of a process of this machine that is gone");
	json_decref(g_steal_pointer(holder));
	result = http_lock(&http->place, info, &next, diags);
	if (result == RG_OBJECT_CONFLICT)
		*holder = holder_of(next);
	return result;
}

static RgObjectResult tf_lock(
	RgObjects *objects, const json_t *mine, json_t **holder, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	json_auto_t *info = info_of(mine);
	if (http->locks > 0) {
		http->locks++;
		return RG_OBJECT_DONE;
	}
	RgObjectResult result = lock_server(http, info, holder, diags);
	if (result != RG_OBJECT_DONE)
		return result;
	if (!read_document(http, diags)) {
		http_unlock(&http->place, info, diags);
		return RG_OBJECT_FAILED;
	}
	http->id = g_strdup(rg_json_str(mine, "id", ""));
	http->locks = 1;
	return RG_OBJECT_DONE;
}

/* Also of a lock that is another run's. */
static bool tf_unlock(RgObjects *objects, const json_t *mine, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	bool own = http->locks > 0;
	if (own && --http->locks > 0)
		return true;
	if (own && http->dirty && http->document)
		write_document(http, diags);
	json_auto_t *info = json_pack("{s:s}", "ID", own ? http->id : rg_json_str(mine, "id", ""));
	g_clear_pointer(&http->id, g_free);
	return http_unlock(&http->place, info, diags);
}

/* ---- without the lock, it is taken for one write */

static json_t *brief_lock(void)
{
	g_autofree char *id = g_uuid_string_random(), *here = rg_object_machine();
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:I, s:I}", "id", id, "user",
		g_get_user_name(), "host", g_get_host_name(), "command", "state", "machine", here,
		"pid", (json_int_t)getpid(), "started_s", (json_int_t)rg_clock_now_s());
}

static RgObjectResult tf_put(RgObjects *objects, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	if (http->locks > 0 && !http->document && !read_document(http, diags))
		return RG_OBJECT_FAILED;
	if (http->locks > 0)
		return put_locked(http, name, content, version, written, diags);
	json_auto_t *mine = brief_lock(), *holder = NULL;
	RgObjectResult result = tf_lock(objects, mine, &holder, diags);
	if (result != RG_OBJECT_DONE)
		return result;
	result = put_locked(http, name, content, version, written, diags);
	tf_unlock(objects, mine, diags);
	return result;
}

/* Sent with the next write, or at the end. */
static bool tf_remove(RgObjects *objects, const char *name, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	json_auto_t *mine = brief_lock(), *holder = NULL;
	bool brief = http->locks == 0;
	if (brief && tf_lock(objects, mine, &holder, diags) != RG_OBJECT_DONE)
		return false;
	if (http->document && json_object_del(objects_of(http), name) == 0)
		http->dirty = true;
	return !brief || tf_unlock(objects, mine, diags);
}

/* With the lock, what was read stays true; else a listing is a new view. */
static bool tf_list(
	RgObjects *objects, const char *prefix, bool advise, GPtrArray *names, RgDiags *diags)
{
	HttpObjects *http = (HttpObjects *)objects;
	if (!(http->locks > 0 && http->document) && !read_document(http, diags))
		return false;
	rg_json_foreach_member (name, value, objects_of(http)) {
		if (g_str_has_prefix(name, prefix))
			g_ptr_array_add(names, g_strdup(name));
	}
	return true;
}

RgObjects *objects_open_http(
	const RgObjectsHost *host, const ObjectsUrl *url, const RgRemoteOpen *how, RgDiags *diags)
{
	HttpObjects *http = g_new0(HttpObjects, 1);
	http->base = (RgObjects){.close = tf_close,
		.get = tf_get,
		.put = tf_put,
		.remove = tf_remove,
		.list = tf_list,
		.lock = tf_lock,
		.unlock = tf_unlock};
	if (http_place_open(&http->place, host, url, how, diags))
		return &http->base;
	tf_close(&http->base);
	return NULL;
}
