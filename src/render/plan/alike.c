#include "render/text/paint.h"

/* What all new resources of a kind have in common is shown once, above the first of them. */

/* The members that both have with equal values; for maps in them, these maps' members. */
static json_t *common_of(const json_t *one, const json_t *other, bool deep)
{
	json_t *common = json_object();
	rg_json_foreach_member (key, value, one) {
		json_t *match = json_object_get(other, key);
		if (match && json_equal(value, match)) {
			json_object_set(common, key, value);
		} else if (deep && value_is_map(value) && value_is_map(match)) {
			json_auto_t *inner = common_of(value, match, false);
			if (json_object_size(inner) > 0)
				json_object_set(common, key, inner);
		}
	}
	return common;
}

json_t *alike_rest(const json_t *alike, const char *name, json_t *value)
{
	/* The part of `value` that is not in `common`; NULL: nothing. A new reference. */
	const json_t *common = json_object_get(alike, name);
	json_t *rest;
	if (!common)
		return json_incref(value);
	if (json_equal(value, common))
		return NULL;
	rest = json_object();
	rg_json_foreach_member (key, member, value) {
		if (!json_equal(member, json_object_get(common, key)))
			json_object_set(rest, key, member);
	}
	return rest;
}

/* {kind: its common attributes} of the creations; a kind with one block has none. */
json_t *alike_of(const RgPlan *plan)
{
	json_auto_t *all = json_object(), *more = json_object();
	const json_t *last = NULL; /* nodes of a pool share theirs */
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		const json_t *common = json_object_get(all, change->kind);
		if (change->action != RG_ACTION_CREATE || (common && change->desired == last))
			continue;
		last = change->desired;
		if (!common) {
			json_object_set(all, change->kind, change->desired);
		} else if (!json_equal(common, change->desired)) {
			json_object_set_new(
				all, change->kind, common_of(common, change->desired, true));
			json_object_set_new(more, change->kind, json_true());
		}
	}
	json_t *kept = json_object();
	rg_json_foreach_member (kind, value, all) {
		if (json_object_get(more, kind) && json_object_size(value) > 1)
			json_object_set(kept, kind, value);
	}
	return kept;
}
