#include "render/fit/fit.h"
#include "render/plan/lease.h"
#include <string.h>

/* The plan as text. Phrases that tools parse are Terraform's, byte for byte. */

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
	case RG_ACTION_RELEASE:
	case RG_ACTION_NONE:
		break;
	}
	return CYAN;
}

/* Shared by the blocks of one plan. */
typedef struct {
	GString *text;
	const RgPlan *plan;
	const RgStyle *style;
	json_t *alike;	   /* alike_of; NULL: verbose */
	GHashTable *begun; /* kinds whose common attributes are shown */
} Blocks;

static void add_heading(GString *text, const RgPlanChange *change, const RgStyle *style)
{
	g_autofree char *address = clean(change->address);
	if (change->import && change->action != RG_ACTION_NONE) {
		g_string_append(text, "  ");
		paintf(text, style, BOLD, "# %s will be imported", address);
		g_string_append_c(text, '\n');
	}
	g_string_append(text, "  ");
	paintf(text, style, BOLD, "# %s %s", address, change_phrase(change));
	g_string_append_c(text, '\n');
}

/* The line of the spec, and Terraform's words for an import. */
static void add_import(GString *text, const RgPlanChange *change, const RgStyle *style)
{
	const json_t *source = json_object_get(change->import, "source");
	g_autofree char *id = clean(rg_json_str(change->import, "id", "?"));
	g_autofree char *file = clean(rg_json_str(source, "file", "?"));
	g_string_append_printf(text, "  # (imported from \"%s\")\n", id);
	if (change->action == RG_ACTION_REPLACE) {
		g_string_append(text, "  # ");
		paintf(text, style, YELLOW, "Warning: this will %s the imported resource",
			rg_json_str(change->removal, "verb", "destroy"));
		g_string_append_c(text, '\n');
	}
	if (source)
		g_string_append_printf(
			text, "  # (%s:%d, imports)\n", file, (int)rg_json_int(source, "line", 0));
}

static bool is_detail(const RgPlan *plan, const RgPlanChange *change, const char *name)
{
	return rg_json_has_text(json_object_get(plan->details, change->kind), name);
}

/* What a block of a new resource shows of an attribute. A new reference; NULL: nothing. */
static json_t *shown_of(const Blocks *blocks, const RgPlanChange *change, const char *name)
{
	json_t *value = json_object_get(change->desired, name);
	if (!blocks->alike)
		return json_incref(value);
	return is_detail(blocks->plan, change, name)
		       ? NULL
		       : alike_rest(json_object_get(blocks->alike, change->kind), name, value);
}

/* As people call it. */
static const char *shown_name(const RgPlanAttr *attr)
{
	return g_str_equal(attr->name, RG_MARKS) ? "ownership_tags" : attr->name;
}

static int name_width(const RgPlanChange *change)
{
	unsigned width = change->id ? 2 : 0;
	for (guint i = 0; i < change->attrs->len; i++)
		width = MAX(width, columns_of(shown_name(change->attrs->pdata[i])));
	return (int)width;
}

/* The name of an attribute, in its column; only `symbol` is painted if the attribute has no
 * colour. */
static char *prefix_of(
	const RgStyle *style, const char *color, const char *symbol, const char *name, int width)
{
	g_autoptr(GString) prefix = g_string_new("      ");
	g_autofree char *shown = clean(name);
	paint(prefix, style, color, symbol);
	g_string_append_printf(
		prefix, " %s%*s =", shown, MAX(width - (int)columns_of(shown), 0), "");
	return g_strdup(prefix->str);
}

static void add_values(const Blocks *blocks, const RgPlanChange *change, const json_t *attributes)
{
	int width = columns_of_names(attributes);
	rg_json_foreach_member (key, value, attributes) {
		g_autofree char *prefix = prefix_of(blocks->style, GREEN, "+", key, width);
		if (change->sensitive && json_object_get(change->sensitive, key))
			g_string_append_printf(blocks->text, "%s (sensitive value)\n", prefix);
		else
			add_value(blocks->text, blocks->style, prefix, value);
	}
}

