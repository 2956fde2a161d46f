#include "render/text/paint.h"

/* Which fields of the spec caused a change: RgPlanChange.spec_changes. */

static char *values_text(const json_t *item)
{
	json_t *before = json_object_get(item, "before"), *after = json_object_get(item, "after");
	/* What raygpu itself puts on nodes is shown by its path. */
	if (*rg_json_str(item, "field", "") == '/')
		return g_strdup("(from another version of raygpu)");
	if (json_is_true(json_object_get(item, "hidden")) || (!before && !after))
		return g_strdup("(value not shown)");
	g_autofree char *from = before ? value_text(before) : NULL;
	g_autofree char *to = after ? value_text(after) : NULL;
	return from && to ? g_strdup_printf("%s -> %s", from, to) : g_strdup(from ? from : to);
}

static void add_item(GString *text, const json_t *item, const RgStyle *style)
{
	const char *change = rg_json_str(item, "change", "");
	const char *symbol = g_str_equal(change, "added")     ? "+"
			     : g_str_equal(change, "removed") ? "-"
							      : "~";
	const char *color = *symbol == '+' ? GREEN : *symbol == '-' ? RED : YELLOW;
	json_t *before = json_object_get(item, "before"), *after = json_object_get(item, "after");
	g_autofree char *field = clean(rg_json_str(item, "field", "?"));
	g_autoptr(GString) prefix = g_string_new("          ");
	paint(prefix, style, color, symbol);
	g_string_append_printf(prefix, " %s =", field);
	if (before && after) {
		add_difference(text, style, prefix->str, before, after, "");
		return;
	}
	g_autofree char *values = values_text(item);
	g_string_append_printf(text, "%s %s\n", prefix->str, values);
}

void add_spec_changes(GString *text, const RgPlanChange *change, const RgStyle *style)
{
	bool begun = false;
	rg_json_foreach (item, change->spec_changes) {
		if (json_object_get(item, "attribute"))
			continue; /* shown next to its attribute */
		if (!begun)
			g_string_append(text, "        # because of:\n");
		begun = true;
		add_item(text, item, style);
	}
}

const char *spec_field_of(const RgPlanChange *change, const char *attribute)
{
	rg_json_foreach (item, change->spec_changes) {
		if (g_str_equal(rg_json_str(item, "attribute", ""), attribute))
			return rg_json_str(item, "field", NULL);
	}
	return NULL;
}

char *spec_changes_phrase(const RgPlanChange *change)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_at (i, item, change->spec_changes)
		g_string_append_printf(
			text, "%s%s", i ? ", " : "", rg_json_str(item, "field", "?"));
	return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

GPtrArray *spec_change_lines(const RgPlan *plan, bool pools)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		rg_json_foreach (item, change->spec_changes) {
			g_autofree char *values = values_text(item);
			g_autofree char *what =
				g_strdup_printf("%s %s", rg_json_str(item, "field", "?"), values);
			const char *pool = change->group ? change->group : change->name;
			char *line = pools ? g_strdup_printf("%s: %s", pool, what)
					   : g_steal_pointer(&what);
			if (g_hash_table_contains(seen, line)) {
				g_free(line);
				continue;
			}
			g_hash_table_add(seen, line);
			g_ptr_array_add(lines, line);
		}
	}
	return lines;
}
