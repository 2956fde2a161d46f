#include "diff/diff.h"

/* What is desired where no spec counts: what is recorded, or what the cloud shows of it. */

static RgResource *copy_of(const RgResource *from)
{
	RgResource *wanted = rg_resource_new(from->kind, from->name, from->index);
	wanted->group = from->group;
	wanted->origin = from->origin;
	wanted->attrs = json_incref(from->attrs);
	wanted->pin = json_incref(from->pin);
	wanted->depends_on = g_strdupv(from->depends_on);
	return wanted;
}

RgResourceSet *rg_diff_recorded(const RgResourceSet *recorded)
{
	RgResourceSet *desired = rg_resource_set_new();
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++)
		rg_resource_set_add(desired, copy_of(rg_resource_set_get(recorded, i)));
	return desired;
}

/* An attribute that a record can have; marks have members of their own. A pinned output is not
 * among the attributes that were asked for. */
static bool can_record(const RgAttrChange *attr)
{
	return attr->drift && !attr->sensitive && !attr->after_unknown &&
	       !g_str_equal(attr->name, RG_MARKS);
}

static RgResource *as_observed(const RgChange *change)
{
	RgResource *wanted = copy_of(change->recorded);
	json_t *attrs = NULL;
	rg_ptr_foreach (const RgAttrChange, attr, change->attrs) {
		if (!can_record(attr))
			continue;
		if (!attrs)
			attrs = json_copy(wanted->attrs);
		if (attr->before)
			json_object_set(attrs, attr->name, attr->before);
		else
			json_object_del(attrs, attr->name);
	}
	if (attrs) {
		json_decref(wanted->attrs);
		wanted->attrs = attrs;
	}
	return wanted;
}

RgResourceSet *rg_diff_refreshed(const RgSchema *schema, const RgResourceSet *recorded,
	const RgResourceSet *observed, const RgDiffOptions *options, RgDiags *diags)
{
	g_autoptr(RgResourceSet) same = rg_diff_recorded(recorded);
	g_autoptr(RgDiags) later = rg_diags_new();
	const RgDiffOptions plain = {.looking = true,
		.refresh_only = true,
		.pools = options->pools,
		.ignored = options->ignored,
		.same = options->same};
	g_autoptr(RgDiff) diff = rg_diff(schema, same, recorded, observed, &plain, later);
	if (!diff) {
		rg_diags_take_new(diags, later);
		return NULL;
	}
	RgResourceSet *desired = rg_resource_set_new();
	rg_ptr_foreach (const RgChange, change, diff->changes) {
		rg_resource_set_add(desired, as_observed(change));
	}
	return desired;
}
