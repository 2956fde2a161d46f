/* Machine types: "n1-standard-8+nvidia-tesla-v100:1" is a machine type with attached GPUs; and what
 * machine_series.csv and attached_gpus.csv say about them. Pure. */
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
/* Compute Engine knows a custom N1 type by two names: "n1-custom-4-8192" becomes "custom-4-8192".
 */
void gcp_machine_parse(const char *name, GcpMachine *machine);
/* As in instance_type, the opposite of parsing; g_free. */
char *gcp_machine_name(const GcpMachine *machine);
/* "n2-custom-8-32768": lists of machine types do not have it. */
bool gcp_machine_is_custom(const GcpMachine *machine);

/* The market of machines that Google sells only as a part of a reservation. */
#define GCP_RESERVATION_BOUND "reservation-bound"

/* The network interface by this name is also the feature of images that have its driver. */
#define GCP_GVNIC "GVNIC"

/* A row of machine_series.csv; NULL: the series is not in it. Immutable. */
typedef struct {
	const char *series, *gpus, *markets, *disks;
	bool is_compact; /* compact placement policies take it */
	const char *nic; /* gVNIC: "required", "preferred" (for its bandwidth), or "" */
} GcpSeries;
typedef struct GcpSeriesTable GcpSeriesTable;
GcpSeriesTable *gcp_series_open(void);
void gcp_series_close(GcpSeriesTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GcpSeriesTable, gcp_series_close)
bool gcp_series_find(const GcpSeriesTable *table, const GcpMachine *machine, GcpSeries *series);
/* Is the word in the list, which has blanks between words? */
bool gcp_has_word(const char *list, const char *word);
/* The most vCPUs that a host with these attached GPUs may have; 0: there are no such machines. */
int gcp_most_vcpus(const GcpSeriesTable *table, const GcpMachine *machine);
/* The vCPUs in a machine type's name: 8 of n1-standard-8 and of n2-custom-8-32768; 0: none. */
int gcp_machine_vcpus(const GcpMachine *machine);
/* With GPUs, attached or included. */
bool gcp_machine_has_gpus(const GcpSeriesTable *table, const GcpMachine *machine);
