#include <string.h>
#include "catalog/internal.h"

/* One way to get the requested GPUs, and what it is compared by. */
typedef struct {
	const RgInstanceType *type;
	RgOfferState state;
	int64_t price; /* in the region; else the lowest anywhere; else INT64_MAX */
} Candidate;

/* Suggests the nearest name, or where to define a correct but unknown one. */
static void hint_word(RgDiag *diag, const char *near)
{
	if (near)
		rg_diag_hint(diag, "did you mean `%s`?", near);
	else
		rg_diag_hint(
			diag, "add unknown types to `catalog` of raygpu.yaml (raygpu-spec(5))");
}

bool rg_catalog_check_region(
	const RgCatalog *catalog, const char *region, RgSource source, RgDiags *diags)
{
	if (rg_catalog_has_region(catalog, region))
		return true;
	if (!*region)
		return false; /* a spec without one is reported earlier */
	RgDiag *diag = rg_diags_error(diags, "catalog.unknown-region",
		"%s has no %s \"%s\" in raygpu's catalog", catalog->provider, catalog->words.region,
		region);
	rg_diag_at(diag, source);
	const char *near = rg_nearest_word(region, (const char *const *)catalog->regions->pdata);
	if (near)
		rg_diag_hint(diag, "did you mean `%s`?", near);
	return false;
}

const RgInstanceType *rg_catalog_get_type(
	const RgCatalog *catalog, const char *name, RgSource source, RgDiags *diags)
{
	const RgInstanceType *type = rg_catalog_find_type(catalog, name);
	if (type)
		return type;
	RgDiag *diag = rg_diags_error(diags, "catalog.unknown-type",
		"\"%s\" is not in the catalog of %s %ss", name, catalog->provider,
		catalog->words.instance_type);
	rg_diag_at(diag, source);
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	for (guint i = 0; i < catalog->types->len; i++) {
		const RgInstanceType *known = catalog->types->pdata[i];
		/* types begin with the letter of their class: c5 is not a misspelled g5 */
		if (g_ascii_tolower(known->name[0]) == g_ascii_tolower(name[0]))
			g_ptr_array_add(words, (void *)(uintptr_t)known->name);
	}
	g_ptr_array_add(words, NULL);
	hint_word(diag, rg_nearest_word(name, (const char *const *)words->pdata));
	return NULL;
}

/* Whole GPUs of that model on a host that the default images support. */
static bool carries(const RgInstanceType *type, const GPtrArray *models)
{
	return type->gpu && type->gpu_fraction == 1 && g_str_equal(type->arch, "x86_64") &&
	       g_ptr_array_find((GPtrArray *)(uintptr_t)models, type->gpu, NULL);
}

static int64_t lowest_price(const RgInstanceType *type)
{
	return type->lowest_microusd_hour != RG_MONEY_UNKNOWN ? type->lowest_microusd_hour
							      : INT64_MAX;
}

static Candidate make_candidate(
	const RgCatalog *catalog, const RgInstanceType *type, const char *region)
{
	Candidate candidate = {type, rg_catalog_offer_state(catalog, type, region), 0};
	candidate.price = candidate.state == RG_OFFER_PRICED
				  ? rg_catalog_find_price(type, region)->microusd_hour
				  : lowest_price(type);
	return candidate;
}

static bool is_better(const Candidate *a, const Candidate *b)
{
	if (!b->type || a->state != b->state)
		return !b->type || a->state < b->state;
	if (a->price != b->price)
		return a->price < b->price;
	return strcmp(a->type->name, b->type->name) < 0;
}

