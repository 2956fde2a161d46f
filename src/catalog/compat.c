#include "catalog/compat.h"
#include <string.h>
#include "base/embedded.h"
#include "base/version.h"
#include "catalog/internal.h"

struct RgCompat {
	GStringChunk *texts;
	GPtrArray *rays; /* RgRayRelease* */
	GArray *cudas;	 /* RgCudaRelease */
	GArray *archs;	 /* RgCudaArch */
};

extern const struct rg_embedded rg_catalog_data[];

static void free_ray(void *data)
{
	RgRayRelease *ray = data;
	g_strfreev(ray->image_pythons);
	g_strfreev(ray->wheel_pythons);
	g_strfreev(ray->cuda_tags);
	g_free(ray);
}

void rg_compat_free(RgCompat *compat)
{
	if (!compat)
		return;
	g_ptr_array_unref(compat->rays);
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

static bool read_ray(RgCompat *compat, const RgTable *table, size_t row, RgDiags *diags)
{
	enum { FROM, TO, IMAGES, WHEELS, TAGS, ALIAS };
	if (!is_version(table, row, FROM, false, diags) ||
		!is_version(table, row, TO, false, diags))
		return false;
	RgRayRelease *ray = g_new0(RgRayRelease, 1);
	g_ptr_array_add(compat->rays, ray);
	ray->from = keep(compat, table, row, FROM);
	ray->to = keep(compat, table, row, TO);
	ray->image_pythons = g_strsplit(rg_table_cell(table, row, IMAGES), "|", 0);
	ray->wheel_pythons = g_strsplit(rg_table_cell(table, row, WHEELS), "|", 0);
	ray->cuda_tags = g_strsplit(rg_table_cell(table, row, TAGS), "|", 0);
	ray->gpu_alias = keep(compat, table, row, ALIAS);
	if (rg_version_compare(ray->from, ray->to) > 0) {
		rg_table_complain(table, row, TO, "a version not before \"from\"", diags);
		return false;
	}
	for (guint i = 0; i + 1 < compat->rays->len; i++) {
		const RgRayRelease *other = compat->rays->pdata[i];
		if (rg_version_compare(ray->from, other->to) > 0 ||
			rg_version_compare(other->from, ray->to) > 0)
			continue;
		rg_table_complain(table, row, FROM, "releases, each only once", diags);
		return false;
	}
	if (!g_strv_contains((const char *const *)ray->cuda_tags, ray->gpu_alias)) {
		rg_table_complain(table, row, ALIAS, "one of cuda_tags", diags);
		return false;
	}
	return true;
}

static bool read_cuda(RgCompat *compat, const RgTable *table, size_t row, RgDiags *diags)
{
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

static bool read_arch(RgCompat *compat, const RgTable *table, size_t row, RgDiags *diags)
{
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

static const struct {
	const char *file;
	const char *columns[7];
	bool (*read)(RgCompat *compat, const RgTable *table, size_t row, RgDiags *diags);
} files[] = {
	{"ray_releases.csv",
		{"from", "to", "image_pythons", "wheel_pythons", "cuda_tags", "gpu_alias"},
		read_ray},
	{"cuda_releases.csv", {"tag", "cuda", "min_driver", "min_driver_minor"}, read_cuda},
	{"cuda_archs.csv",
		{"compute_capability", "architecture", "first_cuda", "last_cuda",
			"last_driver_branch"},
		read_arch},
};

static bool load_file(RgCompat *compat, size_t file, const RgCatalogSource *source, RgDiags *diags)
{
	g_autoptr(RgTable) table =
		rg_catalog_read_table(source, files[file].file, files[file].columns, diags);
	bool good = table != NULL;
	for (size_t row = 0; table && row < rg_table_rows(table); row++)
		good = files[file].read(compat, table, row, diags) && good;
	return good;
}

RgCompat *rg_compat_open_with(RgCatalogText text, void *data, RgDiags *diags)
{
	g_autoptr(RgCompat) compat = g_new0(RgCompat, 1);
	compat->texts = g_string_chunk_new(4096);
	compat->rays = g_ptr_array_new_with_free_func(free_ray);
	compat->cudas = g_array_new(FALSE, FALSE, sizeof(RgCudaRelease));
	compat->archs = g_array_new(FALSE, FALSE, sizeof(RgCudaArch));
	const RgCatalogSource source = {.text = text, .data = data};
	bool good = true;
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
		good = load_file(compat, i, &source, diags) && good;
	return good ? g_steal_pointer(&compat) : NULL;
}

RgCompat *rg_compat_open(RgDiags *diags)
{
	return rg_compat_open_with(
		rg_catalog_embedded_text, (void *)(uintptr_t)rg_catalog_data, diags);
}

const RgRayRelease *rg_compat_ray(const RgCompat *compat, const char *version)
{
	for (guint i = 0; i < compat->rays->len; i++) {
		const RgRayRelease *ray = compat->rays->pdata[i];
		if (rg_version_compare_common(version, ray->from) >= 0 &&
			rg_version_compare_common(version, ray->to) <= 0)
			return ray;
	}
	return NULL;
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
