/* Instance types in their zones, and the images that nodes boot from. */
#include "aws/form.h"
#include "aws/preflight.h"
#include "aws/resolve.h"
#include <string.h>

static const AwsShape vcpu_members[] = {{"defaultVCpus"}, {0}};
static const AwsShape arch_set[] = {{"item"}, {0}};
static const AwsShape processor_members[] = {{"supportedArchitectures", arch_set}, {0}};
static const AwsShape type_members[] = {
	{"instanceType"}, {"vCpuInfo", vcpu_members}, {"processorInfo", processor_members}, {0}};
static const AwsShape type_set[] = {{"item", type_members, AWS_RECORD}, {0}};
static const AwsShape types_members[] = {
	{"instanceTypeSet", type_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_types = {"DescribeInstanceTypesResponse", types_members};

static const AwsShape ebs_members[] = {{"volumeSize"}, {0}};
static const AwsShape device_members[] = {{"deviceName"}, {"ebs", ebs_members}, {0}};
static const AwsShape device_set[] = {{"item", device_members}, {0}};
static const AwsShape image_members[] = {{"imageId"}, {"name"}, {"architecture"}, {"imageState"},
	{"rootDeviceName"}, {"blockDeviceMapping", device_set}, {0}};
static const AwsShape image_set[] = {{"item", image_members, AWS_RECORD}, {0}};
static const AwsShape images_members[] = {{"imagesSet", image_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_images = {"DescribeImagesResponse", images_members};

static GPtrArray *values_of(const AwsPreflight *preflight, const char *attribute)
{
	GPtrArray *values = g_ptr_array_new();
	for (guint i = 0; i < preflight->nodes->len; i++) {
		const char *value = aws_attribute_of(preflight->nodes->pdata[i], attribute);
		if (*value && !g_ptr_array_find_with_equal_func(values, value, g_str_equal, NULL))
			g_ptr_array_add(values, (char *)(uintptr_t)value);
	}
	return values;
}

/* By filter, not by id: then EC2 answers with those that it knows. */
static AwsProbe *ask_about(AwsPreflight *preflight, const char *attribute, const char *filter,
	const char *action, const AwsShape *shape, json_t *params, const char *what)
{
	g_autoptr(GPtrArray) values = values_of(preflight, attribute);
	aws_form_filter(params, filter, (const char *const *)values->pdata, values->len);
	return aws_probe(preflight, action, shape, params, what);
}

void aws_ask_places(AwsPreflight *preflight)
{
	preflight->types = ask_about(preflight, "instance_type", "instance-type",
		"DescribeInstanceTypes", &describe_types, json_object(), "instance types");
	preflight->offerings = ask_about(preflight, "instance_type", "instance-type",
		"DescribeInstanceTypeOfferings", &aws_describe_offerings,
		json_pack("{s:s, s:i}", "LocationType", "availability-zone", "MaxResults", 1000),
		"the zones of instance types");
	preflight->images = ask_about(preflight, "image_id", "image-id", "DescribeImages",
		&describe_images, json_pack("{s:b}", "IncludeDeprecated", true), "images");
}

/* "us-east-1a, us-east-1b"; *here: is the zone among them? */
static char *zones_of(const AwsProbe *offerings, const char *type, const char *zone, bool *here)
{
	g_autoptr(GPtrArray) zones = g_ptr_array_new();
	mod_foreach (record, offerings->records)
		if (g_str_equal(mod_str(record, "instanceType"), type))
			g_ptr_array_add(zones, (char *)(uintptr_t)mod_str(record, "location"));
	*here = g_ptr_array_find_with_equal_func(zones, zone, g_str_equal, NULL);
	g_ptr_array_sort(zones, mod_compare_texts);
	g_ptr_array_add(zones, NULL);
	return g_strjoinv(", ", (char **)zones->pdata);
}

static void check_zone(AwsPreflight *preflight, const json_t *create)
{
	const char *type = aws_attribute_of(create, "instance_type");
	const char *zone = aws_attribute_of(create, "availability_zone");
	bool here = true;
	g_autofree char *zones = aws_probe_ok(preflight->offerings)
					 ? zones_of(preflight->offerings, type, zone, &here)
					 : NULL;
	if (here)
		return;
	g_autofree char *hint =
		*zones ? g_strdup_printf("zones of %s that offer it: %s",
				 preflight->call->inst->region, zones)
		       : g_strdup_printf("no zone of %s offers it: use another instance type",
				 preflight->call->inst->region);
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_CAPACITY,
		.create = create,
		.attribute = "instance_type",
		.hint = hint};
	mod_find_out(&preflight->findings, &finding, "%s is not offered in %s", type, zone);
}

static int64_t snapshot_gb(const json_t *image)
{
	mod_foreach (device, json_object_get(image, "blockDeviceMapping"))
		if (g_str_equal(mod_str(device, "deviceName"), mod_str(image, "rootDeviceName")))
			return g_ascii_strtoll(
				mod_str(json_object_get(device, "ebs"), "volumeSize"), NULL, 10);
	return 0;
}

static bool fits_arch(const AwsPreflight *preflight, const json_t *create, const json_t *image)
{
	const json_t *type = aws_probe_record(
		preflight->types, "instanceType", aws_attribute_of(create, "instance_type"));
	const json_t *known =
		json_object_get(json_object_get(type, "processorInfo"), "supportedArchitectures");
	mod_foreach (arch, known)
		if (g_strcmp0(json_string_value(arch), mod_str(image, "architecture")) == 0)
			return true;
	return !json_array_size(known);
}

static void check_fit(AwsPreflight *preflight, const json_t *create, const json_t *image)
{
	ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_INVALID,
		.create = create,
		.attribute = "image_id",
		.hint = "choose another image with `image:`"};
	const char *id = mod_str(image, "imageId"), *state = mod_str(image, "imageState");
	int64_t size = mod_int(json_object_get(create, "attributes"), "disk_size_gb");
	int64_t least = snapshot_gb(image);
	if (*state && strcmp(state, "available"))
		mod_find_out(
			&preflight->findings, &finding, "image %s is %s, not available", id, state);
	if (!fits_arch(preflight, create, image))
		mod_find_out(&preflight->findings, &finding, "image %s is for %s, which %s is not",
			id, mod_str(image, "architecture"),
			aws_attribute_of(create, "instance_type"));
	if (!size || size >= least)
		return;
	finding.attribute = "disk_size_gb";
	finding.hint = "set a larger `disk: {size: ...}`";
	mod_find_out(&preflight->findings, &finding,
		"a disk of %" G_GINT64_FORMAT
		" GiB is too small for image %s, which has %" G_GINT64_FORMAT " GiB",
		size, id, least);
}

static void check_image(AwsPreflight *preflight, const json_t *create)
{
	const char *id = aws_attribute_of(create, "image_id");
	const json_t *image = aws_probe_record(preflight->images, "imageId", id);
	if (!*id || !aws_probe_ok(preflight->images))
		return;
	if (image) {
		check_fit(preflight, create, image);
		return;
	}
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_INVALID,
		.create = create,
		.attribute = "image_id",
		.hint = "it was withdrawn, or is not shared with this account: use "
			"`--renew-images`, "
			"or choose another with `image:`"};
	mod_find_out(&preflight->findings, &finding, "image %s does not exist in %s", id,
		preflight->call->inst->region);
}

void aws_check_places(AwsPreflight *preflight)
{
	for (guint i = 0; i < preflight->nodes->len; i++) {
		check_zone(preflight, preflight->nodes->pdata[i]);
		check_image(preflight, preflight->nodes->pdata[i]);
	}
}
