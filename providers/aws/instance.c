/* The kind aws.instance: changing in place and terminating. */
#include "aws/form.h"
#include "aws/instance.h"
#include "common/open.h"
#include <string.h>

static json_t *ids_of(const json_t *items)
{
	json_t *ids = json_array();
	mod_foreach (item, items)
		json_array_append(ids, json_object_get(item, "id"));
	return ids;
}

/* One StartInstances for all stopped instances; if EC2 refuses it, one for each, so that one
 * member's problem does not affect the others. */
static rgp_status start_stopped(const AwsCall *call, AwsUpdate *update)
{
	json_auto_t *stopped = json_array();
	size_t i;
	json_t *item;
	json_array_foreach (update->items, i, item)
		if (mod_is_changed(item, "instance_state"))
			json_array_append(stopped, item);
	if (!json_array_size(stopped))
		return RGP_OK;
	json_auto_t *params = json_pack("{s:o}", "InstanceId", ids_of(stopped));
	const Ec2Request request = {.action = "StartInstances", .params = params};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, aws_instance_state_codes, &reply);
	if (status != RGP_OK || reply.failure.class_ == RGP_CLASS_OK)
		return status;
	json_array_foreach (update->items, i, item) {
		if (!mod_is_changed(item, "instance_state"))
			continue;
		status = aws_instance_change(call, update, i, "StartInstances",
			json_pack("{s:[s]}", "InstanceId", mod_str(item, "id")));
		if (status != RGP_OK)
			return status;
	}
	return RGP_OK;
}

static rgp_status change_one(const AwsCall *call, AwsUpdate *update, size_t i)
{
	const json_t *item = json_array_get(update->items, i);
	const json_t *wanted = json_object_get(item, "attributes");
	rgp_status status = RGP_OK;
	bool tokens = mod_is_changed(item, "http_tokens");
	bool endpoint = mod_is_changed(item, "http_endpoint");
	if (tokens || endpoint)
		status = aws_instance_change(call, update, i, "ModifyInstanceMetadataOptions",
			json_pack("{s:s, s:s*, s:s*}", "InstanceId", mod_str(item, "id"),
				"HttpTokens", tokens ? mod_str(wanted, "http_tokens") : NULL,
				"HttpEndpoint",
				endpoint ? mod_str(wanted, "http_endpoint") : NULL));
	if (status == RGP_OK && mod_is_changed(item, "security_groups"))
		status = aws_instance_groups_change(
			call, mod_str(item, "id"), wanted, &update->failures[i]);
	if (status == RGP_OK && (mod_is_changed(item, "instance_profile") ||
					mod_is_changed(item, "instance_profile_arn")))
		status = aws_instance_profile_change(
			call, mod_str(item, "id"), wanted, &update->failures[i]);
	return status;
}

static rgp_status instance_update(const AwsCall *call, AwsUpdate *update)
{
	rgp_status status = aws_lease_before_tags(call, update);
	if (status == RGP_OK)
		status = start_stopped(call, update);
	for (size_t i = 0; i < json_array_size(update->items) && status == RGP_OK; i++)
		status = change_one(call, update, i);
	return status;
}

/* A removal in progress. */
typedef struct {
	const AwsCall *call;
	json_t *items; /* those without a result */
	ModBackoff backoff;
} Removal;

#define TERMINATING "terminating"

/* An instance counts against the quota, and keeps its place in a reservation, until it is
 * terminated: one that is replaced is pending until then. */
static rgp_status give_removed(const AwsCall *call, const json_t *item, bool ended)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	if (ended || !json_is_true(json_object_get(item, "replaced")))
		return mod_give_item(&call->talk, address, "done", id, NULL);
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:s}", "address", address, "outcome", "pending", "id",
			id, "operation", TERMINATING));
}

static rgp_status give_all(const AwsCall *call, const json_t *items, bool ended)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = give_removed(call, item, ended);
	return status;
}

static void on_going(void *data, const json_t *record)
{
	if (!aws_instance_is_terminated(record))
		g_hash_table_add(data, g_strdup(mod_str(record, "instanceId")));
}

/* Those that a call of this run terminated. */
static rgp_status look_at_removed(const AwsCall *call, const json_t *items)
{
	g_autoptr(GHashTable) going = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GPtrArray) ids = g_ptr_array_new();
	json_auto_t *params = json_object();
	rgp_status status = RGP_OK;
	mod_foreach (item, items)
		g_ptr_array_add(ids, (char *)(uintptr_t)mod_str(item, "id"));
	aws_form_filter(
		params, aws_instance_kind.id_filter, (const char *const *)ids->pdata, ids->len);
	status = aws_kind_describe(call, &aws_instance_kind, params, on_going, NULL, going);
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = give_removed(
				call, item, !g_hash_table_contains(going, mod_str(item, "id")));
	return status;
}

