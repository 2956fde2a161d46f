#include "gcp/machine.h"
#include <string.h>
#include "gcp/data.h"

struct GcpSeriesTable {
	GPtrArray *rows; /* GStrv */
};

enum { SERIES, GPUS, MARKETS, DISKS, MOST_VCPUS, COMPACT, FIELDS };

void gcp_machine_clear(GcpMachine *machine)
{
	g_free(machine->type);
	g_free(machine->accelerator);
	*machine = (GcpMachine){0};
}

void gcp_machine_parse(const char *name, GcpMachine *machine)
{
	g_auto(GStrv) halves = g_strsplit(name, "+", 2);
	*machine = (GcpMachine){.type = g_strdup(halves[0] ? halves[0] : "")};
	if (!halves[0] || !halves[1])
		return;
	g_auto(GStrv) parts = g_strsplit(halves[1], ":", 2);
	machine->accelerator = g_strdup(parts[0]);
	machine->count = parts[1] ? (int)g_ascii_strtoll(parts[1], NULL, 10) : 1;
}

GcpSeriesTable *gcp_series_open(void)
{
	GcpSeriesTable *table = g_new0(GcpSeriesTable, 1);
	table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_auto(GStrv) lines = g_strsplit(gcp_data_find("machine_series.csv")->data, "\n", -1);
	for (size_t i = 1; lines[0] && lines[i] && *lines[i]; i++)
		g_ptr_array_add(table->rows, g_strsplit(lines[i], ",", FIELDS + 1));
	return table;
}

void gcp_series_close(GcpSeriesTable *table)
{
	g_ptr_array_unref(table->rows);
	g_free(table);
}

/* "a3" of "a3-megagpu-8g", "n1+nvidia-tesla-t4" of an n1 with T4s. Rows of longer series come
 * first. */
static bool is_of_series(const GcpMachine *machine, const char *series)
{
	g_auto(GStrv) halves = g_strsplit(series, "+", 2);
	size_t length = strlen(halves[0]);
	return g_str_has_prefix(machine->type, halves[0]) && strchr("-", machine->type[length]) &&
	       !g_strcmp0(halves[1], machine->accelerator);
}

bool gcp_series_find(const GcpSeriesTable *table, const GcpMachine *machine, GcpSeries *series)
{
	for (guint i = 0; i < table->rows->len; i++) {
		char **fields = table->rows->pdata[i];
		if (g_strv_length(fields) <= COMPACT || !is_of_series(machine, fields[SERIES]))
			continue;
		*series = (GcpSeries){fields[SERIES], fields[GPUS], fields[MARKETS], fields[DISKS],
			fields[MOST_VCPUS], g_str_equal(fields[COMPACT], "yes")};
		return true;
	}
	return false;
}

bool gcp_has_word(const char *list, const char *word)
{
	g_auto(GStrv) words = g_strsplit(list, " ", -1);
	return g_strv_contains((const char *const *)words, word);
}

int gcp_series_vcpus(const GcpSeries *series, int count)
{
	g_auto(GStrv) words = g_strsplit(series->most_vcpus, " ", -1);
	for (char **word = words; *word; word++) {
		const char *colon = strchr(*word, ':');
		if (colon && g_ascii_strtoll(*word, NULL, 10) == count)
			return (int)g_ascii_strtoll(colon + 1, NULL, 10);
	}
	return 0;
}

int gcp_machine_vcpus(const GcpMachine *machine)
{
	const char *dash = strrchr(machine->type, '-');
	return dash ? (int)g_ascii_strtoll(dash + 1, NULL, 10) : 0;
}

bool gcp_machine_has_gpus(const GcpSeriesTable *table, const GcpMachine *machine)
{
	GcpSeries series;
	return machine->accelerator ||
	       (gcp_series_find(table, machine, &series) && g_str_equal(series.gpus, "included"));
}
