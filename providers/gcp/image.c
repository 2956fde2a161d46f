/* Images: those that the spec names, and the default by architecture (images.csv). A family is
 * pinned to the image that it has now. */
#include <string.h>
#include "gcp/data.h"
#include "gcp/resolve.h"

enum { FAMILY, PROJECT, ARCH, DRIVER, MODULES, CLOUD_INIT, FIELDS };

/* An image that some nodes need. */
typedef struct {
	const json_t *want;
	GcpQuestion *question;
	char *path; /* what is asked for */
} Image;

static void image_free(gpointer data)
{
	Image *image = data;
	g_free(image->path);
	g_free(image);
}

static GPtrArray *image_rows(void)
{
	return mod_rows(gcp_data_find("images.csv")->data, FIELDS, FIELDS + 1);
}

/* Images with open modules, or of which nothing is known, are never a default for older GPUs. */
static bool has_modules(char *const *row, const char *driver)
{
	return g_str_equal(driver, "proprietary") ? g_str_equal(row[MODULES], driver)
						  : !g_str_equal(row[MODULES], "proprietary");
}

static void refuse_default(const GcpCall *call, const json_t *want)
{
	if (g_str_equal(mod_str(want, "driver"), "proprietary"))
		mod_refuse(call, mod_str(want, "origin"),
			"set `image` to one with cloud-init and NVIDIA's proprietary kernel "
			"modules, or choose T4 or newer GPUs",
			"the default images have NVIDIA's open kernel modules, which do not "
			"support GPUs before Turing");
	else
		mod_refuse(call, mod_str(want, "origin"),
			"set `image` to one with cloud-init and, for GPUs, their driver",
			"there is no default image for %s", mod_str(want, "arch"));
}

/* The default is the first row for the architecture and the driver. */
static char *path_of(const GcpCall *call, const json_t *want)
{
	const char *named = mod_str(want, "image"), *arch = mod_str(want, "arch");
	if (strchr(named, '/'))
		return g_strdup(named);
	if (*named)
		return g_strdup_printf("projects/%s/global/images/%s", gcp_project(call), named);
	g_autoptr(GPtrArray) rows = image_rows();
	mod_ptr_foreach (ModField, fields, rows)
		if (g_str_equal(fields[ARCH], arch) && has_modules(fields, mod_str(want, "driver")))
			return g_strdup_printf("projects/%s/global/images/family/%s",
				fields[PROJECT], fields[FAMILY]);
	refuse_default(call, want);
	return NULL;
}

rgp_status gcp_images_ask(GcpAsking *asking, const json_t *wanted, GPtrArray **images)
{
	g_autoptr(GHashTable) asked = g_hash_table_new(g_str_hash, g_str_equal);
	*images = g_ptr_array_new_with_free_func(image_free);
	mod_foreach (want, wanted) {
		Image *image = g_new0(Image, 1);
		g_ptr_array_add(*images, image);
		image->want = want;
		image->path = path_of(asking->call, want);
		if (!image->path)
			return RGP_FAIL;
		image->question = g_hash_table_lookup(asked, image->path);
		if (!image->question)
			image->question = gcp_ask(asking,
				strstr(image->path, "/family/") ? "images.getFromFamily"
								: "images.get",
				g_strdup(image->path), mod_str(want, "origin"));
		g_hash_table_insert(asked, image->path, image->question);
	}
	return RGP_OK;
}

/* The row of the image's project and family; a family that ends with '-' is a prefix. */
static char **row_of(const GPtrArray *rows, const char *path, const char *family)
{
	mod_ptr_foreach (ModField, fields, rows) {
		g_autofree char *project = g_strdup_printf("projects/%s/", fields[PROJECT]);
		bool prefix = g_str_has_suffix(fields[FAMILY], "-");
		if (g_str_has_prefix(path, project) &&
			(prefix ? g_str_has_prefix(family, fields[FAMILY])
				: g_str_equal(family, fields[FAMILY])))
			return fields;
	}
	return NULL;
}