static rgp_status remove_items(const AwsCall *call, const json_t *items);

static rgp_status remove_each(const AwsCall *call, const json_t *items)
{
	rgp_status status = RGP_OK;
	for (size_t i = 0; i < json_array_size(items) && status == RGP_OK; i++) {
		json_auto_t *one = json_pack("[O]", json_array_get(items, i));
		status = remove_items(call, one);
	}
	return status;
}

/* EC2 refuses the batch because of unknown ids: the others need not wait for them. */
static rgp_status remove_others(Removal *removal, const char *message)
{
	if (json_array_size(removal->items) < 2)
		return RGP_OK;
	/* Removes the members that EC2's message does not name; returns their array, a new
	 * reference. */
	json_auto_t *others = json_array();
	for (size_t i = json_array_size(removal->items); i-- > 0;) {
		json_t *item = json_array_get(removal->items, i);
		const char *id = mod_str(item, "id");
		const char *at = *id ? strstr(message, id) : NULL;
		if (at && !g_ascii_isalnum(at[strlen(id)]))
			continue;
		json_array_append(others, item);
		json_array_remove(removal->items, i);
	}
	if (json_array_size(removal->items))
		return remove_items(removal->call, others);
	return remove_each(removal->call, others);
}

/* Terminates all members of the removal. An id that EC2 does not know is gone, or so new that not
 * all of EC2 knows it. If the latter were taken for gone, it would run forever, so the request is
 * repeated until the back-off ends. */
static rgp_status run_removal(Removal *removal)
{
	static const Ec2Code unknown_codes[] = {{"InvalidInstanceID.NotFound"}, {0}};
	bool gone = true;
	while (json_array_size(removal->items)) {
		g_auto(Ec2Reply) reply = {0};
		json_auto_t *params = json_pack("{s:o}", "InstanceId", ids_of(removal->items));
		const Ec2Request request = {.action = "TerminateInstances", .params = params};
		rgp_status status = ec2_send(removal->call, &request, &reply);
		if (status != RGP_OK)
			return status;
		gone = reply.failure.class_ != RGP_CLASS_OK;
		if (!gone)
			break;
		if (!ec2_match(&reply.failure, unknown_codes))
			return json_array_size(removal->items) > 1
				       ? remove_each(removal->call, removal->items)
				       : mod_fail_items(
						 removal->call, removal->items, &reply.failure);
		status = remove_others(removal, reply.failure.message);
		if (status != RGP_OK)
			return status;
		status = mod_backoff_wait(&removal->call->talk, &removal->backoff);
		if (status == RGP_CANCELED)
			return status;
		if (status == RGP_FAIL)
			break;
	}
	return give_all(removal->call, removal->items, gone);
}

#define UNKNOWN_WAIT_S 10

static rgp_status remove_items(const AwsCall *call, const json_t *items)
{
	json_auto_t *begun = json_array();
	Removal removal = {
		.call = call,
		.items = json_array(),
		.backoff = mod_backoff_start(&call->talk,
			mod_open_wait_s(&call->talk, call->inst->endpoint, UNKNOWN_WAIT_S)),
	};
	mod_foreach (item, mod_unconst(items)) {
		bool is_begun = g_str_equal(mod_str(item, "operation"), TERMINATING);
		json_array_append(is_begun ? begun : removal.items, item);
	}
	rgp_status status = RGP_OK;
	if (json_array_size(removal.items))
		status = run_removal(&removal);
	if (status == RGP_OK && json_array_size(begun))
		status = look_at_removed(call, begun);
	json_decref(removal.items);
	return status;
}

static const char *const changeable[] = {"tags", "marks", "instance_state", "http_tokens",
	"http_endpoint", "security_groups", "instance_profile", "instance_profile_arn", "expires",
	"metadata_tags", NULL};

static const char *const own[] = {
	"network_interface", "private_dns", "private_ip", "public_address", "root_volume_id", NULL};

const AwsKind aws_instance_kind = {
	.kind = {AWS_INSTANCE, changeable},
	.describe = "DescribeInstances",
	.id_filter = "instance-id",
	.token_filter = "tag:" AWS_MARK_PREFIX "token", /* moto has no client-token filter */
	.shape = &aws_describe_instances,
	.page = 1000,
	.read = aws_instance_read,
	.read_own = aws_instance_read_own,
	.readiness = aws_instance_readiness,
	.create = aws_instance_create,
	.own = own,
	.update = instance_update,
	.after_tags = aws_lease_after_tags,
	.remove = remove_items,
	.reveal = aws_instance_reveal,
	.has_console = true,
};
