#include <math.h>
#include <string.h>
#include "base/price.h"
#include "catalog/internal.h"
#include "catalog/table.h"

enum { P_REGION, P_TYPE, P_KIND, P_USD, P_QUALITY, P_DATE, P_ZONE };

static bool read_amount(const RgTable *table, size_t row, RgPrice *price, RgDiags *diags)
{
	const char *usd = rg_table_cell(table, row, P_USD);
	bool unknown = g_str_equal(price->quality, "unknown");
	price->microusd_hour = RG_MONEY_UNKNOWN;
	if (unknown && usd[0] == '\0')
		return true;
	if (unknown || !rg_money_parse(usd, &price->microusd_hour) || price->microusd_hour <= 0) {
		rg_table_complain(table, row, P_USD,
			"a price above 0, or nothing when the quality is \"unknown\"", diags);
		return false;
	}
	return true;
}

static const char *const kinds[] = {[RG_PRICE_ON_DEMAND] = "on_demand", [RG_PRICE_SPOT] = "spot"};

static bool read_kind(const RgTable *table, size_t row, RgPriceKind *kind, RgDiags *diags)
{
	const char *cell = rg_table_cell(table, row, P_KIND);
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!g_str_equal(cell, kinds[i]))
			continue;
		*kind = (RgPriceKind)i;
		return true;
	}
	rg_table_complain(table, row, P_KIND, "\"on_demand\" or \"spot\"", diags);
	return false;
}

static bool has_price(const RgInstanceType *type, const RgPrice *like)
{
	rg_ptr_foreach (const RgPrice, price, type->prices) {
		if (price->kind == like->kind && g_str_equal(price->region, like->region) &&
			g_str_equal(price->zone, like->zone))
			return true;
	}
	return false;
}

static RgInstanceType *type_of(
	const RgCatalog *catalog, const RgTable *table, size_t row, RgDiags *diags)
{
	RgInstanceType *type =
		g_hash_table_lookup(catalog->type_of_name, rg_table_cell(table, row, P_TYPE));
	if (!type)
		rg_table_complain(table, row, P_TYPE, "a type of instance_types.csv", diags);
	return type;
}

static bool read_price(RgCatalog *catalog, const RgTable *table, size_t row, RgDiags *diags)
{
	RgPrice read = {.region = rg_table_cell(table, row, P_REGION),
		.zone = rg_table_cell(table, row, P_ZONE)};
	RgInstanceType *type = type_of(catalog, table, row, diags);
	if (!type || !read_kind(table, row, &read.kind, diags))
		return false;
	bool right = catalog->no_regions == (read.region[0] == '\0');
	if (!right || has_price(type, &read)) {
		rg_table_complain(table, row, P_REGION,
			right ? "a region that this type has one row of the kind for"
			: catalog->no_regions ? "empty, as the provider has no regions"
					      : "a region",
			diags);
		return false;
	}
	RgPrice *price = g_new0(RgPrice, 1);
	g_ptr_array_add((GPtrArray *)(uintptr_t)type->prices, price);
	price->kind = read.kind;
	price->region = read.region;
	price->zone = read.zone;
	price->quality = rg_table_cell(table, row, P_QUALITY);
	price->date = rg_table_cell(table, row, P_DATE);
	if (!rg_date_is_valid(price->date)) {
		rg_table_complain(table, row, P_DATE, "a date like 2026-07-20", diags);
		return false;
	}
	return read_amount(table, row, price, diags);
}

static int by_region(gconstpointer a, gconstpointer b)
{
	const RgPrice *left = *(RgPrice *const *)a, *right = *(RgPrice *const *)b;
	int order = strcmp(left->region, right->region);
	if (order == 0)
		order = (int)left->kind - (int)right->kind;
	return order != 0 ? order : strcmp(left->zone, right->zone);
}

void rg_catalog_finish_type(RgInstanceType *type)
{
	g_ptr_array_sort((GPtrArray *)(uintptr_t)type->prices, by_region);
	rg_ptr_foreach (const RgPrice, price, type->prices) {
		if (price->kind != RG_PRICE_ON_DEMAND || price->microusd_hour == RG_MONEY_UNKNOWN)
			continue;
		if (type->lowest_microusd_hour == RG_MONEY_UNKNOWN ||
			price->microusd_hour < type->lowest_microusd_hour)
			type->lowest_microusd_hour = price->microusd_hour;
	}
}

bool rg_price_is_own(const RgPrice *price)
{
	return price->own && price->discount_microusd == 0;
}

void rg_catalog_discount(const RgCatalog *catalog, const RgInstanceType *type, RgPrice *price)
{
	if (price->own || price->microusd_hour == RG_MONEY_UNKNOWN)
		return;
	rg_ptr_foreach (const RgDiscount, discount, catalog->discounts) {
		if (price->kind != discount->kind ||
			!g_pattern_match_simple(discount->type, type->name) ||
			!g_pattern_match_simple(discount->region, price->region))
			continue;
		int64_t full = price->microusd_hour;
		price->microusd_hour = llround((double)full * (100 - discount->percent) / 100);
		price->discount_microusd = full - price->microusd_hour;
		price->quality = "negotiated";
		price->own = discount->place;
		return;
	}
}

bool rg_catalog_load_prices(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const char *const columns[] = {"region", "instance_type", "kind", "usd_per_hour",
		"quality", "date", "?zone", NULL};
	size_t len = 0;
	const char *bytes = source->text(source->data, "prices.csv", &len);
	RgTable *table = NULL;
	if (!bytes && catalog->has_shapes)
		return true;
	if (!bytes || !source->region)
		table = rg_catalog_read_table(source, "prices.csv", columns, diags);
	else
		table = rg_table_read_only(
			"prices.csv", bytes, len, columns, source->region, diags);
	if (!table)
		return false;
	g_ptr_array_add(catalog->tables, table);
	bool good = true;
	for (size_t row = 0; row < rg_table_rows(table); row++)
		good &= read_price(catalog, table, row, diags);
	for (guint i = 0; i < catalog->types->len; i++)
		rg_catalog_finish_type(catalog->types->pdata[i]);
	return good;
}
