/* A remedy as a hint. */
#include "workloads/demand.h"

static void add_map(GString *text, const char *name, const json_t *map)
{
	const char *between = "";
	if (json_object_size(map) == 0)
		return;
	g_string_append_printf(text, ", %s: {", name);
	rg_json_foreach_member (key, value, map) {
		if (json_is_string(value))
			g_string_append_printf(
				text, "%s%s: %s", between, key, json_string_value(value));
		else
			g_string_append_printf(
				text, "%s%s: %g", between, key, json_number_value(value));
		between = ", ";
	}
	g_string_append_c(text, '}');
}

char *rg_fit_remedy_text(const json_t *remedy)
{
	const char *pool = rg_json_str(remedy, "pool", NULL);
	const char *type = rg_json_str(remedy, "instance_type", "");
	const char *model = rg_json_str(remedy, "accelerator", NULL);
	const char *mig = rg_json_str(remedy, "mig", NULL);
	const json_t *part = json_object_get(remedy, "workload_gpus");
	int64_t nodes = rg_json_int(remedy, "nodes", 0);
	g_autofree char *cost = rg_money_format(rg_json_int(remedy, "microusd_hour", 0));
	int64_t over = rg_json_int(remedy, "over_budget_microusd_hour", 0);
	g_autofree char *excess = rg_money_format(over);
	const char *plural = nodes == 1 ? "" : "s";
	bool enable = rg_json_bool(remedy, "enable", false);
	bool priced = json_is_integer(json_object_get(remedy, "microusd_hour"));
	g_autoptr(GString) text = g_string_new(priced && !enable ? "cheapest: " : "");
	if (json_is_number(part))
		g_string_append_printf(text,
			"`gpus: %.4g` for the workload, which then shares GPUs%s",
			json_number_value(part), nodes > 0 ? ", and " : "");
	if (pool && mig)
		g_string_append_printf(text, "share: {mig: %s} for pool %s (%s)%s", mig, pool, type,
			nodes > 0 ? ", and " : "");
	if (enable)
		g_string_append_printf(text,
			"enable pool %s, with %" G_GINT64_FORMAT " node%s of %s", pool, nodes,
			plural, type);
	else if (pool && nodes > 0)
		g_string_append_printf(text, "%" G_GINT64_FORMAT " more node%s of pool %s (%s)",
			nodes, plural, pool, type);
	if (!pool)
		g_string_append_printf(
			text, "a pool of %" G_GINT64_FORMAT " node%s of %s", nodes, plural, type);
	if (!pool && model)
		g_string_append_printf(text, " (%s x %" G_GINT64_FORMAT ")", model,
			rg_json_int(remedy, "gpus", 0));
	if (!pool && g_str_equal(rg_json_str(remedy, "market", ""), "spot"))
		g_string_append(text, ", market: spot");
	if (mig && !pool)
		g_string_append_printf(text, ", share: {mig: %s}", mig);
	add_map(text, "labels", json_object_get(remedy, "labels"));
	add_map(text, "resources", json_object_get(remedy, "resources"));
	if (nodes > 0 && priced)
		g_string_append_printf(text, ", %s per hour", cost);
	if (!priced)
		g_string_append(text, "; no price is known");
	if (over > 0)
		g_string_append_printf(text, ", %s above the budget", excess);
	const json_t *apart = json_object_get(remedy, "leave_nvlink");
	rg_json_foreach_at (i, name, apart)
		g_string_append_printf(
			text, "%s%s", i == 0 ? "; GPUs of " : ", ", json_string_value(name));
	if (json_array_size(apart) > 0)
		g_string_append(text, " are then on more nodes than NVLink connects");
	return g_strdup(text->str);
}
