#include "catalog/compat.h"
#include <string.h>
#include "base/embedded.h"
#include "base/price.h"
#include "base/version.h"
#include "catalog/internal.h"

typedef struct {
	const char *api, *option, *from;
	const char *to; /* empty: none yet */
} Option;

struct RgCompat {
	GStringChunk *texts;
	GPtrArray *rays;   /* RgRayRelease*, oldest first */
	GPtrArray *images; /* RgRayImages* */
	GArray *options;   /* Option */
	GArray *cudas;	   /* RgCudaRelease */
	GArray *archs;	   /* RgCudaArch */
};

static void free_ray(void *data)
{
	RgRayRelease *ray = data;
	g_strfreev(ray->patches);
	g_strfreev(ray->wheel_pythons);
	g_free(ray);
}

static void free_images(void *data)
{
	RgRayImages *images = data;
	g_strfreev(images->pythons);
	g_strfreev(images->cuda_tags);
	g_free(images);
}

void rg_compat_free(RgCompat *compat)
{
	if (!compat)
		return;
	g_ptr_array_unref(compat->rays);
	g_ptr_array_unref(compat->images);
	g_array_unref(compat->options);
	g_array_unref(compat->cudas);
	g_array_unref(compat->archs);
	g_string_chunk_free(compat->texts);
	g_free(compat);
}

static const char *keep(RgCompat *compat, const RgTable *table, size_t row, size_t column)
{
	return g_string_chunk_insert_const(compat->texts, rg_table_cell(table, row, column));
}

/* Numbers separated by points; an empty cell only if `may_be_empty`. */
static bool is_version(
	const RgTable *table, size_t row, size_t column, bool may_be_empty, RgDiags *diags)
{
	const char *text = rg_table_cell(table, row, column);
	bool good = *text == '\0' ? may_be_empty : g_ascii_isdigit(*text);
	for (size_t i = 0; text[i] != '\0' && good; i++)
		good = g_ascii_isdigit(text[i]) || (text[i] == '.' && text[i + 1] != '\0');
	if (!good)
		rg_table_complain(table, row, column, "a version such as 12.1", diags);
	return good;
}

static GStrv keep_list(const RgTable *table, size_t row, size_t column)
{
	return g_strsplit(rg_table_cell(table, row, column), "|", 0);
}

static bool is_date(const char *text)
{
	return strlen(text) == strlen("2026-10-01") && rg_date_is_valid(text);
}

static bool read_ray(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCompat *compat = self;
	enum { RELEASE, PATCHES, WHEELS, CHECKED };
	if (!is_version(table, row, RELEASE, false, diags))
		return false;
	if (!is_date(rg_table_cell(table, row, CHECKED))) {
		rg_table_complain(table, row, CHECKED, "a date such as 2026-10-01", diags);
		return false;
	}
	const RgRayRelease *last =
		compat->rays->len > 0 ? compat->rays->pdata[compat->rays->len - 1] : NULL;
	RgRayRelease *ray = g_new0(RgRayRelease, 1);
	g_ptr_array_add(compat->rays, ray);
	ray->release = keep(compat, table, row, RELEASE);
	ray->patches = keep_list(table, row, PATCHES);
	ray->wheel_pythons = keep_list(table, row, WHEELS);
	ray->checked = keep(compat, table, row, CHECKED);
	if (last && rg_version_compare(last->release, ray->release) >= 0) {
		rg_table_complain(table, row, RELEASE, "releases in ascending order", diags);
		return false;
	}
	bool good = ray->patches[0] != NULL;
	for (size_t i = 0; ray->patches[i] && good; i++)
		good = g_ascii_string_to_unsigned(ray->patches[i], 10, 0, 9999, NULL, NULL);
	if (!good)
		rg_table_complain(table, row, PATCHES, "numbers separated by bars", diags);
	return good;
}

static bool overlap(const RgRayImages *a, const RgRayImages *b)
{
	return g_str_equal(a->repository, b->repository) &&
	       rg_version_compare(a->from, b->to) <= 0 && rg_version_compare(b->from, a->to) <= 0;
}

