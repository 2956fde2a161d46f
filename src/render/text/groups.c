/* Of a drift report: what the cloud's groups have launched for elastic pools. Members as they
 * should be are counted only; the JSON report has them all. */
#include "render/text/paint.h"

static bool is_older(const json_t *group, const json_t *member)
{
	const char *newest = rg_json_str(group, "template", NULL);
	const char *own = rg_json_str(member, "template", NULL);
	return newest && own && !g_str_equal(own, newest);
}

static bool runs(const json_t *member)
{
	return g_str_equal(rg_json_str(member, "state", ""), "running");
}

static void add_count(GPtrArray *table, const json_t *group)
{
	unsigned running = 0, older = 0;
	rg_json_foreach (member, json_object_get(group, "members")) {
		running += runs(member);
		older += is_older(group, member);
	}
	const json_t *told = json_object_get(group, "wants");
	g_autofree char *count = g_strdup_printf("%u", running);
	g_autofree char *old = g_strdup_printf("%u", older);
	g_autofree char *wants = json_is_integer(told) ? g_strdup_printf("%" JSON_INTEGER_FORMAT,
								 json_integer_value(told))
						       : g_strdup("?");
	table_add(table, rg_json_str(group, "pool", ""), count, wants, old, NULL);
}

static void add_members(GPtrArray *table, const json_t *group)
{
	rg_json_foreach (member, json_object_get(group, "members")) {
		if (runs(member) && !is_older(group, member))
			continue;
		g_autofree char *template = g_strconcat(rg_json_str(member, "template", "-"),
			is_older(group, member) ? " (older)" : "", NULL);
		table_add(table, rg_json_str(member, "id", ""), rg_json_str(group, "pool", ""),
			rg_json_str(member, "state", ""), rg_json_str(member, "zone", "-"),
			template, NULL);
	}
}

static void add_refusals(GString *text, const json_t *group, const RgStyle *style)
{
	rg_json_foreach (refusal, json_object_get(group, "refused")) {
		const char *zone = rg_json_str(refusal, "zone", NULL);
		int64_t tries = rg_json_int(refusal, "tries", 1);
		g_autofree char *times =
			tries > 1 ? g_strdup_printf(", %" G_GINT64_FORMAT " times", tries)
				  : g_strdup("");
		wrapf(text, style, "  ", "%s: refused%s%s%s: %s", rg_json_str(group, "pool", ""),
			zone ? " in " : "", zone ? zone : "", times,
			rg_json_str(refusal, "message", ""));
	}
}

void add_groups(GString *text, const json_t *groups, const RgStyle *style)
{
	g_autoptr(GPtrArray) counts = table_new("POOL,RUNNING,WANTED,OLD TEMPLATE");
	g_autoptr(GPtrArray) members = table_new("MEMBER,POOL,STATE,ZONE,TEMPLATE");
	if (!json_array_size(groups))
		return;
	rg_json_foreach (group, groups) {
		add_count(counts, group);
		add_members(members, group);
	}
	g_string_append(text, "\nElastic pools, which Ray scales:\n");
	paint_table(text, counts, &(TableLook){.indent = "  ", .numbers = 3}, style);
	rg_json_foreach (group, groups)
		add_refusals(text, group, style);
	if (members->len > 1)
		paint_table(text, members, &(TableLook){.indent = "  "}, style);
}