static void add_wanted(const Blocks *blocks, const RgPlanChange *change)
{
	json_auto_t *shown = json_object();
	rg_json_foreach_member (key, value, change->desired) {
		json_t *rest = shown_of(blocks, change, key);
		if (rest)
			json_object_set_new(shown, key, rest);
	}
	add_values(blocks, change, shown);
	size_t left = json_object_size(change->desired) - json_object_size(shown);
	if (left)
		g_string_append_printf(blocks->text, "        # (%zu attribute%s hidden)\n", left,
			left == 1 ? "" : "s");
}

/* Above the first new resource of a kind: what all of them have in common. */
static void add_common(const Blocks *blocks, const RgPlanChange *change)
{
	json_auto_t *common = json_copy(json_object_get(blocks->alike, change->kind));
	const char *key;
	json_t *value;
	void *next;
	if (!common || !g_hash_table_add(blocks->begun, change->kind))
		return;
	json_object_foreach_safe (common, next, key, value) {
		if (is_detail(blocks->plan, change, key))
			json_object_del(common, key);
	}
	if (!json_object_size(common))
		return;
	g_autofree char *kind = clean(change->kind);
	g_string_append_printf(blocks->text, "  # all new %s have in common:\n", kind);
	add_values(blocks, change, common);
	g_string_append_c(blocks->text, '\n');
}

/* Modules say that something is not set by an empty text. */
static json_t *set_value(json_t *value)
{
	return json_is_string(value) && !json_string_length(value) ? NULL : value;
}

static void add_attr(
	GString *text, const RgPlanChange *change, const RgPlanAttr *attr, const RgStyle *style)
{
	int width = name_width(change);
	bool records = attr->drift && (change->action == RG_ACTION_RECORD ||
					      json_equal(attr->before, attr->after));
	json_t *before = set_value(records ? attr->recorded : attr->before),
	       *after = set_value(attr->after);
	const char *symbol = !before && !attr->sensitive			  ? "+"
			     : !after && !attr->after_unknown && !attr->sensitive ? "-"
										  : "~";
	const char *color = *symbol == '+' ? GREEN : *symbol == '-' ? RED : YELLOW;
	g_autofree char *prefix = prefix_of(style, color, symbol, shown_name(attr), width);
	g_autoptr(GString) note = g_string_new(NULL);
	if (attr->drift)
		paint(note, style, CYAN,
			change->interrupted ? " # changed since it was recorded"
					    : " # changed outside of raygpu");
	const char *field = spec_field_of(change, attr->name);
	if (attr->force_new)
		paint(note, style, RED, " # forces replacement");
	if (field && !g_str_equal(field, attr->name)) {
		g_autofree char *shown = clean(field);
		g_string_append_printf(note, " (%s)", shown);
	}
	if (!attr->sensitive && !attr->after_unknown) {
		add_difference(text, style, prefix, before, after, note->str);
		return;
	}
	g_autofree char *was =
		attr->sensitive ? g_strdup("(sensitive value)") : value_text(attr->before);
	g_string_append_printf(text, "%s %s -> %s%s\n", prefix, was,
		attr->sensitive ? "(sensitive value)" : "(known after apply)", note->str);
}

#define IDS_SHOWN 8

/* Which resources in the cloud a block is about. */
static void add_ids(GString *text, GPtrArray *changes, guint from, guint to, const RgStyle *style)
{
	const RgPlanChange *first = changes->pdata[from];
	if (!first->id || first->action == RG_ACTION_CREATE)
		return;
	if (to - from == 1) {
		g_autofree char *id = clean(first->id);
		g_string_append_printf(
			text, "        %-*s = \"%s\"\n", name_width(first), "id", id);
		return;
	}
	g_autoptr(GString) ids = g_string_new("# ids:");
	for (guint i = from; i < to && i < from + IDS_SHOWN; i++) {
		const RgPlanChange *change = changes->pdata[i];
		g_string_append_printf(ids, " %s", change->id ? change->id : "?");
	}
	if (to - from > IDS_SHOWN)
		g_string_append_printf(ids, " and %u more", to - from - IDS_SHOWN);
	wrap(text, style, "        ", ids->str);
}

