#include "aws/resolve.h"
#include "aws/form.h"
#include "aws/image_driver.h"
#include "aws/kinds.h"
#include "aws/parameter.h"
#include "aws/reservation.h"
#include <string.h>

/* NVIDIA driver, CUDA and Docker with the NVIDIA runtime; also for head nodes, so that one image
 * boots all nodes. The eight wildcards are the date, so other images with longer names do not
 * match. */
#define DEFAULT_IMAGE "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) ????????"
/* The same for GPUs that NVIDIA's open kernel modules do not support. The open image's release
 * notes list no P3, this one's do: docs.aws.amazon.com/dlami/latest/devguide, "Deep Learning Base
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
	{"deprecationTime"},
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
const AwsShape aws_describe_offerings = {
	"DescribeInstanceTypeOfferingsResponse", offerings_members};

static json_t *image_fact(const json_t *record)
{
	const char *root = mod_str(record, "rootDeviceName"), *size = "";
	mod_foreach (device, json_object_get(record, "blockDeviceMapping"))
		if (g_str_equal(mod_str(device, "deviceName"), root))
			size = mod_str(json_object_get(device, "ebs"), "volumeSize");
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o*, s:O*}", "id", mod_str(record, "imageId"),
		"name", mod_str(record, "name"), "arch", mod_str(record, "architecture"),
		"root_device", root, "min_disk_gb", (json_int_t)g_ascii_strtoll(size, NULL, 10),
		"driver", aws_image_driver(mod_str(record, "name")), "deprecated",
		json_object_get(record, "deprecationTime"));
}

/* An image that the spec names, or leaves to raygpu. */
typedef struct {
	const json_t *want;
	char *id; /* NULL: the newest default image */
	AwsQuestion *question;
} Image;

static void image_free(gpointer data)
{
	Image *image = data;
	g_free(image->id);
	g_free(image);
}

static const char *default_name(const json_t *want)
{
	return strcmp(mod_str(want, "driver"), "proprietary") ? DEFAULT_IMAGE : OLD_GPU_IMAGE;
}

static json_t *default_params(const json_t *want)
{
	const char *arch = mod_str(want, "arch"), *name = default_name(want);
	const char *state = "available";
	json_t *params = json_pack("{s:[s]}", "Owner", "amazon");
	aws_form_filter(params, "name", &name, 1);
	aws_form_filter(params, "state", &state, 1);
	aws_form_filter(params, "architecture", &arch, 1);
	return params;
}

static bool is_parameter(const json_t *want)
{
	return g_str_has_prefix(mod_str(want, "image"), AWS_PARAMETER_PREFIX);
}

/* The names of the images in SSM parameters, `ids`: {parameter: id}, each requested once. */
static rgp_status read_parameters(const AwsCall *call, const json_t *wanted, json_t *ids)
{
	g_autoptr(GPtrArray) parameters = g_ptr_array_new_with_free_func(g_free);
	mod_foreach (want, wanted) {
		if (!is_parameter(want))
			continue;
		const char *name = mod_str(want, "image") + strlen(AWS_PARAMETER_PREFIX);
		if (json_object_get(ids, name))
			continue;
		json_object_set_new(ids, name, json_null());
		AwsParameter *parameter = g_new0(AwsParameter, 1);
		*parameter = (AwsParameter){name, mod_str(want, "origin")};
		g_ptr_array_add(parameters, parameter);
	}
	return aws_parameters_read(call, parameters, ids);
}

/* One query for each image, however many nodes use it. */
static GPtrArray *ask_images(const json_t *wanted, const json_t *ids, GPtrArray *questions)
{
	GPtrArray *images = g_ptr_array_new_with_free_func(image_free);
	g_autoptr(GHashTable) asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	mod_foreach (want, wanted) {
		const char *named = mod_str(want, "image"), *origin = mod_str(want, "origin");
		if (is_parameter(want))
			named = mod_str(ids, named + strlen(AWS_PARAMETER_PREFIX));
		Image *image = g_new0(Image, 1);
		image->want = want;
		image->id = *named ? g_strdup(named) : NULL;
		g_autofree char *key = *named ? g_strdup(named)
					      : g_strconcat(mod_str(want, "arch"), " ",
							mod_str(want, "driver"), NULL);
		image->question = g_hash_table_lookup(asked, key);
		if (!image->question)
			image->question = aws_ask(questions, "DescribeImages", &describe_images,
				*named ? json_pack("{s:[s], s:b}", "ImageId", named,
						 "IncludeDeprecated", true)
				       : default_params(want),
				*named ? origin : NULL);
		g_hash_table_insert(asked, g_steal_pointer(&key), image->question);
		g_ptr_array_add(images, image);
	}
	return images;
}

static rgp_status check_named(const AwsCall *call, const Image *image, const json_t *record)
{
	const char *state = mod_str(record, "imageState"), *id = image->id;
	const char *origin = mod_str(image->want, "origin");
	if (!record)
		return mod_refuse(call, origin, "image ids differ between regions",
			"there is no image %s in %s", id, call->inst->region);
	if (strcmp(state, "available"))
		return mod_refuse(call, origin, "choose another image",
			"image %s is %s, not available", id, state);
	if (!*mod_str(record, "rootDeviceName"))
		return mod_refuse(
			call, origin, "choose another image", "image %s has no root device", id);
	return RGP_OK;
}

