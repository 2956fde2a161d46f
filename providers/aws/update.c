/* update: the changes that all kinds share (tags), and the results. */
#include "aws/instance.h"
#include <string.h>

#define IDS_MAX 200 /* ids per CreateTags or DeleteTags */

static const Ec2Code young_codes[] = {
	{"InvalidInstanceID.NotFound", NULL, 10},
	{"InvalidGroup.NotFound", NULL, 10},
	{"InvalidNetworkInterfaceID.NotFound", NULL, 10},
	{"InvalidID", NULL, 10},
	{0},
};

/* The tag changes of one item: items with the same changes share a request. */
static json_t *tag_need(const char *kind, const json_t *item)
{
	const json_t *wanted = json_object_get(json_object_get(item, "attributes"), "tags");
	const json_t *there = json_object_get(json_object_get(item, "observed"), "tags");
	const json_t *prior = json_object_get(json_object_get(item, "recorded"), "tags");
	if (mod_is_release(item))
		return json_pack("{s:[], s:o}", "CreateTags", "DeleteTags", aws_marks_all());
	json_t *set = mod_is_changed(item, "marks") ? aws_marks_renew(kind, item) : json_array();
	json_t *unset = json_array();
	if (!mod_is_changed(item, "tags"))
		wanted = prior = NULL;
	mod_foreach_member (key, value, wanted)
		if (json_is_string(value) && !json_equal(json_object_get(there, key), value))
			json_array_append_new(
				set, json_pack("{s:s, s:O}", "Key", key, "Value", value));
	/* a tag that neither the spec nor the record has belongs to someone else */
	mod_foreach_member (key, value, prior)
		if (!json_object_get(wanted, key) && (!there || json_object_get(there, key)))
			json_array_append_new(unset, json_pack("{s:s}", "Key", key));
	aws_lease_change_tag(item, set, unset);
	return json_pack("{s:o, s:o}", "CreateTags", set, "DeleteTags", unset);
}

/* CreateTags' name for the item. */
static json_t *tagged_id(const json_t *item)
{
	json_t *other = json_object_get(item, AWS_TAGGED_ID);
	return other ? other : json_object_get(item, "id");
}

/* What was marked with the instance: its volume and its interface. */
static void add_tagged_ids(json_t *ids, const json_t *item)
{
	static const char *const others[] = {"root_volume_id", "network_interface"};
	const json_t *observed = json_object_get(item, "observed");
	json_array_append(ids, tagged_id(item));
	for (size_t i = 0; mod_is_release(item) && i < G_N_ELEMENTS(others); i++)
		if (*mod_str(observed, others[i]))
			json_array_append(ids, json_object_get(observed, others[i]));
}

/* If EC2 cannot find some ids, it names them and changes none of the others: the named members fail
 * and leave the batch. False if it names none of them. */
static bool drop_named(AwsUpdate *update, const ModFailure *failure, GArray *batch)
{
	guint before = batch->len;
	for (guint i = batch->len; i > 0; i--) {
		size_t member = g_array_index(batch, size_t, i - 1);
		const char *id =
			json_string_value(tagged_id(json_array_get(update->items, member)));
		if (!id || !failure->message || !strstr(failure->message, id))
			continue;
		mod_failure_copy(&update->failures[member], failure);
		g_array_remove_index(batch, i - 1);
	}
	return batch->len < before;
}

/* One action for the members of `batch`, which is consumed. */
static rgp_status send_batch(
	const AwsCall *call, AwsUpdate *update, const char *action, json_t *tags, GArray *batch)
{
	while (batch->len) {
		json_t *ids = json_array();
		for (guint i = 0; i < batch->len; i++)
			add_tagged_ids(ids,
				json_array_get(update->items, g_array_index(batch, size_t, i)));
		json_auto_t *params = json_pack("{s:o, s:O}", "ResourceId", ids, "Tag", tags);
		const Ec2Request request = {.action = action, .params = params};
		g_auto(Ec2Reply) reply = {0};
		rgp_status status = ec2_send_waiting(call, &request, young_codes, &reply);
		if (status != RGP_OK || reply.failure.class_ == RGP_CLASS_OK)
			return status;
		if (reply.failure.class_ == RGP_CLASS_GONE &&
			drop_named(update, &reply.failure, batch))
			continue;
		for (guint i = 0; i < batch->len; i++)
			mod_failure_copy(
				&update->failures[g_array_index(batch, size_t, i)], &reply.failure);
		g_array_set_size(batch, 0);
	}
	return RGP_OK;
}

