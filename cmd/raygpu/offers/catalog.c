/* `raygpu catalog [check FILE]`: what the tables of types and prices contain and where it is from;
 * and whether a project file's own rows are plausible. */
#include "command.h"
#include <string.h>
#include "base/clock.h"
#include "base/price.h"
#include "pipeline/tables.h"
#include "render/text/table.h"

static char *today_text(void)
{
	char *today = rg_clock_format(rg_clock_now_s());
	today[strlen("2026-11-22")] = '\0';
	return today;
}

/* ---- show */

typedef struct {
	int prices, unpriced, derived, old;
} Counts;

static void count_price(Counts *counts, const RgPrice *price, const char *today)
{
	const char *marks = rg_price_marks(price->quality, price->date, today);
	bool known = price->microusd_hour != RG_MONEY_UNKNOWN;
	counts->prices += known;
	counts->unpriced += !known;
	counts->derived += known && strchr(marks, '~');
	counts->old += known && strchr(marks, '*');
}

static bool is_of(const RgPrice *price, const RgPriceSource *source)
{
	const char *kind = price->kind == RG_PRICE_SPOT ? "spot" : "on_demand";
	return !price->own && g_str_equal(kind, source->kind) &&
	       g_str_equal(price->quality, source->quality) &&
	       g_strcmp0(price->date, source->date) == 0;
}

static int count_of(const GPtrArray *types, const RgPriceSource *source)
{
	int n = 0;
	for (guint i = 0; i < types->len; i++) {
		const GPtrArray *prices = ((const RgInstanceType *)types->pdata[i])->prices;
		for (guint p = 0; p < prices->len; p++)
			n += is_of(prices->pdata[p], source);
	}
	return n;
}

static json_t *sources_json(const RgCatalog *catalog)
{
	const GPtrArray *sources = rg_catalog_get_price_sources(catalog);
	json_t *rows = json_array();
	rg_ptr_foreach (const RgPriceSource, source, sources)
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:i, s:s}", "market", source->kind,
				      "quality", source->quality, "date", source->date, "prices",
				      count_of(rg_catalog_get_types(catalog), source), "source",
				      source->source));
	return rows;
}

static json_t *provider_json(const RgPlace *place, const char *today)
{
	const GPtrArray *types = rg_catalog_get_types(place->catalog);
	Counts counts = {0};
	int gpu_types = 0, own = 0;
	rg_ptr_foreach (const RgInstanceType, type, types) {
		gpu_types += type->gpu != NULL;
		own += type->own != NULL;
		for (guint p = 0; p < type->prices->len; p++)
			count_price(&counts, type->prices->pdata[p], today);
	}
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "provider",
		place->provider, "types", (int)types->len, "gpu_types", gpu_types, "own_types", own,
		"retired_types", (int)rg_catalog_get_retired(place->catalog)->len, "regions",
		(int)rg_catalog_count_regions(place->catalog), "prices", counts.prices, "unpriced",
		counts.unpriced, "derived", counts.derived, "old", counts.old, "sources",
		sources_json(place->catalog));
}

static int number_of(const json_t *row, const char *key)
{
	return (int)rg_json_int(row, key, 0);
}

/* "  on_demand list     2026-07-20    564  SOURCE", the source wrapped in its column. */
static void add_source(GString *text, const json_t *source, const RgStyle *style)
{
	g_autofree char *head = g_strdup_printf("  %-9s %-8s %-10s %6d  ",
		rg_json_str(source, "market", "?"), rg_json_str(source, "quality", "?"),
		rg_json_str(source, "date", "?"), number_of(source, "prices"));
	g_autofree char *indent = g_strnfill(strlen(head), ' ');
	g_autofree char *wrapped =
		rg_render_wrapped(rg_json_str(source, "source", "?"), indent, style);
	g_string_append(text, head);
	g_string_append(
		text, g_str_has_prefix(wrapped, indent) ? wrapped + strlen(indent) : wrapped);
}

static void add_sources(GString *text, const json_t *provider, const RgStyle *style)
{
	const json_t *sources = json_object_get(provider, "sources");
	if (json_array_size(sources) == 0)
		return;
	g_string_append_printf(text, "\n%s\n  %-9s %-8s %-10s %6s  %s\n",
		rg_json_str(provider, "provider", "?"), "MARKET", "QUALITY", "DATE", "PRICES",
		"SOURCE");
	rg_json_foreach (source, sources)
		add_source(text, source, style);
}