/* One block for changes[from .. to), which are identical. */
static void add_block(const Blocks *blocks, guint from, guint to)
{
	GString *text = blocks->text;
	const RgStyle *style = blocks->style;
	GPtrArray *changes = blocks->plan->changes;
	const RgPlanChange *change = changes->pdata[from];
	const char *symbol = change_symbol(change);
	g_autofree char *kind = clean(change->kind), *name = clean(change->name);
	if (change->import)
		add_import(text, change, style);
	if (change->note)
		wrapf(text, style, "  # ", "(%s)", change->note);
	if (change->source.line)
		wrapf(text, style, "  # ", "(%s:%u)", change->source.file, change->source.line);
	g_string_append_printf(text, "%*s", 3 - (int)strlen(symbol), "");
	paint(text, style, color_of(change), symbol);
	g_string_append_printf(text, " resource \"%s\" \"%s\" {", kind, name);
	if (to - from > 1)
		g_string_append_printf(text, " # %u alike", to - from);
	g_string_append_c(text, '\n');
	if (change->action == RG_ACTION_CREATE)
		add_wanted(blocks, change);
	add_ids(text, changes, from, to, style);
	for (guint i = 0; i < change->attrs->len && change->action != RG_ACTION_CREATE; i++)
		add_attr(text, change, change->attrs->pdata[i], style);
	add_spec_changes(text, change, style);
	g_string_append(text, "    }\n\n");
}

static bool same_attr(const RgPlanAttr *a, const RgPlanAttr *b)
{
	return g_str_equal(a->name, b->name) && a->after_unknown == b->after_unknown &&
	       a->drift == b->drift && a->force_new == b->force_new &&
	       (a->before == b->before || json_equal(a->before, b->before)) &&
	       (a->after == b->after || json_equal(a->after, b->after));
}

/* Nodes of a pool with the same change share one block. */
static bool alike_changes(const RgPlanChange *a, const RgPlanChange *b)
{
	if (a->import || b->import || a->action != b->action || a->index < 0 || b->index < 0 ||
		!g_str_equal(a->kind, b->kind) || !g_str_equal(a->name, b->name) ||
		a->attrs->len != b->attrs->len || g_strcmp0(a->note, b->note) ||
		a->drifted != b->drifted || a->interrupted != b->interrupted ||
		a->source.line != b->source.line)
		return false;
	if (a->action == RG_ACTION_CREATE && a->desired != b->desired &&
		!json_equal(a->desired, b->desired))
		return false;
	if (a->spec_changes != b->spec_changes && !json_equal(a->spec_changes, b->spec_changes))
		return false;
	for (guint i = 0; i < a->attrs->len; i++) {
		if (!same_attr(a->attrs->pdata[i], b->attrs->pdata[i]))
			return false;
	}
	return true;
}

static void add_changes(GString *text, const RgPlan *plan, const RgStyle *style)
{
	json_auto_t *alike = style->detail == RG_DETAIL_VERBOSE ? NULL : alike_of(plan);
	g_autoptr(GHashTable) begun = g_hash_table_new(g_str_hash, g_str_equal);
	const Blocks blocks = {text, plan, style, alike, begun};
	for (guint i = 0; i < plan->changes->len;) {
		const RgPlanChange *change = plan->changes->pdata[i];
		guint end = i + 1;
		if (change->action == RG_ACTION_CREATE)
			add_common(&blocks, change);
		if (rg_plan_change_shows(change)) {
			add_heading(text, change, style);
			while (end < plan->changes->len &&
				alike_changes(change, plan->changes->pdata[end]))
				add_heading(text, plan->changes->pdata[end++], style);
			add_block(&blocks, i, end);
		}
		i = end;
	}
}

