#include "gcp/machine.h"
#include <string.h>
#include "gcp/data.h"

#define CUSTOM "custom-"

struct GcpSeriesTable {
	GPtrArray *rows, *attached; /* GStrv */
};

enum { SERIES, GPUS, MARKETS, DISKS, COMPACT, NIC };
enum { A_NAME, A_MODEL, A_FAMILIES, A_GPUS, A_VCPUS };

void gcp_machine_clear(GcpMachine *machine)
{
	g_free(machine->type);
	g_free(machine->accelerator);
	*machine = (GcpMachine){0};
}

void gcp_machine_parse(const char *name, GcpMachine *machine)
{
	g_auto(GStrv) halves = g_strsplit(name, "+", 2);
	const char *type = halves[0] ? halves[0] : "";
	if (g_str_has_prefix(type, "n1-" CUSTOM))
		type += strlen("n1-");
	*machine = (GcpMachine){.type = g_strdup(type)};
	if (!halves[0] || !halves[1])
		return;
	g_auto(GStrv) parts = g_strsplit(halves[1], ":", 2);
	machine->accelerator = g_strdup(parts[0]);
	machine->count = parts[1] ? (int)g_ascii_strtoll(parts[1], NULL, 10) : 1;
}

char *gcp_machine_name(const GcpMachine *machine)
{
	return machine->accelerator ? g_strdup_printf("%s+%s:%d", machine->type,
					      machine->accelerator, machine->count)
				    : g_strdup(machine->type);
}

static const char *custom_part(const GcpMachine *machine)
{
	const char *part = strstr(machine->type, CUSTOM);
	return part && (part == machine->type || part[-1] == '-') ? part : NULL;
}

bool gcp_machine_is_custom(const GcpMachine *machine)
{
	return custom_part(machine) != NULL;
}

GcpSeriesTable *gcp_series_open(void)
{
	GcpSeriesTable *table = g_new0(GcpSeriesTable, 1);
	table->rows = mod_rows(gcp_data_find("machine_series.csv")->data, NIC + 1, -1);
	table->attached = mod_rows(gcp_data_find("attached_gpus.csv")->data, A_VCPUS + 1, -1);
	return table;
}

void gcp_series_close(GcpSeriesTable *table)
{
	g_ptr_array_unref(table->rows);
	g_ptr_array_unref(table->attached);
	g_free(table);
}

/* "a3" of "a3-megagpu-8g", "n1+nvidia-tesla-t4" of an n1 with T4s. Rows of longer series come
 * first. */
static bool is_of_series(const GcpMachine *machine, const char *series)
{
	g_auto(GStrv) halves = g_strsplit(series, "+", 2);
	size_t length = strlen(halves[0]);
	bool named = g_str_has_prefix(machine->type, CUSTOM)
			     ? g_str_equal(halves[0], "n1")
			     : g_str_has_prefix(machine->type, halves[0]) &&
				       strchr("-", machine->type[length]);
	return named && !g_strcmp0(halves[1], machine->accelerator);
}

bool gcp_series_find(const GcpSeriesTable *table, const GcpMachine *machine, GcpSeries *series)
{
	mod_ptr_foreach (ModField, fields, table->rows) {
		if (!is_of_series(machine, fields[SERIES]))
			continue;
		*series = (GcpSeries){fields[SERIES], fields[GPUS], fields[MARKETS], fields[DISKS],
			g_str_equal(fields[COMPACT], "yes"), fields[NIC]};
		return true;
	}
	return false;
}

bool gcp_has_word(const char *list, const char *word)
{
	g_auto(GStrv) words = g_strsplit(list, " ", -1);
	return g_strv_contains((const char *const *)words, word);
}

int gcp_most_vcpus(const GcpSeriesTable *table, const GcpMachine *machine)
{
	mod_ptr_foreach (ModField, fields, table->attached)
		if (!g_strcmp0(fields[A_NAME], machine->accelerator) &&
			g_ascii_strtoll(fields[A_GPUS], NULL, 10) == machine->count)
			return (int)g_ascii_strtoll(fields[A_VCPUS], NULL, 10);
	return 0;
}

int gcp_machine_vcpus(const GcpMachine *machine)
{
	const char *custom = custom_part(machine);
	const char *dash = custom ? strchr(custom, '-') : strrchr(machine->type, '-');
	return dash ? (int)g_ascii_strtoll(dash + 1, NULL, 10) : 0;
}

bool gcp_machine_has_gpus(const GcpSeriesTable *table, const GcpMachine *machine)
{
	GcpSeries series;
	return machine->accelerator ||
	       (gcp_series_find(table, machine, &series) && g_str_equal(series.gpus, "included"));
}
