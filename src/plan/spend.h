/* spend: what nodes cost now, and have cost since a time, from the lifetimes in the state
 * (state/read.h, rg_store_lifetimes) at the prices frozen in them. Outside the pipeline: `raygpu
 * cost` uses it. Pure: the time is an argument. The caller owns the result. */
#pragma once
#include "base/json.h"

typedef enum {
	RG_SPEND_BY_CLUSTER,
	RG_SPEND_BY_POOL,
	RG_SPEND_BY_MARKET,
	RG_SPEND_BY_LABEL
} RgSpendBy;

typedef struct {
	char *key; /* name of the cluster, pool or market, or the label's value; NULL: no label */
	char *cluster;		  /* of a pool; else NULL */
	unsigned nodes, unpriced; /* that exist now; unpriced ones are not in the money */
	/* of all lifetimes counted: the dates of the newest and oldest price (interned; NULL: not
	 * known), and how many have a price derived from others */
	const char *price_date, *oldest_date;
	unsigned derived;
	int64_t microusd_hour;	    /* of those that exist now */
	int64_t microusd_spent;	    /* since the requested time; each lifetime is rounded once */
	int64_t node_s, unpriced_s; /* seconds of existence; of those, without a known price */
	unsigned gone; /* lifetimes that ended when a node was found missing: their end is too late
			*/
	unsigned forgotten; /* lifetimes that ended when a record was removed from the state */
} RgSpendRow;

typedef struct {
	RgSpendBy by;
	char *label;	 /* of BY_LABEL */
	GPtrArray *rows; /* RgSpendRow*, by cluster, then key; without a label last */
	RgSpendRow total;
	int64_t since_s, now_s; /* since_s 0: from the beginning */
} RgSpend;

/* "cluster", "pool", "market" or "label:KEY"; otherwise false. *label gets KEY (g_free) or NULL. */
bool rg_spend_by_parse(const char *text, RgSpendBy *by, char **label);
RgSpend *rg_spend_new(RgSpendBy by, const char *label, int64_t since_s, int64_t now_s);
/* Adds the lifetimes of a cluster; what ended before `since_s` adds nothing. */
void rg_spend_add(RgSpend *spend, const json_t *lifetimes);
void rg_spend_free(RgSpend *spend);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSpend, rg_spend_free)
