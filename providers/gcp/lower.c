/* lower: the fitted cluster (src/fit/README.md) -> desired resources. Pure. */
#include "common/lower.h"
#include "gcp/kinds.h"
#include "gcp/machine.h"

/* A company's own rules usually have 1000 and win; the default network's, which open ssh and rdp to
 * the world, have 65534. */
#define ALLOW_PRIORITY 64000
#define DENY_PRIORITY 65000

typedef struct {
	ModLowering shared;
	GcpSeriesTable *series;
} Lowering;

static bool has_firewall(const Lowering *lowering)
{
	return !json_is_false(mod_lower_setting(&lowering->shared, "firewall"));
}

/* What resolve found (network.c). */
static const char *network_of(const Lowering *lowering, const char *member)
{
	return mod_str(mod_lower_facts(&lowering->shared), member);
}

/* ---- firewall */

static json_t *rule_of(const Lowering *lowering, const char *action, int priority)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:[s]}", "network", network_of(lowering, "network"),
		"direction", "INGRESS", "action", action, "priority", priority, "protocols", "all");
}

static void add_firewall(Lowering *lowering)
{
	json_t *closed = rule_of(lowering, "deny", DENY_PRIORITY);
	json_t *nodes = rule_of(lowering, "allow", ALLOW_PRIORITY);
	json_object_set_new(closed, "source_ranges", json_pack("[s]", "0.0.0.0/0"));
	json_object_set_new(closed, "target_tags", json_pack("[s]", GCP_OWN_TAG));
	json_object_set_new(nodes, "source_tags", json_pack("[s]", GCP_OWN_TAG));
	json_object_set_new(nodes, "target_tags", json_pack("[s]", GCP_OWN_TAG));
	mod_lower_add(&lowering->shared, GCP_FIREWALL, "closed", "/provider", closed);
	mod_lower_add(&lowering->shared, GCP_FIREWALL, "nodes", "/provider", nodes);
}

static json_t *network_tags(const Lowering *lowering)
{
	json_t *tags = json_array();
	if (has_firewall(lowering))
		json_array_append_new(tags, json_string(GCP_OWN_TAG));
	json_array_extend(tags, mod_unconst(mod_lower_setting(&lowering->shared, "network_tags")));
	return tags;
}

/* ---- nodes */

static void check_attached(Lowering *lowering, const json_t *node, const GcpMachine *machine)
{
	int most = gcp_most_vcpus(lowering->series, machine), vcpus = gcp_machine_vcpus(machine);
	if (!most)
		mod_lower_refuse(&lowering->shared, node, "",
			"choose another number of GPUs per node",
			"%s has no machines with %d of %s", "Compute Engine", machine->count,
			machine->accelerator);
	else if (vcpus > most)
		mod_lower_refuse(&lowering->shared, node, "", "choose a smaller host",
			"a host with %d of %s has at most %d vCPUs, and %s has %d", machine->count,
			machine->accelerator, most, machine->type, vcpus);
}

/* What resolve found about the image of the node; NULL: nothing is known of this one. */
static const json_t *features_of(const Lowering *lowering, const json_t *node)
{
	const json_t *facts = json_object_get(lowering->shared.fitted, "facts");
	const json_t *image = json_object_get(node, "image");
	const json_t *known =
		json_object_get(json_object_get(facts, "images"), mod_str(image, "key"));
	return g_str_equal(mod_str(known, "id"), mod_str(image, "id"))
		       ? json_object_get(known, "features")
		       : NULL;
}

/* Series that have no other interface get it whatever is known of the image: Compute Engine would
 * choose it too. */
static const char *nic_of(Lowering *lowering, const json_t *node, const GcpMachine *machine)
{
	const json_t *features = features_of(lowering, node);
	bool supported = mod_has_text(features, GCP_GVNIC);
	GcpSeries series;
	if (!gcp_series_find(lowering->series, machine, &series) || !*series.nic)
		return NULL;
	if (!g_str_equal(series.nic, "required"))
		return supported ? GCP_GVNIC : NULL;
	if (features && !supported)
		mod_lower_refuse(&lowering->shared, node, "",
			"choose an image with the guest OS feature GVNIC, or a machine of another "
			"series",
			"%s has only gVNIC network interfaces, which image %s does not support",
			machine->type, gcp_last_of(mod_str(json_object_get(node, "image"), "id")));
	return GCP_GVNIC;
}

