#include "gcp/sim/route.h"
#include <string.h>
#include "gcp/sim/gce.h"

#define PREFIX "/compute/v1/"

typedef struct {
	const char *method; /* borrowed */
	const char *http;
	char **segments; /* "{zone}" for a parameter */
} Route;

static void route_free(void *data)
{
	Route *route = data;
	g_strfreev(route->segments);
	g_free(route);
}

GPtrArray *gce_routes_new(const json_t *methods)
{
	GPtrArray *routes = g_ptr_array_new_with_free_func(route_free);
	rg_json_foreach_member (name, method, methods) {
		Route *route = g_new0(Route, 1);
		*route = (Route){.method = name,
			.http = doc_str(method, "httpMethod"),
			.segments = g_strsplit(doc_str(method, "path"), "/", -1)};
		g_ptr_array_add(routes, route);
	}
	return routes;
}

/* How many segments are equal to the path's, or -1: "instances/bulkInsert" is nearer than
 * "instances/{instance}". */
static int nearness(const Route *route, char **given)
{
	int equal = 0;
	char **segment = route->segments;
	for (; *segment && *given; segment++, given++) {
		if (**segment == '{' ? !**given : !g_str_equal(*segment, *given))
			return -1;
		equal += **segment != '{';
	}
	return *segment || *given ? -1 : equal;
}

const char *gce_route(const GceData *data, const RgSimRequest *request, json_t *params)
{
	g_auto(GStrv) given = g_strsplit(request->path + strlen(PREFIX), "/", -1);
	const Route *best = NULL;
	int most = -1;
	rg_ptr_foreach (const Route, route, data->routes) {
		int equal = g_str_equal(route->http, request->method) ? nearness(route, given) : -1;
		if (equal > most) {
			most = equal;
			best = route;
		}
	}
	for (unsigned i = 0; best && best->segments[i]; i++) {
		const char *segment = best->segments[i];
		if (*segment != '{')
			continue;
		g_autofree char *name = g_strndup(segment + 1, strlen(segment) - 2);
		g_autofree char *value = g_uri_unescape_string(given[i], NULL);
		if (!value || !g_utf8_validate(value, -1, NULL))
			return NULL;
		json_object_set_new(params, name, json_string(value));
	}
	return best ? best->method : NULL;
}
