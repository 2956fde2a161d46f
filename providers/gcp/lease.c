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
