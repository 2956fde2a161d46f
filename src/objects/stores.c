/* Which place a URL names. */
#include "objects/internal.h"
#include <string.h>

/* All tries of one request: a run with a lock must hear of a dead store before the lock expires. */
#define CALL_MS 60000

void objects_url_clear(ObjectsUrl *url)
{
	g_free(url->scheme);
	g_free(url->place);
	json_decref(url->parameters);
	*url = (ObjectsUrl){0};
}

static void add_parameter(json_t *parameters, const char *text)
{
	const char *equals = strchr(text, '=');
	g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : g_strdup(text);
	g_autofree char *value = g_uri_unescape_string(equals ? equals + 1 : "", NULL);
	if (*name)
		json_object_set_new(parameters, name, json_string(value ? value : ""));
}

ObjectsUrl objects_url_parse(const char *text)
{
	const char *place = strstr(text, "://") + strlen("://");
	const char *question = strchr(place, '?');
	ObjectsUrl url = {.scheme = g_strndup(text, strcspn(text, ":")),
		.place = question ? g_strndup(place, (gsize)(question - place)) : g_strdup(place),
		.parameters = json_object()};
	g_auto(GStrv) parts = g_strsplit(question ? question + 1 : "", "&", -1);
	for (guint i = 0; parts[i]; i++)
		add_parameter(url.parameters, parts[i]);
	return url;
}

bool objects_is_loopback(const char *url)
{
	g_autoptr(GUri) parsed = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = parsed ? g_uri_get_host(parsed) : NULL;
	return host && (g_str_equal(host, "localhost") || g_str_equal(host, "::1") ||
			       (g_str_has_prefix(host, "127.") && g_hostname_is_ip_address(host)));
}

RgHttpOptions objects_http(const RgObjectsHost *host, const RgRemoteOpen *how)
{
	RgHttpOptions http = host->http;
	http.read_only = !how->writes;
	http.canceled = how->canceled;
	http.canceled_data = how->data;
	http.call_ms = CALL_MS;
	return http;
}

static const char *code_of(const RgDiag *reason, bool writes)
{
	static const char *const away[] = {
		"http.", "provider.transient", "provider.throttled", "provider.canceled"};
	if (g_str_equal(reason->code, "provider.denied"))
		return "state.denied";
	for (size_t i = 0; i < G_N_ELEMENTS(away); i++) {
		if (g_str_has_prefix(reason->code, away[i]))
			return "state.unreachable";
	}
	return writes ? "state.unwritable" : "state.unreadable";
}

void objects_explain(const char *shown, bool writes, RgDiags *why, RgDiags *diags)
{
	const RgDiag *reason = NULL;
	for (size_t i = 0; i < rg_diags_count(why) && !reason; i++) {
		if (rg_diags_get(why, i)->severity == RG_SEVERITY_ERROR)
			reason = rg_diags_get(why, i);
	}
	if (!reason) {
		rg_diags_take_all(diags, why);
		return;
	}
	const char *code = code_of(reason, writes);
	bool away = g_str_equal(code, "state.unreachable");
	RgDiag *diag = rg_diags_error(diags, code, "the state \"%s\" could not be %s", shown,
		away	 ? "reached"
		: writes ? "written"
			 : "read");
	rg_diag_detail(diag, "%s%s%s", reason->summary, reason->detail ? "\n" : "",
		reason->detail ? reason->detail : "");
	rg_diag_hint(diag, "%s",
		reason->hint ? reason->hint
		: away	     ? "check the URL, the network and the server; nothing recorded is lost"
			     : "raygpu-state(5) lists the permissions; nothing recorded is lost");
}

static RgObjects *refuse(const ObjectsUrl *url, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "state.unknown-store", "raygpu has no store for \"%s://\"", url->scheme);
	rg_diag_hint(diag, "a state is a file (a path), a PostgreSQL database "
			   "(postgres://HOST/DATABASE), behind Terraform's HTTP protocol "
			   "(https://), or in a place that a provider module keeps, "
			   "such as a bucket (raygpu-state(5))");
	return NULL;
}

static RgObjects *open_place(void *data, const RgRemoteOpen *how, RgDiags *diags)
{
	RgObjectsHost *host = data;
	g_auto(ObjectsUrl) url = objects_url_parse(how->url);
	if (g_str_equal(url.scheme, "https") || g_str_equal(url.scheme, "http"))
		return objects_open_http(host, &url, how, diags);
	g_autofree char *provider = rg_provider_of_scheme(host->providers, url.scheme);
	RgObjects *objects = provider ? objects_open_module(host, provider, &url, how, diags)
				      : refuse(&url, diags);
	if (objects && objects_is_loopback(rg_json_str(url.parameters, "endpoint", "")))
		objects->renew_ms = host->loopback_lease_ms;
	return objects;
}

RgObjectStores rg_object_stores(RgObjectsHost *host)
{
	return (RgObjectStores){.open = open_place, .data = host};
}
