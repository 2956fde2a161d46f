/* The ends of many changes of instances: one list of operations shows them all, where
 * operations.wait would be one request for each. */
#include "gcp/instance.h"

/* As many as this are waited for one by one. */
#define FEW 4
/* Those of which lists show nothing new for this long, too. */
#define LIST_S 120

typedef struct {
	const GcpCall *call;
	GPtrArray *left; /* const GcpBegun *: not known to have ended */
	bool (*is_applied)(void *data, size_t member, const json_t *now);
	void *data;
} Await;

static json_t *items_of(const Await *await)
{
	json_t *items = json_array();
	mod_ptr_foreach (const GcpBegun, begun, await->left) {
		json_array_append(items, mod_unconst(begun->item));
	}
	return items;
}

/* Drops those whose instance is as requested by now. */
static rgp_status drop_applied(Await *await)
{
	json_auto_t *items = items_of(await), *records = json_object();
	rgp_status status = gcp_instance_listed(await->call, items, records);
	for (guint i = await->left->len; i > 0 && status == RGP_OK; i--) {
		const GcpBegun *begun = await->left->pdata[i - 1];
		const json_t *now = json_object_get(records, mod_str(begun->item, "id"));
		if (!now || !await->is_applied(await->data, begun->member, now))
			continue;
		mod_failure_clear(begun->failure);
		g_ptr_array_remove_index_fast(await->left, i - 1);
	}
	return status;
}

/* The operations of the change in its zone, read once per round. */
static rgp_status read_zone(
	const Await *await, const json_t *operation, json_t *by_zone, const json_t **operations)
{
	const char *zone = gcp_last_of(mod_str(operation, "zone"));
	json_t *there = json_object_get(by_zone, zone);
	rgp_status status = RGP_OK;
	if (!there) {
		g_autofree char *filter = g_strdup_printf(
			"operationType = \"%s\"", mod_str(operation, "operationType"));
		g_autofree char *place = g_strconcat("zones/", zone, NULL);
		there = json_object();
		json_object_set_new(by_zone, zone, there);
		status = gcp_operations_list(
			await->call, place, filter, gcp_operations_by_name, there);
	}
	*operations = there;
	return status;
}

/* Drops those whose operation has ended. */
static rgp_status drop_ended(Await *await)
{
	json_auto_t *by_zone = json_object();
	rgp_status status = RGP_OK;
	for (guint i = await->left->len; i > 0 && status == RGP_OK; i--) {
		const GcpBegun *begun = await->left->pdata[i - 1];
		const json_t *operations;
		status = read_zone(await, begun->operation, by_zone, &operations);
		const json_t *now = json_object_get(operations, mod_str(begun->operation, "name"));
		if (status != RGP_OK || !now || !gcp_operation_is_done(now))
			continue;
		gcp_operation_read(await->call, now, begun->failure);
		g_ptr_array_remove_index_fast(await->left, i - 1);
	}
	return status;
}

static rgp_status poll_lists(Await *await)
{
	ModBackoff backoff = mod_backoff_start(&await->call->talk, LIST_S);
	for (;;) {
		guint before = await->left->len;
		rgp_status status = drop_ended(await);
		if (status != RGP_OK || await->left->len <= FEW)
			return status;
		if (await->left->len < before) /* progress */
			backoff = mod_backoff_start(&await->call->talk, LIST_S);
		status = mod_backoff_wait(&await->call->talk, &backoff);
		if (status != RGP_OK)
			return status == RGP_FAIL ? RGP_OK : status;
	}
}

/* Waits for each; left are then those whose operation is forgotten. */
static rgp_status wait_for_each(Await *await)
{
	rgp_status status = RGP_OK;
	for (guint i = await->left->len; i > 0 && status == RGP_OK; i--) {
		const GcpBegun *begun = await->left->pdata[i - 1];
		status = gcp_operation_wait(await->call, begun->operation, begun->failure);
		if (!gcp_is_forgotten(begun->failure))
			g_ptr_array_remove_index_fast(await->left, i - 1);
	}
	return status;
}

rgp_status gcp_instance_await(const GcpCall *call, const GArray *begun,
	bool (*is_applied)(void *data, size_t member, const json_t *now), void *data)
{
	g_autoptr(GPtrArray) left = g_ptr_array_new();
	Await await = {call, left, is_applied, data};
	for (guint i = 0; i < begun->len; i++)
		g_ptr_array_add(left, &g_array_index(begun, GcpBegun, i));
	rgp_status status = left->len > FEW ? poll_lists(&await) : RGP_OK;
	if (status == RGP_OK)
		status = wait_for_each(&await);
	return status == RGP_OK && left->len ? drop_applied(&await) : status;
}
