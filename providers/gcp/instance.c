/* The kind gcp.instance. */
#include "gcp/instance.h"

static rgp_status instance_ready(const GcpCall *call, const GcpKind *kind, const json_t *items)
{
	json_auto_t *records = json_object();
	rgp_status status = gcp_instance_records(call, items, records);
	mod_foreach (item, items) {
		const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
		const json_t *record = json_object_get(records, id);
		ModFailure failure = {0};
		g_auto(GcpSeen) seen = {0};
		if (status != RGP_OK)
			break;
		gcp_instance_readiness(record, &failure);
		if (record)
			gcp_instance_read(record, NULL, &seen);
		if (failure.class_ == RGP_CLASS_OK || failure.class_ == RGP_CLASS_TRANSIENT)
			status = mod_give_item(&call->talk, address,
				failure.class_ == RGP_CLASS_OK ? "done" : "pending", id,
				json_incref(seen.attributes));
		else
			status = mod_give_failed(&call->talk, address, id, &failure);
		mod_failure_clear(&failure);
	}
	return status;
}

static const char *const changeable[] = {"labels", "marks", "network_tags", "public_ip",
	"instance_state", "metadata_fingerprint", "expires", NULL};

const GcpKind gcp_instance_kind = {
	.kind = {GCP_INSTANCE, changeable},
	.scan = gcp_instance_scan,
	.look = gcp_instance_look,
	.create = gcp_instance_create,
	.ready = instance_ready,
	.update = gcp_instance_update,
	.remove = gcp_instance_remove,
	.own = gcp_instance_own,
};
