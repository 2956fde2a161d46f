#include "offers/offers.h"
#include <math.h>
#include <string.h>

/* Why no offer is left of a request: what came nearest, in the nearest group of reasons. */

#define NEAREST_SHOWN 4
#define PLACES_SHOWN 6

typedef struct {
	const RgWish *wish;
	const RgGpus *gpus;
} Request;

static bool is_asked(const RgWish *wish, const RgGpus *gpus, const RgGpuModel *model)
{
	for (guint i = 0; wish->accelerators && i < wish->accelerators->len; i++) {
		const RgAccelerator *asked = wish->accelerators->pdata[i];
		for (size_t n = 0; asked->names && asked->names[n]; n++) {
			if (rg_gpus_is_model(gpus, asked->names[n], model))
				return true;
		}
	}
	return false;
}

/* V100-32GB for V100. */
static bool is_sister(const RgWish *wish, const RgGpus *gpus, const RgGpuModel *model)
{
	const GPtrArray *models = rg_gpus_get_all(gpus);
	for (guint i = 0; model && i < models->len; i++) {
		if (rg_gpus_are_sisters(models->pdata[i], model) &&
			is_asked(wish, gpus, models->pdata[i]))
			return !is_asked(wish, gpus, model);
	}
	return false;
}

/* Of the nearest group; sisters of the requested model before all others of the group. 0: no help,
 * such as another model where the requested one is offered elsewhere. */
static unsigned rank_of(
	const RgWish *wish, const RgGpus *gpus, const RgOffer *offer, bool elsewhere)
{
	const RgGpuModel *gpu = offer->type->gpu;
	const bool sister = is_sister(wish, gpus, gpu);
	if (offer->state == RG_OFFER_NONE ||
		(elsewhere && !sister && !(gpu && is_asked(wish, gpus, gpu))))
		return 0;
	return offer->nearness * 2 + sister;
}

/* From the number of GPUs that was asked for. */
static unsigned distance_of(const RgWish *wish, const RgOffer *offer)
{
	const RgAccelerator *asked =
		wish->accelerators ? wish->accelerators->pdata[offer->preference] : NULL;
	const unsigned gpus = offer->type->gpus;
	if (!asked || (wish->any_count && !asked->counted))
		return 0;
	return gpus > asked->count ? gpus - asked->count : asked->count - gpus;
}

/* How much one GPU is unlike another: in memory, as a power of two, and in compute capability. */
static double unlikeness(const RgGpuModel *a, const RgGpuModel *b)
{
	return fabs(log2((double)MAX(a->memory_gb, 1) / MAX(b->memory_gb, 1))) +
	       fabs((double)a->compute_capability - (double)b->compute_capability) / 20;
}

/* From the nearest of the models that were asked for; 0: none were, or it is one of them. */
static double unlikeness_of(const Request *request, const RgGpuModel *model)
{
	const GPtrArray *models = rg_gpus_get_all(request->gpus);
	double least = -1;
	for (guint i = 0; model && i < models->len; i++) {
		if (!is_asked(request->wish, request->gpus, models->pdata[i]))
			continue;
		const double unlike = unlikeness(model, models->pdata[i]);
		least = least < 0 ? unlike : MIN(least, unlike);
	}
	return MAX(least, 0);
}

/* Of one group: the most similar GPU, the nearest count, then the largest memory; else as they
 * are. */
static int by_distance(gconstpointer left, gconstpointer right, gpointer data)
{
	const Request *request = data;
	const RgOffer *a = *(RgOffer *const *)left, *b = *(RgOffer *const *)right;
	const double unlike = unlikeness_of(request, a->type->gpu),
		     other_unlike = unlikeness_of(request, b->type->gpu);
	if (unlike < other_unlike || unlike > other_unlike)
		return unlike < other_unlike ? -1 : 1;
	const unsigned x = distance_of(request->wish, a), y = distance_of(request->wish, b);
	if (x != y)
		return x < y ? -1 : 1;
	const unsigned mib = a->type->gpu_memory_mib, other = b->type->gpu_memory_mib;
	return (other > mib) - (other < mib);
}

static void add_nearest(GString *text, const RgWish *wish, const RgGpus *gpus,
	const GPtrArray *offers, bool elsewhere)
{
	g_autoptr(GPtrArray) all = g_ptr_array_copy((GPtrArray *)(uintptr_t)offers, NULL, NULL);
	g_ptr_array_set_free_func(all, NULL);
	Request request = {wish, gpus};
	g_ptr_array_sort_with_data(all, by_distance, &request);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	unsigned best = 0, shown = 0;
	for (guint i = 0; i < all->len; i++)
		best = MAX(best, rank_of(wish, gpus, all->pdata[i], elsewhere));
	for (guint i = 0; i < all->len && shown < NEAREST_SHOWN && best > 0; i++) {
		const RgOffer *offer = all->pdata[i];
		if (rank_of(wish, gpus, offer, elsewhere) < best ||
			!g_hash_table_add(seen, (void *)(uintptr_t)offer->type->name))
			continue;
		g_autofree char *place = rg_place_text(offer->provider, offer->region);
		g_string_append_printf(text, "%snearest: %s (%s, %s)", text->len ? "\n" : "",
			offer->type->name, place, offer->rejected);
		shown++;
	}
}

