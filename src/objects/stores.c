/* Which place a URL names. */
#include "objects/internal.h"
#include <string.h>
#include "base/loopback.h"

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

static ObjectsUrl url_parse(const char *text)
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
	g_auto(ObjectsUrl) url = url_parse(how->url);
	if (g_str_equal(url.scheme, "https") || g_str_equal(url.scheme, "http"))
		return objects_open_http(host, &url, how, diags);
	g_autofree char *provider = rg_provider_of_scheme(host->providers, url.scheme);
	RgObjects *objects = provider ? objects_open_module(host, provider, &url, how, diags)
				      : refuse(&url, diags);
	if (objects && rg_is_loopback_url(rg_json_str(url.parameters, "endpoint", "")))
		objects->renew_ms = host->loopback_lease_ms;
	return objects;
}

RgObjectStores rg_object_stores(RgObjectsHost *host)
{
	return (RgObjectStores){.open = open_place, .data = host};
}
