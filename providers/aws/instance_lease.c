/* The lease of an instance: the tag raygpu:expires, which the node reads from its metadata service
 * (boot/cloud.sh), and the metadata option that shows it tags. Both change in place. */
#include "aws/form.h"
#include "aws/instance.h"
#include "common/lower.h"
#include <string.h>

#define LEASE_TAG AWS_MARK_PREFIX "expires"
#define SHOWN "enabled"
#define HIDDEN "disabled"

/* EC2 user guide, "View tags for your EC2 instances using instance metadata": with this option EC2
 * rejects all other keys of the instance. */
static bool fits_metadata(const char *key)
{
	static const char *const reserved[] = {".", "..", "_index", NULL};
	for (const char *c = key; *c; c++)
		if (!g_ascii_isalnum(*c) && !strchr("+-=.,_:@", *c))
			return false;
	return !g_strv_contains(reserved, key);
}

/* The first label of the spec, by name, that does not; NULL: all do. */
static const char *unfit_label(const json_t *tags)
{
	const char *first = NULL;
	mod_foreach_member (key, value, tags)
		if (!fits_metadata(key) && (!first || strcmp(key, first) < 0))
			first = key;
	return first;
}

void aws_lease_lower(const json_t *node, json_t *attributes)
{
	const char *expires = mod_str(node, "expires");
	bool fits = !unfit_label(json_object_get(attributes, "tags"));
	if (*expires)
		json_object_set_new(attributes, "expires", json_string(expires));
	/* fits and no lease: as it is */
	if (!fits || *expires)
		json_object_set_new(
			attributes, "metadata_tags", json_string(fits ? SHOWN : HIDDEN));
}

void aws_lease_warn(const ModLowering *lowering)
{
	const char *label = unfit_label(json_object_get(lowering->fitted, "labels"));
	bool leased = false;
	mod_foreach (node, json_object_get(lowering->fitted, "nodes"))
		leased |= *mod_str(node, "expires") != '\0';
	if (!label || !leased)
		return;
	g_autofree char *summary = g_strdup_printf(
		"the nodes cannot end their lease by themselves: EC2 does not show tags to "
		"instances that have the label \"%s\"",
		label);
	mod_report_warning(lowering->talk, "/labels", summary,
		"use only letters, digits and + - = . , _ : @ in keys of labels; until then only "
		"`raygpu reap` ends these nodes");
}

void aws_lease_read(const json_t *record, json_t *attributes)
{
	const char *expires = mod_str(json_object_get(record, "tagSet"), LEASE_TAG);
	const char *shown =
		mod_str(json_object_get(record, "metadataOptions"), "instanceMetadataTags");
	if (*expires)
		json_object_set_new(attributes, "expires", json_string(expires));
	if (*shown)
		json_object_set_new(attributes, "metadata_tags", json_string(shown));
}

void aws_lease_add_tag(const json_t *attributes, json_t *tags)
{
	const char *expires = mod_str(attributes, "expires");
	if (*expires)
		json_array_append_new(
			tags, json_pack("{s:s, s:s}", "Key", LEASE_TAG, "Value", expires));
}

void aws_lease_change_tag(const json_t *item, json_t *set, json_t *unset)
{
	const json_t *wanted = json_object_get(item, "attributes");
	if (!mod_is_changed(item, "expires"))
		return;
	if (*mod_str(wanted, "expires"))
		aws_lease_add_tag(wanted, set);
	else
		json_array_append_new(unset, json_pack("{s:s}", "Key", LEASE_TAG));
}

void aws_lease_launch(const json_t *attributes, json_t *options)
{
	if (g_str_equal(mod_str(attributes, "metadata_tags"), SHOWN))
		json_object_set_new(options, "InstanceMetadataTags", json_string(SHOWN));
}

/* EC2 checks the keys of the instance's tags while it shows them: it stops before the tags change,
 * and begins after. */
static rgp_status change_shown(const AwsCall *call, AwsUpdate *update, const char *option)
{
	rgp_status status = RGP_OK;
	for (size_t i = 0; i < json_array_size(update->items) && status == RGP_OK; i++) {
		const json_t *item = json_array_get(update->items, i);
		const json_t *wanted = json_object_get(item, "attributes");
		if (mod_is_changed(item, "metadata_tags") &&
			g_str_equal(mod_str(wanted, "metadata_tags"), option) &&
			update->failures[i].class_ == RGP_CLASS_OK)
			status = aws_instance_change(call, update, i,
				"ModifyInstanceMetadataOptions",
				json_pack("{s:s, s:s}", "InstanceId", mod_str(item, "id"),
					"InstanceMetadataTags", option));
	}
	return status;
}

rgp_status aws_lease_before_tags(const AwsCall *call, AwsUpdate *update)
{
	return change_shown(call, update, HIDDEN);
}

rgp_status aws_lease_after_tags(const AwsCall *call, AwsUpdate *update)
{
	return change_shown(call, update, SHOWN);
}
