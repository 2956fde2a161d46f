#include "render/findings.h"
#include "render/paint.h"

/* GitLab, "Terraform integration in merge requests": artifacts:reports:terraform is an object of
 * three counts, made in its documentation by counting the words in
 * resource_changes[].change.actions, so that a replacement is one create and one delete. */

json_t *rg_report_gitlab(const RgReport *report)
{
	unsigned create = 0, update = 0, delete = 0;
	if (report->plan) {
		create = report->plan->create + report->plan->replace;
		update = report->plan->update;
		delete = report->plan->remove + report->plan->replace;
	} else if (report->drift) {
		create = drift_count(report->drift, RG_DRIFT_MISSING);
		update = drift_count(report->drift, RG_DRIFT_CHANGED);
	}
	json_t *counts = json_object();
	json_object_set_new(counts, "create", json_integer(create));
	json_object_set_new(counts, "update", json_integer(update));
	json_object_set_new(counts, "delete", json_integer(delete));
	return counts;
}
