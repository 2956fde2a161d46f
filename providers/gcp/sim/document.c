#include <string.h>
#include "gcp/sim/gce.h"

const GceKind gce_kinds[GCE_KINDS] = {
	[GCE_ADDRESS] = {"addresses", "address", true},
	[GCE_DISK] = {"disks", "disk", true},
	[GCE_FIREWALL] = {"firewalls", "firewall", true},
	[GCE_INSTANCE] = {"instances", "instance", true},
	[GCE_NETWORK] = {"networks", "network", true},
	[GCE_OPERATION] = {"operations", "operation", true},
	[GCE_POLICY] = {"resourcePolicies", "resourcePolicy", true},
	[GCE_RESERVATION] = {"reservations", "reservation", true},
	[GCE_ROUTER] = {"routers", "router", true},
	[GCE_SUBNETWORK] = {"subnetworks", "subnetwork", true},
	[GCE_REQUEST] = {"requests", "request", false},
};

char *gce_link(const RgSimPlace *place, const char *key)
{
	return g_strdup_printf(GCE_ROOT "projects/%s/%s", place->name, key);
}

const char *gce_last(const char *link)
{
	const char *slash = strrchr(link, '/');
	return slash ? slash + 1 : link;
}

/* https://HOST/compute/v1/projects/P/KEY, projects/P/KEY or KEY itself. */
char *gce_key_of(const char *link, char **project)
{
	*project = NULL;
	const char *at = strstr(link, "/compute/v1/");
	if (at && (g_str_has_prefix(link, "https://") || g_str_has_prefix(link, "http://")))
		at += strlen("/compute/v1/");
	else
		at = link;
	if (g_str_has_prefix(at, "projects/")) {
		const char *name = at + strlen("projects/"), *end = strchr(name, '/');
		if (!end || end == name)
			return NULL;
		*project = g_strndup(name, (gsize)(end - name));
		at = end + 1;
	}
	bool good = g_str_has_prefix(at, "zones/") || g_str_has_prefix(at, "regions/") ||
		    g_str_has_prefix(at, "global/");
	if (good)
		return g_strdup(at);
	g_clear_pointer(project, g_free);
	return NULL;
}

static char *number_text(const char *hex)
{
	guint64 number = g_ascii_strtoull(hex, NULL, 16);
	return g_strdup_printf(
		"%" G_GUINT64_FORMAT, number % (9 * G_GUINT64_CONSTANT(1000000000000000000)) + 1);
}

char *gce_number(RgSim *sim)
{
	g_autofree char *id = rg_sim_id(sim, "");
	id[15] = '\0';
	return number_text(id);
}

char *gce_fixed_number(const char *place, const char *word)
{
	g_autofree char *id = rg_sim_fixed_id("", place, word);
	id[15] = '\0';
	return number_text(id);
}

char *gce_time(gint64 unix_ms)
{
	g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(unix_ms / 1000);
	g_autoptr(GTimeZone) zone = g_time_zone_new_offset(-8 * 3600);
	g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, zone);
	g_autofree char *text = g_date_time_format(local, "%Y-%m-%dT%H:%M:%S");
	return g_strdup_printf("%s.%03d-08:00", text, (int)(unix_ms % 1000));
}

char *gce_fingerprint(const json_t *value)
{
	g_autofree char *text = rg_json_canonical(value);
	guint8 digest[32];
	gsize len = sizeof(digest);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)text, -1);
	g_checksum_get_digest(sum, digest, &len);
	char *print = g_base64_encode(digest, 8);
	return g_strdelimit(g_strdelimit(print, "+", '-'), "/", '_');
}

/* ---- looking up */

json_t *gce_find(const RgSimPlace *place, unsigned kind, const char *scope, const char *name)
{
	g_autofree char *key = g_strjoin("/", scope, gce_kinds[kind].resource, name, NULL);
	json_t *doc = rg_sim_find(place, kind, key);
	return doc && !gce_is_hidden(doc) ? doc : NULL;
}

