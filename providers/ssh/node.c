#include "ssh/node.h"
#include "ssh/claim.h"

static void put(json_t *attributes, const char *name, const char *value)
{
	if (*value)
		json_object_set_new(attributes, name, json_string(value));
}

json_t *ssh_node_computed(const SshRun *run)
{
	const SshHost *host = run->host;
	const char *address = mod_str(run->answer, "address");
	json_t *attributes = json_object();
	g_autofree char *port = host->port ? g_strdup_printf("%u", host->port) : g_strdup("");
	/* also that there is none: otherwise a new one would be no change */
	json_object_set_new(attributes, "host", json_string(host->address));
	json_object_set_new(attributes, "user", json_string(host->user));
	json_object_set_new(attributes, "port", json_string(port));
	json_object_set_new(attributes, "proxy_jump", json_string(host->proxy_jump));
	put(attributes, "address", *host->internal_address ? host->internal_address : address);
	put(attributes, "files", mod_str(run->answer, "files"));
	json_object_set_new(attributes, "service", json_string("running"));
	return attributes;
}

json_t *ssh_node_observed(const SshRun *run)
{
	json_t *attributes = ssh_node_computed(run);
	if (!ssh_service_runs(run->answer))
		json_object_set_new(attributes, "service", json_string("stopped"));
	put(attributes, "shape", run->host->shape);
	put(attributes, "rack", run->host->rack);
	if (json_object_size(run->host->labels))
		json_object_set(attributes, "labels", run->host->labels);
	return attributes;
}

void ssh_node_set_id(SshRun *run, const char *id)
{
	ssh_run_set(run, "id", id);
	ssh_run_set(run, "node_ip", run->host->internal_address);
}

void ssh_node_set_boot(SshRun *run, const json_t *attributes)
{
	ssh_run_set(run, "script", mod_str(attributes, "script"));
}
