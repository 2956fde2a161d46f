/* `raygpu offers [SPEC | QUERY]`: which instance types satisfy a request, where, and what they
 * cost. */
#include "offers/offers.h"
#include "pipeline/place.h"
#include <string.h>

#define LIMIT_DEFAULT 20

typedef struct {
	char *provider, *region, *market, *optimize;
	gint limit;
	gboolean all, csv, blocks;
	char *from, *to; /* of blocks */
	gint nodes, days;
	const RgCluster *among; /* only its candidates count; NULL: all places */
} Options;

/* ---- the query */

typedef struct {
	RgTables *tables;
	const RgCarbon *carbon;
	const GArray *places; /* RgPlace */
	bool is_part;	      /* of all places */
} Market;

static const RgPlace *place_at(const Market *market, guint i)
{
	return &g_array_index(market->places, RgPlace, i);
}

static GPtrArray *find(const Options *options, const Market *market, RgWish wish, bool rejected)
{
	wish.rejected = rejected;
	GPtrArray *offers = rg_offers_find(&wish, place_at(market, 0), market->places->len);
	for (guint i = offers->len; options->among && i > 0; i--) {
		const RgOffer *offer = offers->pdata[i - 1];
		if (!places_have(options->among, offer->provider, offer->region))
			g_ptr_array_remove_index(offers, i - 1);
	}
	return offers;
}

/* "p4d.24xlarge": a good request, but of another kind. */
static bool is_type(Context *context, const Market *market, const char *name)
{
	for (guint i = 0; i < market->places->len; i++) {
		const RgCatalog *catalog = place_at(market, i)->catalog;
		const RgInstanceType *type = rg_catalog_find_type(catalog, name);
		if (rg_catalog_find_retired(catalog, name))
			return !rg_catalog_get_type(catalog, name, (RgSource){0}, context->diags);
		if (!type)
			continue;
		RgDiag *diag = rg_diags_error(context->diags, "catalog.unknown-accelerator",
			"\"%s\" is an instance type of %s, not an accelerator", name,
			place_at(market, i)->provider);
		const RgWish any = {0};
		g_autofree char *why =
			rg_offers_judge(&any, rg_catalog_get_gpus(catalog), type).why;
		if (why)
			rg_diag_detail(diag, "offers does not list it: %s", why);
		else
			rg_diag_hint(diag, "`raygpu offers %s:%u` lists it beside others",
				type->gpu->name, type->gpus);
		return true;
	}
	return false;
}

static bool take_wish(Context *context, const Options *options, const Market *market,
	const char *title, RgWish wish, json_t *lists)
{
	for (guint i = 0; wish.accelerators && i < wish.accelerators->len; i++) {
		const RgAccelerator *asked = wish.accelerators->pdata[i];
		for (size_t n = 0; asked->names && asked->names[n]; n++) {
			const RgCatalog *any = place_at(market, 0)->catalog;
			if (is_type(context, market, asked->names[n]) ||
				!rg_catalog_check_accelerator(
					any, asked->names[n], asked->source, context->diags))
				return false;
		}
	}
	g_autofree char *today = offers_today();
	wish.carbon = market->carbon;
	wish.today = today;
	if (options->market)
		wish.market =
			g_str_equal(options->market, "spot") ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND;
	if (options->optimize)
		rg_optimize_parse(options->optimize, &wish.optimize);
	RgWish any = wish;
	any.accelerators = NULL;
	g_autoptr(GPtrArray) offers = find(options, market, wish, options->all);
	g_autoptr(GPtrArray) others = find(options, market, any, false);
	g_autoptr(GPtrArray) sisters =
		offers_sisters(&wish, rg_catalog_get_gpus(place_at(market, 0)->catalog), others);
	const OfferList list = {title, offers, market->tables, options->limit, sisters};
	if (context->json)
		json_array_append_new(lists, offers_json(&list));
	else if (options->csv)
		offers_print_csv(&list);
	else
		offers_print_table(&list);
	if (options->all || offers->len > 0)
		return true;
	g_autoptr(GPtrArray) all = find(options, market, wish, true);
	g_autoptr(GArray) everywhere =
		market->is_part ? rg_tables_places(market->tables, NULL, NULL, context->diags)
				: NULL;
	offers_explain_none(context, &list, &wish, all, market->places, everywhere);
	return true;
}

