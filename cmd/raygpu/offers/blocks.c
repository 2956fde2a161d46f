/* `raygpu offers --blocks`: reserved capacity for a fixed time that can be bought now. The module
 * asks the cloud; raygpu does not buy any. */
#include "command.h"
#include "base/clock.h"
#include "base/money.h"
#include "fit/offers.h"
#include "pipeline/pass.h"
#include "pipeline/tables.h"
#include <string.h>

#define TYPES_MAX 8
#define DAY_S (24 * 3600)

/* One list: a pool of a spec, or the query. */
typedef struct {
	Context *context;
	const BlockOptions *options;
	RgProvider *provider;
	RgPlace place;
	json_t *lists;
} Search;

/* "2026-12-01" or a whole ISO 8601 time; false: neither. */
static bool parse_time(const char *text, int64_t *unix_s)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autofree char *whole = strlen(text) == strlen("2026-12-01")
					 ? g_strconcat(text, "T00:00:00Z", NULL)
					 : g_strdup(text);
	g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(whole, utc);
	if (when)
		*unix_s = g_date_time_to_unix(when);
	return when != NULL;
}

static bool set_time(const Search *search, json_t *input, const char *option, const char *member,
	const char *text)
{
	int64_t unix_s;
	if (!text)
		return true;
	if (!parse_time(text, &unix_s)) {
		rg_diags_error(search->context->diags, "usage.bad-argument",
			"%s is a date such as 2026-12-01, or a time such as 2026-12-01T11:30:00Z, "
			"not "
			"\"%s\"",
			option, text);
		return false;
	}
	json_object_set_new(input, member, json_integer(unix_s));
	return true;
}

static int64_t fee_per_gpu_hour(const RgInstanceType *type, const json_t *block)
{
	int64_t seconds = rg_json_int(block, "end_s", 0) - rg_json_int(block, "start_s", 0);
	int64_t gpus = (int64_t)(type ? type->gpus : 0) * rg_json_int(block, "count", 0);
	if (seconds <= 0 || gpus <= 0)
		return RG_MONEY_UNKNOWN;
	return (int64_t)((double)rg_json_int(block, "fee_microusd", 0) * 3600 /
			 ((double)seconds * (double)gpus));
}

static json_t *block_json(const Search *search, const json_t *block)
{
	const RgInstanceType *type = rg_catalog_find_type(
		search->place.catalog, rg_json_str(block, "instance_type", ""));
	g_autofree char *start = rg_clock_format(rg_json_int(block, "start_s", 0));
	g_autofree char *end = rg_clock_format(rg_json_int(block, "end_s", 0));
	int64_t each = fee_per_gpu_hour(type, block);
	static const char *const same[] = {
		"id", "instance_type", "zone", "count", "fee_microusd", "currency"};
	json_t *row = json_pack("{s:s, s:s, s:s?, s:i, s:o}", "start", start, "end", end, "gpu",
		type && type->gpu ? type->gpu->name : NULL, "gpus", type ? (int)type->gpus : 0,
		"fee_per_gpu_hour_microusd",
		each == RG_MONEY_UNKNOWN ? json_null() : json_integer(each));
	for (size_t i = 0; i < G_N_ELEMENTS(same); i++)
		json_object_set(row, same[i], json_object_get(block, same[i]));
	return row;
}

static int by_start(const void *left, const void *right)
{
	const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
	int order = strcmp(rg_json_str(a, "start", ""), rg_json_str(b, "start", ""));
	if (order)
		return order;
	int64_t less = rg_json_int(a, "fee_microusd", 0) - rg_json_int(b, "fee_microusd", 0);
	if (less)
		return less < 0 ? -1 : 1;
	return strcmp(rg_json_str(a, "id", ""), rg_json_str(b, "id", ""));
}

/* What a pool would get, earliest first. */
static json_t *sorted(const Search *search, const json_t *blocks)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	json_t *list = json_array();
	rg_json_foreach (block, blocks)
		g_ptr_array_add(rows, block_json(search, block));
	g_ptr_array_sort(rows, by_start);
	for (size_t i = 0; i < rows->len; i++)
		json_array_append_new(list, rows->pdata[i]);
	return list;
}

/* "$2001.00", "2001 EUR" */
static char *fee_text(const json_t *row, const char *member)
{
	int64_t amount = rg_json_int(row, member, RG_MONEY_UNKNOWN);
	const char *currency = rg_json_str(row, "currency", "USD");
	if (amount == RG_MONEY_UNKNOWN || g_str_equal(currency, "USD"))
		return rg_money_format(amount);
	g_autofree char *exact = rg_money_exact(amount);
	return g_strdup_printf("%s %s", exact, currency);
}

static void print_list(const json_t *list)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const json_t *rows = json_object_get(list, "blocks");
	size_t n = json_array_size(rows);
	int days = (int)rg_json_int(list, "days", 0);
	g_string_append_printf(text, "%s, %d node%s, %d day%s: %zu block%s%s\n",
		rg_json_str(list, "wish", ""), (int)rg_json_int(list, "nodes", 0),
		rg_json_int(list, "nodes", 0) == 1 ? "" : "s", days, days == 1 ? "" : "s", n,
		n == 1 ? "" : "s", n ? "\n" : "");
	rg_json_foreach (row, rows) {
		g_autofree char *fee = fee_text(row, "fee_microusd");
		g_autofree char *each = fee_text(row, "fee_per_gpu_hour_microusd");
		g_string_append_printf(text, "%-16s %4d x  %-14s %s\n",
			rg_json_str(row, "instance_type", ""), (int)rg_json_int(row, "count", 0),
			rg_json_str(row, "zone", ""), rg_json_str(row, "id", ""));
		g_string_append_printf(text, "  %s to %s  %s (%s per GPU-hour)\n",
			rg_json_str(row, "start", ""), rg_json_str(row, "end", ""), fee, each);
	}
	out_text(text->str);
}