/* "g4dn.xlarge (1), g4dn.12xlarge (4)": the region's types with these models, by count. */
static char *list_counts(const RgCatalog *catalog, const GPtrArray *models, const char *region)
{
	g_autoptr(GString) text = g_string_new(NULL);
	unsigned below = 0;
	for (;;) {
		Candidate best = {0};
		for (guint i = 0; i < catalog->types->len; i++) {
			const RgInstanceType *type = catalog->types->pdata[i];
			if (!carries(type, models) || type->gpus <= below ||
				(best.type && type->gpus > best.type->gpus))
				continue;
			Candidate candidate = make_candidate(catalog, type, region);
			bool fewer = best.type && type->gpus < best.type->gpus;
			if (candidate.state != RG_OFFER_NONE &&
				(fewer || is_better(&candidate, &best)))
				best = candidate;
		}
		if (!best.type)
			break;
		below = best.type->gpus;
		g_string_append_printf(
			text, "%s%u (%s)", text->len > 0 ? ", " : "", below, best.type->name);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* "east-1, west-2": where the data have a type with exactly that many. */
static char *list_regions(const RgCatalog *catalog, const GPtrArray *models, unsigned count)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint r = 0; r + 1 < catalog->regions->len; r++) {
		const char *region = catalog->regions->pdata[r];
		bool found = false;
		for (guint i = 0; i < catalog->types->len && !found; i++) {
			const RgInstanceType *type = catalog->types->pdata[i];
			found = carries(type, models) && type->gpus == count &&
				rg_catalog_find_price(type, region);
		}
		if (found)
			g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", region);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void report_no_offer(const RgCatalog *catalog, const char *region, const char *word,
	unsigned count, const GPtrArray *models, RgDiag *diag)
{
	g_autofree char *counts = list_counts(catalog, models, region);
	const char *place = rg_place_name(catalog->provider, region);
	g_autofree char *regions = list_regions(catalog, models, count);
	if (counts[0] == '\0')
		rg_diag_detail(diag, "%s has no whole %s on x86_64 hosts", place, word);
	else
		rg_diag_detail(diag, "%s in %s, GPUs per node: %s", word, place, counts);
	if (regions[0] != '\0' && !catalog->no_regions)
		rg_diag_hint(diag, "%s:%u is offered in %s", word, count, regions);
	else if (counts[0] != '\0')
		rg_diag_hint(diag, "use one of these counts, or another accelerator");
}

static const char *const *words_of(const RgCatalog *catalog, GPtrArray *words)
{
	for (guint i = 0; i < catalog->types->len; i++) {
		const RgInstanceType *type = catalog->types->pdata[i];
		if (type->gpu && type->gpu->ray_type[0] != '\0') {
			g_ptr_array_add(words, (void *)(uintptr_t)type->gpu->ray_type);
			g_ptr_array_add(words, (void *)(uintptr_t)type->gpu->name);
		}
	}
	g_ptr_array_add(words, NULL);
	return (const char *const *)words->pdata;
}

static void report_unknown(
	const RgCatalog *catalog, const char *word, RgSource source, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "catalog.unknown-accelerator", "unknown accelerator \"%s\"", word);
	rg_diag_at(diag, source);
	g_autofree char *upper = g_ascii_strup(word, -1);
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	hint_word(diag, rg_nearest_word(upper, words_of(catalog, words)));
}

bool rg_catalog_check_accelerator(
	const RgCatalog *catalog, const char *word, RgSource source, RgDiags *diags)
{
	if (rg_gpus_named(catalog->gpus, word))
		return true;
	report_unknown(catalog, word, source, diags);
	return false;
}

const RgInstanceType *rg_catalog_offer(const RgCatalog *catalog, const char *region,
	const char *word, unsigned count, RgSource source, RgDiags *diags)
{
	const GPtrArray *models = rg_gpus_named(catalog->gpus, word);
	if (!models) {
		report_unknown(catalog, word, source, diags);
		return NULL;
	}
	Candidate best = {0};
	for (guint i = 0; i < catalog->types->len; i++) {
		const RgInstanceType *type = catalog->types->pdata[i];
		if (!carries(type, models) || type->gpus != count)
			continue;
		Candidate candidate = make_candidate(catalog, type, region);
		if (candidate.state != RG_OFFER_NONE && is_better(&candidate, &best))
			best = candidate;
	}
	if (best.type)
		return best.type;
	RgDiag *diag = rg_diags_error(diags, "catalog.no-offer", "no %s %s has %u %s GPU%s in %s",
		catalog->provider, catalog->words.instance_type, count, word, count == 1 ? "" : "s",
		rg_place_name(catalog->provider, region));
	rg_diag_at(diag, source);
	report_no_offer(catalog, region, word, count, models, diag);
	return NULL;
}