static bool take_pools(Context *context, const Options *options, const Market *market,
	const RgCluster *cluster, json_t *lists)
{
	bool found = cluster->head->accelerators != NULL;
	bool ok = !found || take_wish(context, options, market, "head",
				    rg_wish_of_pool(cluster, cluster->head, NULL), lists);
	for (guint i = 0; i < cluster->pools->len && ok; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		if (!pool->accelerators)
			continue;
		ok = take_wish(context, options, market, pool->name,
			rg_wish_of_pool(cluster, pool, NULL), lists);
		found = true;
	}
	if (ok && !found)
		rg_diags_error(context->diags, "usage.bad-argument",
			"no pool of \"%s\" requests accelerators: all name their instance type",
			cluster->file);
	return ok && found;
}

static bool is_spec_file(const char *asked)
{
	return g_str_equal(asked, "-") || g_str_has_suffix(asked, ".yaml") ||
	       g_str_has_suffix(asked, ".yml") || g_file_test(asked, G_FILE_TEST_EXISTS);
}

static bool take_all(Context *context, const Options *options, const Market *market,
	const RgCluster *cluster, const char *query, json_t *lists)
{
	if (cluster && !query)
		return take_pools(context, options, market, cluster, lists);
	const RgWish wish = {
		.accelerators = cluster ? cluster->head->accelerators : NULL, .any_count = true};
	return take_wish(context, options, market, query ? query : "any GPU", wish, lists);
}

static void offers_look_up(
	Context *context, Options *options, RgCluster *cluster, const char *query)
{
	bool is_spec = cluster && !query;
	g_autoptr(RgProject) project = NULL;
	context_open_providers(context);
	if (!rg_specs_project(is_spec ? cluster->file : NULL, NULL, NULL, &project, context->diags))
		return;
	g_autoptr(RgTables) tables = rg_tables_new(context->providers, project);
	const char *provider = options->provider, *region = options->region;
	bool placed = is_spec && !provider && !region;
	json_auto_t *choice = NULL;
	if (placed && rg_place_is_open(cluster)) {
		const RgPlacing placing = {.tables = tables, .kept = -1, .compare = true};
		choice = rg_place_choose(&placing, cluster, context->diags);
		if (!choice)
			return;
		options->among = cluster;
	} else if (placed) {
		provider = cluster->provider.name;
		region = *cluster->provider.region ? cluster->provider.region : NULL;
	}
	g_autoptr(GArray) places = rg_tables_places(tables, provider, region, context->diags);
	const RgCarbon *carbon = places ? rg_tables_carbon(tables, context->diags) : NULL;
	if (!carbon)
		return;
	const Market market = {tables, carbon, places, provider || region || options->among};
	/* `query` NULL: the cluster comes from a spec. `choice` NULL: the spec leaves none. */
	if (choice && !context->json && !options->csv)
		places_print(choice, &context->out);
	json_auto_t *lists = json_array();
	if (!take_all(context, options, &market, cluster, query, lists) || !context->json)
		return;
	json_auto_t *report = json_pack("{s:s, s:O, s:O*}", "format_version", "1.0", "lists", lists,
		"place", rg_json_unconst(choice));
	out_json(report);
}

