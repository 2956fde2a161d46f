#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* Of public images AWS deprecates each two years after its creation (EC2 user guide, "Deprecate an
 * Amazon EC2 AMI"). */
#define DEPRECATED_AFTER_YEARS 2

static GDateTime *time_of(const json_t *image, const char *member)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	return g_date_time_new_from_iso8601(doc_str(image, member), utc);
}

static void set_deprecation(json_t *image)
{
	g_autoptr(GDateTime) created = time_of(image, "creationDate");
	g_autoptr(GDateTime) end =
		created ? g_date_time_add_years(created, DEPRECATED_AFTER_YEARS) : NULL;
	g_autofree char *text = end ? g_date_time_format(end, "%Y-%m-%dT%H:%M:%S.000Z") : NULL;
	if (text)
		json_object_set_new(image, "deprecationTime", json_string(text));
}

static json_t *image_new(const RgSimPlace *region, const json_t *seed)
{
	const char *name = doc_str(seed, "name");
	const char *owner = doc_str(seed, "owner");
	const char *alias = doc_str(seed, "alias");
	g_autofree char *id = rg_sim_fixed_id("ami-", region->name, name);
	g_autofree char *snapshot = rg_sim_fixed_id("snap-", region->name, name);
	g_autofree char *location = g_strconcat(*alias ? alias : owner, "/", name, NULL);
	const char *root = json_object_get(seed, "root") ? doc_str(seed, "root") : "/dev/sda1";
	json_t *disk = json_pack("{s:s, s:{s:b, s:i, s:s, s:O, s:s, s:i, s:b}}", "deviceName", root,
		"ebs", "deleteOnTermination", 1, "iops", 3000, "snapshotId", snapshot, "volumeSize",
		json_object_get(seed, "root_gb"), "volumeType", "gp3", "throughput", 125,
		"encrypted", 0);
	json_t *image = json_pack("{s:s, s:s, s:[o], s:s, s:b, s:s}", "platformDetails",
		"Linux/UNIX", "usageOperation", "RunInstances", "blockDeviceMapping", disk,
		"description", doc_str(seed, "description"), "enaSupport", 1, "hypervisor", "xen");
	if (*alias)
		json_object_set_new(image, "imageOwnerAlias", json_string(alias));
	json_auto_t *rest = json_pack(
		"{s:s, s:s, s:s, s:s, s:[], s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s}",
		"name", name, "rootDeviceName", root, "rootDeviceType", "ebs", "sriovNetSupport",
		"simple", "tagSet", "virtualizationType", "hvm", "bootMode", "uefi-preferred",
		"imdsSupport", "v2.0", "imageId", id, "imageLocation", location, "imageState",
		"available", "imageOwnerId", owner, "isPublic", 1, "creationDate",
		doc_str(seed, "created"), "architecture", doc_str(seed, "arch"));
	json_object_set_new(rest, "imageType", json_string("machine"));
	set_deprecation(rest);
	json_object_update(image, rest);
	return image;
}

void ec2_images_seed(RgSimPlace *region)
{
	rg_json_foreach (seed, ec2_data(region)->images)
		rg_sim_put(region, EC2_IMAGE, image_new(region, seed));
}

/* Deprecated images are shown to those who ask for them; nobody here owns one. */
static bool age_wanted(const RgSimCall *call, const json_t *image)
{
	g_autoptr(GDateTime) end = time_of(image, "deprecationTime");
	return call_bool(call, "IncludeDeprecated", false) || !end ||
	       g_date_time_to_unix(end) > call->sim->now_ms / 1000;
}

/* Owner.N: an account, an alias, or "self". */
static bool is_wanted(const RgSimCall *call, const json_t *image)
{
	if (!age_wanted(call, image))
		return false;
	const char *owner = doc_str(image, "imageOwnerId");
	return ec2_is_asked(call, "Owner", owner) ||
	       ec2_is_asked(call, "Owner", doc_str(image, "imageOwnerAlias")) ||
	       (g_str_equal(owner, EC2_ACCOUNT) && ec2_is_asked(call, "Owner", "self"));
}

