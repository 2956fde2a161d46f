/* Deleting instances, and looking at what is left. */
#include <string.h>
#include "gcp/instance.h"

/* The `operation` of a pending removal begins with this; the name of the delete operation follows.
 */
#define DELETING "delete/"

static rgp_status give_pending(const GcpCall *call, const json_t *item, const char *operation)
{
	g_autofree char *text = g_strconcat(DELETING, operation, NULL);
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:s}", "address", mod_str(item, "address"), "outcome",
			"pending", "id", mod_str(item, "id"), "operation", text));
}

static rgp_status settle_delete(
	const GcpCall *call, const json_t *item, const ModRestAnswer *answer)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	if (answer->failure.class_ == RGP_CLASS_OK)
		return give_pending(call, item, mod_str(answer->body, "name"));
	if (answer->failure.class_ == RGP_CLASS_GONE)
		return mod_give_item(&call->talk, address, "done", id, NULL);
	if (gcp_is_busy(&answer->failure)) /* another operation: our own of an earlier run? */
		return mod_give_pending(&call->talk, address, id, &answer->failure);
	return mod_give_failed(&call->talk, address, id, &answer->failure);
}

/* One delete per instance, concurrently; their operations are not polled. */
static rgp_status send_deletes(const GcpCall *call, const json_t *items)
{
	size_t n = json_array_size(items);
	g_autofree ModRestRequest *requests = g_new0(ModRestRequest, n + 1);
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, n + 1);
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
	for (size_t i = 0; i < n; i++) {
		char *url = gcp_instance_url(call, mod_str(json_array_get(items, i), "id"));
		if (!url)
			return mod_refuse(call, NULL, NULL, "\"%s\" is not the id of an instance",
				mod_str(json_array_get(items, i), "id"));
		g_ptr_array_add(urls, url);
		requests[i] = gcp_change(call, "instances.delete", "DELETE", url, NULL);
	}
	rgp_status sent = mod_rest_send_all(&call->talk, &call->inst->rest, requests, n, answers);
	rgp_status status = RGP_OK;
	for (size_t i = 0; i < n; i++) {
		if (answers[i].status && status == RGP_OK)
			status = settle_delete(call, json_array_get(items, i), &answers[i]);
		mod_rest_answer_clear(&answers[i]);
	}
	return sent == RGP_OK ? status : sent;
}

/* Those that do not stop, or that are not listed: did their operation fail? Read once per zone. */
static rgp_status failed_of(
	const GcpCall *call, const json_t *item, json_t *by_zone, const json_t **failed)
{
	const char *id = mod_str(item, "id");
	g_autofree char *zone = g_strndup(id, strcspn(id, "/"));
	json_t *operations = json_object_get(by_zone, zone);
	rgp_status status = RGP_OK;
	if (!operations) {
		g_autofree char *place = g_strconcat("zones/", zone, NULL);
		operations = json_object();
		json_object_set_new(by_zone, zone, operations);
		status = gcp_operations_list(call, place,
			"(operationType = \"delete\") (httpErrorStatusCode > 399)",
			gcp_operations_by_name, operations);
	}
	*failed = json_object_get(operations, mod_str(item, "operation") + strlen(DELETING));
	return status;
}

static rgp_status look_at_deleted(const GcpCall *call, const json_t *items)
{
	json_auto_t *records = json_object(), *by_zone = json_object();
	rgp_status status = gcp_instance_listed(call, items, records);
	mod_foreach (item, items) {
		const json_t *record = json_object_get(records, mod_str(item, "id"));
		const json_t *operation = NULL;
		if (status == RGP_OK && (!record || strcmp(mod_str(record, "status"), "STOPPING")))
			status = failed_of(call, item, by_zone, &operation);
		if (status != RGP_OK)
			break;
		ModFailure failure = {0};
		if (operation)
			gcp_operation_read(call, operation, &failure);
		if (!record && (failure.class_ == RGP_CLASS_OK || failure.class_ == RGP_CLASS_GONE))
			status = mod_give_item(&call->talk, mod_str(item, "address"), "done",
				mod_str(item, "id"), NULL);
		else if (failure.class_ == RGP_CLASS_OK)
			status = give_pending(
				call, item, mod_str(item, "operation") + strlen(DELETING));
		else
			status = mod_give_failed(&call->talk, mod_str(item, "address"),
				mod_str(item, "id"), &failure);
		mod_failure_clear(&failure);
	}
	return status;
}

rgp_status gcp_instance_remove(const GcpCall *call, const GcpKind *kind, const json_t *items)
{
	json_auto_t *begun = json_array(), *fresh = json_array();
	rgp_status status = gcp_project(call) ? RGP_OK : RGP_FAIL;
	mod_foreach (item, items)
		json_array_append(
			g_str_has_prefix(mod_str(item, "operation"), DELETING) ? begun : fresh,
			item);
	if (status == RGP_OK && json_array_size(fresh))
		status = send_deletes(call, fresh);
	if (status == RGP_OK && json_array_size(begun))
		status = look_at_deleted(call, begun);
	return status;
}