static int offers_run(Context *context, Options *options, const char *asked)
{
	const char *query = asked && !is_spec_file(asked) ? asked : NULL;
	if (options->blocks) {
		const BlockOptions blocks = {.provider = options->provider,
			.region = options->region,
			.from = options->from,
			.to = options->to,
			.nodes = options->nodes,
			.days = options->days ? options->days : 1};
		if (query || asked || spec_is_here(context))
			blocks_run(context, &blocks, asked ? asked : DEFAULT_SPEC, query);
		return rg_diags_exit_code(context->diags);
	}
	g_autoptr(RgCluster) cluster = query   ? rg_spec_load_query(query, context->diags)
				       : asked ? rg_spec_load_file(asked, context->diags)
					       : NULL;
	if (cluster || !asked)
		offers_look_up(context, options, cluster, query);
	return rg_diags_exit_code(context->diags);
}

static bool check_options(Context *context, const Options *options)
{
	RgOptimize unused;
	if (options->market && !g_str_equal(options->market, "spot") &&
		!g_str_equal(options->market, "on_demand"))
		rg_diags_error(context->diags, "usage.bad-argument",
			"--market is on_demand or spot, not \"%s\"", options->market);
	if (options->optimize && !rg_optimize_parse(options->optimize, &unused))
		rg_diags_error(context->diags, "usage.bad-argument",
			"--optimize is cost, carbon or balanced, not \"%s\"", options->optimize);
	if (!options->blocks && (options->nodes || options->days || options->from || options->to))
		rg_diags_error(context->diags, "usage.bad-argument",
			"--nodes, --days, --from and --to are for --blocks");
	if (options->nodes < 0 || options->days < 0)
		rg_diags_error(context->diags, "usage.bad-argument",
			"--nodes and --days are numbers from 1");
	if (options->blocks &&
		(options->csv || options->all || options->market || options->optimize))
		rg_diags_error(context->diags, "usage.bad-argument",
			"--csv, --all, --market and --optimize are not for --blocks");
	return !rg_diags_has_errors(context->diags);
}

int cmd_offers(Context *context, int argc, char **argv)
{
	Options options = {.limit = LIMIT_DEFAULT};
	const GOptionEntry entries[] = {
		{"provider", 0, 0, G_OPTION_ARG_STRING, &options.provider, "only of this provider",
			"NAME"},
		{"region", 0, 0, G_OPTION_ARG_STRING, &options.region, "only in this region",
			"NAME"},
		{"market", 0, 0, G_OPTION_ARG_STRING, &options.market,
			"the market whose price counts (default: on_demand)", "on_demand|spot"},
		{"optimize", 0, 0, G_OPTION_ARG_STRING, &options.optimize,
			"how offers are ranked (default: cost)", "cost|carbon|balanced"},
		{"limit", 0, 0, G_OPTION_ARG_INT, &options.limit,
			"entries per list (default 20); 0: all", "N"},
		{"all", 0, 0, G_OPTION_ARG_NONE, &options.all,
			"also list rejected types, with the reason", NULL},
		{"csv", 0, 0, G_OPTION_ARG_NONE, &options.csv, "print CSV", NULL},
		{"blocks", 0, 0, G_OPTION_ARG_NONE, &options.blocks,
			"list reserved capacity for a fixed time that can be bought", NULL},
		{"nodes", 0, 0, G_OPTION_ARG_INT, &options.nodes,
			"with --blocks: nodes of a block (default: the pool's, or 1)", "N"},
		{"days", 0, 0, G_OPTION_ARG_INT, &options.days,
			"with --blocks: how long a block lasts (default: 1)", "N"},
		{"from", 0, 0, G_OPTION_ARG_STRING, &options.from,
			"with --blocks: only blocks that start at that time or later", "TIME"},
		{"to", 0, 0, G_OPTION_ARG_STRING, &options.to,
			"with --blocks: only blocks that end at that time or before", "TIME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = check_options(context, &options)
			       ? offers_run(context, &options, argc > 1 ? argv[1] : NULL)
			       : EXIT_USAGE;
	g_free(options.provider);
	g_free(options.region);
	g_free(options.market);
	g_free(options.optimize);
	g_free(options.from);
	g_free(options.to);
	return code;
}
