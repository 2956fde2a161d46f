/* Compares `share` of a pool with what its GPUs support: which MIG slices each GPU is divided
 * into. */
#include <string.h>
#include "fit/internal.h"

static RgDiag *complain(const RgPool *pool, RgDiags *diags, const char *code, char *what)
{
	g_autofree char *summary = what;
	RgDiag *diag = rg_diags_error(diags, code, "%s", summary);
	return rg_diag_at(diag, pool->share.source);
}

/* The profile that a user of another GPU probably means: with the same compute slices (1g) and kind
 * (+me), the smallest that has the memory, or else the largest. */
static const RgMigProfile *nearest(const GPtrArray *profiles, const char *wish)
{
	const RgMigProfile *best = NULL;
	char *rest = NULL;
	guint64 compute = g_ascii_strtoull(wish, &rest, 10);
	guint64 memory = g_str_has_prefix(rest, "g.") ? g_ascii_strtoull(rest + 2, &rest, 10) : 0;
	const char *kind = g_str_has_prefix(rest, "gb") ? rest + 2 : "";
	rg_ptr_foreach (const RgMigProfile, one, profiles) {
		if (one->compute_slices != compute ||
			!g_str_equal(strstr(one->name, "gb") + 2, kind))
			continue;
		bool enough = one->memory_gb >= memory;
		if (!best || (enough && best->memory_gb < memory) ||
			(enough && one->memory_gb < best->memory_gb) ||
			(best->memory_gb < memory && one->memory_gb > best->memory_gb))
			best = one;
	}
	return best;
}

static const RgMigProfile *find_profile(
	const RgShape *shape, const RgMig *mig, const char *name, RgDiags *diags)
{
	const char *model = shape->type->gpu->name;
	const RgMigProfile *found = rg_mig_find(mig, model, name);
	if (found)
		return found;
	const GPtrArray *profiles = rg_mig_profiles(mig, model);
	/* "1g.5gb (7), 2g.10gb (3)": the model's profiles, and how many of each. */
	g_autoptr(GString) text = g_string_new(NULL);
	rg_ptr_foreach (const RgMigProfile, profile, profiles)
		g_string_append_printf(text, "%s%s (%u)", text->len > 0 ? ", " : "", profile->name,
			profile->instances);
	g_autofree char *list = g_strdup(text->str);
	RgDiag *diag = complain(shape->pool, diags, "fit.mig-profile",
		g_strdup_printf("%s has no MIG profile %s", model, name));
	rg_diag_detail(diag, "its profiles, and how many of each fit: %s", list);
	const RgMigProfile *near = nearest(profiles, name);
	if (near)
		rg_diag_hint(diag, "did you mean `%s`?", near->name);
	return NULL;
}

static void report_too_many(
	const RgShape *shape, const RgMig *mig, const GPtrArray *slices, RgDiags *diags)
{
	const char *model = shape->type->gpu->name;
	const RgMigProfile *first = slices->pdata[0];
	guint same = 0;
	bool placed = true;
	g_autoptr(GString) covers = g_string_new(NULL);
	for (guint i = 0; i < slices->len; i++) {
		const RgMigProfile *one = slices->pdata[i];
		same += one == first;
		placed &= one->size > 0;
		g_string_append_printf(covers, "%s%s %u", i > 0 ? ", " : "", one->name, one->size);
	}
	if (same == slices->len) {
		RgDiag *diag = complain(shape->pool, diags, "fit.mig-too-many",
			g_strdup_printf("%s makes %u slices of %s, not %u", model, first->instances,
				first->name, same));
		rg_diag_hint(diag, "mig: %s uses as many as fit", first->name);
		return;
	}
	RgDiag *diag = complain(shape->pool, diags, "fit.mig-too-many",
		g_strdup_printf(
			"these %u slices do not fit on one %s together", slices->len, model));
	if (!rg_mig_media_suffices((const RgMigProfile *const *)slices->pdata, slices->len))
		rg_diag_detail(diag,
			"only one slice of a GPU can have +me or +me.all; beside one with +me.all, "
			"the others need profiles with -me");
	else if (placed)
		rg_diag_detail(diag,
			"places that each occupies, of %u on the chip, at fixed positions only: %s",
			rg_mig_places(mig, model), covers->str);
	else
		rg_diag_detail(diag,
			"the placement of its slices is unknown: only one profile is supported");
}

static GPtrArray *repeat(const RgMigProfile *profile)
{
	GPtrArray *slices = g_ptr_array_new();
	for (unsigned i = 0; i < profile->instances; i++)
		g_ptr_array_add(slices, (gpointer)(uintptr_t)profile);
	return slices;
}

static bool cut(const RgMig *mig, RgShape *shape, RgDiags *diags)
{
	const RgShare *share = &shape->pool->share;
	if (!rg_mig_profiles(mig, shape->type->gpu->name)) {
		RgDiag *diag = complain(shape->pool, diags, "fit.mig-unsupported",
			g_strdup_printf("%s, the GPU of %s, cannot be divided into MIG slices",
				shape->type->gpu->name, shape->type->name));
		rg_diag_detail(diag, "MIG requires an NVIDIA A100, A30 or later");
		rg_diag_hint(diag,
			"%s supports share: {time_slices: 4}, where tasks also share memory",
			shape->type->gpu->name);
		return false;
	}
	g_autoptr(GPtrArray) slices = g_ptr_array_new();
	for (size_t i = 0; share->mig[i] != NULL; i++) {
		const RgMigProfile *found = find_profile(shape, mig, share->mig[i], diags);
		if (!found)
			return false;
		g_ptr_array_add(slices, (gpointer)(uintptr_t)found);
	}
	if (!share->mig_is_list) {
		const RgMigProfile *only = slices->pdata[0];
		g_ptr_array_unref(slices);
		slices = repeat(only);
	}
	if (!rg_mig_place((const RgMigProfile *const *)slices->pdata, slices->len, shape->starts)) {
		report_too_many(shape, mig, slices, diags);
		return false;
	}
	shape->slices = g_steal_pointer(&slices);
	return true;
}

bool rg_fit_share(RgShapes *shapes, RgShape *shape, RgDiags *diags)
{
	const RgShare *share = &shape->pool->share;
	if (!share->mig && share->time_slices == 0)
		return true;
	if (!shape->type->gpu) {
		complain(shape->pool, diags, "fit.no-gpu-to-share",
			g_strdup_printf("%s has no GPU to share", shape->type->name));
		return false;
	}
	if (!share->mig)
		return true;
	if (!shapes->mig)
		shapes->mig = rg_mig_open(rg_catalog_get_gpus(shapes->catalog), diags);
	return shapes->mig && cut(shapes->mig, shape, diags);
}
