/* Prices of the project file: those of single types first, then discounts on built-in prices. */
#include <math.h>
#include <string.h>
#include "catalog/internal.h"

const json_t *rg_own_prices(const RgCatalogSource *source)
{
	const json_t *providers = source->own ? json_object_get(source->own->rows, "prices") : NULL;
	return json_object_get(providers, source->provider);
}

static RgPriceKind kind_of(const json_t *row)
{
	return g_str_equal(rg_json_str(row, "market", "on_demand"), "spot") ? RG_PRICE_SPOT
									    : RG_PRICE_ON_DEMAND;
}

/* ---- a price */

static bool has_both(const RgCatalog *catalog, const RgOwnRow *row)
{
	static const char *const needed[] = {"instance_type", "region"};
	bool good = true;
	for (size_t i = 0; i < G_N_ELEMENTS(needed) - catalog->no_regions; i++) {
		if (json_object_get(row->row, needed[i]))
			continue;
		RgDiag *diag = rg_own_complain(
			row, NULL, g_strdup_printf("this price has no \"%s\"", needed[i]));
		rg_diag_hint(diag, "hourly_usd is for one instance type in one region; "
				   "discount_percent can apply to all");
		good = false;
	}
	return good;
}

/* What one list is read with. */
typedef struct {
	RgCatalog *catalog;
	const RgCatalogSource *source;
	GHashTable *seen; /* set of "MARKET REGION TYPE" */
	RgDiags *diags;
} Reader;

static bool is_first(const Reader *reader, const RgOwnRow *row, const char *type)
{
	const char *region = rg_json_str(row->row, "region", "");
	const char *market = rg_json_str(row->row, "market", "on_demand");
	if (g_hash_table_add(reader->seen, g_strjoin(" ", market, region, type, NULL)))
		return true;
	RgDiag *diag = rg_own_complain(row, NULL,
		g_strdup_printf("the %s price of %s in %s is given twice", market, type,
			rg_place_name(reader->catalog->provider, region)));
	rg_diag_hint(diag, "keep one of the two");
	return false;
}

static void remove_prices(RgInstanceType *type, const char *region, RgPriceKind kind)
{
	GPtrArray *prices = (GPtrArray *)(uintptr_t)type->prices;
	for (guint i = prices->len; i > 0; i--) {
		const RgPrice *price = prices->pdata[i - 1];
		if (price->kind == kind && g_str_equal(price->region, region))
			g_ptr_array_remove_index(prices, i - 1);
	}
}

static void put_price(RgCatalog *catalog, const RgOwnRow *row, RgInstanceType *type)
{
	const char *date = rg_json_str(row->row, "date", NULL);
	g_autofree char *place = rg_own_place(row);
	RgPrice *price = g_new0(RgPrice, 1);
	price->region = rg_catalog_keep(catalog, rg_json_str(row->row, "region", ""));
	price->zone = "";
	price->kind = kind_of(row->row);
	price->microusd_hour =
		llround(json_number_value(json_object_get(row->row, "hourly_usd")) * 1e6);
	price->quality = "negotiated";
	price->date = date ? rg_catalog_keep(catalog, date) : NULL;
	price->own = rg_catalog_keep(catalog, place);
	type->markets |= RG_SOLD(price->kind);
	remove_prices(type, price->region, price->kind);
	g_ptr_array_add((GPtrArray *)(uintptr_t)type->prices, price);
	rg_catalog_finish_type(type);
}

static bool read_price(const Reader *reader, const RgOwnRow *row)
{
	const RgCatalog *catalog = reader->catalog;
	if (!has_both(catalog, row))
		return false;
	const char *region = rg_json_str(row->row, "region", ""), *only = reader->source->region;
	const char *name = rg_json_str(row->row, "instance_type", "");
	const RgInstanceType *type =
		rg_catalog_may_ask(catalog, name)
			? rg_catalog_await(reader->catalog, name)
			: rg_catalog_get_type(
				  catalog, name, rg_own_source(row, "instance_type"), row->diags);
	bool known = type != NULL;
	known &= rg_catalog_check_region(catalog, region, rg_own_source(row, "region"), row->diags);
	if (!known || !is_first(reader, row, type->name))
		return false;
	if (!only || g_str_equal(only, region))
		put_price(reader->catalog, row, (RgInstanceType *)(uintptr_t)type);
	return true;
}

