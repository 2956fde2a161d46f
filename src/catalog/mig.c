#include "catalog/mig.h"
#include <string.h>
#include "base/embedded.h"
#include "catalog/internal.h"

struct RgMig {
	GStringChunk *texts;
	GHashTable *profiles_of; /* model, borrowed from texts -> GPtrArray of RgMigProfile* */
};

void rg_mig_free(RgMig *mig)
{
	if (!mig)
		return;
	g_hash_table_unref(mig->profiles_of);
	g_string_chunk_free(mig->texts);
	g_free(mig);
}

const GPtrArray *rg_mig_profiles(const RgMig *mig, const char *gpu_model)
{
	return g_hash_table_lookup(mig->profiles_of, gpu_model);
}

static RgMigProfile *mig_find(const RgMig *mig, const char *gpu_model, const char *profile)
{
	const GPtrArray *profiles = rg_mig_profiles(mig, gpu_model);
	for (guint i = 0; profiles && i < profiles->len; i++) {
		RgMigProfile *one = profiles->pdata[i];
		if (g_str_equal(one->name, profile))
			return one;
	}
	return NULL;
}

const RgMigProfile *rg_mig_find(const RgMig *mig, const char *gpu_model, const char *profile)
{
	return mig_find(mig, gpu_model, profile);
}

/* ---- loading */

static const char *keep(RgMig *mig, const char *text)
{
	return g_string_chunk_insert_const(mig->texts, text);
}

static RgMigMedia media_of(const char *name)
{
	return g_str_has_suffix(name, "+me.all") ? RG_MIG_MEDIA_ALL
	       : g_str_has_suffix(name, "+me")	 ? RG_MIG_MEDIA_FLOW
	       : g_str_has_suffix(name, "-me")	 ? RG_MIG_MEDIA_NONE
						 : RG_MIG_MEDIA_SHARE;
}

static void add_profile(RgMig *mig, const char *model, const RgMigProfile *profile)
{
	GPtrArray *profiles = g_hash_table_lookup(mig->profiles_of, model);
	if (!profiles) {
		profiles = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(mig->profiles_of, (gpointer)(uintptr_t)model, profiles);
	}
	RgMigProfile *added = g_memdup2(profile, sizeof *profile);
	added->media = media_of(profile->name);
	g_ptr_array_add(profiles, added);
}

/* At least 1 and at most `max`. */
static bool read_number(const RgTable *table, size_t row, size_t column, unsigned max,
	unsigned *value, RgDiags *diags)
{
	if (!rg_table_count(table, row, column, value, diags))
		return false;
	if (*value >= 1 && *value <= max)
		return true;
	g_autofree char *expected = g_strdup_printf("1 to %u", max);
	rg_table_complain(table, row, column, expected, diags);
	return false;
}

static bool read_profile(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgMig *mig = self;
	enum { MODEL, NAME, COMPUTE, MEMORY, MEMORY_MIB, INSTANCES };
	const char *model = keep(mig, rg_table_cell(table, row, MODEL));
	RgMigProfile profile = {.name = keep(mig, rg_table_cell(table, row, NAME))};
	if (*model == '\0' || *profile.name == '\0' || mig_find(mig, model, profile.name)) {
		rg_table_complain(table, row, NAME, "a profile that its GPU has once", diags);
		return false;
	}
	if (!read_number(table, row, COMPUTE, RG_MIG_MAX_SLICES, &profile.compute_slices, diags) ||
		!read_number(table, row, MEMORY, 100000, &profile.memory_gb, diags) ||
		!read_number(table, row, MEMORY_MIB, profile.memory_gb * 1024, &profile.memory_mib,
			diags) ||
		!read_number(table, row, INSTANCES, RG_MIG_MAX_SLICES, &profile.instances, diags))
		return false;
	add_profile(mig, model, &profile);
	return true;
}

static bool read_placement(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgMig *mig = self;
	enum { MODEL, NAME, START, SIZE };
	RgMigProfile *profile =
		mig_find(mig, rg_table_cell(table, row, MODEL), rg_table_cell(table, row, NAME));
	unsigned start, size;
	if (!profile) {
		rg_table_complain(table, row, NAME, "a profile of mig_profiles.csv", diags);
		return false;
	}
	if (!rg_table_count(table, row, START, &start, diags) ||
		!read_number(table, row, SIZE, RG_MIG_MAX_SLICES, &size, diags))
		return false;
	unsigned n = profile->n_starts;
	bool ascends = n == 0 || (start > profile->starts[n - 1] && size == profile->size);
	if (n == RG_MIG_MAX_PLACEMENTS || !ascends || start + size > RG_MIG_MAX_SLICES) {
		rg_table_complain(table, row, START,
			"a place on the chip behind the last one, of equal size", diags);
		return false;
	}
	profile->size = size;
	profile->starts[profile->n_starts++] = start;
	return true;
}

static const RgDataFile files[] = {
	{"mig_profiles.csv",
		{"gpu_model", "profile", "compute_slices", "memory_gb", "memory_mib", "instances"},
		read_profile},
	{"mig_placements.csv", {"gpu_model", "profile", "start", "size"}, read_placement},
};

