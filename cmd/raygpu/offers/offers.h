/* How `raygpu offers` shows one list of offers; the command is in offers.c. */
#pragma once
#include "command.h"
#include "fit/offers.h"
#include "pipeline/tables.h"

typedef struct {
	const char *title;	 /* the query, or the pool's name */
	const GPtrArray *offers; /* RgOffer* */
	const RgTables *tables;
	gint limit; /* 0: all */
	/* char*: models of the same name to Ray that are not in the list, as a query has them */
	const GPtrArray *sisters;
} OfferList;

char *offers_today(void); /* "2026-11-22"; g_free */
void offers_print_table(const OfferList *list);
void offers_print_csv(const OfferList *list);
json_t *offers_json(const OfferList *list);

/* What is left of a request that nothing satisfies. `all`: every type, rejected. `here`,
 * `everywhere`: RgPlace; NULL: nowhere else. Adds catalog.no-offer, which says where else it is
 * offered, what came nearest and what the clouds have retired. */
void offers_explain_none(Context *context, const OfferList *list, const RgWish *wish,
	const GPtrArray *all, const GArray *here, const GArray *everywhere);
/* "V100-32GB:8" for V100:8. `all`: offers of any GPU. */
GPtrArray *offers_sisters(const RgWish *wish, const RgGpus *gpus, const GPtrArray *all);