/* ---- a discount */

static bool matches(const json_t *row, const char *key, const char *name)
{
	return g_pattern_match_simple(rg_json_str(row, key, "*"), name);
}

/* Of types that are not listed, a pattern need not match any: their names are too many. */
static bool matches_any_type(const RgCatalog *catalog, const json_t *row)
{
	if (rg_catalog_find_type(catalog, rg_json_str(row, "instance_type", "")))
		return true;
	rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
		if (matches(row, "instance_type", type->name))
			return true;
	}
	return false;
}

static bool matches_any_region(const RgCatalog *catalog, const json_t *row)
{
	for (guint i = 0; i + 1 < catalog->regions->len; i++) {
		if (matches(row, "region", catalog->regions->pdata[i]))
			return true;
	}
	return false;
}

/* A discount that matches nothing is a typing error that would cost money unnoticed. */
static bool check_discount(const RgCatalog *catalog, const RgOwnRow *row)
{
	bool has_type = matches_any_type(catalog, row->row);
	bool has_region = matches_any_region(catalog, row->row);
	if (!has_type)
		rg_own_complain(row, "instance_type",
			g_strdup_printf("no %s %s matches \"%s\"", catalog->provider,
				catalog->words.instance_type,
				rg_json_str(row->row, "instance_type", "")));
	if (!has_region)
		rg_own_complain(row, "region",
			g_strdup_printf("no %s %s matches \"%s\"", catalog->provider,
				catalog->words.region, rg_json_str(row->row, "region", "")));
	return has_type && has_region;
}

static void add_discount(RgCatalog *catalog, const RgOwnRow *row)
{
	const char *pattern = rg_json_str(row->row, "instance_type", "*");
	const RgInstanceType *one = rg_catalog_find_type(catalog, pattern);
	g_autofree char *place = rg_own_place(row);
	RgDiscount *discount = g_new(RgDiscount, 1);
	*discount = (RgDiscount){.type = rg_catalog_keep(catalog, one ? one->name : pattern),
		.region = rg_catalog_keep(catalog, rg_json_str(row->row, "region", "*")),
		.kind = kind_of(row->row),
		.percent = json_number_value(json_object_get(row->row, "discount_percent")),
		.place = rg_catalog_keep(catalog, place)};
	g_ptr_array_add(catalog->discounts, discount);
}

static void discount_all(const RgCatalog *catalog, const RgInstanceType *type)
{
	for (guint i = 0; i < type->prices->len; i++)
		rg_catalog_discount(catalog, type, type->prices->pdata[i]);
}

/* ---- both */

static bool read_row(const Reader *reader, size_t i, bool discounts)
{
	g_autofree char *folder = rg_json_pointer_add("/prices", reader->source->provider);
	g_autofree char *pointer = g_strdup_printf("%s/%zu", folder, i);
	const json_t *value = json_array_get(rg_own_prices(reader->source), i);
	RgOwnRow row = {reader->source->own, value, pointer, reader->diags};
	if ((json_object_get(value, "discount_percent") != NULL) != discounts)
		return true;
	if (!discounts)
		return read_price(reader, &row);
	if (!check_discount(reader->catalog, &row))
		return false;
	add_discount(reader->catalog, &row);
	return true;
}

/* Discounts from last to first: of several, the last one in the file applies. */
bool rg_own_add_prices(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	size_t n = json_array_size(rg_own_prices(source));
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Reader reader = {catalog, source, seen, diags};
	bool good = true;
	for (size_t i = 0; i < n; i++)
		good &= read_row(&reader, i, false);
	for (size_t i = n; i > 0; i--)
		good &= read_row(&reader, i - 1, true);
	for (guint i = 0; n > 0 && i < catalog->types->len; i++) {
		discount_all(catalog, catalog->types->pdata[i]);
		rg_catalog_finish_type(catalog->types->pdata[i]);
	}
	rg_catalog_price_derived(catalog);
	return good;
}
