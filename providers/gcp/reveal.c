/* reveal: user data, which lists leave out; one request per instance, concurrently. */
#include "gcp/instance.h"

static const char *metadata_of(const json_t *body, const char *key)
{
	const json_t *items = json_object_get(json_object_get(body, "metadata"), "items");
	mod_foreach (item, items)
		if (g_str_equal(mod_str(item, "key"), key))
			return mod_str(item, "value");
	return "";
}

static rgp_status give_one(const GcpCall *call, const json_t *item, const ModRestAnswer *answer)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	if (answer->failure.class_ != RGP_CLASS_OK)
		return mod_give_failed(&call->talk, address, NULL, &answer->failure);
	const char *data = metadata_of(answer->body, "user-data");
	bool encoded = g_str_equal(metadata_of(answer->body, "user-data-encoding"), "base64");
	return mod_give_item(&call->talk, address, "done", id,
		json_pack("{s:s, s:s}", "user_data", encoded ? "" : data, "user_data_base64",
			encoded ? data : ""));
}

rgp_status gcp_reveal(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const GcpKind *kind = gcp_kind(any);
	return gcp_instance_each(call, kind, input, "instances.get", "?fields=metadata", give_one);
}
