/* The consoles of machines. What nodes print comes from the
 * engine (sim/core/console.h), computed on request, from the time since the machine started. */
#include "aws/sim/resources.h"
#include "sim/core/console.h"

#define TEXT_MAX (64 * 1024) /* EC2 API reference, GetConsoleOutput: the most recent 64 KB */
#define SOON_MS ((gint64)5 * 60 * 1000) /* after its boot: what there is without Latest */

/* ---- the nodes of a cluster */

static const char *tag_of(const json_t *instance, const char *key)
{
	return doc_str(rg_sim_entry(json_object_get(instance, "tagSet"), "key", key), "value");
}

static gint64 gpus_of(const RgSimPlace *region, const json_t *instance)
{
	const json_t *type = ec2_type_find(region, doc_str(instance, "instanceType"));
	const json_t *gpus = json_object_get(json_object_get(type, "gpuInfo"), "gpus");
	return doc_int(json_array_get(gpus, 0), "count");
}

static RgSimNode node_of(const RgSimPlace *region, const json_t *instance)
{
	return (RgSimNode){.id = doc_str(instance, "instanceId"),
		.host = doc_str(instance, "_host"),
		.gpus = gpus_of(region, instance),
		.booted_ms = doc_int(instance, "_bootedMs"),
		.fault = json_object_get(instance, "_fault"),
		.runs = g_str_equal(ec2_instance_state(instance), "running"),
		.is_head = g_str_equal(tag_of(instance, "raygpu:name"), "head"),
		.lineage = tag_of(instance, "raygpu:lineage")};
}

static void print_console(
	const RgSimPlace *region, const json_t *instance, bool latest, GString *text)
{
	RgSim sim = *region->sim;
	if (!latest)
		sim.now_ms = MIN(sim.now_ms, doc_int(instance, "_bootedMs") + SOON_MS);
	rg_sim_console_print(&sim, region, EC2_INSTANCE, node_of, instance, text);
}

/* ---- GetConsoleOutput */

static bool has_latest(const RgSimCall *call, const json_t *instance)
{
	const json_t *type = ec2_type_find(call->place, doc_str(instance, "instanceType"));
	return !g_str_equal(doc_str(type, "hypervisor"), "xen");
}

static bool get_console_output(RgSimCall *call)
{
	const char *id = call_str(call, "InstanceId");
	const json_t *instance = ec2_find(call, EC2_INSTANCE, id);
	const bool latest = call_bool(call, "Latest", false);
	if (!instance)
		return false;
	if (latest && !has_latest(call, instance))
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"This instance type does not support retrieving the latest console logs. "
			"Supported instance types include all Nitro-based instances.");
	if (!ec2_go(call))
		return false;
	g_autoptr(GString) text = g_string_new(NULL);
	print_console(call->place, instance, latest, text);
	gsize skipped = text->len > TEXT_MAX ? text->len - TEXT_MAX : 0;
	g_autofree char *output =
		g_base64_encode((const guchar *)text->str + skipped, text->len - skipped);
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	ec2_xml_text(call->body, "instanceId", id);
	ec2_xml_text(call->body, "timestamp", now);
	if (*output)
		ec2_xml_text(call->body, "output", output);
	return true;
}

const RgSimAction ec2_console_actions[] = {
	{"GetConsoleOutput", get_console_output, false, "DryRun InstanceId Latest"},
	{NULL},
};
