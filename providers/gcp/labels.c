/* How the labels of an update are merged with those of the cloud. */
#include "gcp/kinds.h"

/* setLabels replaces all labels: those that neither the spec nor the record has stay. */
json_t *gcp_labels_merged(const char *kind, const json_t *item, const json_t *there)
{
	json_t *labels = json_copy(mod_unconst(there));
	if (!labels)
		labels = json_object();
	if (mod_is_changed(item, "labels")) {
		const json_t *wanted =
			json_object_get(json_object_get(item, "attributes"), "labels");
		const json_t *prior = json_object_get(json_object_get(item, "recorded"), "labels");
		mod_foreach_member (key, value, prior)
			if (!json_object_get(wanted, key))
				json_object_del(labels, key);
		json_object_update(labels, mod_unconst(wanted));
	}
	if (mod_is_release(item)) {
		gcp_marks_remove(labels);
	} else if (mod_is_changed(item, "marks")) {
		json_auto_t *marks = gcp_marks_renew(kind, item);
		json_object_update(labels, marks);
	}
	return labels;
}