/* Sends one action for the given members, except failed ones. */
static rgp_status send_tags(
	const AwsCall *call, AwsUpdate *update, const char *action, json_t *tags, GArray *members)
{
	g_autoptr(GArray) batch = g_array_new(FALSE, FALSE, sizeof(size_t));
	rgp_status status = RGP_OK;
	if (!json_array_size(tags))
		return RGP_OK;
	for (guint i = 0; i < members->len && status == RGP_OK; i++) {
		size_t member = g_array_index(members, size_t, i);
		if (update->failures[member].class_ == RGP_CLASS_OK)
			g_array_append_val(batch, member);
		if (batch->len == IDS_MAX)
			status = send_batch(call, update, action, tags, batch);
		if (batch->len == IDS_MAX)
			g_array_set_size(batch, 0);
	}
	return status == RGP_OK ? send_batch(call, update, action, tags, batch) : status;
}

/* Changes the `tags` and the marks of all items of the call to their desired values, many
 * ids per request. */
static rgp_status update_tags(const AwsCall *call, AwsUpdate *update)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
	size_t i;
	const json_t *item;
	json_array_foreach (update->items, i, item) {
		if ((!mod_is_changed(item, "tags") && !mod_is_changed(item, "marks") &&
			    !mod_is_changed(item, "expires")) ||
			update->failures[i].class_ != RGP_CLASS_OK)
			continue;
		json_auto_t *need = tag_need(update->kind, item);
		char *text = json_dumps(need, JSON_COMPACT | JSON_SORT_KEYS);
		GArray *members = g_hash_table_lookup(groups, text);
		if (!members) {
			members = g_array_new(FALSE, FALSE, sizeof(size_t));
			g_hash_table_insert(groups, g_strdup(text), members);
		}
		g_array_append_val(members, i);
		free(text);
	}
	GHashTableIter iter;
	gpointer text, members;
	g_hash_table_iter_init(&iter, groups);
	while (g_hash_table_iter_next(&iter, &text, &members)) {
		json_auto_t *need = json_loads(text, 0, NULL);
		static const char *const actions[] = {"CreateTags", "DeleteTags"};
		for (size_t a = 0; a < G_N_ELEMENTS(actions); a++) {
			rgp_status status = send_tags(call, update, actions[a],
				json_object_get(need, actions[a]), members);
			if (status != RGP_OK)
				return status;
		}
	}
	return RGP_OK;
}

static rgp_status give_results(const AwsCall *call, const AwsUpdate *update)
{
	rgp_status status = RGP_OK;
	size_t i;
	const json_t *item;
	json_array_foreach (update->items, i, item) {
		const ModFailure *failure = &update->failures[i];
		if (status != RGP_OK)
			break;
		status = failure->class_ == RGP_CLASS_OK
				 ? mod_give_item(&call->talk, mod_str(item, "address"), "done",
					   mod_str(item, "id"), NULL)
				 : mod_give_failed(&call->talk, mod_str(item, "address"),
					   mod_str(item, "id"), failure);
	}
	return status;
}

rgp_status aws_update(const AwsCall *call, const ModKind *kind, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	AwsUpdate update = {.kind = kind->name, .items = items};
	rgp_status status = RGP_OK;
	update.failures = g_new0(ModFailure, json_array_size(items));
	if (aws_kind(kind)->update)
		status = aws_kind(kind)->update(call, &update);
	if (status == RGP_OK)
		status = update_tags(call, &update);
	if (status == RGP_OK && aws_kind(kind)->after_tags)
		status = aws_kind(kind)->after_tags(call, &update);
	if (status == RGP_OK)
		status = give_results(call, &update);
	for (size_t i = 0; i < json_array_size(items); i++)
		mod_failure_clear(&update.failures[i]);
	g_free(update.failures);
	return status;
}