static void print_tables(const json_t *rows, const RgStyle *style)
{
	static const char *const numbers[] = {"types", "gpu_types", "retired_types", "regions",
		"prices", "unpriced", "derived", "old"};
	g_autoptr(GPtrArray) table =
		table_new("PROVIDER,TYPES,GPUS,RETIRED,REGIONS,PRICES,UNPRICED,DERIVED~,OLD*");
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach (row, rows) {
		g_autoptr(GStrvBuilder) cells = g_strv_builder_new();
		g_strv_builder_add(cells, rg_json_str(row, "provider", "?"));
		for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
			g_autofree char *number = g_strdup_printf("%d", number_of(row, numbers[i]));
			g_strv_builder_add(cells, number);
		}
		g_ptr_array_add(table, g_strv_builder_end(cells));
	}
	paint_table(
		text, table, &(TableLook){.indent = "", .numbers = G_N_ELEMENTS(numbers)}, style);
	rg_json_foreach (row, rows)
		add_sources(text, row, style);
	g_string_append(text, "\nUNPRICED: offered there, but the price is not known.\n"
			      "DERIVED~: computed from other prices.  OLD*: older than a year.\n");
	out_text(text->str);
}

static void show(Context *context)
{
	g_autoptr(RgProject) project = NULL;
	g_autofree char *today = today_text();
	context_open_providers(context);
	if (!rg_specs_project(NULL, NULL, NULL, &project, context->diags))
		return;
	g_autoptr(RgTables) tables = rg_tables_new(context->providers, project);
	g_autoptr(GArray) places = rg_tables_places(tables, NULL, NULL, context->diags);
	if (!places)
		return;
	json_auto_t *rows = json_array();
	for (guint i = 0; i < places->len; i++)
		json_array_append_new(
			rows, provider_json(&g_array_index(places, RgPlace, i), today));
	json_auto_t *report = json_pack("{s:s, s:O}", "format_version", "1.0", "providers", rows);
	if (context->json)
		out_json(report);
	else
		print_tables(rows, &context->out);
}

/* ---- check */

/* Of all providers. */
static size_t count_rows(const json_t *section)
{
	size_t n = 0;
	rg_json_foreach_member (name, value, section)
		n += json_is_array(value) ? json_array_size(value) : json_object_size(value);
	return n;
}

static void report(Context *context, const char *file, const json_t *rows)
{
	const size_t gpus = json_object_size(json_object_get(rows, "gpus"));
	const size_t types = count_rows(json_object_get(rows, "instance_types"));
	const size_t prices = count_rows(json_object_get(rows, "prices"));
	const size_t warnings = rg_diags_count(context->diags);
	if (context->json) {
		json_auto_t *json = json_pack("{s:s, s:I, s:I, s:I, s:I}", "format_version", "1.0",
			"gpus", (json_int_t)gpus, "instance_types", (json_int_t)types, "prices",
			(json_int_t)prices, "warnings", (json_int_t)warnings);
		out_json(json);
		return;
	}
	g_autofree char *text = g_strdup_printf(
		"%s: %zu GPU model%s, %zu instance type%s, %zu price%s; %zu warning%s.\n", file,
		gpus, gpus == 1 ? "" : "s", types, types == 1 ? "" : "s", prices,
		prices == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
	out_text(text);
}

static void check(Context *context, const char *file)
{
	g_autofree char *today = today_text();
	g_autoptr(RgProject) project = rg_project_load_file(file, context->diags);
	context_open_providers(context);
	if (!project)
		return;
	if (!json_object_get(project->view, "catalog")) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"\"%s\" has no `catalog` to check", file);
		rg_diag_hint(diag, "raygpu-spec(5) describes it");
		return;
	}
	g_autoptr(RgTables) tables = rg_tables_new(context->providers, project);
	g_autoptr(GArray) places = rg_tables_places(tables, NULL, NULL, context->diags);
	if (!places)
		return;
	const RgOwnRows *own = rg_tables_own(tables);
	const RgPlace *first = &g_array_index(places, RgPlace, 0);
	rg_gpus_judge(rg_catalog_get_gpus(first->catalog), own, context->diags);
	for (guint i = 0; i < places->len; i++)
		rg_catalog_judge(
			g_array_index(places, RgPlace, i).catalog, own, today, context->diags);
	report(context, file, own->rows);
}

int cmd_catalog(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {{NULL, 0, 0, 0, NULL, NULL, NULL}};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 0, 2, &code))
		return code;
	if (argc == 1) {
		show(context);
	} else if (argc == 3 && g_str_equal(argv[1], "check")) {
		check(context, argv[2]);
	} else {
		bool wants_check = g_str_equal(argv[1], "check");
		RgDiag *diag = rg_diags_error(context->diags,
			wants_check ? "usage.missing-argument" : "usage.bad-argument",
			wants_check ? "check requires a project file"
				    : "raygpu catalog has no \"%s\"",
			argv[argc - 1]);
		rg_diag_hint(diag, "usage: raygpu catalog [check FILE]");
		return EXIT_USAGE;
	}
	return rg_diags_exit_code(context->diags);
}
