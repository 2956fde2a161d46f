/* `raygpu offers [SPEC | QUERY]`: which instance types satisfy a request, where, and what they
 * cost. */
#include "command.h"
#include "base/money.h"
#include "pipeline/place.h"
#include "render/csv.h"
#include <string.h>

#define LIMIT_DEFAULT 20

typedef struct {
	char *provider, *region, *market, *optimize;
	gint limit;
	gboolean all, csv;
	const RgCluster *among; /* only its candidates count; NULL: all places */
} Options;

/* ---- one list */

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
	json_object_set_new(row, "gpu_memory_gib", json_real(type->gpu_memory_gib));
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

/* Two lines if one would not fit in 80 columns: long type names (hosts with attached GPUs). */
static void offers_add_row(GString *text, const RgOffer *offer)
{
	const RgInstanceType *type = offer->type;
	double memory = gpu_memory_gb(offer);
	bool known = offer->price != RG_MONEY_UNKNOWN && memory > 0;
	g_autofree char *on_demand = dollars(amount_of(offer->on_demand), 2);
	g_autofree char *spot = dollars(amount_of(offer->spot), 2);
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
	g_string_append_printf(text, "%-20s %s\n", place, type->name);
	g_string_append_printf(text, "  %-18s %-7s %9s %8s %8s %8s %7s\n",
		type->gpu ? type->gpu->name : "-", gpus, on_demand, spot, each, gigabyte, carbon);
	g_autofree char *own = list_own(offer);
	if (*own)
		g_string_append_printf(text, "  own: %s\n", own);
	if (offer->rejected)
		g_string_append_printf(text, "  rejected: %s\n", offer->rejected);
}

static guint shown_of(const Options *options, const GPtrArray *offers)
{
	return options->limit > 0 ? MIN(offers->len, (guint)options->limit) : offers->len;
}

static void print_table(
	const Options *options, const char *title, const RgTables *tables, const GPtrArray *offers)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint shown = shown_of(options, offers);
	g_autoptr(GHashTable) absent = g_hash_table_new(g_str_hash, g_str_equal);
	g_string_append_printf(text, "%s: %u offer%s%s\n\n", title, offers->len,
		offers->len == 1 ? "" : "s", offers->len ? "" : ".");
	if (offers->len) {
		g_string_append(text, "PLACE                INSTANCE TYPE\n");
		g_string_append_printf(text, "  %-18s %-7s %9s %8s %8s %8s %7s\n", "GPU", "xGB",
			"USD/h", "SPOT/h", "PER GPU", "PER GB", "kgCO2e");
	}
	for (guint i = 0; i < shown; i++) {
		const RgOffer *offer = offers->pdata[i];
		offers_add_row(text, offer);
		if (!rg_tables_have(tables, offer->provider, "schema.json"))
			g_hash_table_add(absent, (void *)(uintptr_t)offer->provider);
	}
	if (shown < offers->len)
		g_string_append_printf(
			text, "\n%u more; --limit 0 shows all.\n", offers->len - shown);
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(absent), (GCompareFunc)strcmp);
	for (const GList *name = names; name; name = name->next)
		g_string_append_printf(text,
			"\nNo module for %s is installed: its offers can be compared, but not "
			"planned.\n",
			(const char *)name->data);
	out_text(text->str);
}

static void print_csv(const Options *options, const GPtrArray *offers)
{
	g_autoptr(GString) text = g_string_new(
		"provider,region,instance_type,gpu,gpus,gpu_memory_gb,on_demand_usd_hour,"
		"spot_usd_hour,carbon_g_hour,rejected,own\n");
	for (guint i = 0; i < shown_of(options, offers); i++) {
		const RgOffer *offer = offers->pdata[i];
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
			offer->rejected ? offer->rejected : "", own, (const char *)NULL);
	}
	out_text(text->str);
}

static json_t *list_json(
	const Options *options, const char *title, const RgTables *tables, const GPtrArray *offers)
{
	json_t *rows = json_array();
	for (guint i = 0; i < shown_of(options, offers); i++)
		json_array_append_new(rows, offer_json(tables, offers->pdata[i]));
	return json_pack(
		"{s:s, s:I, s:o}", "wish", title, "found", (json_int_t)offers->len, "offers", rows);
}

/* ---- the query */

typedef struct {
	RgTables *tables;
	const RgCarbon *carbon;
	const RgPlace *places;
	size_t n;
} Market;

static bool take_wish(Context *context, const Options *options, const Market *market,
	const char *title, RgWish wish, json_t *lists)
{
	for (guint i = 0; wish.accelerators && i < wish.accelerators->len; i++) {
		const RgAccelerator *asked = wish.accelerators->pdata[i];
		for (size_t n = 0; asked->names && asked->names[n]; n++) {
			const RgCatalog *any = market->places[0].catalog;
			if (!rg_catalog_check_accelerator(
				    any, asked->names[n], asked->source, context->diags))
				return false;
		}
	}
	wish.rejected = options->all;
	wish.carbon = market->carbon;
	if (options->market)
		wish.market =
			g_str_equal(options->market, "spot") ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND;
	if (options->optimize)
		rg_optimize_parse(options->optimize, &wish.optimize);
	g_autoptr(GPtrArray) offers = rg_offers_find(&wish, market->places, market->n);
	for (guint i = offers->len; options->among && i > 0; i--) {
		const RgOffer *offer = offers->pdata[i - 1];
		if (!places_have(options->among, offer->provider, offer->region))
			g_ptr_array_remove_index(offers, i - 1);
	}
	if (context->json)
		json_array_append_new(lists, list_json(options, title, market->tables, offers));
	else if (options->csv)
		print_csv(options, offers);
	else
		print_table(options, title, market->tables, offers);
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
	const RgWish wish = {.accelerators = cluster ? cluster->head->accelerators : NULL};
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
	const Market market = {tables, carbon, (const RgPlace *)(void *)places->data, places->len};
	/* `query` NULL: the cluster comes from a spec. `choice` NULL: the spec leaves none. */
	if (choice && !context->json && !options->csv)
		places_print(choice);
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
	return code;
}