static json_t *find_number(RgSimPlace *place, unsigned kind, const char *scope, const char *number)
{
	if (kind == GCE_INSTANCE)
		return gce_instance_by_number(place, scope, number);
	rg_sim_foreach (doc, place, kind) {
		if (g_str_equal(doc_str(doc, "id"), number) &&
			g_str_has_prefix(doc_str(doc, GCE_KEY), scope))
			return gce_is_hidden(doc) ? NULL : doc;
	}
	return NULL;
}

json_t *gce_target(RgSimCall *call, unsigned kind)
{
	const GceKind *info = &gce_kinds[kind];
	const char *name = rg_json_str(
		call->params, info->singular, rg_json_str(call->params, "resource", ""));
	g_autofree char *scope = gce_scope(call);
	json_t *doc = g_ascii_isdigit(*name) && info->by_number
			      ? find_number(call->place, kind, scope, name)
			      : gce_find(call->place, kind, scope, name);
	if (doc)
		return doc;
	g_autofree char *key = g_strjoin("/", scope, info->resource, name, NULL);
	gce_fail_missing(call, call->place_name, key);
	return NULL;
}

json_t *gce_refer(RgSimCall *call, unsigned kind, const char *field, const char *link)
{
	g_autofree char *project = NULL;
	g_autofree char *key = gce_key_of(link, &project);
	g_autofree char *part = g_strdup_printf("/%s/", gce_kinds[kind].resource);
	if (!key || !strstr(key, part)) {
		gce_fail_invalid(call, field, link, "The URL is malformed.");
		return NULL;
	}
	RgSimPlace *place = project ? rg_sim_place(call->realm, project) : call->place;
	json_t *doc = place ? rg_sim_find(place, kind, key) : NULL;
	if (!doc)
		gce_fail_missing(call, project ? project : call->place_name, key);
	else if (gce_is_hidden(doc))
		gce_fail_not_ready(call, key);
	return doc && !gce_is_hidden(doc) ? doc : NULL;
}

unsigned gce_kind_of(const RgSimCall *call)
{
	const char *name = call->action->name;
	gsize len = strcspn(name, ".");
	for (unsigned kind = 0; kind < GCE_KINDS; kind++) {
		if (strlen(gce_kinds[kind].resource) == len &&
			strncmp(gce_kinds[kind].resource, name, len) == 0)
			return kind;
	}
	return GCE_OPERATION; /* zoneOperations and the others */
}

bool gce_get(RgSimCall *call)
{
	json_t *doc = gce_target(call, gce_kind_of(call));
	return doc && gce_answer(call, json_incref(doc));
}

/* ---- making */

bool gce_name_check(RgSimCall *call, unsigned kind, const char *scope, const char *name)
{
	if (!name)
		return gce_fail_required(call, "resource.name");
	if (!g_regex_match_simple(
		    "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name, G_REGEX_DOLLAR_ENDONLY, 0))
		return gce_fail_invalid(call, "resource.name", name,
			"Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'");
	g_autofree char *key = g_strjoin("/", scope, gce_kinds[kind].resource, name, NULL);
	return !rg_sim_find(call->place, kind, key) || gce_fail_exists(call, key);
}

json_t *gce_new(RgSimCall *call, unsigned kind, const char *scope, const char *name)
{
	const char *wanted = name ? name : doc_str(call_body(call), "name");
	g_autofree char *key = g_strjoin("/", scope, gce_kinds[kind].resource, wanted, NULL);
	g_autofree char *what = g_strconcat("compute#", gce_kinds[kind].singular, NULL);
	g_autofree char *id = gce_number(call->sim);
	g_autofree char *self = gce_link(call->place, key);
	g_autofree char *now = gce_time(call->sim->now_ms);
	json_t *doc = json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:s}", GCE_KEY, key, "_hidden", 1,
		"kind", what, "id", id, "creationTimestamp", now, "name", wanted, "selfLink", self);
	g_autofree char *link = gce_link(call->place, scope);
	if (g_str_has_prefix(scope, "zones/"))
		json_object_set_new(doc, "zone", json_string(link));
	if (g_str_has_prefix(scope, "regions/"))
		json_object_set_new(doc, "region", json_string(link));
	return doc;
}
