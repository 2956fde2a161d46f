#include "render/paint.h"
#include "base/money.h"

/* The plan as text. Phrases that tools parse are Terraform's, byte for byte. */

#define MONTH_HOURS 730 /* as the clouds' own calculators have it */

static const char *symbol_of(const RgPlanChange *change)
{
	switch (change->action) {
	case RG_ACTION_CREATE:
		return "+";
	case RG_ACTION_UPDATE:
		return "~";
	case RG_ACTION_REPLACE:
		return "-/+";
	case RG_ACTION_DELETE:
		return "-";
	case RG_ACTION_RECORD:
	case RG_ACTION_FORGET:
	case RG_ACTION_STOP:
	case RG_ACTION_NONE:
		break;
	}
	return ".";
}

static const char *color_of(const RgPlanChange *change)
{
	switch (change->action) {
	case RG_ACTION_CREATE:
		return GREEN;
	case RG_ACTION_UPDATE:
		return YELLOW;
	case RG_ACTION_REPLACE:
	case RG_ACTION_DELETE:
	case RG_ACTION_STOP:
		return RED;
	case RG_ACTION_RECORD:
	case RG_ACTION_FORGET:
	case RG_ACTION_NONE:
		break;
	}
	return CYAN;
}

static const char *phrase_of(const RgPlanChange *change)
{
	switch (change->action) {
	case RG_ACTION_CREATE:
		return "will be created";
	case RG_ACTION_UPDATE:
		return "will be updated in-place";
	case RG_ACTION_REPLACE:
		return g_strcmp0(change->reason, "replace_by_request") == 0
			       ? "will be replaced, as requested"
			       : "must be replaced";
	case RG_ACTION_DELETE:
		return "will be destroyed";
	case RG_ACTION_RECORD:
		return "will be recorded as it is";
	case RG_ACTION_FORGET:
		return "will be forgotten: it is gone already";
	case RG_ACTION_STOP:
		return "can't be planned";
	case RG_ACTION_NONE:
		break;
	}
	return "is in order";
}

static void add_heading(GString *text, const RgPlanChange *change, const RgStyle *style)
{
	g_string_append(text, "  ");
	paintf(text, style, BOLD, "# %s %s", change->address, phrase_of(change));
	g_string_append_c(text, '\n');
}

static size_t name_width(const RgPlanChange *change)
{
	size_t width = 0;
	const char *key;
	json_t *value;
	json_object_foreach (change->desired, key, value)
		width = MAX(width, strlen(key));
	for (guint i = 0; i < change->attrs->len; i++)
		width = MAX(width, strlen(((RgPlanAttr *)change->attrs->pdata[i])->name));
	return width;
}

static void add_wanted(GString *text, const RgPlanChange *change, const RgStyle *style)
{
	int width = (int)name_width(change);
	const char *key;
	json_t *value;
	json_object_foreach (change->desired, key, value) {
		g_autofree char *shown = value_text(value);
		g_string_append(text, "      ");
		paint(text, style, GREEN, "+");
		g_string_append_printf(text, " %-*s = %s\n", width, key, shown);
	}
}

static void add_attr(GString *text, const RgPlanAttr *attr, int width, const RgStyle *style)
{
	const char *symbol = !attr->before && !attr->sensitive				? "+"
			     : !attr->after && !attr->after_unknown && !attr->sensitive ? "-"
											: "~";
	g_autofree char *before =
		attr->sensitive ? g_strdup("(sensitive value)") : value_text(attr->before);
	g_autofree char *after = attr->sensitive       ? g_strdup("(sensitive value)")
				 : attr->after_unknown ? g_strdup("(known after apply)")
						       : value_text(attr->after);
	g_string_append(text, "      ");
	paint(text, style, *symbol == '+' ? GREEN : *symbol == '-' ? RED : YELLOW, symbol);
	g_string_append_printf(text, " %-*s = %s -> %s", width, attr->name, before, after);
	if (attr->drift)
		paint(text, style, CYAN, " # changed outside of raygpu");
	if (attr->force_new)
		paint(text, style, RED, " # forces replacement");
	g_string_append_c(text, '\n');
}

