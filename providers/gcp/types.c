/* machineTypes.aggregatedList -> descriptions of machine types that no table has (compute.v1,
 * schema MachineType). */
#include <string.h>
#include "gcp/instance.h"
#include "gcp/machine.h"
#include "gcp/resolve.h"

#define FIELDS "name,guestCpus,memoryMb,architecture,accelerators"

/* "X86_64"; older descriptions say nothing. */
static const char *arch_of(const json_t *record)
{
	return g_str_equal(mod_str(record, "architecture"), "ARM64") ? "arm64" : "x86_64";
}

static json_t *gpus_of(const json_t *record)
{
	json_t *gpus = json_array();
	mod_foreach (one, json_object_get(record, "accelerators")) {
		const char *name = mod_str(one, "guestAcceleratorType");
		json_array_append_new(gpus,
			json_pack("{s:s, s:s, s:I}", "vendor",
				g_str_has_prefix(name, "nvidia-") ? "NVIDIA" : "Google", "name",
				name, "count", MAX(mod_int(one, "guestAcceleratorCount"), 1)));
	}
	return gpus;
}

/* What the API does not say, and its series may. */
static void add_series(json_t *row, const char *name)
{
	static const char *const words[][2] = {
		{"STANDARD", "on_demand"}, {"SPOT", "spot"}, {"RESERVATION_BOUND", "reserved"}};
	GcpSeriesTable *table = gcp_series_open();
	g_auto(GcpMachine) machine = {0};
	GcpSeries series;
	gcp_machine_parse(name, &machine);
	if (gcp_series_find(table, &machine, &series)) {
		json_t *markets = json_array();
		for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
			if (gcp_has_word(series.markets, words[i][0]))
				json_array_append_new(markets, json_string(words[i][1]));
		json_object_set_new(row, "markets", markets);
		json_object_set_new(row, "placement", json_boolean(series.is_compact));
	}
	gcp_series_close(table);
}

/* A type is the same in all zones. */
static rgp_status take(void *types, const char *scope, const json_t *list)
{
	mod_foreach (record, list) {
		const char *name = mod_str(record, "name");
		if (!json_is_null(json_object_get(types, name)))
			continue;
		json_t *row = json_pack("{s:I, s:I, s:s, s:o}", "vcpus",
			mod_int(record, "guestCpus"), "memory_mib", mod_int(record, "memoryMb"),
			"arch", arch_of(record), "gpus", gpus_of(record));
		add_series(row, name);
		json_object_set_new(types, name, row);
	}
	return RGP_OK;
}

rgp_status gcp_types_read(const GcpCall *call, const json_t *wanted, json_t *facts)
{
	g_autoptr(GString) filter = g_string_new(NULL);
	json_t *types = json_object();
	json_object_set_new(facts, "types", types);
	mod_foreach (one, wanted) {
		const char *name = mod_str(one, "name");
		json_object_set_new(types, name, json_null());
		if (!strpbrk(name, "\"\\"))
			g_string_append_printf(
				filter, "%s(name = \"%s\")", filter->len ? " OR " : "", name);
	}
	return filter->len ? gcp_list_zones(call, "machineTypes", FIELDS, filter->str, take, types)
			   : RGP_OK;
}
