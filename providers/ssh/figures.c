/* What an inventory says of its hosts in numbers: CPUs, memory, prices; and how a host differs. */
#include "ssh/figures.h"

#define MIB_PER_GIB 1024
#define MICROUSD 1e6
/* The kernel and the firmware keep some of the memory: a host with 64 GiB shows 62.5. */
#define MEMORY_SHOWN 0.9

/* ---- of the inventory */

/* The least of both; 0: one is not known. */
static int64_t least(int64_t a, int64_t b)
{
	return a && b ? MIN(a, b) : 0;
}

static void put_known(json_t *row, const char *key, int64_t value)
{
	if (value)
		json_object_set_new(row, key, json_integer(value));
}

/* What holds for each host of the shape, and the dearest price. */
static json_t *figures_of(const SshInventory *inventory, const char *shape)
{
	const SshHost *first = NULL;
	int64_t cpus = 0, memory_mib = 0, most = SSH_PRICE_UNKNOWN;
	bool partly = false;
	mod_ptr_foreach (const SshHost, host, inventory->all) {
		if (!g_str_equal(host->shape, shape))
			continue;
		cpus = first ? least(cpus, host->cpus) : host->cpus;
		memory_mib = first ? least(memory_mib, host->memory_mib) : host->memory_mib;
		most = MAX(most, host->microusd_hour);
		partly |= host->microusd_hour == SSH_PRICE_UNKNOWN;
		first = host;
	}
	json_t *row = json_object();
	put_known(row, "vcpus", cpus);
	put_known(row, "memory_mib", memory_mib);
	if (most != SSH_PRICE_UNKNOWN)
		json_object_update_new(row, json_pack("{s:I, s:b}", "microusd_hour",
						    (json_int_t)most, "partly_priced", partly));
	return row;
}

json_t *ssh_figures(const SshInventory *inventory)
{
	json_t *shapes = json_object();
	mod_ptr_foreach (const SshHost, host, inventory->all)
		if (!json_object_get(shapes, host->shape))
			json_object_set_new(
				shapes, host->shape, figures_of(inventory, host->shape));
	return shapes;
}

static int64_t rounded(double value)
{
	return (int64_t)(value + 0.5);
}

int64_t ssh_microusd_of(const json_t *usd)
{
	return usd ? rounded(json_number_value(usd) * MICROUSD) : SSH_PRICE_UNKNOWN;
}

int64_t ssh_memory_mib_of(const char *size)
{
	char *unit = NULL;
	double gib = size ? g_ascii_strtod(size, &unit) : 0;
	if (unit && g_str_has_suffix(unit, "TiB"))
		gib *= MIB_PER_GIB;
	return rounded(gib * MIB_PER_GIB);
}

/* ---- of a host */

static int64_t shown(const json_t *answer, const char *key)
{
	return g_ascii_strtoll(mod_str(answer, key), NULL, 10);
}

char *ssh_figures_differ(const SshHost *host, const json_t *answer, const char **key)
{
	int64_t cpus = shown(answer, "cpus"), mib = shown(answer, "memory_kib") / 1024;
	*key = "cpus";
	if (host->cpus && cpus && cpus != host->cpus)
		return g_strdup_printf("%s has %" G_GINT64_FORMAT " CPUs, and %" G_GINT64_FORMAT
				       " in the inventory",
			host->name, cpus, host->cpus);
	*key = "memory";
	if (host->memory_mib && mib &&
		(mib > host->memory_mib || (double)mib < MEMORY_SHOWN * (double)host->memory_mib))
		return g_strdup_printf("%s has %.1f GiB of memory, and %g GiB in the inventory",
			host->name, (double)mib / MIB_PER_GIB,
			(double)host->memory_mib / MIB_PER_GIB);
	return NULL;
}
