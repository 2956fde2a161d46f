#include "offers/offers.h"
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/money.h"
#include "base/price.h"
#include "render/text/csv.h"

static double gpu_memory_gb(const RgOffer *offer)
{
	const RgGpuModel *gpu = offer->type->gpu;
	return gpu ? (double)gpu->memory_gb * offer->type->gpus * offer->type->gpu_fraction : 0;
}

static int64_t amount_of(const RgPrice *price)
{
	return price ? price->microusd_hour : RG_MONEY_UNKNOWN;
}

static json_t *amount_json(int64_t amount)
{
	return amount != RG_MONEY_UNKNOWN ? json_integer(amount) : json_null();
}

static json_t *price_json(const RgPrice *price)
{
	if (!price)
		return json_null();
	json_t *json = json_object();
	json_object_set_new(json, "microusd_hour", amount_json(price->microusd_hour));
	rg_json_set_str(json, "zone", *price->zone ? price->zone : NULL);
	rg_json_set_str(json, "quality", price->quality);
	rg_json_set_str(json, "date", price->date);
	rg_json_set_str(json, "own", price->own);
	return json;
}

static json_t *carbon_json(const RgCarbonHour *carbon)
{
	if (carbon->mg_hour == RG_CARBON_UNKNOWN)
		return json_null();
	return json_pack("{s:I, s:f, s:s?, s:s?}", "mg_hour", (json_int_t)carbon->mg_hour,
		"grid_g_per_kwh", carbon->g_per_kwh, "grid_year", carbon->year, "grid_source",
		carbon->source);
}

static json_t *offer_json(const RgTables *tables, const RgOffer *offer)
{
	const RgInstanceType *type = offer->type;
	const RgGpuModel *gpu = type->gpu;
	json_t *row = json_object();
	rg_json_set_str(row, "provider", offer->provider);
	rg_json_set_str(row, "region", offer->region);
	rg_json_set_str(row, "instance_type", type->name);
	rg_json_set_str(row, "gpu", gpu ? gpu->name : NULL);
	rg_json_set_str(row, "accelerator", gpu && *gpu->ray_type ? gpu->ray_type : NULL);
	json_object_set_new(row, "gpus", json_integer(type->gpus));
	json_object_set_new(row, "gpu_memory_gb", gpu ? json_integer(gpu->memory_gb) : json_null());
	json_object_set_new(
		row, "gpu_memory_gib", json_real(round(type->gpu_memory_mib / 1024.0 * 100) / 100));
	json_object_set_new(row, "gpu_memory_mib", json_integer(type->gpu_memory_mib));
	json_object_set_new(row, "vcpus", json_integer(type->vcpus));
	json_object_set_new(row, "memory_gib", json_real(type->memory_gib));
	json_object_set_new(row, "network_gbps",
		type->network_gbps > 0 ? json_real(type->network_gbps) : json_null());
	json_object_set_new(row, "rdma_adapters", json_integer(type->rdma_adapters));
	g_autofree char *markets = rg_catalog_list_markets(type);
	rg_json_set_str(row, "markets", markets);
	json_object_set_new(row, "on_demand", price_json(offer->on_demand));
	json_object_set_new(row, "spot", price_json(offer->spot));
	double memory = gpu_memory_gb(offer);
	bool known = offer->price != RG_MONEY_UNKNOWN && memory > 0;
	json_object_set_new(row, "price_per_gpu_microusd_hour",
		known ? json_integer(offer->price / offer->type->gpus) : json_null());
	json_object_set_new(row, "price_per_gpu_memory_gb_microusd_hour",
		known ? json_integer((json_int_t)((double)offer->price / memory)) : json_null());
	json_object_set_new(row, "carbon", carbon_json(&offer->carbon));
	json_object_set_new(row, "preference", json_integer(offer->preference + 1));
	json_object_set_new(row, "module_installed",
		json_boolean(rg_tables_have(tables, offer->provider, "schema.json")));
	json_object_set_new(row, "own",
		json_pack(
			"{s:s?, s:s?}", "instance_type", type->own, "gpu", gpu ? gpu->own : NULL));
	rg_json_set_str(row, "rejected", offer->rejected);
	return row;
}

/* "1.2300" with that many decimals, rounded half up, or "-". */
static char *dollars(int64_t microusd, unsigned digits)
{
	int64_t one = digits == 4 ? 10000 : 100, unit = 1000000 / one;
	int64_t rounded = (microusd + unit / 2) / unit;
	return microusd == RG_MONEY_UNKNOWN
		       ? g_strdup("-")
		       : g_strdup_printf("%" G_GINT64_FORMAT ".%0*d", rounded / one, (int)digits,
				 (int)(rounded % one));
}

/* Which of the row's figures come from the project file, and their lines, so that none looks built
 * in. "type raygpu.yaml:5, price raygpu.yaml:7"; g_free the result. */