/* One of two words; true for the first. */
static bool read_word(const RgTable *table, size_t row, size_t column, const char *const *words,
	bool *is_first, RgDiags *diags)
{
	const char *text = rg_table_cell(table, row, column);
	*is_first = g_str_equal(text, words[0]);
	if (*is_first || g_str_equal(text, words[1]))
		return true;
	g_autofree char *expected = g_strdup_printf("%s or %s", words[0], words[1]);
	rg_table_complain(table, row, column, expected, diags);
	return false;
}

static bool read_images(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCompat *compat = self;
	enum { REPOSITORY, FROM, TO, PYTHONS, TAGS, ALIAS, CPU, BARE, ARM64, FORM };
	static const char *const bare[] = {"cpu", "gpu"}, *const form[] = {"deprecated", "plain"};
	bool is_cpu = false;
	if (!is_version(table, row, FROM, false, diags) ||
		!is_version(table, row, TO, false, diags))
		return false;
	RgRayImages *images = g_new0(RgRayImages, 1);
	g_ptr_array_add(compat->images, images);
	images->repository = keep(compat, table, row, REPOSITORY);
	images->from = keep(compat, table, row, FROM);
	images->to = keep(compat, table, row, TO);
	images->pythons = keep_list(table, row, PYTHONS);
	images->cuda_tags = keep_list(table, row, TAGS);
	images->gpu_alias = keep(compat, table, row, ALIAS);
	images->bare = keep(compat, table, row, BARE);
	if (!rg_table_yes_no(table, row, CPU, &images->cpu, diags) ||
		!rg_table_yes_no(table, row, ARM64, &images->arm64, diags) ||
		!read_word(table, row, BARE, bare, &is_cpu, diags) ||
		!read_word(table, row, FORM, form, &images->deprecated, diags))
		return false;
	if (rg_version_compare(images->from, images->to) > 0) {
		rg_table_complain(table, row, TO, "a version not before \"from\"", diags);
		return false;
	}
	for (guint i = 0; i + 1 < compat->images->len; i++) {
		if (!overlap(images, compat->images->pdata[i]))
			continue;
		rg_table_complain(table, row, FROM, "releases, each only once", diags);
		return false;
	}
	if (!g_strv_contains((const char *const *)images->cuda_tags, images->gpu_alias)) {
		rg_table_complain(table, row, ALIAS, "one of cuda_tags", diags);
		return false;
	}
	return true;
}

static bool read_option(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCompat *compat = self;
	enum { API, OPTION, FROM, TO };
	if (!is_version(table, row, FROM, false, diags) || !is_version(table, row, TO, true, diags))
		return false;
	Option option = {keep(compat, table, row, API), keep(compat, table, row, OPTION),
		keep(compat, table, row, FROM), keep(compat, table, row, TO)};
	if (rg_compat_option_from(compat, option.api, option.option)) {
		rg_table_complain(table, row, OPTION, "an option once", diags);
		return false;
	}
	g_array_append_val(compat->options, option);
	return true;
}

static bool read_cuda(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCompat *compat = self;
	enum { TAG, CUDA, DRIVER, DRIVER_MINOR };
	for (size_t column = CUDA; column <= DRIVER_MINOR; column++) {
		if (!is_version(table, row, column, false, diags))
			return false;
	}
	RgCudaRelease cuda = {keep(compat, table, row, TAG), keep(compat, table, row, CUDA),
		keep(compat, table, row, DRIVER), keep(compat, table, row, DRIVER_MINOR)};
	if (rg_compat_cuda(compat, cuda.tag)) {
		rg_table_complain(table, row, TAG, "a unique tag", diags);
		return false;
	}
	g_array_append_val(compat->cudas, cuda);
	return true;
}

static bool read_arch(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCompat *compat = self;
	enum { CAPABILITY, ARCHITECTURE, FIRST, LAST, DRIVER };
	RgCudaArch arch = {0};
	if (!rg_gpu_parse_capability(rg_table_cell(table, row, CAPABILITY), &arch.capability)) {
		rg_table_complain(
			table, row, CAPABILITY, "a compute capability such as 8.0", diags);
		return false;
	}
	if (!is_version(table, row, FIRST, false, diags) ||
		!is_version(table, row, LAST, true, diags) ||
		!rg_table_count_or_none(table, row, DRIVER, &arch.last_driver, diags))
		return false;
	arch.architecture = keep(compat, table, row, ARCHITECTURE);
	arch.first_cuda = keep(compat, table, row, FIRST);
	arch.last_cuda = keep(compat, table, row, LAST);
	if (rg_compat_arch(compat, arch.capability)) {
		rg_table_complain(table, row, CAPABILITY, "a unique one", diags);
		return false;
	}
	g_array_append_val(compat->archs, arch);
	return true;
}

