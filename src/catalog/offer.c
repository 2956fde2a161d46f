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

static bool report_unsupported(const char *word, RgSource source, RgDiags *diags)
{
	g_autofree char *what = rg_catalog_unsupported(word);
	if (!what)
		return false;
	RgDiag *diag = rg_diags_error(diags, "catalog.unsupported-accelerator",
		"raygpu cannot run Ray on \"%s\", %s", word, what);
	rg_diag_at(diag, source);
	rg_diag_hint(diag, "use NVIDIA GPUs; `raygpu offers` lists them");
	return true;
}

/* Of x86_64, which the default images are for, or the others. Types begin with the letter of their
 * class: c5 is not a misspelled g5. */
static void add_likely(GPtrArray *words, const RgCatalog *catalog, const char *name, bool x86)
{
	rg_ptr_foreach (const RgInstanceType, known, catalog->types) {
		if (g_ascii_tolower(known->name[0]) == g_ascii_tolower(name[0]) &&
			g_str_equal(known->arch, "x86_64") == x86)
			g_ptr_array_add(words, (void *)(uintptr_t)known->name);
	}
}

void rg_catalog_hint_type(const RgCatalog *catalog, const char *name, RgDiag *diag)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	add_likely(words, catalog, name, true);
	add_likely(words, catalog, name, false);
	g_ptr_array_add(words, NULL);
	hint_word(diag, rg_nearest_word(name, (const char *const *)words->pdata));
}

const RgInstanceType *rg_catalog_get_type(
	const RgCatalog *catalog, const char *name, RgSource source, RgDiags *diags)
{
	g_autofree char *why = NULL;
	const RgInstanceType *type = rg_catalog_derive(catalog, name, &why);
	const RgRetiredType *retired = type ? NULL : rg_catalog_find_retired(catalog, name);
	if (retired)
		rg_diag_at(rg_catalog_report_retired(catalog, retired, diags), source);
	if (type || retired || report_unsupported(name, source, diags))
		return type;
	if (why) {
		rg_diag_at(rg_diags_error(diags, "catalog.unknown-type", "%s has no %s \"%s\": %s",
				   catalog->provider, catalog->words.instance_type, name, why),
			source);
		return NULL;
	}
	const bool asked = rg_catalog_was_asked(catalog, name);
	RgDiag *diag = rg_catalog_report_described(catalog, name, diags);
	if (diag) {
		rg_diag_at(diag, source);
		return NULL;
	}
	diag = rg_diags_error(diags, "catalog.unknown-type",
		"\"%s\" is not in the catalog of %s %ss%s%s%s", name, catalog->provider,
		catalog->words.instance_type, asked ? ", and the " : "",
		asked ? catalog->words.region : "", asked ? " has none of this name" : "");
	rg_diag_at(diag, source);
	rg_catalog_hint_type(catalog, name, diag);
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
	return rg_instance_type_compare(a->type, b->type) < 0;
}

static bool offers_count(
	const RgCatalog *catalog, const GPtrArray *models, const char *region, unsigned count)
{
	rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
		if (carries(type, models) && type->gpus == count &&
			rg_catalog_offer_state(catalog, type, region) != RG_OFFER_NONE)
			return true;
	}
	return false;
}

