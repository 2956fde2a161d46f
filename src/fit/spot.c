#include <string.h>
#include "fit/internal.h"

const RgPrice *rg_fit_spot_price(const RgInstanceType *type, const char *region, const char *zone)
{
	const RgPrice *dearest = NULL;
	for (guint i = 0; i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		if (price->kind != RG_PRICE_SPOT || !g_str_equal(price->region, region) ||
			price->microusd_hour == RG_MONEY_UNKNOWN)
			continue;
		if (g_strcmp0(price->zone, zone) == 0)
			return price;
		if (!dearest || price->microusd_hour > dearest->microusd_hour)
			dearest = price;
	}
	return dearest;
}