static void check_machine(Lowering *lowering, const json_t *node, const GcpMachine *machine)
{
	const json_t *offer = json_object_get(node, "offer");
	const char *disk = mod_str(json_object_get(node, "disk"), "type");
	bool spot = g_str_equal(mod_str(offer, "market"), "spot");
	bool reserved = *mod_str(offer, "reservation") != '\0';
	GcpSeries series;
	if (!gcp_series_find(lowering->series, machine, &series))
		return;
	if (!reserved && !gcp_has_word(series.markets, spot ? "SPOT" : "STANDARD"))
		mod_lower_refuse(&lowering->shared, node, "",
			gcp_has_word(series.markets, "SPOT") ? "use `market: spot`" : NULL,
			"%s is not sold %s", machine->type, spot ? "as spot" : "on demand");
	if (*disk && !gcp_has_word(series.disks, disk))
		mod_lower_refuse(&lowering->shared, node, "/disk/type", NULL,
			"%s does not boot from %s disks: it takes %s", machine->type, disk,
			series.disks);
	if (machine->accelerator)
		check_attached(lowering, node, machine);
	if (*mod_str(json_object_get(node, "network"), "placement") && !series.is_compact)
		mod_lower_refuse(&lowering->shared, node, "/network/placement",
			"remove `placement`, or choose a machine of another series",
			"Compute Engine has no compact placement for %s", machine->type);
	if (mod_int(json_object_get(node, "network"), "rdma") > 0)
		mod_lower_refuse(&lowering->shared, node, "/network/rdma",
			"remove `rdma`: nodes then use TCP through their one interface",
			"GPUDirect is not supported: each further interface needs a VPC network of "
			"its own");
}

static const char *market_of(
	const Lowering *lowering, const json_t *offer, const GcpMachine *machine)
{
	GcpSeries series;
	if (g_str_equal(mod_str(offer, "market"), "spot"))
		return "spot";
	bool bound = *mod_str(offer, "reservation") &&
		     gcp_series_find(lowering->series, machine, &series) &&
		     !gcp_has_word(series.markets, "STANDARD");
	return bound ? GCP_RESERVATION_BOUND : "on-demand";
}

static json_t *instance_attributes(Lowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer");
	const json_t *network = json_object_get(node, "network");
	bool spot = g_str_equal(mod_str(offer, "market"), "spot");
	g_auto(GcpMachine) machine = {0};
	gcp_machine_parse(mod_str(offer, "instance_type"), &machine);
	check_machine(lowering, node, &machine);
	const char *reservation = mod_str(offer, "reservation");
	bool terminates = spot || mod_int(offer, "gpus") > 0 ||
			  gcp_machine_has_gpus(lowering->series, &machine);
	g_autofree char *type = gcp_machine_name(&machine);
	json_t *attributes = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o}",
		"instance_type", type, "image", mod_str(json_object_get(node, "image"), "id"),
		"zone", mod_str(offer, "zone"), "subnetwork", network_of(lowering, "subnetwork"),
		"market", market_of(lowering, offer, &machine), "host_maintenance",
		terminates ? "TERMINATE" : "MIGRATE", "instance_state", "running", "public_ip",
		json_is_true(json_object_get(network, "public_ip")), "network_tags",
		network_tags(lowering), "labels", mod_lower_labels(&lowering->shared));
	mod_lower_disk(node, attributes);
	const char *nic = nic_of(lowering, node, &machine);
	if (nic)
		json_object_set_new(attributes, "nic_type", json_string(nic));
	if (*reservation)
		json_object_set_new(attributes, "reservation", json_string(reservation));
	if (mod_lower_setting(&lowering->shared, "service_account"))
		json_object_set(attributes, "service_account",
			mod_unconst(mod_lower_setting(&lowering->shared, "service_account")));
	if (json_is_true(mod_lower_setting(&lowering->shared, "secure_boot")))
		json_object_set_new(attributes, "secure_boot", json_true());
	json_t *threads = json_object_get(json_object_get(node, "config"), "threads_per_core");
	if (threads)
		json_object_set(attributes, "threads_per_core", threads);
	mod_lower_user_data(&lowering->shared, node, attributes);
	if (*mod_str(node, "expires"))
		json_object_set(attributes, "expires", json_object_get(node, "expires"));
	return attributes;
}

static void add_node(Lowering *lowering, const json_t *node)
{
	ModLowering *shared = &lowering->shared;
	json_t *attributes = instance_attributes(lowering, node);
	if (g_str_equal(mod_str(node, "role"), "head")) {
		json_object_set_new(
			attributes, "private_ip", mod_lower_ref(GCP_HEAD_ADDRESS, "address"));
		mod_lower_add(shared, GCP_ADDRESS, "head", mod_str(node, "origin"),
			json_pack("{s:s, s:o}", "subnetwork", network_of(lowering, "subnetwork"),
				"labels", mod_lower_labels(shared)));
	} else {
		mod_lower_place(shared, node, attributes,
			&(ModPlacement){GCP_POLICY, "policy_name", "resource_policy",
				json_pack("{s:s}", "collocation", "COLLOCATED")});
	}
	mod_lower_add_node(shared, node, attributes);
}

rgp_status gcp_lower(const GcpCall *call, const json_t *input)
{
	/* instances are created after the rules that close them, and deleted before */
	static const char *const rules[] = {GCP_FIREWALL ".closed", GCP_FIREWALL ".nodes", NULL};
	g_autoptr(GcpSeriesTable) series = gcp_series_open();
	Lowering lowering = {
		.shared = {.talk = &call->talk,
			.fitted = input,
			.node_kind = GCP_INSTANCE,
			.head = GCP_HEAD_ADDRESS,
			.head_attribute = "address"},
		.series = series,
	};
	if (has_firewall(&lowering)) {
		lowering.shared.first = rules;
		add_firewall(&lowering);
	}
	mod_foreach (node, json_object_get(input, "nodes"))
		add_node(&lowering, node);
	return mod_lower_give(&lowering.shared);
}
