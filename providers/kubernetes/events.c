/* Events of an object: what others said about it. They are kept for an hour, and not everybody may
 * read them, so nothing depends on them but what is said and how long it is waited for. */
#include "kubernetes/events.h"
#include <string.h>

typedef struct {
	const char *const *reasons;
	json_t *newest;
	int64_t at_s;
} Search;

int64_t kube_time(const char *stamp)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(stamp, NULL);
	return time ? g_date_time_to_unix(time) : 0;
}

/* An event that was repeated has the last time; those of the newer API only eventTime. */
static int64_t time_of(const json_t *event)
{
	static const char *const members[] = {"/series/lastObservedTime", "/lastTimestamp",
		"/eventTime", "/metadata/creationTimestamp"};
	int64_t at = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(members) && !at; i++) {
		const char *stamp = json_string_value(mod_at(event, members[i]));
		at = stamp ? kube_time(stamp) : 0;
	}
	return at;
}

static rgp_status on_events(void *data, const json_t *items)
{
	Search *search = data;
	if (!items)
		g_clear_pointer(&search->newest, json_decref);
	mod_foreach (event, items) {
		int64_t at = time_of(event);
		if (!g_strv_contains(search->reasons, mod_str(event, "reason")) ||
			(search->newest && at < search->at_s))
			continue;
		json_decref(search->newest);
		search->newest = json_incref(event);
		search->at_s = at;
	}
	return RGP_OK;
}

rgp_status kube_event_last(const KubeCall *call, const char *space, const char *name,
	const char *const *reasons, json_t **event)
{
	g_autofree char *field = g_strconcat("involvedObject.name=", name, NULL);
	g_autofree char *escaped = g_uri_escape_string(field, NULL, FALSE);
	g_autofree char *query = g_strconcat("fieldSelector=", escaped, NULL);
	g_autofree char *url = kube_url(call, &kube_events, space, NULL, query);
	Search search = {.reasons = reasons};
	g_auto(ModRestAnswer) unread = {0};
	rgp_status status =
		kube_pages(call, "Event.list", url, false, on_events, &search, &unread.failure);
	*event = search.newest;
	return status;
}
