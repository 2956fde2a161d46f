/* The lease of an instance: the metadata item raygpu-expires, which the node reads (boot/cloud.sh),
 * and the label of this name, which lists show: labels hold no capitals and no colons. Both change
 * in place, the item first: the label shows that both are done. */
#include <string.h>
#include "gcp/instance.h"

#define LABEL_FORM "####-##-##t##-##-##z"

static const char *lease_of(const json_t *attributes)
{
	return mod_str(attributes, "expires");
}

void gcp_lease_set_label(const json_t *attributes, json_t *labels)
{
	const char *expires = lease_of(attributes);
	g_autofree char *text = g_ascii_strdown(expires, -1);
	if (*expires)
		json_object_set_new(labels, GCP_LEASE, json_string(g_strdelimit(text, ":", '-')));
	else
		json_object_del(labels, GCP_LEASE);
}

void gcp_lease_read(const json_t *labels, json_t *attributes)
{
	const char *label = mod_str(labels, GCP_LEASE);
	size_t at = 0;
	while (LABEL_FORM[at] &&
		(LABEL_FORM[at] == '#' ? g_ascii_isdigit(label[at]) : LABEL_FORM[at] == label[at]))
		at++;
	if (!*label)
		return;
	g_autofree char *text = g_ascii_strup(label, -1);
	if (!LABEL_FORM[at] && !label[at])
		text[13] = text[16] = ':';
	json_object_set_new(attributes, "expires", json_string(text));
}

rgp_status gcp_lease_read_metadata(const GcpCall *call, const json_t *items, json_t *records)
{
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) owners = g_ptr_array_new();
	mod_foreach (item, mod_unconst(items)) {
		json_t *record = json_object_get(records, mod_str(item, "id"));
		if (!mod_is_release(item) || !record)
			continue;
		g_ptr_array_add(urls, gcp_instance_url(call, mod_str(item, "id")));
		g_ptr_array_add(owners, record);
	}
	g_autofree json_t **found = g_new0(json_t *, urls->len + 1);
	rgp_status status = gcp_get_all(call, "instances.get", urls, "metadata", found);
	for (guint n = 0; n < urls->len; n++) {
		json_object_update(owners->pdata[n], found[n]);
		json_decref(found[n]);
	}
	return status;
}

json_t *gcp_lease_removed(const json_t *record)
{
	json_t *metadata = json_object_get(record, "metadata");
	json_auto_t *left = json_array();
	mod_foreach (entry, json_object_get(metadata, "items"))
		if (!g_str_equal(mod_str(entry, "key"), GCP_LEASE))
			json_array_append(left, entry);
	return json_array_size(left) == json_array_size(json_object_get(metadata, "items"))
		       ? NULL
		       : json_pack("{s:O, s:s}", "items", left, "fingerprint",
				 mod_str(metadata, "fingerprint"));
}
