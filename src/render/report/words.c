#include "render/text/paint.h"

/* Shared by the formats. The phrases are Terraform's, byte for byte: tfcmt and others look for them
 * at the end of a line that begins with "# ADDRESS". */

const char *change_symbol(const RgPlanChange *change)
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
	case RG_ACTION_RELEASE:
	case RG_ACTION_STOP:
	case RG_ACTION_NONE:
		break;
	}
	return ".";
}

/* Of as many texts as there are kinds. */
static const char *removal_phrase(const RgPlanChange *change, const char *before)
{
	g_autofree char *text =
		g_strconcat(before, rg_json_str(change->removal, "done", "destroyed"), NULL);
	return g_intern_string(text);
}

const char *change_phrase(const RgPlanChange *change)
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
		return removal_phrase(change, "will be ");
	case RG_ACTION_RECORD:
		return "will be recorded as it is";
	case RG_ACTION_FORGET:
		return "will be forgotten: it is already gone";
	case RG_ACTION_RELEASE:
		return removal_phrase(
			change, "will no longer be managed by raygpu, but will not be ");
	case RG_ACTION_STOP:
		return "cannot be planned";
	case RG_ACTION_NONE:
		break;
	}
	return rg_plan_change_shows(change) ? "will be imported" : "is in order";
}

unsigned drift_count(const RgDrift *drift, RgDriftType type)
{
	unsigned n = 0;
	for (guint i = 0; i < drift->items->len; i++)
		n += ((RgDriftItem *)drift->items->pdata[i])->type == type;
	return n;
}

char *drift_name(const RgDriftItem *item)
{
	g_autofree char *name = item->address
					? g_strdup(item->address)
					: g_strdup_printf("%s %s", item->kind ? item->kind : "?",
						  item->id ? item->id : "?");
	return clean(name);
}

char *drift_phrase(const RgDriftItem *item)
{
	if (item->type == RG_DRIFT_MISSING)
		return g_strconcat("has been ", item->removed ? item->removed : "deleted", NULL);
	if (item->type == RG_DRIFT_UNMANAGED)
		return g_strdup("is not recorded, but carries this cluster's ownership tags");
	if (item->type == RG_DRIFT_UNHEALTHY)
		return clean(item->reason);
	GString *text = g_string_new("has changed");
	for (guint i = 0; i < item->attrs->len; i++)
		g_string_append_printf(text, "%s%s", i ? ", " : ": ",
			((RgDriftAttr *)item->attrs->pdata[i])->name);
	g_string_append(text, item->interrupted ? INTERRUPTED : "");
	g_autofree char *phrase = g_string_free(text, FALSE);
	return clean(phrase);
}

char *applied_counts(bool destroy, unsigned imported, unsigned added, unsigned changed,
	unsigned destroyed, unsigned forgotten)
{
	GString *text = g_string_new(NULL);
	if (imported)
		g_string_append_printf(text, "%u imported, ", imported);
	if (!destroy)
		g_string_append_printf(text, "%u added, %u changed, ", added, changed);
	g_string_append_printf(text, "%u destroyed", destroyed);
	if (forgotten)
		g_string_append_printf(text, ", %u forgotten", forgotten);
	return g_string_free(text, FALSE);
}