/* Like Terraform's outputs: no resource changes, but the state does. */
static void add_protection(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->protection)
		return;
	g_string_append(text, "Changes to protection:\n\n");
	rg_json_foreach (item, plan->protection) {
		g_autofree char *pool = clean(rg_json_str(item, "pool", "?"));
		bool after = json_is_true(json_object_get(item, "after"));
		g_string_append(text, "  ");
		paint(text, style, YELLOW, "~");
		g_string_append_printf(text, " %s: protect: %s -> %s\n", pool,
			after ? "false" : "true", after ? "true" : "false");
	}
	g_string_append(text,
		"\nApplying this plan records it in the state; no resource changes for "
		"it.\n\n");
}

static void add_renames(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->renames)
		return;
	g_string_append(text, "Pools to be renamed:\n\n");
	rg_json_foreach (item, plan->renames) {
		g_autofree char *from = clean(rg_json_str(item, "from", "?"));
		g_autofree char *to = clean(rg_json_str(item, "to", "?"));
		g_string_append(text, "  ");
		paint(text, style, YELLOW, "~");
		g_string_append_printf(text, " %s -> %s\n", from, to);
	}
	g_string_append(text,
		"\nTheir nodes are kept. Until they are replaced, they report the old name to "
		"Ray.\n\n");
}

static void add_drift(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->drifted)
		return;
	bool outside = false;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		outside |= change->drifted && !change->interrupted;
	paintf(text, style, CYAN, "Note: Objects have changed %s",
		outside ? "outside of raygpu" : "since they were recorded");
	g_string_append(text, "\n\n");
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		if (!change->drifted)
			continue;
		bool gone =
			change->action == RG_ACTION_CREATE || change->action == RG_ACTION_FORGET;
		g_autofree char *address = clean(change->address);
		g_string_append_printf(text, "  # %s has %s%s%s\n", address,
			gone ? "been " : "changed",
			gone ? rg_json_str(change->removal, "done", "deleted") : "",
			change->interrupted ? INTERRUPTED : "");
	}
	g_string_append_c(text, '\n');
}

#define API_SECONDS_WORTH_SAYING 10

static void add_origin(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (plan->commit)
		wrapf(text, style, "", "Spec: %s at commit %.12s%s",
			plan->spec_file ? plan->spec_file : "?", plan->commit,
			plan->dirty ? " with changes that are not committed" : "");
	else if (plan->spec_file)
		wrapf(text, style, "", "Spec: %s, %s", plan->spec_file,
			plan->in_git ? "in a repository without a commit"
				     : "not in a git repository");
	if (!plan->api_calls || (style->detail != RG_DETAIL_VERBOSE &&
					plan->api_seconds < API_SECONDS_WORTH_SAYING))
		return;
	g_autofree char *seconds = plan->api_seconds ? g_strdup_printf("%u s", plan->api_seconds)
						     : g_strdup("less than 1 s");
	wrapf(text, style, "", "About %u API call%s, %s at the provider's rate limits.",
		plan->api_calls, plan->api_calls == 1 ? "" : "s", seconds);
}

static void add_unmanaged(GString *text, const RgPlan *plan, const RgStyle *style)
{
	rg_ptr_foreach (const json_t, item, plan->unmanaged) {
		paint(text, style, YELLOW, "  !");
		g_autoptr(GString) words = g_string_new(NULL);
		wrapf(words, style, "    ",
			"%s %s (%s) carries this cluster's ownership tags but is not recorded",
			rg_json_str(item, "kind", "?"), rg_json_str(item, "id", "?"),
			rg_json_str(item, "status", "?"));
		g_string_append(text, words->str + 3);
	}
	if (plan->unmanaged->len)
		g_string_append_c(text, '\n');
}