static rgp_status check(const GcpCall *call, const Image *image, char *const *row)
{
	const json_t *record = image->question->answer.body;
	const char *origin = mod_str(image->want, "origin"), *name = mod_str(record, "name");
	const char *state = mod_str(json_object_get(record, "deprecated"), "state");
	const char *status = mod_str(record, "status");
	if (*status && strcmp(status, "READY"))
		return mod_refuse(call, origin, "choose another image", "image %s is %s, not READY",
			name, status);
	if (g_str_equal(state, "OBSOLETE") || g_str_equal(state, "DELETED"))
		return mod_refuse(
			call, origin, "choose another image", "image %s is %s", name, state);
	if (row && g_str_equal(row[CLOUD_INIT], "no"))
		return mod_refuse(call, origin,
			"use an Ubuntu image with the GPU driver, or leave `image` out",
			"images of %s have no cloud-init that raygpu can boot with: %s would "
			"ignore "
			"its user data",
			row[PROJECT], name);
	return RGP_OK;
}

static json_t *driver_of(char *const *row)
{
	if (!row || !*row[DRIVER])
		return NULL;
	json_t *driver = json_pack("{s:s}", "version", row[DRIVER]);
	if (*row[MODULES])
		json_object_set_new(driver, "modules", json_string(row[MODULES]));
	return driver;
}

/* GVNIC and others; lower.c checks them. */
static json_t *features_of(const json_t *record)
{
	json_t *features = json_array();
	mod_foreach (feature, json_object_get(record, "guestOsFeatures"))
		json_array_append_new(features, json_string(mod_str(feature, "type")));
	return features;
}

static json_t *fact_of(const Image *image, char *const *row)
{
	const json_t *record = image->question->answer.body;
	const char *arch = mod_str(record, "architecture");
	const char *deprecated = mod_str(json_object_get(record, "deprecated"), "deprecated");
	const char *known = g_str_equal(arch, "ARM64")	  ? "arm64"
			    : g_str_equal(arch, "X86_64") ? "x86_64"
							  : mod_str(image->want, "arch");
	json_t *fact = json_pack("{s:s, s:s, s:s, s:I, s:o}", "id",
		gcp_path_of(mod_str(record, "selfLink")), "name", mod_str(record, "name"), "arch",
		known, "min_disk_gb",
		(json_int_t)g_ascii_strtoll(mod_str(record, "diskSizeGb"), NULL, 10), "features",
		features_of(record));
	json_t *driver = driver_of(row);
	json_object_set_new(fact, "root_device", json_null());
	if (driver)
		json_object_set_new(fact, "driver", driver);
	if (*deprecated)
		json_object_set_new(fact, "deprecated", json_string(deprecated));
	return fact;
}

rgp_status gcp_images_take(const GcpCall *call, const GPtrArray *images, json_t *facts)
{
	g_autoptr(GPtrArray) rows = image_rows();
	rgp_status status = RGP_OK;
	mod_ptr_foreach (const Image, image, images) {
		const json_t *record = image->question->answer.body;
		const char *path = gcp_path_of(mod_str(record, "selfLink"));
		bool exists;
		if (gcp_answered(call, image->question, &exists) != RGP_OK)
			return RGP_FAIL;
		if (!exists) {
			status = mod_refuse(call, mod_str(image->want, "origin"),
				"`gcloud compute images list` shows names and families; an image "
				"of another project is projects/PROJECT/global/images/NAME",
				"there is no image %s", image->path);
			continue;
		}
		char **row = row_of(rows, path, mod_str(record, "family"));
		if (check(call, image, row) != RGP_OK)
			status = RGP_FAIL;
		else
			json_object_set_new(
				facts, mod_str(image->want, "key"), fact_of(image, row));
	}
	return status;
}
