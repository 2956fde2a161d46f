/* Rows of the project file that are valid but doubtful: what `raygpu catalog check` reports. */
#include <string.h>
#include "base/price.h"
#include "catalog/internal.h"

/* As src/catalog/import/checks.py. */
#define LEAST 0.4
#define MOST 3.0

static RgDiag *doubt(const RgOwnRow *row, const char *key, char *what)
{
	g_autofree char *summary = what;
	RgDiag *diag = rg_diags_warning(row->diags, "catalog.doubtful-row", "%s", summary);
	return rg_diag_at(diag, rg_own_source(row, key));
}

static gint by_amount(gconstpointer a, gconstpointer b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Of the built-in prices, in USD; 0: there are none. */
static double median_of(const RgInstanceType *type, RgPriceKind kind)
{
	g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(int64_t));
	rg_ptr_foreach (const RgPrice, price, type->prices) {
		if (price->kind == kind && !price->own && price->microusd_hour != RG_MONEY_UNKNOWN)
			g_array_append_val(known, price->microusd_hour);
	}
	g_array_sort(known, by_amount);
	guint middle = known->len / 2;
	return known->len ? (double)g_array_index(known, int64_t, middle) / 1e6 : 0;
}

static void judge_price(const RgCatalog *catalog, const RgOwnRow *row, const char *today)
{
	const char *name = rg_json_str(row->row, "instance_type", "");
	const char *date = rg_json_str(row->row, "date", NULL);
	bool spot = g_str_equal(rg_json_str(row->row, "market", "on_demand"), "spot");
	double usd = json_number_value(json_object_get(row->row, "hourly_usd"));
	const RgInstanceType *type = rg_catalog_find_type(catalog, name);
	if (rg_catalog_may_ask(catalog, name))
		doubt(row, "instance_type",
			g_strdup_printf("no table has %s: its price counts if a spec names it and "
					"the cloud has it",
				name));
	if (!type || usd <= 0)
		return;
	double median = median_of(type, spot ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND);
	if (median > 0 && (usd < LEAST * median || usd > MOST * median))
		rg_diag_hint(doubt(row, "hourly_usd",
				     g_strdup_printf("%g USD per hour is %.2f times the median of "
						     "the built-in prices of %s, %g",
					     usd, usd / median, name, median)),
			"hourly_usd is the price of the whole node, not of one GPU");
	const RgPrice *whole = rg_catalog_find_price(type, rg_json_str(row->row, "region", ""));
	if (spot && whole && whole->microusd_hour != RG_MONEY_UNKNOWN &&
		usd * 1e6 >= (double)whole->microusd_hour)
		doubt(row, "hourly_usd",
			g_strdup_printf("the spot price %g of %s is not below its on-demand price, "
					"%g",
				usd, name, (double)whole->microusd_hour / 1e6));
	if (strchr(rg_price_marks(NULL, date, today), '*'))
		doubt(row, "date",
			g_strdup_printf("the price of %s is older than a year: %s", name, date));
}

static bool has_known_price(const RgInstanceType *type)
{
	for (guint i = 0; i < type->prices->len; i++) {
		if (((const RgPrice *)type->prices->pdata[i])->microusd_hour != RG_MONEY_UNKNOWN)
			return true;
	}
	return false;
}

static void judge_type(const RgCatalog *catalog, const RgOwnRow *row, const char *name)
{
	const RgInstanceType *type = rg_catalog_find_type(catalog, name);
	const RgRetiredType *retired = rg_catalog_find_retired(catalog, name);
	if (retired)
		doubt(row, NULL,
			g_strdup_printf("%s no longer sells %s, as far as raygpu knows: retired %s "
					"%s",
				catalog->provider, name, *retired->since ? "on" : "in or before",
				*retired->since ? retired->since : retired->gone_by));
	if (!type)
		return;
	if (!has_known_price(type))
		rg_diag_hint(
			doubt(row, NULL,
				g_strdup_printf("the price of %s is not known: it is never the "
						"cheapest, and budgets do not count it",
					name)),
			"add its hourly_usd to `prices`");
	if (type->memory_gib > 256.0 * MAX(type->vcpus, 1))
		doubt(row, "memory",
			g_strdup_printf("%s has %g GiB of memory for %u vCPUs", name,
				type->memory_gib, type->vcpus));
}

void rg_catalog_judge(
	const RgCatalog *catalog, const RgOwnRows *own, const char *today, RgDiags *diags)
{
	json_t *types =
		json_object_get(json_object_get(own->rows, "instance_types"), catalog->provider);
	json_t *prices = json_object_get(json_object_get(own->rows, "prices"), catalog->provider);
	g_autofree char *types_at = rg_json_pointer_add("/instance_types", catalog->provider);
	g_autofree char *prices_at = rg_json_pointer_add("/prices", catalog->provider);
	rg_json_foreach_member (name, value, types) {
		g_autofree char *pointer = rg_json_pointer_add(types_at, name);
		const RgOwnRow row = {own, value, pointer, diags};
		judge_type(catalog, &row, name);
	}
	rg_json_foreach_at (i, value, prices) {
		g_autofree char *pointer = g_strdup_printf("%s/%zu", prices_at, i);
		const RgOwnRow row = {own, value, pointer, diags};
		if (json_object_get(value, "hourly_usd"))
			judge_price(catalog, &row, today);
	}
}

void rg_gpus_judge(const RgGpus *gpus, const RgOwnRows *own, RgDiags *diags)
{
	rg_json_foreach_member (name, value, json_object_get(own->rows, "gpus")) {
		g_autofree char *pointer = rg_json_pointer_add("/gpus", name);
		const RgOwnRow row = {own, value, pointer, diags};
		const RgGpuModel *model = rg_gpus_find(gpus, name);
		if (model && model->power_w == 0)
			rg_diag_hint(doubt(&row, NULL,
					     g_strdup_printf("the power of %s is not known: its "
							     "nodes have no carbon figure",
						     name)),
				"add power_w");
	}
}
