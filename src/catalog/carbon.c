#include "catalog/carbon.h"
#include <math.h>
#include <string.h>
#include "base/embedded.h"
#include "catalog/internal.h"

typedef struct {
	double g_per_kwh;
	const char *year, *source;
} Grid;

typedef struct {
	double idle, full;
} Power;

typedef struct {
	Power vcpu;
	double memory_gb, pue;
} Host;

struct RgCarbon {
	GStringChunk *texts;
	GHashTable *grids; /* "PROVIDER/REGION" -> Grid* */
	GHashTable *gpus;  /* model -> Power* */
	GHashTable *hosts; /* provider -> Host* */
};

void rg_carbon_free(RgCarbon *carbon)
{
	if (!carbon)
		return;
	g_hash_table_unref(carbon->grids);
	g_hash_table_unref(carbon->gpus);
	g_hash_table_unref(carbon->hosts);
	g_string_chunk_free(carbon->texts);
	g_free(carbon);
}

/* Takes key and value; a duplicate key is a fault of the file. */
static bool put(
	GHashTable *table, char *key, void *value, const RgTable *from, size_t row, RgDiags *diags)
{
	if (*key != '\0' && g_hash_table_insert(table, key, value))
		return true;
	rg_table_complain(from, row, 0, "a unique name", diags);
	return false;
}

static bool read_grid(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCarbon *carbon = self;
	enum { PROVIDER, REGION, YEAR, GRAMS, SOURCE };
	Grid grid = {
		.year = g_string_chunk_insert_const(carbon->texts, rg_table_cell(table, row, YEAR)),
		.source = g_string_chunk_insert_const(
			carbon->texts, rg_table_cell(table, row, SOURCE))};
	if (!rg_table_amount(table, row, GRAMS, false, &grid.g_per_kwh, diags))
		return false;
	if (*grid.year == '\0' || *grid.source == '\0') {
		rg_table_complain(table, row, YEAR, "a year, and a source beside it", diags);
		return false;
	}
	char *key = g_strconcat(
		rg_table_cell(table, row, PROVIDER), "/", rg_table_cell(table, row, REGION), NULL);
	return put(carbon->grids, key, g_memdup2(&grid, sizeof grid), table, row, diags);
}

static bool read_power(
	const RgTable *table, size_t row, size_t column, Power *power, RgDiags *diags)
{
	if (!rg_table_amount(table, row, column, false, &power->idle, diags) ||
		!rg_table_amount(table, row, column + 1, false, &power->full, diags))
		return false;
	if (power->idle <= power->full)
		return true;
	rg_table_complain(table, row, column, "at most the watts at full load", diags);
	return false;
}

static bool read_gpu(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCarbon *carbon = self;
	Power power;
	return read_power(table, row, 1, &power, diags) &&
	       put(carbon->gpus, g_strdup(rg_table_cell(table, row, 0)),
		       g_memdup2(&power, sizeof power), table, row, diags);
}

static bool read_host(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCarbon *carbon = self;
	enum { PROVIDER, IDLE, FULL, MEMORY, PUE };
	Host host;
	if (!read_power(table, row, IDLE, &host.vcpu, diags) ||
		!rg_table_amount(table, row, MEMORY, false, &host.memory_gb, diags) ||
		!rg_table_amount(table, row, PUE, false, &host.pue, diags))
		return false;
	if (host.pue < 1) {
		rg_table_complain(table, row, PUE, "1 or more", diags);
		return false;
	}
	return put(carbon->hosts, g_strdup(rg_table_cell(table, row, PROVIDER)),
		g_memdup2(&host, sizeof host), table, row, diags);
}

static const RgDataFile files[] = {
	{"grid_intensity.csv", {"provider", "region", "year", "g_co2e_per_kwh", "source"},
		read_grid},
	{"gpu_power.csv", {"gpu_model", "idle_watts", "full_watts"}, read_gpu},
	{"host_power.csv",
		{"provider", "vcpu_idle_watts", "vcpu_full_watts", "memory_watts_per_gb", "pue"},
		read_host},
};

RgCarbon *rg_carbon_open_with(RgCatalogText text, void *data, RgDiags *diags)
{
	g_autoptr(RgCarbon) carbon = g_new0(RgCarbon, 1);
	carbon->texts = g_string_chunk_new(4096);
	carbon->grids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	carbon->gpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	carbon->hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	const RgCatalogSource source = {.text = text, .data = data};
	bool good = rg_catalog_read_files(files, G_N_ELEMENTS(files), &source, carbon, diags);
	return good ? g_steal_pointer(&carbon) : NULL;
}

RgCarbon *rg_carbon_open(RgDiags *diags)
{
	return rg_carbon_open_with(
		rg_catalog_embedded_text, (void *)(uintptr_t)rg_catalog_data, diags);
}

static double watts_at(const Power *power)
{
	return power->idle + (power->full - power->idle) * RG_CARBON_UTILISATION_PERCENT / 100;
}

/* For a user's own model: from its TDP, with the ratios in data/CARBON.md. */
static bool find_gpu_power(const RgCarbon *carbon, const RgGpuModel *model, Power *power)
{
	const Power *row = g_hash_table_lookup(carbon->gpus, model->name);
	if (model->own_power)
		*power = (Power){model->power_w * 0.115, model->power_w * 1.02};
	else if (row)
		*power = *row;
	return model->own_power || row;
}

RgCarbonHour rg_carbon_hour(const RgCarbon *carbon, const char *provider,
	const RgInstanceType *type, const char *region)
{
	RgCarbonHour hour = {.mg_hour = RG_CARBON_UNKNOWN};
	g_autofree char *key = g_strconcat(provider, "/", region, NULL);
	const Grid *grid = g_hash_table_lookup(carbon->grids, key);
	const Host *host = g_hash_table_lookup(carbon->hosts, provider);
	Power gpu = {0};
	bool has_power = !type->gpu || find_gpu_power(carbon, type->gpu, &gpu);
	if (grid) {
		hour.year = grid->year;
		hour.source = grid->source;
		hour.g_per_kwh = grid->g_per_kwh;
	}
	hour.missing = !host ? "provider" : !grid ? "region" : !has_power ? "GPU model" : NULL;
	if (hour.missing)
		return hour;
	double watts = type->vcpus * watts_at(&host->vcpu) + type->memory_gib * host->memory_gb;
	watts += type->gpus * type->gpu_fraction * watts_at(&gpu);
	/* W / 1000 x g/kWh = g/h; times 1000 = mg/h */
	hour.mg_hour = llround(watts * host->pue * grid->g_per_kwh);
	return hour;
}
