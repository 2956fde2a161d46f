/* Where a new cluster is planned if its spec leaves a choice: at the best candidate (place.c) that
 * its cloud admits as well. One that it does not admit is left out, with the reason, and the best
 * of the others is tried. anywhere.c does the same for what only shows when a plan is carried out.
 */
#include <string.h>
#include "pipeline/internal.h"
#include "pipeline/place.h"

/* Findings about the place: what the account, the quotas and the offers are there. The spec itself
 * was checked before; a cloud that does not answer says nothing about the place. */
static bool is_about_place(const RgDiag *diag)
{
	static const RgClass classes[] = {
		RG_CLASS_CAPACITY, RG_CLASS_QUOTA, RG_CLASS_DENIED, RG_CLASS_INVALID};
	for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
		if (g_str_equal(diag->code, rg_class_code(classes[i])))
			return true;
	}
	return g_str_equal(diag->code, "provider.not-found") ||
	       g_str_equal(diag->code, "spec.not-supported-yet") ||
	       g_str_has_prefix(diag->code, "fit.") || g_str_has_prefix(diag->code, "catalog.");
}

/* Whether another place may be better: nothing is there yet, and all errors are about the place.
 * Without a choice there is no place. */
static bool is_unusable(const RgSession *session, const RgPass *pass, const RgDiags *found)
{
	if (session->diff.destroy || pass->cluster->places->len < 2 || !pass->snapshot ||
		rg_resource_set_size(pass->snapshot->recorded) ||
		!rg_json_str(pass->place, "provider", NULL))
		return false;
	rg_diags_foreach (diag, found) {
		if (diag->severity == RG_SEVERITY_ERROR && !is_about_place(diag))
			return false;
	}
	return rg_diags_has_errors(found);
}

/* The first error is the reason. A place that is full needs no warning. */
static void leave_out(
	const RgPass *pass, const char *place, const RgDiags *found, json_t *avoid, RgDiags *left)
{
	g_autoptr(GString) others = g_string_new(NULL);
	const RgDiag *first = NULL;
	rg_diags_foreach (diag, found) {
		if (diag->severity != RG_SEVERITY_ERROR)
			continue;
		if (first)
			g_string_append_printf(
				others, "%s%s", others->len ? "\n" : "", diag->summary);
		first = first ? first : diag;
	}
	g_assert(first != NULL); /* is_unusable */
	rg_json_set_str(avoid, place, first->summary);
	if (g_str_equal(first->code, "fit.no-stock"))
		return;
	RgDiag *diag = rg_diags_warning(
		left, "fit.place-left-out", "%s is left out: %s", place, first->summary);
	rg_diag_at(diag, pass->cluster->provider.source);
	if (others->len)
		rg_diag_detail(diag, "%s", others->str);
	if (first->hint)
		rg_diag_hint(diag, "%s", first->hint);
}

/* Whether the places are only full: each has said how many nodes it has. */
static bool are_full(const RgDiags *refused)
{
	rg_diags_foreach (diag, refused) {
		if (diag->severity == RG_SEVERITY_ERROR && !g_str_equal(diag->code, "fit.no-stock"))
			return false;
	}
	return rg_diags_count(refused) > 0;
}

bool rg_pipeline_plan(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const json_t *avoided = session->avoid;
	json_auto_t *avoid = avoided ? json_copy(rg_json_unconst(avoided)) : json_object();
	g_autoptr(RgDiags) refused = rg_diags_new(), left = rg_diags_new();
	session->avoid = avoid;
	for (;;) {
		g_autoptr(RgDiags) found = rg_diags_new();
		bool planned = pass_plan_here(session, pass, found);
		if (is_unusable(session, pass, found)) {
			const RgProviderRef *here = &pass->cluster->provider;
			g_autofree char *place = rg_place_text(here->name, here->region);
			leave_out(pass, place, found, avoid, left);
			rg_diags_take_new(refused, found);
			pass_begin_again(pass);
			continue;
		}
		session->avoid = avoided;
		if (!planned && are_full(refused) && !json_object_size(avoided))
			rg_diags_drop(found, "fit.no-place");
		rg_diags_take_new(diags, planned ? left : refused);
		rg_diags_take_new(diags, found);
		return planned;
	}
}
