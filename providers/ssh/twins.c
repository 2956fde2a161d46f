/* One machine under two names of the inventory would be counted twice. */
#include "ssh/observe.h"

/* What two machines cannot have in common; NULL: it does not say it. Containers of one machine have
 * the boot in common, and an address of their own. */
static char *machine_of(const SshRun *run)
{
	const char *boot = mod_str(run->answer, "boot"), *address = mod_str(run->answer, "address");
	return *boot && *address ? g_strdup_printf("%s %s", boot, address) : NULL;
}

rgp_status ssh_refuse_twins(const ModCall *call, const GPtrArray *runs)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	mod_ptr_foreach (const SshRun, run, runs) {
		char *machine = machine_of(run);
		const char *other = machine ? g_hash_table_lookup(names, machine) : NULL;
		if (other) {
			g_autofree char *summary = g_strdup_printf(
				"%s and %s are one machine: both show the boot and address %s",
				other, run->host->name, machine);
			g_free(machine);
			mod_report_origin(&call->talk, RGP_CLASS_INVALID, run->host->origin,
				summary, "remove one of them from the inventory");
			return RGP_FAIL;
		}
		if (machine)
			g_hash_table_insert(names, machine, run->host->name);
	}
	return RGP_OK;
}