static bool describe_images(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"name", "name"}, {"image-id", "imageId"},
		{"architecture", "architecture"}, {"state", "imageState"},
		{"owner-id", "imageOwnerId"}, {"owner-alias", "imageOwnerAlias"},
		{"root-device-type", "rootDeviceType"}, {"root-device-name", "rootDeviceName"},
		{"virtualization-type", "virtualizationType"}, {"is-public", "isPublic"},
		{"image-type", "imageType"}, {"hypervisor", "hypervisor"},
		{"description", "description"}, {"ena-support", "enaSupport"},
		{"creation-date", "creationDate"}, {"platform-details", "platformDetails"},
		{"boot-mode", "bootMode"},
		{"block-device-mapping.volume-type", "blockDeviceMapping.ebs.volumeType"}, {NULL}};
	static const Ec2Listing listing = {
		"imagesSet", EC2_IMAGE, "ImageId", filters, .wanted = is_wanted, .least = 1};
	return ec2_describe(call, &listing);
}

/* ---- SSM: the public parameters under /aws/service, which name a region's newest images, and
 * those added by the knob `parameters` */

/* Knobs have no time of their own: all of their parameters were set at this time. */
#define OWN_SET_S 1.7e9

/* The newest image that a public parameter stands for; *versions also counts its predecessors. */
static const json_t *newest_image(const RgSimCall *call, const json_t *entry, json_int_t *versions)
{
	const json_t *newest = NULL;
	*versions = 0;
	rg_sim_foreach (image, call->place, EC2_IMAGE) {
		if (!g_str_equal(doc_str(image, "imageOwnerId"), doc_str(entry, "owner")) ||
			!g_pattern_match_simple(doc_str(entry, "image"), doc_str(image, "name")))
			continue;
		++*versions;
		if (!newest || g_strcmp0(doc_str(image, "creationDate"),
				       doc_str(newest, "creationDate")) > 0)
			newest = image;
	}
	return newest;
}

static json_t *parameter_new(const RgSimCall *call, const char *name, const char *value,
	const char *account, json_int_t version, double modified_s)
{
	g_autofree char *arn = g_strdup_printf("arn:aws:ssm:%s:%s:parameter%s%s", call->place->name,
		account, *name == '/' ? "" : "/", name);
	return json_pack("{s:s, s:s, s:s, s:I, s:f, s:s, s:s}", "Name", name, "Type", "String",
		"Value", value, "Version", version, "LastModifiedDate", modified_s, "ARN", arn,
		"DataType", "text");
}

static json_t *public_parameter(const RgSimCall *call, const char *name)
{
	const json_t *entry = json_object_get(ec2_data(call->place)->parameters, name);
	json_int_t versions = 0;
	const json_t *image = entry ? newest_image(call, entry, &versions) : NULL;
	if (!image)
		return NULL;
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) made =
		g_date_time_new_from_iso8601(doc_str(image, "creationDate"), utc);
	return parameter_new(call, name, doc_str(image, "imageId"), "", versions,
		made ? (double)g_date_time_to_unix(made) : 0);
}

/* NULL if there is none. The caller owns it. */
static json_t *parameter_find(const RgSimCall *call, const char *name)
{
	const char *own = json_string_value(
		json_object_get(json_object_get(call->sim->knobs, "parameters"), name));
	return own ? parameter_new(call, name, own, EC2_ACCOUNT, 1, OWN_SET_S)
		   : public_parameter(call, name);
}

static bool get_parameter(RgSimCall *call)
{
	const char *name = call_str(call, "Name");
	json_t *parameter = parameter_find(call, name);
	if (!parameter)
		return rg_sim_fail(call, 400, "ParameterNotFound", "Parameter %s not found.", name);
	return ec2_json_answer(call, json_pack("{s:o}", "Parameter", parameter));
}

static bool get_parameters(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = call_texts(call, "Names");
	json_t *found = json_array();
	json_t *invalid = json_array();
	rg_ptr_foreach (const char, name, names) {
		json_t *parameter = parameter_find(call, name);
		if (parameter)
			json_array_append_new(found, parameter);
		else
			json_array_append_new(invalid, json_string(name));
	}
	return ec2_json_answer(
		call, json_pack("{s:o, s:o}", "Parameters", found, "InvalidParameters", invalid));
}

const RgSimAction ec2_image_actions[] = {
	{"DescribeImages", describe_images, false,
		"ImageId IncludeDeprecated IncludeDisabled Owner" PAGED},
	{"GetParameter", get_parameter, false, "Name WithDecryption", SSM_API},
	{"GetParameters", get_parameters, false, "Names WithDecryption", SSM_API},
	{NULL},
};
