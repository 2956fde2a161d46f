/* Machine types: "n1-standard-8+nvidia-tesla-v100:1" is a machine type with attached GPUs; and what
 * machine_series.csv says about their series. Pure. */
#pragma once
#include <glib.h>
#include <stdbool.h>

typedef struct {
	char *type;	   /* "n1-standard-8" */
	char *accelerator; /* "nvidia-tesla-v100", attached; NULL: none */
	int count;
} GcpMachine;

void gcp_machine_clear(GcpMachine *machine);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GcpMachine, gcp_machine_clear)
void gcp_machine_parse(const char *name, GcpMachine *machine);

/* The market of machines that Google sells only as a part of a reservation. */
#define GCP_RESERVATION_BOUND "reservation-bound"

/* A row of machine_series.csv; NULL: the series is not in it. Immutable. */
typedef struct {
	const char *series, *gpus, *markets, *disks, *most_vcpus;
	bool is_compact; /* compact placement policies take it */
} GcpSeries;
typedef struct GcpSeriesTable GcpSeriesTable;
GcpSeriesTable *gcp_series_open(void);
void gcp_series_close(GcpSeriesTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GcpSeriesTable, gcp_series_close)
bool gcp_series_find(const GcpSeriesTable *table, const GcpMachine *machine, GcpSeries *series);
/* Is the word in the list, which has blanks between words? */
bool gcp_has_word(const char *list, const char *word);
/* The most vCPUs that a host with `count` GPUs may have; 0: no limit is known. */
int gcp_series_vcpus(const GcpSeries *series, int count);
/* The vCPUs in a machine type's name: 8 of n1-standard-8; 0: none. */
int gcp_machine_vcpus(const GcpMachine *machine);
/* With GPUs, attached or included. */
bool gcp_machine_has_gpus(const GcpSeriesTable *table, const GcpMachine *machine);