static const RgDataFile files[] = {
	{"ray_releases.csv", {"release", "patches", "wheel_pythons", "checked"}, read_ray},
	{"ray_images.csv",
		{"repository", "from", "to", "pythons", "cuda_tags", "gpu_alias", "cpu", "bare",
			"arm64", "tags"},
		read_images},
	{"ray_options.csv", {"api", "option", "from", "to"}, read_option},
	{"cuda_releases.csv", {"tag", "cuda", "min_driver", "min_driver_minor"}, read_cuda},
	{"cuda_archs.csv",
		{"compute_capability", "architecture", "first_cuda", "last_cuda",
			"last_driver_branch"},
		read_arch},
};

RgCompat *rg_compat_open_with(RgCatalogText text, void *data, RgDiags *diags)
{
	g_autoptr(RgCompat) compat = g_new0(RgCompat, 1);
	compat->texts = g_string_chunk_new(4096);
	compat->rays = g_ptr_array_new_with_free_func(free_ray);
	compat->images = g_ptr_array_new_with_free_func(free_images);
	compat->options = g_array_new(FALSE, FALSE, sizeof(Option));
	compat->cudas = g_array_new(FALSE, FALSE, sizeof(RgCudaRelease));
	compat->archs = g_array_new(FALSE, FALSE, sizeof(RgCudaArch));
	const RgCatalogSource source = {.text = text, .data = data};
	bool good = rg_catalog_read_files(files, G_N_ELEMENTS(files), &source, compat, diags);
	return good ? g_steal_pointer(&compat) : NULL;
}

RgCompat *rg_compat_open(RgDiags *diags)
{
	return rg_compat_open_with(
		rg_catalog_embedded_text, (void *)(uintptr_t)rg_catalog_data, diags);
}

const RgRayRelease *rg_compat_ray(const RgCompat *compat, const char *version)
{
	rg_ptr_foreach (const RgRayRelease, ray, compat->rays) {
		if (rg_version_compare_common(version, ray->release) == 0)
			return ray;
	}
	return NULL;
}

const char *rg_compat_ray_date(const RgCompat *compat)
{
	const char *newest = "";
	rg_ptr_foreach (const RgRayRelease, ray, compat->rays) {
		if (strcmp(ray->checked, newest) > 0)
			newest = ray->checked;
	}
	return newest;
}

/* "1" of "2.52.1". */
static const char *patch_of(const char *version)
{
	const char *last = strrchr(version, '.');
	return last ? last + 1 : "";
}

/* Ray still adds patches to the minor release before the newest one: 2.51.2 came after 2.52.0. */
#define OPEN_RELEASES 2

RgRayState rg_compat_ray_state(const RgCompat *compat, const char *version)
{
	const GPtrArray *rays = compat->rays;
	const RgRayRelease *ray = rg_compat_ray(compat, version);
	if (ray) {
		const char *patch = patch_of(version), *last = NULL;
		if (g_strv_contains((const char *const *)ray->patches, patch))
			return RG_RAY_LISTED;
		last = ray->patches[g_strv_length(ray->patches) - 1];
		guint index = 0;
		g_ptr_array_find((GPtrArray *)(uintptr_t)rays, ray, &index);
		bool is_open = index + OPEN_RELEASES >= rays->len;
		return is_open && rg_version_compare(patch, last) > 0 ? RG_RAY_UNKNOWN
								      : RG_RAY_MISSING;
	}
	const RgRayRelease *oldest = rays->len > 0 ? rays->pdata[0] : NULL;
	const RgRayRelease *newest = rays->len > 0 ? rays->pdata[rays->len - 1] : NULL;
	return oldest && rg_version_compare(version, oldest->release) > 0 &&
			       rg_version_compare(version, newest->release) < 0
		       ? RG_RAY_MISSING
		       : RG_RAY_UNKNOWN;
}