static bool is_of_count(const RgWish *wish, unsigned gpus)
{
	for (guint i = 0; wish->accelerators && i < wish->accelerators->len; i++) {
		const RgAccelerator *asked = wish->accelerators->pdata[i];
		if (asked->count == gpus || (wish->any_count && !asked->counted))
			return true;
	}
	return false;
}

/* Takes the word. */
static void add_once(GPtrArray *words, char *word)
{
	if (g_ptr_array_find_with_equal_func(words, word, g_str_equal, NULL))
		g_free(word);
	else
		g_ptr_array_add(words, word);
}

GPtrArray *offers_sisters(const RgWish *wish, const RgGpus *gpus, const GPtrArray *all)
{
	GPtrArray *words = g_ptr_array_new_null_terminated(0, g_free, TRUE);
	for (guint i = 0; i < all->len; i++) {
		const RgInstanceType *type = ((const RgOffer *)all->pdata[i])->type;
		if (!is_sister(wish, gpus, type->gpu) || !is_of_count(wish, type->gpus))
			continue;
		const RgAccelerator *asked = wish->accelerators->pdata[0];
		add_once(words, wish->any_count && !asked->counted
					? g_strdup(type->gpu->name)
					: g_strdup_printf("%s:%u", type->gpu->name, type->gpus));
	}
	return words;
}

/* "offered in cloud east-1, cloud east-2 and 11 more", the cheapest first. */
static bool add_elsewhere(GString *text, const RgWish *wish, const GArray *everywhere)
{
	if (!everywhere)
		return false;
	const RgPlace *places = (const RgPlace *)(void *)everywhere->data;
	g_autoptr(GPtrArray) offers = rg_offers_find(wish, places, everywhere->len);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	rg_ptr_foreach (const RgOffer, offer, offers)
		add_once(names, rg_place_text(offer->provider, offer->region));
	for (guint i = 0; i < MIN(names->len, PLACES_SHOWN); i++)
		g_string_append_printf(text, "%s%s",
			i	    ? ", "
			: text->len ? "\noffered in "
				    : "offered in ",
			(const char *)names->pdata[i]);
	if (names->len > PLACES_SHOWN)
		g_string_append_printf(text, " and %u more", names->len - PLACES_SHOWN);
	return names->len > 0;
}

/* "GPUs per node that are sold: 1, 2, 4", if only the number is wrong. */
static void add_counts(GString *text, const RgWish *wish, const RgGpus *gpus, const GPtrArray *all)
{
	bool has[256] = {false};
	const char *name = NULL;
	for (guint i = 0; i < all->len; i++) {
		const RgInstanceType *type = ((const RgOffer *)all->pdata[i])->type;
		if (!type->gpu || type->gpu_fraction != 1 || type->gpus >= G_N_ELEMENTS(has) ||
			!is_asked(wish, gpus, type->gpu))
			continue;
		has[type->gpus] = true;
		name = type->gpu->name;
	}
	for (size_t n = 0, shown = 0; name && n < G_N_ELEMENTS(has); n++) {
		if (!has[n])
			continue;
		if (shown++ == 0)
			g_string_append_printf(text, "%sGPUs per node that are sold: %zu",
				text->len ? "\n" : "", n);
		else
			g_string_append_printf(text, ", %zu", n);
	}
}

static void add_retired(GString *text, const RgWish *wish, const RgPlace *place)
{
	const GPtrArray *retired = rg_catalog_get_retired(place->catalog);
	g_autofree char *last = NULL;
	rg_ptr_foreach (const RgRetiredType, type, retired) {
		if (!type->gpu || !is_asked(wish, rg_catalog_get_gpus(place->catalog), type->gpu))
			continue;
		const bool exact = *type->since != '\0';
		g_autofree char *when =
			g_strdup_printf("retired %s %s: %s ", exact ? "on" : "in or before",
				exact ? type->since : type->gone_by, place->provider);
		if (g_strcmp0(last, when) == 0)
			g_string_append_printf(text, ", %s", type->name);
		else
			g_string_append_printf(
				text, "%s%s%s", text->len ? "\n" : "", when, type->name);
		g_free(last);
		last = g_steal_pointer(&when);
	}
}

void offers_explain_none(Context *context, const OfferList *list, const RgWish *wish,
	const GPtrArray *all, const GArray *here, const GArray *everywhere)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const RgPlace *places = (const RgPlace *)(void *)here->data;
	const RgGpus *gpus = rg_catalog_get_gpus(places[0].catalog);
	add_counts(text, wish, gpus, all);
	const bool elsewhere = add_elsewhere(text, wish, everywhere);
	add_nearest(text, wish, gpus, all, elsewhere);
	for (guint i = 0; i < here->len; i++)
		add_retired(text, wish, &places[i]);
	RgDiag *diag = rg_diags_error(context->diags, "catalog.no-offer",
		"nothing in the catalog satisfies \"%s\" here", list->title);
	if (text->len)
		rg_diag_detail(diag, "%s", text->str);
	if (list->sisters->len) {
		g_autofree char *words = g_strjoinv("` or `", (char **)list->sisters->pdata);
		rg_diag_hint(diag, "did you mean `%s`?", words);
	} else if (elsewhere)
		rg_diag_hint(diag, "`raygpu offers` without --provider and --region lists each "
				   "place with its prices");
	else
		rg_diag_hint(diag, "--all lists every type with the reason");
}
