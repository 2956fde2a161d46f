/* The leases of a plan: their ends, and how it changes them. */
#include "base/clock.h"
#include "render/plan/lease.h"

/* "2026-12-01T00:00:00Z" for people; "?" for what is not a time. */
static char *show(const char *end)
{
	g_autoptr(GDateTime) date = end ? g_date_time_new_from_iso8601(end, NULL) : NULL;
	return date ? rg_clock_show(g_date_time_to_unix(date)) : g_strdup("?");
}

char *lease_phrase(const json_t *lease)
{
	const char *after = rg_json_str(lease, "after", NULL);
	const char *before = rg_json_str(lease, "before", NULL);
	g_autofree char *is = show(after), *was = show(before);
	g_autofree char *expires = clean(rg_json_str(lease, "expires", ""));
	bool counted = g_ascii_isdigit(*expires) && g_ascii_isalpha(expires[strlen(expires) - 1]) &&
		       !g_str_has_suffix(expires, "Z");
	g_autofree char *from =
		counted ? g_strdup_printf(", %s from the first apply", expires) : g_strdup("");
	if (!after)
		return g_strdup_printf("lease: ends %s -> no end%s", was,
			rg_json_str(lease, "pool", NULL) ? " of its own" : "");
	return before && rg_plan_lease_changes(lease)
		       ? g_strdup_printf("lease: ends %s -> %s%s", was, is, from)
		       : g_strdup_printf("lease: ends %s%s", is, from);
}

void rg_render_leases(GString *text, const RgPlan *plan, const RgStyle *style)
{
	bool renewed = false;
	if (!plan->leases)
		return;
	g_string_append(text, "Leases:\n\n");
	rg_json_foreach (lease, plan->leases) {
		const char *pool = rg_json_str(lease, "pool", NULL);
		g_autofree char *name = clean(pool ? pool : plan->cluster);
		g_autofree char *phrase = lease_phrase(lease);
		g_string_append(text, "  ");
		if (rg_plan_lease_changes(lease))
			paint(text, style, YELLOW, "~");
		else
			g_string_append_c(text, ' ');
		renewed |= rg_json_str(lease, "before", NULL) && rg_plan_lease_changes(lease);
		g_string_append_printf(
			text, " %s %s: %s\n", pool ? "pool" : "cluster", name, phrase);
	}
	g_string_append(text, renewed ? "\nNo node is replaced for it.\n\n" : "\n");
}

static void add_recorded(GString *text, const char *what, const char *name, const json_t *lease)
{
	g_autofree char *end = rg_clock_show(rg_json_int(lease, "ends_s", 0));
	g_autofree char *whose = clean(name), *expires = clean(rg_json_str(lease, "expires", ""));
	if (lease)
		g_string_append_printf(text, "\n# the lease of %s %s ends %s (expires: %s)\n", what,
			whose, end, expires);
}

char *rg_render_recorded_leases(const char *cluster, const json_t *leases, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	json_t *pools = json_object_get(leases, "pools");
	add_recorded(text, "cluster", cluster, json_object_get(leases, "cluster"));
	rg_json_foreach_member (pool, lease, pools)
		add_recorded(text, "pool", pool, lease);
	return text_finish(text, style);
}
