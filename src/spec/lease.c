#include "spec/lease.h"

#include <string.h>
#include "base/clock.h"
#include "spec/check.h"

#define DAY_S 86400
#define LONGEST_S (INT64_C(3650) * DAY_S)

/* A date is the beginning of that day in UTC. NULL: there is no such day or time. */
static GDateTime *read_date(const char *text)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autofree char *whole =
		strchr(text, 'T') ? g_strdup(text) : g_strconcat(text, "T00:00:00Z", NULL);
	return g_date_time_new_from_iso8601(whole, utc);
}

const char *rg_lease_parse(const char *text, int64_t *end_s, int64_t *duration_s)
{
	static const char units[] = "hdw";
	static const int64_t seconds[] = {3600, DAY_S, 7 * DAY_S};
	char *rest;
	guint64 number = g_ascii_strtoull(text, &rest, 10);
	const char *unit = *rest ? strchr(units, *rest) : NULL;
	*end_s = *duration_s = 0;
	if (unit) {
		*duration_s = (int64_t)number * seconds[unit - units];
		return *duration_s <= LONGEST_S ? NULL : "it is longer than ten years";
	}
	g_autoptr(GDateTime) date = read_date(text);
	if (!date)
		return "there is no such date or time";
	*end_s = g_date_time_to_unix(date);
	return *end_s > 0 ? NULL : "it is before 1970";
}

/* ---- rules */

static bool check_lease(RgDocument *document, const char *pointer, int64_t *end_s,
	int64_t *duration_s, RgDiags *diags)
{
	const json_t *value = rg_json_at(document->value, pointer);
	if (!json_is_string(value) || rg_document_is_spoiled(document, pointer))
		return false;
	const char *text = json_string_value(value);
	const char *wrong = rg_lease_parse(text, end_s, duration_s);
	if (!wrong)
		return true;
	g_autofree char *path = rg_spec_path(document, pointer);
	RgDiag *diag = rg_spec_report(document, pointer, "spec.out-of-range", diags,
		"%s cannot be \"%s\": %s", path, text, wrong);
	rg_diag_hint(diag, "write a date such as 2026-12-01, a time such as "
			   "2026-12-01T18:00:00Z, or a duration such as 72h, 14d or 2w");
	return false;
}

/* A pool starts with the cluster or after it, so a longer duration ends later too. */
void rg_spec_check_leases(RgDocument *document, RgDiags *diags)
{
	int64_t end_s = 0, duration_s = 0, pool_end_s, pool_duration_s;
	bool known = check_lease(document, "/expires", &end_s, &duration_s, diags);
	json_t *pools = json_object_get(document->value, "pools");
	rg_json_foreach_member (name, pool, pools) {
		g_autofree char *at = rg_json_pointer_add("/pools", name);
		g_autofree char *pointer = g_strconcat(at, "/expires", NULL);
		if (!check_lease(document, pointer, &pool_end_s, &pool_duration_s, diags) ||
			!known || (!end_s != !pool_end_s) ||
			(pool_end_s <= end_s && pool_duration_s <= duration_s))
			continue;
		g_autofree char *path = rg_spec_path(document, pointer);
		RgDiag *diag = rg_spec_report(document, pointer, "spec.conflict", diags,
			"%s is after the end of the cluster, whose head the pool needs", path);
		rg_diag_related(
			diag, rg_document_source(document, "/expires"), "the end of the cluster");
		rg_diag_hint(diag, "extend the cluster too, or let the pool end before it");
	}
}