RgMig *rg_mig_open_text(RgCatalogText text, void *data, RgDiags *diags)
{
	g_autoptr(RgMig) mig = g_new0(RgMig, 1);
	mig->texts = g_string_chunk_new(4096);
	mig->profiles_of = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	const RgCatalogSource source = {.text = text, .data = data};
	bool good = rg_catalog_read_files(files, G_N_ELEMENTS(files), &source, mig, diags);
	return good ? g_steal_pointer(&mig) : NULL;
}

/* "2g.72gb": 2 compute slices, 72 GB; as MiB, if they are not given, what is certain, 88 % of as
 * many GiB (data/README.md). */
static void add_own_profile(RgMig *mig, const char *model, const char *name, const json_t *value)
{
	char *rest = NULL;
	unsigned mib = rg_own_mig_memory(value);
	RgMigProfile profile = {.name = keep(mig, name),
		.compute_slices = (unsigned)g_ascii_strtoull(name, &rest, 10),
		.instances = rg_own_mig_count(value)};
	profile.memory_gb = (unsigned)g_ascii_strtoull(rest + strlen("g."), NULL, 10);
	profile.memory_mib = mib ? mib : (unsigned)(profile.memory_gb * 1024 * 0.88);
	add_profile(mig, keep(mig, model), &profile);
}

static void add_own(RgMig *mig, const RgGpuModel *model)
{
	rg_json_foreach_member (name, value, model->own_mig) {
		RgMigProfile *known = mig_find(mig, model->name, name);
		if (known)
			known->memory_mib = rg_own_mig_memory(value);
		else
			add_own_profile(mig, model->name, name, value);
	}
}

RgMig *rg_mig_open(const RgGpus *gpus, RgDiags *diags)
{
	RgMig *mig = rg_mig_open_text(
		rg_catalog_embedded_text, (void *)(uintptr_t)rg_catalog_data, diags);
	const GPtrArray *models = gpus ? rg_gpus_get_all(gpus) : NULL;
	for (guint i = 0; mig && models && i < models->len; i++)
		add_own(mig, models->pdata[i]);
	return mig;
}

/* ---- placing */

/* What is already on the chip. */
typedef struct {
	const RgMigProfile *const *wish;
	size_t n;
	unsigned *starts;
	unsigned taken; /* memory slices, one bit each */
} Chip;

/* Equal profiles get ascending places: their order makes no difference. */
static bool place_from(Chip *chip, size_t i)
{
	if (i == chip->n)
		return true;
	const RgMigProfile *profile = chip->wish[i];
	bool again = i > 0 && chip->wish[i - 1] == profile;
	for (unsigned k = 0; k < profile->n_starts; k++) {
		unsigned mask = ((1u << profile->size) - 1) << profile->starts[k];
		if ((chip->taken & mask) != 0 ||
			(again && profile->starts[k] < chip->starts[i - 1]))
			continue;
		chip->taken |= mask;
		chip->starts[i] = profile->starts[k];
		if (place_from(chip, i + 1))
			return true;
		chip->taken &= ~mask;
	}
	return false;
}

static bool counts_suffice(const RgMigProfile *const *wish, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned same = 0;
		for (size_t k = 0; k < n; k++)
			same += wish[k] == wish[i];
		if (same > wish[i]->instances || (wish[i]->size == 0 && same < n))
			return false;
	}
	return true;
}

/* One slice alone has the engines that the chip has once; beside one that has all, the others have
 * none. */
bool rg_mig_media_suffices(const RgMigProfile *const *wish, size_t n)
{
	unsigned flow = 0, all = 0, some = 0;
	for (size_t i = 0; i < n; i++) {
		flow += wish[i]->media == RG_MIG_MEDIA_FLOW || wish[i]->media == RG_MIG_MEDIA_ALL;
		all += wish[i]->media == RG_MIG_MEDIA_ALL;
		some += wish[i]->media != RG_MIG_MEDIA_NONE;
	}
	return flow <= 1 && (all == 0 || some == 1);
}

unsigned rg_mig_places(const RgMig *mig, const char *gpu_model)
{
	const GPtrArray *profiles = rg_mig_profiles(mig, gpu_model);
	unsigned places = 0;
	for (guint i = 0; profiles && i < profiles->len; i++) {
		const RgMigProfile *one = profiles->pdata[i];
		if (one->n_starts > 0)
			places = MAX(places, one->starts[one->n_starts - 1] + one->size);
	}
	return places;
}

bool rg_mig_place(const RgMigProfile *const *wish, size_t n, unsigned *starts)
{
	unsigned found[RG_MIG_MAX_SLICES] = {0};
	if (n > RG_MIG_MAX_SLICES || !counts_suffice(wish, n) || !rg_mig_media_suffices(wish, n))
		return false;
	bool known = n == 0 || wish[0]->size > 0;
	Chip chip = {wish, n, found, 0};
	if (known && !place_from(&chip, 0))
		return false;
	for (size_t i = 0; starts && i < n; i++)
		starts[i] = known ? found[i] : RG_MIG_MAX_SLICES;
	return true;
}
