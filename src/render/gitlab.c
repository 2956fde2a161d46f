#include "render/findings.h"
#include "render/paint.h"

/* GitLab, "Terraform integration in merge requests": artifacts:reports:terraform is an object of
 * three counts, made in its documentation by counting the words in
 * resource_changes[].change.actions, so that a replacement is one create and one delete. */

json_t *rg_report_gitlab(const RgReports *reports)
{
	Tally all = {0};
	bool drift = false;
	for (size_t i = 0; i < reports->n; i++) {
		tally_add(&all, &reports->items[i]);
		drift = drift || reports->items[i].drift;
	}
	json_t *counts = json_object();
	json_object_set_new(counts, "create", json_integer(all.add + all.replace));
	json_object_set_new(counts, "update", json_integer(all.change));
	json_object_set_new(counts, "delete", json_integer(drift ? 0 : all.destroy + all.replace));
	return counts;
}