static void add_block(
	GString *text, const RgPlanChange *change, unsigned alike, const RgStyle *style)
{
	const char *symbol = symbol_of(change);
	if (change->note) {
		g_autofree char *note = g_strdup_printf("(%s)", change->note);
		wrap(text, style, "  # ", note);
	}
	if (change->source.line && alike <= 1)
		g_string_append_printf(
			text, "  # (%s:%u)\n", change->source.file, change->source.line);
	g_string_append_printf(text, "%*s", 3 - (int)strlen(symbol), "");
	paint(text, style, color_of(change), symbol);
	g_string_append_printf(text, " resource \"%s\" \"%s\" {%s", change->kind, change->name,
		alike > 1 ? "" : "\n");
	if (alike > 1)
		g_string_append_printf(text, " # %u alike\n", alike);
	if (change->action == RG_ACTION_CREATE)
		add_wanted(text, change, style);
	if (change->id && change->action != RG_ACTION_CREATE)
		g_string_append_printf(text, "        id = \"%s\"\n", change->id);
	for (guint i = 0; i < change->attrs->len && change->action != RG_ACTION_CREATE; i++)
		add_attr(text, change->attrs->pdata[i], (int)name_width(change), style);
	g_string_append(text, "    }\n\n");
}

static bool same_attr(const RgPlanAttr *a, const RgPlanAttr *b)
{
	return g_str_equal(a->name, b->name) && a->after_unknown == b->after_unknown &&
	       a->drift == b->drift && a->force_new == b->force_new &&
	       (a->before == b->before || json_equal(a->before, b->before)) &&
	       (a->after == b->after || json_equal(a->after, b->after));
}

/* Nodes of a pool that change alike share one block. */
static bool alike(const RgPlanChange *a, const RgPlanChange *b)
{
	if (a->action != b->action || a->index < 0 || b->index < 0 ||
		!g_str_equal(a->kind, b->kind) || !g_str_equal(a->name, b->name) ||
		a->attrs->len != b->attrs->len || g_strcmp0(a->note, b->note) ||
		a->drifted != b->drifted)
		return false;
	if (a->action == RG_ACTION_CREATE && a->desired != b->desired &&
		!json_equal(a->desired, b->desired))
		return false;
	for (guint i = 0; i < a->attrs->len; i++) {
		if (!same_attr(a->attrs->pdata[i], b->attrs->pdata[i]))
			return false;
	}
	return true;
}

static void add_changes(GString *text, const RgPlan *plan, const RgStyle *style)
{
	for (guint i = 0; i < plan->changes->len;) {
		const RgPlanChange *change = plan->changes->pdata[i];
		guint end = i + 1;
		if (change->action != RG_ACTION_NONE) {
			add_heading(text, change, style);
			while (end < plan->changes->len && alike(change, plan->changes->pdata[end]))
				add_heading(text, plan->changes->pdata[end++], style);
			add_block(text, change, end - i, style);
		}
		i = end;
	}
}

static void add_drift(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->drifted)
		return;
	paint(text, style, CYAN, "Note: Objects have changed outside of raygpu");
	g_string_append(text, "\n\n");
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (!change->drifted)
			continue;
		bool gone =
			change->action == RG_ACTION_CREATE || change->action == RG_ACTION_FORGET;
		g_string_append_printf(text, "  # %s has %s\n", change->address,
			gone ? "been deleted" : "changed");
	}
	g_string_append_c(text, '\n');
}

static char *arrow(unsigned before, unsigned after)
{
	return before == after ? g_strdup_printf("%u", after)
			       : g_strdup_printf("%u -> %u", before, after);
}

static char *pool_cost(int64_t microusd, unsigned unpriced)
{
	g_autofree char *known = rg_money_format(microusd);
	return unpriced ? g_strdup_printf("%s + %u unpriced", known, unpriced)
			: g_steal_pointer(&known);
}

static void add_pool(GString *text, const RgPlanPool *pool)
{
	g_autofree char *nodes = arrow(pool->nodes_before, pool->nodes_after);
	g_autofree char *gpus = arrow(pool->gpus_before, pool->gpus_after);
	g_autofree char *labelled = pool->accelerator
					    ? g_strdup_printf("%s %s", pool->accelerator, gpus)
					    : g_strdup("-");
	g_autofree char *cost = pool_cost(pool->microusd_hour_after, pool->unpriced_after);
	g_string_append_printf(text, "  %-14s %-16s %-10s %-18s %s\n", pool->pool,
		pool->instance_type ? pool->instance_type : "?", nodes, labelled, cost);
}

static void add_ray(GString *text, const RgPlan *plan)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < plan->pools->len; i++) {
		char *name = ((RgPlanPool *)plan->pools->pdata[i])->accelerator;
		unsigned before = 0, after = 0;
		if (!name || !g_hash_table_add(seen, name))
			continue;
		for (guint k = i; k < plan->pools->len; k++) {
			const RgPlanPool *pool = plan->pools->pdata[k];
			before += g_strcmp0(pool->accelerator, name) == 0 ? pool->gpus_before : 0;
			after += g_strcmp0(pool->accelerator, name) == 0 ? pool->gpus_after : 0;
		}
		g_autofree char *text_of = arrow(before, after);
		g_string_append_printf(line, "%s%s %s", line->len ? ", " : "", name, text_of);
	}
	if (line->len)
		g_string_append_printf(text, "GPUs that Ray will see: %s\n", line->str);
}