static char *list_own(const RgOffer *offer)
{
	const struct {
		const char *what, *place;
	} parts[] = {{"GPU", offer->type->gpu ? offer->type->gpu->own : NULL},
		{"type", offer->type->own},
		{"price", offer->on_demand ? offer->on_demand->own : NULL},
		{"spot price", offer->spot ? offer->spot->own : NULL}};
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		if (parts[i].place)
			g_string_append_printf(text, "%s%s %s", text->len ? ", " : "",
				parts[i].what, parts[i].place);
	}
	return g_string_free(text, FALSE);
}

/* What the printed prices are worth, and the columns of names, which each list needs as wide. */
typedef struct {
	const char *today;
	RgPriceMarks seen;
	int place, type, gpu;
} Worth;

static void widen(int *column, const char *text)
{
	*column = MAX(*column, (int)g_utf8_strlen(text, -1));
}

static void measure(Worth *worth, const RgOffer *offer)
{
	g_autofree char *place = rg_place_text(offer->provider, offer->region);
	widen(&worth->place, place);
	widen(&worth->type, offer->type->name);
	if (offer->type->gpu)
		widen(&worth->gpu, offer->type->gpu->name);
}

/* "45.35~": with its marks. */
static char *price_text(const RgPrice *price, Worth *worth)
{
	g_autofree char *text = dollars(amount_of(price), 2);
	if (amount_of(price) == RG_MONEY_UNKNOWN)
		return g_steal_pointer(&text);
	return g_strconcat(
		text, rg_price_mark(&worth->seen, price->quality, price->date, worth->today), NULL);
}

/* Of the price that counts, else of any. */
static const char *date_of(const RgOffer *offer)
{
	const RgPrice *prices[] = {offer->on_demand, offer->spot};
	for (size_t i = 0; i < G_N_ELEMENTS(prices); i++) {
		if (prices[i] && prices[i]->date && prices[i]->microusd_hour == offer->price)
			return prices[i]->date;
	}
	return offer->on_demand && offer->on_demand->date ? offer->on_demand->date : "-";
}

/* Two lines, because one would not fit in 80 columns: long type names (hosts with attached GPUs).
 */
static void offers_add_row(GString *text, const RgOffer *offer, Worth *worth)
{
	const RgInstanceType *type = offer->type;
	double memory = gpu_memory_gb(offer);
	bool known = offer->price != RG_MONEY_UNKNOWN && memory > 0;
	g_autofree char *on_demand = price_text(offer->on_demand, worth);
	g_autofree char *spot = price_text(offer->spot, worth);
	g_autofree char *each = dollars(known ? offer->price / type->gpus : RG_MONEY_UNKNOWN, 2);
	g_autofree char *gigabyte =
		dollars(known ? (int64_t)((double)offer->price / memory) : RG_MONEY_UNKNOWN, 4);
	g_autofree char *carbon =
		offer->carbon.mg_hour != RG_CARBON_UNKNOWN
			? g_strdup_printf("%.3f", (double)offer->carbon.mg_hour / 1e6)
			: g_strdup("-");
	g_autofree char *place = rg_place_text(offer->provider, offer->region);
	g_autofree char *gpus =
		g_strdup_printf("%ux%u", type->gpus, type->gpu ? type->gpu->memory_gb : 0);
	g_string_append_printf(text, "%-*s %-*s %s\n", worth->place, place, worth->type, type->name,
		date_of(offer));
	g_string_append_printf(text, "  %-*s %-7s %9s %8s %8s %8s %7s\n", worth->gpu,
		type->gpu ? type->gpu->name : "-", gpus, on_demand, spot, each, gigabyte, carbon);
	g_autofree char *own = list_own(offer);
	if (*own)
		g_string_append_printf(text, "  own: %s\n", own);
	if (offer->rejected)
		g_string_append_printf(text, "  rejected: %s\n", offer->rejected);
}

static guint shown_of(const OfferList *list)
{
	return list->limit > 0 ? MIN(list->offers->len, (guint)list->limit) : list->offers->len;
}

/* "47 offers in 31 regions, with 1, 8 GPUs" */
static void add_title(GString *text, const OfferList *list)
{
	const GPtrArray *offers = list->offers;
	g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GString) counts = g_string_new(NULL);
	unsigned below = 0, rejected = 0;
	rg_ptr_foreach (const RgOffer, offer, offers) {
		rejected += offer->rejected != NULL;
		if (!offer->rejected)
			g_hash_table_add(places, rg_place_text(offer->provider, offer->region));
	}
	for (unsigned next = 0;; below = next) {
		next = G_MAXUINT;
		rg_ptr_foreach (const RgOffer, offer, offers) {
			unsigned gpus = offer->rejected ? 0 : offer->type->gpus;
			next = gpus > below ? MIN(next, gpus) : next;
		}
		if (next == G_MAXUINT)
			break;
		g_string_append_printf(counts, "%s%u", counts->len ? ", " : "", next);
	}
	guint n = offers->len - rejected;
	g_string_append_printf(text, "%s: %u offer%s", list->title, n, n == 1 ? "" : "s");
	if (!offers->len) {
		g_string_append(text, ".\n");
		return;
	}
	g_string_append_printf(text, " in %u place%s; GPUs per node: %s", g_hash_table_size(places),
		g_hash_table_size(places) == 1 ? "" : "s", counts->len ? counts->str : "none");
	if (rejected)
		g_string_append_printf(text, "; %u rejected", rejected);
	g_string_append(text, "\n\n");
}