/* Of a plan with --refresh-only without changes. */
static char *refreshed_summary(const RgPlan *plan)
{
	unsigned left = rg_plan_left(plan);
	if (left)
		return g_strdup_printf("No changes. Nothing can be recorded, but %u resource%s "
				       "left to a plan without --refresh-only.",
			left, left == 1 ? " is" : "s are");
	bool partial = false;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		partial |= change->row == RG_ROW_LEFT_OUT;
	return g_strdup_printf(
		"No changes. The %srecords match the cloud. The spec was not compared.",
		partial ? "selected " : "");
}

char *rg_render_plan_summary(const RgPlan *plan)
{
	if (rg_plan_is_noop(plan) && plan->refresh_only)
		return refreshed_summary(plan);
	if (rg_plan_is_noop(plan) && g_str_equal(plan->command, "destroy"))
		return g_strdup("No changes. No objects need to be destroyed.");
	if (rg_plan_is_noop(plan))
		return g_strdup("No changes. Your infrastructure matches the configuration.");
	GString *text = g_string_new("Plan: ");
	if (plan->import)
		g_string_append_printf(text, "%u to import, ", plan->import);
	g_string_append_printf(text, "%u to add, %u to change, %u to destroy",
		plan->create + plan->replace, plan->update, plan->remove + plan->replace);
	if (plan->forget + plan->release)
		g_string_append_printf(text, ", %u to forget", plan->forget + plan->release);
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

static bool has_actions(const RgPlan *plan)
{
	for (guint i = 0; i < plan->changes->len; i++) {
		if (rg_plan_change_shows(plan->changes->pdata[i]))
			return true;
	}
	return false;
}

static void add_actions(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!has_actions(plan) || style->detail == RG_DETAIL_SUMMARY)
		return;
	g_string_append(text, "raygpu will perform the following actions:\n\n");
	add_changes(text, plan, style);
}

/* What --refresh-only leaves; what it records in part is among the actions. */
static void add_left(GString *text, const RgPlan *plan, const RgStyle *style)
{
	bool any = false;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		if (!change->left || change->action != RG_ACTION_NONE)
			continue;
		wrapf(text, style, "  ", "%s: %s", change->address, change->note);
		any = true;
	}
	if (any)
		g_string_append_c(text, '\n');
}

/* What surrounds the changes: where the plan comes from and what it needs. */
static void add_context(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style)
{
	if (plan->fit) {
		rg_render_fit_into(text, plan->fit, style);
		g_string_append_c(text, '\n');
	}
	add_placing(text, plan, told, style);
	add_origin(text, plan, style);
	if (plan->record)
		g_string_append_printf(text,
			"%u record%s brought up to date without a call to the cloud.\n",
			plan->record, plan->record == 1 ? " is" : "s are");
	g_string_append_c(text, '\n');
}

/* Nothing changes and there is nothing to report. */
static bool is_quiet(const RgPlan *plan, const RgStyle *style)
{
	return rg_plan_is_noop(plan) && !plan->drifted && !plan->unmanaged->len &&
	       !rg_plan_left(plan) && style->detail != RG_DETAIL_VERBOSE;
}

char *rg_render_plan(const RgPlan *plan, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	RgPriceMarks told = {0};
	if (plan->acting)
		g_string_append_printf(text, "Credentials: %s\n\n", plan->acting);
	if (!is_quiet(plan, style)) {
		add_pools(text, plan, &told, style);
		add_drift(text, plan, style);
		add_unmanaged(text, plan, style);
		add_actions(text, plan, style);
		add_left(text, plan, style);
		add_protection(text, plan, style);
		add_renames(text, plan, style);
		rg_render_leases(text, plan, style);
		add_context(text, plan, &told, style);
	}
	g_autofree char *summary = rg_render_plan_summary(plan);
	if (plan->errored)
		paint(text, style, RED,
			"Planning failed: see the errors. Nothing will be applied.");
	else
		paint(text, style, rg_plan_is_noop(plan) ? GREEN : BOLD, summary);
	g_string_append_c(text, '\n');
	return text_finish(text, style);
}