static void add_cost(GString *text, const RgPlan *plan)
{
	int64_t before = 0, after = 0;
	unsigned unpriced = 0;
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		before += pool->microusd_hour_before;
		after += pool->microusd_hour_after;
		unpriced += pool->unpriced_after;
	}
	g_autofree char *from = rg_money_format(before), *to = rg_money_format(after);
	g_autofree char *month = rg_money_format(after * MONTH_HOURS);
	g_string_append_printf(text, "Cost: %s%s%s per hour on demand, %s%s per month of %d hours",
		from, before == after ? "" : " -> ", before == after ? "" : to,
		unpriced ? "at least " : "", month, MONTH_HOURS);
	if (plan->catalog_date)
		g_string_append_printf(text, " (prices of %s)", plan->catalog_date);
	g_string_append_c(text, '\n');
	if (unpriced)
		g_string_append_printf(text, "      %u node%s without a known price not counted\n",
			unpriced, unpriced == 1 ? "" : "s");
}

static void add_pools(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->pools->len)
		return;
	paintf(text, style, BOLD, "  %-14s %-16s %-10s %-18s %s", "POOL", "TYPE", "NODES", "GPUS",
		"PER HOUR");
	g_string_append_c(text, '\n');
	for (guint i = 0; i < plan->pools->len; i++)
		add_pool(text, plan->pools->pdata[i]);
	g_string_append_c(text, '\n');
	add_ray(text, plan);
	add_cost(text, plan);
}

static void add_origin(GString *text, const RgPlan *plan)
{
	if (plan->commit)
		g_string_append_printf(text, "Spec: %s at commit %.12s%s\n",
			plan->spec_file ? plan->spec_file : "?", plan->commit,
			plan->dirty ? " with changes that are not committed" : "");
	else if (plan->spec_file)
		g_string_append_printf(text, "Spec: %s, %s\n", plan->spec_file,
			plan->in_git ? "in a repository without a commit"
				     : "not in a git repository");
	if (plan->api_calls)
		g_string_append_printf(text,
			"About %u API calls, %u s at the provider's rate limits.\n",
			plan->api_calls, plan->api_seconds);
}

static void add_unmanaged(GString *text, const RgPlan *plan, const RgStyle *style)
{
	for (guint i = 0; i < plan->unmanaged->len; i++) {
		const json_t *item = plan->unmanaged->pdata[i];
		paintf(text, style, YELLOW,
			"  ! %s %s (%s) carries this cluster's marks but is not recorded",
			rg_json_str(item, "kind", "?"), rg_json_str(item, "id", "?"),
			rg_json_str(item, "status", "?"));
		g_string_append_c(text, '\n');
	}
	if (plan->unmanaged->len)
		g_string_append_c(text, '\n');
}

char *rg_render_plan_summary(const RgPlan *plan)
{
	if (rg_plan_is_noop(plan))
		return g_strdup("No changes. Your infrastructure matches the configuration.");
	GString *text = g_string_new(NULL);
	g_string_append_printf(text, "Plan: %u to add, %u to change, %u to destroy",
		plan->create + plan->replace, plan->update, plan->remove + plan->replace);
	if (plan->forget)
		g_string_append_printf(text, ", %u to forget", plan->forget);
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

char *rg_render_plan(const RgPlan *plan, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	add_drift(text, plan, style);
	add_unmanaged(text, plan, style);
	if (rg_plan_has_changes(plan) || plan->stop) {
		g_string_append(text, "raygpu will perform the following actions:\n\n");
		add_changes(text, plan, style);
	}
	add_pools(text, plan, style);
	add_origin(text, plan);
	if (plan->record)
		g_string_append_printf(text,
			"%u record%s brought up to date without a call to the cloud.\n",
			plan->record, plan->record == 1 ? " is" : "s are");
	g_autofree char *summary = rg_render_plan_summary(plan);
	g_string_append_c(text, '\n');
	if (plan->errored)
		paint(text, style, RED,
			"Planning failed: see the errors. Nothing of this will be applied.");
	else
		paint(text, style, rg_plan_is_noop(plan) ? GREEN : BOLD, summary);
	g_string_append_c(text, '\n');
	return g_string_free(text, FALSE);
}