static void add_notes(GString *text, const OfferList *list, const Worth *worth, GHashTable *absent)
{
	if (list->sisters->len && list->offers->len) {
		g_autofree char *words = g_strjoinv(", ", (char **)list->sisters->pdata);
		g_string_append_printf(
			text, "\nOther models of that name, not listed: %s.\n", words);
	}
	const char *legend = rg_price_legend(&worth->seen);
	if (legend)
		g_string_append_printf(text, "\n%s\n", legend);
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(absent), (GCompareFunc)strcmp);
	for (const GList *name = names; name; name = name->next)
		g_string_append_printf(text,
			"\nNo module for %s is installed: its offers can be compared, but not "
			"planned.\n",
			(const char *)name->data);
}

char *offers_today(void)
{
	char *today = rg_clock_format(rg_clock_now_s());
	today[strlen("2026-11-22")] = '\0';
	return today;
}

void offers_print_table(const OfferList *list)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const GPtrArray *offers = list->offers;
	guint shown = shown_of(list);
	g_autoptr(GHashTable) absent = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *today = offers_today();
	Worth worth = {.today = today, .place = 20, .type = 34, .gpu = 18};
	for (guint i = 0; i < shown; i++)
		measure(&worth, offers->pdata[i]);
	add_title(text, list);
	if (offers->len) {
		g_string_append_printf(text, "%-*s %-*s %s\n", worth.place, "PLACE", worth.type,
			"INSTANCE TYPE", "PRICE DATE");
		g_string_append_printf(text, "  %-*s %-7s %9s %8s %8s %8s %7s\n", worth.gpu, "GPU",
			"NxGB", "USD/h", "SPOT/h", "PER GPU", "PER GB", "kgCO2e");
	}
	for (guint i = 0; i < shown; i++) {
		const RgOffer *offer = offers->pdata[i];
		offers_add_row(text, offer, &worth);
		if (!rg_tables_have(list->tables, offer->provider, "schema.json"))
			g_hash_table_add(absent, (void *)(uintptr_t)offer->provider);
	}
	if (shown < offers->len)
		g_string_append_printf(
			text, "\n%u more; --limit 0 shows all.\n", offers->len - shown);
	add_notes(text, list, &worth, absent);
	out_text(text->str);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

void offers_print_csv(const OfferList *list)
{
	g_autoptr(GString) text = g_string_new(
		"provider,region,instance_type,gpu,gpus,gpu_memory_gb,on_demand_usd_hour,"
		"spot_usd_hour,carbon_g_hour,rejected,own,on_demand_date,on_demand_quality,"
		"spot_date,spot_quality\n");
	for (guint i = 0; i < shown_of(list); i++) {
		const RgOffer *offer = list->offers->pdata[i];
		const RgGpuModel *gpu = offer->type->gpu;
		int64_t on_demand = amount_of(offer->on_demand), spot = amount_of(offer->spot);
		g_autofree char *whole =
			on_demand != RG_MONEY_UNKNOWN ? rg_money_exact(on_demand) : g_strdup("");
		g_autofree char *part =
			spot != RG_MONEY_UNKNOWN ? rg_money_exact(spot) : g_strdup("");
		g_autofree char *own = list_own(offer);
		g_autofree char *carbon =
			offer->carbon.mg_hour != RG_CARBON_UNKNOWN
				? g_strdup_printf("%.3f", (double)offer->carbon.mg_hour / 1e3)
				: g_strdup("");
		g_autofree char *gpus = g_strdup_printf("%u", offer->type->gpus);
		g_autofree char *memory = g_strdup_printf("%u", gpu ? gpu->memory_gb : 0);
		rg_csv_add_row(text, offer->provider, offer->region, offer->type->name,
			gpu ? gpu->name : "", gpus, memory, whole, part, carbon,
			offer->rejected ? offer->rejected : "", own,
			text_or_none(offer->on_demand ? offer->on_demand->date : NULL),
			text_or_none(offer->on_demand ? offer->on_demand->quality : NULL),
			text_or_none(offer->spot ? offer->spot->date : NULL),
			text_or_none(offer->spot ? offer->spot->quality : NULL),
			(const char *)NULL);
	}
	out_text(text->str);
}

json_t *offers_json(const OfferList *list)
{
	json_t *rows = json_array();
	for (guint i = 0; i < shown_of(list); i++)
		json_array_append_new(rows, offer_json(list->tables, list->offers->pdata[i]));
	json_t *sisters = json_array();
	for (guint i = 0; i < list->sisters->len; i++)
		json_array_append_new(sisters, json_string(list->sisters->pdata[i]));
	return json_pack("{s:s, s:I, s:o, s:o}", "wish", list->title, "found",
		(json_int_t)list->offers->len, "offers", rows, "other_models", sisters);
}