/* The types that satisfy the wish and are sold as reserved capacity; a new reference. */
static json_t *types_of(const Search *search, const RgPool *pool, const RgWish *wish)
{
	json_t *types = json_array();
	if (pool->instance_type) {
		json_array_append_new(types, json_string(pool->instance_type));
		return types;
	}
	g_autoptr(GPtrArray) offers = rg_offers_find(wish, &search->place, 1);
	for (guint i = 0; i < offers->len && json_array_size(types) < TYPES_MAX; i++) {
		const RgOffer *offer = offers->pdata[i];
		if (offer->type->markets & RG_SOLD_RESERVED)
			json_array_append_new(types, json_string(offer->type->name));
	}
	return types;
}

static bool search_pool(Search *search, const RgPool *pool, const char *wish_text, int nodes)
{
	const BlockOptions *options = search->options;
	RgWish wish = {.accelerators = pool->accelerators,
		.min_gbps = pool->min_gbps,
		.rdma = pool->rdma,
		.reserved = true};
	json_auto_t *types = types_of(search, pool, &wish), *blocks = json_array();
	json_auto_t *input = json_pack("{s:O, s:i, s:I}", "instance_types", types, "count", nodes,
		"hours", (json_int_t)options->days * 24);
	if (!set_time(search, input, "--from", "from_s", options->from) ||
		!set_time(search, input, "--to", "to_s", options->to))
		return false;
	if (json_array_size(types)) {
		json_decref(blocks);
		blocks = rg_provider_blocks(search->provider, input, search->context->diags);
	}
	if (!blocks)
		return false;
	json_t *list = json_pack("{s:s, s:i, s:i, s:O, s:o}", "wish", wish_text, "nodes", nodes,
		"days", options->days, "instance_types", types, "blocks", sorted(search, blocks));
	json_array_append_new(search->lists, list);
	if (!search->context->json)
		print_list(list);
	return true;
}

static bool search_pools(Search *search, const RgCluster *cluster)
{
	bool found = false;
	rg_ptr_foreach (const RgPool, pool, cluster->pools) {
		int nodes = search->options->nodes ? search->options->nodes : (int)pool->wanted_max;
		if (!pool->accelerators && !pool->market.reservation)
			continue;
		found = true;
		if (nodes && !search_pool(search, pool, pool->name, nodes))
			return false;
	}
	if (!found)
		rg_diags_error(search->context->diags, "usage.bad-argument",
			"no pool of \"%s\" requests accelerators", cluster->file);
	return found;
}

static bool offers_blocks(const Search *search)
{
	if (rg_provider_offers(search->provider, "blocks"))
		return true;
	RgDiag *diag = rg_diags_error(search->context->diags, "provider.no-blocks",
		"provider %s has no block offerings", rg_provider_name(search->provider));
	rg_diag_hint(diag, "`raygpu offers` without --blocks compares what it sells by the hour");
	return false;
}

static bool find_place(Search *search, RgTables *tables, const char *provider, const char *region)
{
	g_autoptr(GArray) places =
		rg_tables_places(tables, provider, region, search->context->diags);
	if (!places || !places->len)
		return false;
	search->place = g_array_index(places, RgPlace, 0);
	return true;
}

static bool search_query(Search *search, const char *query)
{
	Context *context = search->context;
	const BlockOptions *options = search->options;
	g_autoptr(RgProject) project = NULL;
	g_autoptr(RgCluster) cluster = rg_spec_load_query(query, context->diags);
	if (!cluster || !rg_specs_project(NULL, NULL, NULL, &project, context->diags))
		return false;
	if (!options->provider || !options->region) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"--blocks with a query needs --provider and --region");
		rg_diag_hint(diag, "with a spec, both are those of the spec");
		return false;
	}
	g_autoptr(RgTables) tables = rg_tables_new(context->providers, project);
	json_auto_t *config = json_object();
	search->provider = rg_provider_open(context->providers, options->provider, options->region,
		config, &context->session.http, context->diags);
	bool ok = search->provider && offers_blocks(search) &&
		  find_place(search, tables, options->provider, options->region) &&
		  search_pool(search, cluster->head, query, options->nodes ? options->nodes : 1);
	rg_provider_close(search->provider);
	return ok;
}

static bool search_spec(Search *search, const char *spec)
{
	Context *context = search->context;
	g_autoptr(RgPass) pass = rg_pipeline_load(spec, NULL, NULL, context->diags);
	if (!pass || !rg_pass_settle(&context->session, pass, context->diags) ||
		!rg_pass_open(&context->session, pass, context->diags))
		return false;
	const RgProviderRef *at = &pass->cluster->provider;
	g_autoptr(RgTables) tables = rg_tables_new(context->providers, pass->project);
	search->provider = pass->provider;
	return offers_blocks(search) && find_place(search, tables, at->name, at->region) &&
	       search_pools(search, pass->cluster);
}

void blocks_run(Context *context, const BlockOptions *options, const char *spec, const char *query)
{
	json_auto_t *lists = json_array();
	Search search = {.context = context, .options = options, .lists = lists};
	if (spec)
		context_use_spec(context, spec);
	if (!context_open_session(context, RG_STORE_READ))
		return;
	bool ok = query ? search_query(&search, query) : search_spec(&search, spec);
	if (!ok || !context->json)
		return;
	json_auto_t *report = json_pack("{s:s, s:O}", "format_version", "1.0", "lists", lists);
	out_json(report);
}