static const json_t *newest_of(const json_t *records)
{
	const json_t *newest = NULL;
	mod_foreach (record, records) {
		/* ISO dates sort as texts; equal ones by id, so that the answer's order does not
		 * matter */
		int order =
			strcmp(mod_str(record, "creationDate"), mod_str(newest, "creationDate"));
		if (order > 0 || (!order && strcmp(mod_str(record, "imageId"),
						    mod_str(newest, "imageId")) > 0))
			newest = record;
	}
	return newest;
}

static rgp_status check_default(const AwsCall *call, const Image *image, const json_t *record)
{
	if (record)
		return RGP_OK;
	return mod_refuse(call, mod_str(image->want, "origin"),
		"set `image: ami-...` for the head and each pool",
		"region %s has no image \"%s\" for %s", call->inst->region,
		default_name(image->want), mod_str(image->want, "arch"));
}

static rgp_status take_images(const AwsCall *call, const GPtrArray *images, json_t *facts)
{
	rgp_status status = RGP_OK;
	mod_ptr_foreach (const Image, image, images) {
		const json_t *records = image->question->records;
		const json_t *record = image->id ? json_array_get(records, 0) : newest_of(records);
		rgp_status here = image->id ? check_named(call, image, record)
					    : check_default(call, image, record);
		if (here != RGP_OK)
			status = here;
		else
			json_object_set_new(facts, mod_str(image->want, "key"), image_fact(record));
	}
	return status;
}

static json_t *sorted_zones(const json_t *offerings, const char *type)
{
	g_autoptr(GPtrArray) zones = g_ptr_array_new();
	mod_foreach (offering, offerings)
		if (g_str_equal(mod_str(offering, "instanceType"), type))
			g_ptr_array_add(zones, (char *)(uintptr_t)mod_str(offering, "location"));
	g_ptr_array_sort(zones, mod_compare_texts);
	json_t *list = json_array();
	for (guint z = 0; z < zones->len; z++)
		json_array_append_new(list, json_string(zones->pdata[z]));
	return list;
}

static void ask_offerings(const json_t *types, GPtrArray *questions)
{
	for (size_t at = 0; at < json_array_size(types); at += TYPES_MAX) {
		const char *chunk[TYPES_MAX];
		size_t count = 0;
		for (; count < TYPES_MAX && at + count < json_array_size(types); count++)
			chunk[count] = json_string_value(json_array_get(types, at + count));
		json_t *params = json_pack(
			"{s:s, s:i}", "LocationType", "availability-zone", "MaxResults", 1000);
		aws_form_filter(params, "instance-type", chunk, count);
		aws_ask(questions, "DescribeInstanceTypeOfferings", &aws_describe_offerings, params,
			NULL);
	}
}

rgp_status aws_resolve(const AwsCall *call, const json_t *input)
{
	const json_t *reservations = json_object_get(input, "reservations");
	const json_t *types = json_object_get(input, "instance_types");
	const json_t *wanted = json_object_get(input, "images");
	bool place = json_is_true(json_object_get(input, "place"));
	if (!mod_are_texts(types))
		return mod_refuse(call, NULL, NULL, "instance_types of resolve must be texts");
	json_auto_t *facts = json_pack("{s:{}}", "images"), *ids = json_object();
	g_autoptr(GPtrArray) questions = g_ptr_array_new_with_free_func(aws_question_free);
	rgp_status status = read_parameters(call, wanted, ids);
	if (status != RGP_OK)
		return status;
	g_autoptr(GPtrArray) images = ask_images(wanted, ids, questions);
	AwsNetwork network = {NULL, NULL, NULL};
	if (place)
		aws_network_ask(call, questions, &network);
	const json_t *unknown = json_object_get(input, "types");
	AwsQuestion *described = aws_types_ask(questions, unknown);
	guint first = questions->len;
	ask_offerings(types, questions);
	status = ec2_pages_all(call, (Ec2Pages *const *)questions->pdata, questions->len);
	if (status != RGP_OK)
		return status;
	status = take_images(call, images, json_object_get(facts, "images"));
	rgp_status placed = place ? aws_network_take(call, &network, facts) : RGP_OK;
	if (status != RGP_OK || placed != RGP_OK)
		return RGP_FAIL;
	if (described)
		aws_types_take(described, unknown, facts);
	json_auto_t *offerings = json_array();
	for (guint q = first; q < questions->len; q++)
		json_array_extend(offerings, ((AwsQuestion *)questions->pdata[q])->records);
	json_t *by_type = json_object();
	mod_foreach (type, types)
		json_object_set_new(by_type, json_string_value(type),
			sorted_zones(offerings, json_string_value(type)));
	json_object_set_new(facts, "offerings", by_type);
	if (json_array_size(reservations) &&
		aws_reservations_read(call, reservations, facts) != RGP_OK)
		return RGP_FAIL;
	return mod_give(&call->talk, "facts", json_incref(facts));
}
