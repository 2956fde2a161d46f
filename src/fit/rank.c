#include "fit/rank.h"

RgMerit rg_merit_none(void)
{
	return (RgMerit){0};
}

RgMerit rg_merit_worst(void)
{
	return (RgMerit){.microusd_hour = INT64_MAX, .carbon_mg_hour = INT64_MAX};
}

void rg_merit_note_least(RgMerit *least, const RgMerit *merit)
{
	least->microusd_hour = MIN(least->microusd_hour, merit->microusd_hour);
	least->carbon_mg_hour = MIN(least->carbon_mg_hour, merit->carbon_mg_hour);
}

static int64_t add_times(int64_t sum, int64_t each, unsigned n)
{
	int64_t part, whole;
	if (n == 0)
		return sum;
	if (sum == INT64_MAX || each == INT64_MAX ||
		__builtin_mul_overflow(each, (int64_t)n, &part) ||
		__builtin_add_overflow(sum, part, &whole))
		return INT64_MAX;
	return whole;
}

void rg_merit_add(RgMerit *sum, const RgMerit *each, unsigned n)
{
	if (n == 0)
		return;
	sum->preference += each->preference;
	sum->guessed += each->guessed * n;
	sum->sureness = MAX(sum->sureness, each->sureness);
	sum->microusd_hour = add_times(sum->microusd_hour, each->microusd_hour, n);
	sum->carbon_mg_hour = add_times(sum->carbon_mg_hour, each->carbon_mg_hour, n);
}

/* Half the price and half the carbon, each as a multiple of the lowest; DBL_MAX: not both are
 * known. */
static double balance(const RgMerit *least, const RgMerit *merit)
{
	if (merit->microusd_hour == INT64_MAX || merit->carbon_mg_hour == INT64_MAX ||
		least->microusd_hour <= 0 || least->carbon_mg_hour <= 0)
		return G_MAXDOUBLE;
	return (double)merit->microusd_hour / (double)least->microusd_hour / 2 +
	       (double)merit->carbon_mg_hour / (double)least->carbon_mg_hour / 2;
}

static int compare_amounts(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_by_wish(
	RgOptimize optimize, const RgMerit *least, const RgMerit *a, const RgMerit *b)
{
	switch (optimize) {
	case RG_OPTIMIZE_CARBON:
		return compare_amounts(a->carbon_mg_hour, b->carbon_mg_hour);
	case RG_OPTIMIZE_BALANCED: {
		double x = balance(least, a), y = balance(least, b);
		return (x > y) - (x < y);
	}
	case RG_OPTIMIZE_COST:
		break;
	}
	return 0;
}

int rg_merit_compare(RgOptimize optimize, const RgMerit *least, const RgMerit *a, const RgMerit *b)
{
	if (a->preference != b->preference)
		return a->preference < b->preference ? -1 : 1;
	if (a->sureness != b->sureness)
		return a->sureness - b->sureness;
	int order = compare_by_wish(optimize, least, a, b);
	if (order == 0)
		order = compare_amounts(a->microusd_hour, b->microusd_hour);
	return order != 0 ? order : compare_amounts(a->guessed, b->guessed);
}

const char *rg_merit_word(RgOptimize optimize)
{
	static const char *const words[] = {[RG_OPTIMIZE_COST] = "cheapest",
		[RG_OPTIMIZE_CARBON] = "least carbon",
		[RG_OPTIMIZE_BALANCED] = "best balance of price and carbon"};
	return words[optimize];
}
