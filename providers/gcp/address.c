/* The kind gcp.address: the internal address of the head. Fields: compute.v1, schema Address. */
#include "gcp/kinds.h"

static void address_read(const json_t *record, GcpSeen *seen)
{
	json_t *labels = gcp_marks_read(json_object_get(record, "labels"), &seen->marks);
	seen->attributes = json_pack("{s:s, s:o, s:s, s:s}", "subnetwork",
		gcp_path_of(mod_str(record, "subnetwork")), "labels", labels, "address",
		mod_str(record, "address"), "address_name", mod_str(record, "name"));
}

static json_t *address_body(const GcpCall *call, const json_t *input, const char *name)
{
	const json_t *attributes = json_object_get(input, "attributes");
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "addressType", "INTERNAL",
		"purpose", "GCE_ENDPOINT", "subnetwork", mod_str(attributes, "subnetwork"),
		"labels", gcp_marks_labels(input));
}

static json_t *address_change(const json_t *item, const json_t *record)
{
	const json_t *there = json_object_get(record, "labels");
	json_auto_t *labels = gcp_labels_merged(GCP_ADDRESS, item, there);
	return json_equal(labels, there)
		       ? NULL
		       : json_pack("{s:O, s:s}", "labels", labels, "labelFingerprint",
				 mod_str(record, "labelFingerprint"));
}

static const char *const changeable[] = {"labels", "marks", NULL};

const GcpKind gcp_address_kind = {
	.kind = {GCP_ADDRESS, changeable},
	GCP_NAMED,
	.methods = "addresses",
	.fields = "id,name,address,addressType,status,subnetwork,labels,labelFingerprint",
	.read = address_read,
	.body = address_body,
	.change = address_change,
	.change_verb = "setLabels",
};