/* "g4dn.xlarge (1), g4dn.12xlarge (4)": the region's types with these models, by count. */
static char *list_counts(const RgCatalog *catalog, const GPtrArray *models, const char *region)
{
	g_autoptr(GString) text = g_string_new(NULL);
	unsigned below = 0;
	for (;;) {
		Candidate best = {0};
		rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
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

static bool is_sister_of(const GPtrArray *models, const RgGpuModel *model)
{
	for (guint i = 0; i < models->len; i++) {
		if (rg_gpus_are_sisters(models->pdata[i], model))
			return !g_ptr_array_find((GPtrArray *)(uintptr_t)models, model, NULL);
	}
	return false;
}

/* "V100-32GB in east-1, ..." for V100: what else of that name the region has. Returns those with
 * exactly that many, as a spec may write them: "`V100-32GB:8`". g_free. */
static char *add_sisters(GString *detail, const RgCatalog *catalog, const GPtrArray *models,
	const char *region, unsigned count)
{
	const GPtrArray *all = rg_gpus_get_all(catalog->gpus);
	GString *exact = g_string_new(NULL);
	rg_ptr_foreach (RgGpuModel, model, all) {
		if (!is_sister_of(models, model))
			continue;
		g_autoptr(GPtrArray) one = g_ptr_array_new();
		g_ptr_array_add(one, model);
		g_autofree char *counts = list_counts(catalog, one, region);
		if (counts[0] == '\0')
			continue;
		g_string_append_printf(detail, "\n%s in %s, GPUs per node: %s", model->name,
			rg_place_name(catalog->provider, region), counts);
		if (offers_count(catalog, one, region, count))
			g_string_append_printf(
				exact, "%s`%s:%u`", exact->len ? " or " : "", model->name, count);
	}
	return g_string_free(exact, FALSE);
}

static void add_retired(GString *detail, const RgCatalog *catalog, const GPtrArray *models)
{
	for (guint i = 0, shown = 0; i < catalog->retired->len; i++) {
		const RgRetiredType *type = catalog->retired->pdata[i];
		if (!type->gpu ||
			!g_ptr_array_find((GPtrArray *)(uintptr_t)models, type->gpu, NULL))
			continue;
		if (shown++ == 0)
			g_string_append_printf(
				detail, "\n%s no longer sells %s", catalog->provider, type->name);
		else
			g_string_append_printf(detail, ", %s", type->name);
	}
}

static void report_no_offer(const RgCatalog *catalog, const char *region, const char *word,
	unsigned count, const GPtrArray *models, RgDiag *diag)
{
	g_autofree char *counts = list_counts(catalog, models, region);
	const char *place = rg_place_name(catalog->provider, region);
	g_autofree char *regions = list_regions(catalog, models, count);
	g_autoptr(GString) detail = g_string_new(NULL);
	if (counts[0] == '\0')
		g_string_append_printf(detail, "%s has no whole %s on x86_64 hosts", place, word);
	else
		g_string_append_printf(detail, "%s in %s, GPUs per node: %s", word, place, counts);
	g_autofree char *exact = add_sisters(detail, catalog, models, region, count);
	add_retired(detail, catalog, models);
	rg_diag_detail(diag, "%s", detail->str);
	const bool elsewhere = regions[0] != '\0' && !catalog->no_regions;
	if (elsewhere && exact[0] != '\0')
		rg_diag_hint(diag, "%s is offered there, %s:%u in %s", exact, word, count, regions);
	else if (elsewhere)
		rg_diag_hint(diag, "%s:%u is offered in %s", word, count, regions);
	else if (exact[0] != '\0')
		rg_diag_hint(diag, "%s is offered there", exact);
	else if (counts[0] != '\0')
		rg_diag_hint(diag, "use one of these counts, or another accelerator");
	else
		rg_diag_hint(diag, "`raygpu offers %s` lists where else it is offered", word);
}

static void add_word(GPtrArray *words, const RgGpus *gpus, const char *name)
{
	if (rg_gpus_named(gpus, name) &&
		!g_ptr_array_find_with_equal_func(words, name, g_str_equal, NULL))
		g_ptr_array_add(words, (void *)(uintptr_t)name);
}

/* The names that a spec may use: of Ray's types, and with `all` of the models. */
static GPtrArray *accelerator_words(const RgCatalog *catalog, bool all)
{
	const GPtrArray *models = rg_gpus_get_all(catalog->gpus);
	GPtrArray *words = g_ptr_array_new();
	rg_ptr_foreach (const RgGpuModel, model, models) {
		add_word(words, catalog->gpus, model->ray_type);
		if (all)
			add_word(words, catalog->gpus, model->name);
	}
	return words;
}

/* "A100, A100-40GB": those that begin like the word, as far as any does. */
static char *alike_words(const GPtrArray *words, const char *word)
{
	GString *text = g_string_new(NULL);
	for (size_t len = strlen(word); len > 0 && text->len == 0; len--) {
		for (guint i = 0; i < words->len; i++) {
			if (g_ascii_strncasecmp(words->pdata[i], word, len) == 0)
				g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "",
					(char *)words->pdata[i]);
		}
	}
	return g_string_free(text, FALSE);
}

/* The first name that has all parts of the word: RTX-PRO-6000 of rtx-6000; NULL: none. */
static const char *with_parts(const GPtrArray *words, const char *word)
{
	g_auto(GStrv) parts = g_strsplit_set(word, "-_ ", -1);
	for (guint i = 0; i < words->len && g_strv_length(parts) > 1; i++) {
		bool all = true;
		g_autofree char *name = g_ascii_strup(words->pdata[i], -1);
		for (guint k = 0; parts[k] && all; k++) {
			g_autofree char *part = g_ascii_strup(parts[k], -1);
			all = strstr(name, part) != NULL;
		}
		if (all)
			return words->pdata[i];
	}
	return NULL;
}

static void report_unknown(
	const RgCatalog *catalog, const char *word, RgSource source, RgDiags *diags)
{
	if (report_unsupported(word, source, diags))
		return;
	RgDiag *diag = rg_diags_error(
		diags, "catalog.unknown-accelerator", "unknown accelerator \"%s\"", word);
	rg_diag_at(diag, source);
	g_autoptr(GPtrArray) words = accelerator_words(catalog, true);
	g_autoptr(GPtrArray) types = accelerator_words(catalog, false);
	g_autofree char *alike = alike_words(words, word);
	const char *near = with_parts(words, word);
	g_ptr_array_add(words, NULL);
	g_ptr_array_add(types, NULL);
	g_autofree char *known = g_strjoinv(", ", (char **)types->pdata);
	rg_diag_detail(diag, "%s: %s", *alike ? "names that begin alike" : "known accelerators",
		*alike ? alike : known);
	hint_word(diag, near ? near : rg_nearest_word(word, (const char *const *)words->pdata));
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
	rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
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
