#include "aws/resolve.h"
#include "aws/form.h"
#include "aws/image_driver.h"
#include "aws/kinds.h"
#include "aws/parameter.h"
#include <string.h>

/* NVIDIA driver, CUDA and Docker with the NVIDIA runtime; also for head nodes, so that one image
 * boots all. The eight wildcards are the date, so other images of longer names don't match. */
#define DEFAULT_IMAGE "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) ????????"
/* The same for GPUs that NVIDIA's open kernel modules don't know. The open image's release notes
 * list no P3, this one's do: docs.aws.amazon.com/dlami/latest/devguide, "Deep Learning Base
 * Proprietary Nvidia Driver AMI (Amazon Linux 2) Version 71.6" of 2026-01-02, driver 570.195.03:
 * G3, P3, P3dn, Inf1. */
#define OLD_GPU_IMAGE                                                                              \
	"Deep Learning Base Proprietary Nvidia Driver AMI (Amazon Linux 2) Version ??.?"
#define TYPES_MAX 200 /* values of one filter */

static const AwsShape ebs_members[] = {{"volumeSize"}, {0}};
static const AwsShape device_members[] = {{"deviceName"}, {"ebs", ebs_members}, {0}};
static const AwsShape device_set[] = {{"item", device_members}, {0}};
static const AwsShape image_members[] = {
	{"imageId"},
	{"name"},
	{"architecture"},
	{"rootDeviceName"},
	{"imageState"},
	{"creationDate"},
	{"blockDeviceMapping", device_set},
	{0},
};
static const AwsShape image_set[] = {{"item", image_members, AWS_RECORD}, {0}};
static const AwsShape images_members[] = {{"imagesSet", image_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_images = {"DescribeImagesResponse", images_members};

static const AwsShape offering_members[] = {{"instanceType"}, {"location"}, {0}};
static const AwsShape offering_set[] = {{"item", offering_members, AWS_RECORD}, {0}};
static const AwsShape offerings_members[] = {
	{"instanceTypeOfferingSet", offering_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_offerings = {
	"DescribeInstanceTypeOfferingsResponse", offerings_members};

static void collect(void *data, const json_t *record)
{
	json_array_append_new(data, json_deep_copy(record));
}

rgp_status aws_read_all(const AwsCall *call, const char *action, const AwsShape *shape,
	json_t *params, json_t *records)
{
	json_auto_t *owned = params;
	const Ec2Request request = {
		.action = action, .shape = shape, .record = collect, .data = records};
	return ec2_pages(call, &request, owned, NULL);
}

rgp_status aws_refuse(
	const AwsCall *call, const char *origin, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	mod_report_origin(&call->talk, RGP_CLASS_INVALID, origin, summary, hint);
	return RGP_FAIL;
}

static json_t *image_fact(const json_t *record)
{
	const char *root = mod_str(record, "rootDeviceName"), *size = "";
	size_t i;
	const json_t *device;
	json_array_foreach (json_object_get(record, "blockDeviceMapping"), i, device)
		if (g_str_equal(mod_str(device, "deviceName"), root))
			size = mod_str(json_object_get(device, "ebs"), "volumeSize");
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o*}", "id", mod_str(record, "imageId"),
		"name", mod_str(record, "name"), "arch", mod_str(record, "architecture"),
		"root_device", root, "min_disk_gb", (json_int_t)g_ascii_strtoll(size, NULL, 10),
		"driver", aws_image_driver(mod_str(record, "name")));
}

static rgp_status resolve_named(
	const AwsCall *call, const char *id, const char *origin, json_t **fact)
{
	json_auto_t *records = json_array();
	AwsCall placed = *call;
	placed.talk.origin = *origin ? origin : NULL;
	rgp_status status = aws_read_all(&placed, "DescribeImages", &describe_images,
		json_pack("{s:[s]}", "ImageId", id), records);
	if (status != RGP_OK)
		return status;
	const json_t *record = json_array_get(records, 0);
	const char *state = mod_str(record, "imageState");
	if (!record)
		return aws_refuse(call, origin, "image ids differ from region to region",
			"there is no image %s in %s", id, call->inst->region);
	if (strcmp(state, "available"))
		return aws_refuse(call, origin, "choose another image",
			"image %s is %s, not available", id, state);
	if (!*mod_str(record, "rootDeviceName"))
		return aws_refuse(
			call, origin, "choose another image", "image %s has no root device", id);
	*fact = image_fact(record);
	return RGP_OK;
}

static const char *default_name(const json_t *want)
{
	return strcmp(mod_str(want, "driver"), "proprietary") ? DEFAULT_IMAGE : OLD_GPU_IMAGE;
}

static rgp_status resolve_default(const AwsCall *call, const json_t *want, json_t **fact)
{
	const char *arch = mod_str(want, "arch"), *origin = mod_str(want, "origin");
	const char *name = default_name(want), *state = "available";
	json_auto_t *records = json_array();
	json_t *params = json_pack("{s:[s]}", "Owner", "amazon");
	aws_form_filter(params, "name", &name, 1);
	aws_form_filter(params, "state", &state, 1);
	aws_form_filter(params, "architecture", &arch, 1);
	rgp_status status = aws_read_all(call, "DescribeImages", &describe_images, params, records);
	if (status != RGP_OK)
		return status;
	const json_t *newest = NULL, *record;
	size_t i;
	json_array_foreach (records, i, record) {
		/* ISO dates order as texts; equal ones by id, so that the answer's order is nothing
		 */
		int order =
			strcmp(mod_str(record, "creationDate"), mod_str(newest, "creationDate"));
		if (order > 0 || (!order && strcmp(mod_str(record, "imageId"),
						    mod_str(newest, "imageId")) > 0))
			newest = record;
	}
	if (!newest)
		return aws_refuse(call, origin,
			"name one: `image: ami-...` of the head and of each pool",
			"region %s has no image \"%s\" for %s", call->inst->region, name, arch);
	*fact = image_fact(newest);
	return RGP_OK;
}

/* An id, or "ssm:PATH". */
static rgp_status resolve_wish(
	const AwsCall *call, const char *image, const char *origin, json_t **fact)
{
	g_autofree char *id = NULL;
	if (!g_str_has_prefix(image, AWS_PARAMETER_PREFIX))
		return resolve_named(call, image, origin, fact);
	rgp_status status =
		aws_parameter_image(call, image + strlen(AWS_PARAMETER_PREFIX), origin, &id);
	return status == RGP_OK ? resolve_named(call, id, origin, fact) : status;
}

static rgp_status resolve_images(const AwsCall *call, const json_t *wanted, json_t *images)
{
	json_auto_t *known = json_object(); /* asked once each */
	size_t i;
	const json_t *want;
	json_array_foreach (wanted, i, want) {
		const char *id = mod_str(want, "image"), *origin = mod_str(want, "origin");
		g_autofree char *key = *id ? g_strdup(id)
					   : g_strconcat(mod_str(want, "arch"), " ",
						     mod_str(want, "driver"), NULL);
		json_t *fact = json_incref(json_object_get(known, key));
		rgp_status status = fact  ? RGP_OK
				    : *id ? resolve_wish(call, id, origin, &fact)
					  : resolve_default(call, want, &fact);
		if (status != RGP_OK)
			return status;
		json_object_set(known, key, fact);
		json_object_set_new(images, mod_str(want, "key"), fact);
	}
	return RGP_OK;
}

static json_t *sorted_zones(const json_t *offerings, const char *type)
{
	g_autoptr(GPtrArray) zones = g_ptr_array_new();
	size_t i;
	const json_t *offering;
	json_array_foreach (offerings, i, offering)
		if (g_str_equal(mod_str(offering, "instanceType"), type))
			g_ptr_array_add(zones, (char *)(uintptr_t)mod_str(offering, "location"));
	g_ptr_array_sort(zones, mod_compare_texts);
	json_t *list = json_array();
	for (guint z = 0; z < zones->len; z++)
		json_array_append_new(list, json_string(zones->pdata[z]));
	return list;
}

static rgp_status resolve_offerings(const AwsCall *call, const json_t *types, json_t *facts)
{
	json_auto_t *offerings = json_array();
	for (size_t at = 0; at < json_array_size(types); at += TYPES_MAX) {
		const char *chunk[TYPES_MAX];
		size_t count = 0;
		for (; count < TYPES_MAX && at + count < json_array_size(types); count++)
			chunk[count] = json_string_value(json_array_get(types, at + count));
		json_t *params = json_pack(
			"{s:s, s:i}", "LocationType", "availability-zone", "MaxResults", 1000);
		aws_form_filter(params, "instance-type", chunk, count);
		rgp_status status = aws_read_all(call, "DescribeInstanceTypeOfferings",
			&describe_offerings, params, offerings);
		if (status != RGP_OK)
			return status;
	}
	json_t *by_type = json_object(), *type;
	size_t i;
	json_array_foreach (types, i, type)
		json_object_set_new(by_type, json_string_value(type),
			sorted_zones(offerings, json_string_value(type)));
	json_object_set_new(facts, "offerings", by_type);
	return RGP_OK;
}

static bool are_texts(const json_t *list)
{
	size_t i;
	const json_t *text;
	json_array_foreach (list, i, text)
		if (!json_is_string(text))
			return false;
	return true;
}

rgp_status aws_resolve(const AwsCall *call, const json_t *input)
{
	const json_t *types = json_object_get(input, "instance_types");
	if (!are_texts(types))
		return aws_refuse(call, NULL, NULL, "instance_types of resolve must be texts");
	json_auto_t *facts = json_pack("{s:{}}", "images");
	rgp_status status = resolve_images(
		call, json_object_get(input, "images"), json_object_get(facts, "images"));
	if (status == RGP_OK && json_is_true(json_object_get(input, "place")))
		status = aws_resolve_network(call, facts);
	if (status == RGP_OK)
		status = resolve_offerings(call, types, facts);
	return status == RGP_OK ? mod_give(&call->talk, "facts", json_incref(facts)) : status;
}