char *rg_compat_ray_near(const RgCompat *compat, const char *version)
{
	g_autofree char *before = NULL, *after = NULL;
	for (guint i = 0; i < compat->rays->len && !after; i++) {
		const RgRayRelease *ray = compat->rays->pdata[i];
		for (size_t k = 0; ray->patches[k] && !after; k++) {
			char *one = g_strconcat(ray->release, ".", ray->patches[k], NULL);
			if (rg_version_compare(one, version) > 0) {
				after = one;
				continue;
			}
			g_free(before);
			before = one;
		}
	}
	if (before && after)
		return g_strdup_printf("%s and %s", before, after);
	return g_strdup(before ? before : after);
}

const RgRayImages *rg_compat_images(
	const RgCompat *compat, const char *repository, const char *version)
{
	rg_ptr_foreach (const RgRayImages, images, compat->images) {
		if (g_str_equal(images->repository, repository) &&
			rg_version_compare_common(version, images->from) >= 0 &&
			rg_version_compare_common(version, images->to) <= 0)
			return images;
	}
	return NULL;
}

const RgRayImages *rg_compat_newest_images(const RgCompat *compat, const char *repository)
{
	const RgRayImages *newest = NULL;
	rg_ptr_foreach (const RgRayImages, images, compat->images) {
		if (g_str_equal(images->repository, repository) &&
			(!newest || rg_version_compare(images->to, newest->to) > 0))
			newest = images;
	}
	return newest;
}

/* `sign` 1: from `cuda` on, the oldest; -1: up to `cuda`, the newest. */
static const RgCudaRelease *find_platform(
	const RgCompat *compat, const RgRayImages *images, const char *cuda, int sign)
{
	const RgCudaRelease *best = NULL;
	for (size_t i = 0; images->cuda_tags[i]; i++) {
		const RgCudaRelease *one = rg_compat_cuda(compat, images->cuda_tags[i]);
		if (one && sign * rg_version_compare(one->cuda, cuda) >= 0 &&
			(!best || sign * rg_version_compare(one->cuda, best->cuda) < 0))
			best = one;
	}
	return best;
}

const RgCudaRelease *rg_compat_platform_from(
	const RgCompat *compat, const RgRayImages *images, const char *cuda)
{
	return find_platform(compat, images, cuda, 1);
}

const RgCudaRelease *rg_compat_platform_until(
	const RgCompat *compat, const RgRayImages *images, const char *cuda)
{
	return find_platform(compat, images, cuda, -1);
}

static const Option *find_option(const RgCompat *compat, const char *api, const char *name)
{
	for (guint i = 0; i < compat->options->len; i++) {
		const Option *option = &g_array_index(compat->options, Option, i);
		if (g_str_equal(option->api, api) && g_str_equal(option->option, name))
			return option;
	}
	return NULL;
}

bool rg_compat_has_option(
	const RgCompat *compat, const char *api, const char *option, const char *version)
{
	const Option *found = find_option(compat, api, option);
	return found && rg_version_compare_common(version, found->from) >= 0 &&
	       (*found->to == '\0' || rg_version_compare_common(version, found->to) <= 0);
}

const char *rg_compat_option_from(const RgCompat *compat, const char *api, const char *option)
{
	const Option *found = find_option(compat, api, option);
	return found ? found->from : NULL;
}

const RgCudaRelease *rg_compat_cuda(const RgCompat *compat, const char *tag)
{
	for (guint i = 0; i < compat->cudas->len; i++) {
		const RgCudaRelease *cuda = &g_array_index(compat->cudas, RgCudaRelease, i);
		if (g_str_equal(cuda->tag, tag))
			return cuda;
	}
	return NULL;
}

const RgCudaArch *rg_compat_arch(const RgCompat *compat, unsigned capability)
{
	for (guint i = 0; i < compat->archs->len; i++) {
		const RgCudaArch *arch = &g_array_index(compat->archs, RgCudaArch, i);
		if (arch->capability == capability)
			return arch;
	}
	return NULL;
}
