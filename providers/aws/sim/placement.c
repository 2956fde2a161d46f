#include "aws/sim/placement.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/network.h"

bool rg_sim_placement_holds(const json_t *instance)
{
	const char *state = rg_sim_instance_state(instance);
	return !g_str_equal(state, "terminated") && !g_str_equal(state, "stopped");
}

gint64 rg_sim_placement_free(const RgSimCall *call, const char *type, const char *zone)
{
	gint64 left = rg_sim_knobs_capacity(call->knobs, type, zone);
	/* A dry run asks for permission and form; EC2 tells of capacity only when it launches. */
	if (left < 0 || rg_sim_param_bool(call->params, "DryRun", false))
		return G_MAXINT64;
	g_autoptr(GPtrArray) all = rg_sim_world_all(call->region, RG_SIM_INSTANCE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *instance = g_ptr_array_index(all, i);
		const json_t *placement = json_object_get(instance, "placement");
		if (rg_sim_placement_holds(instance) &&
			g_str_equal(rg_sim_doc_str(instance, "instanceType"), type) &&
			g_str_equal(rg_sim_doc_str(placement, "availabilityZone"), zone))
			left--;
	}
	return MAX(left, 0);
}

static bool offers(const RgSimCall *call, const char *type, const json_t *zone)
{
	return rg_sim_data_offered(
		call->world->data, type, call->region->name, rg_sim_doc_str(zone, "id"));
}

/* "us-east-1b, us-east-1c": zones other than `but` that offer the type, and have room for one if
 * `with_room`. g_free it. */
static char *other_zones(const RgSimCall *call, const char *type, const char *but, bool with_room)
{
	GString *out = g_string_new(NULL);
	size_t i;
	json_t *zone;
	json_array_foreach (json_object_get(call->region->entry, "zones"), i, zone) {
		const char *name = rg_sim_doc_str(zone, "name");
		if (g_str_equal(name, but) || !offers(call, type, zone) ||
			(with_room && rg_sim_placement_free(call, type, name) < 1))
			continue;
		g_string_append_printf(out, "%s%s", out->len ? ", " : "", name);
	}
	return g_string_free(out, FALSE);
}

bool rg_sim_placement_fail_capacity(RgSimCall *call, const char *type, const char *zone)
{
	if (!zone)
		return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
			"There is no Spot or On-Demand capacity available that matches your "
			"request.");
	g_autofree char *others = other_zones(call, type, zone, true);
	if (!*others)
		return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
			"We currently do not have sufficient %s capacity in the Availability Zone "
			"you requested (%s). Our system will be working on provisioning "
			"additional capacity.",
			type, zone);
	return rg_sim_fail(call, 500, "InsufficientInstanceCapacity",
		"We currently do not have sufficient %s capacity in the Availability Zone you "
		"requested (%s). Our system will be working on provisioning additional capacity. "
		"You can currently get %s capacity by not specifying an Availability Zone in your "
		"request or choosing %s.",
		type, zone, type, others);
}

static bool fail_unsupported(RgSimCall *call, const char *type, const char *zone)
{
	g_autofree char *others = other_zones(call, type, zone, false);
	if (!*others)
		return rg_sim_fail(call, 400, "Unsupported",
			"The requested configuration is currently not supported. Please check the "
			"documentation for supported configurations.");
	return rg_sim_fail(call, 400, "Unsupported",
		"Your requested instance type (%s) is not supported in your requested "
		"Availability Zone (%s). Please retry your request by not specifying an "
		"Availability Zone or choosing %s.",
		type, zone, others);
}

static bool place_in(RgSimCall *call, const char *type, const char *wanted, gint64 min,
	const char **zone, gint64 *count)
{
	const json_t *entry = rg_sim_data_zone(call->world->data, call->region->name, wanted);
	if (!entry)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid availability zone: [%s]", wanted);
	if (!offers(call, type, entry))
		return fail_unsupported(call, type, wanted);
	gint64 left = rg_sim_placement_free(call, type, wanted);
	if (left < min)
		return rg_sim_placement_fail_capacity(call, type, wanted);
	*zone = rg_sim_doc_str(entry, "name");
	*count = MIN(left, *count);
	return true;
}

bool rg_sim_place(RgSimCall *call, const char *type, const char *wanted, gint64 min, gint64 max,
	const char **zone, gint64 *count)
{
	*count = max;
	if (wanted)
		return place_in(call, type, wanted, min, zone, count);
	gint64 best = -1;
	size_t i;
	json_t *entry;
	json_array_foreach (json_object_get(call->region->entry, "zones"), i, entry) {
		const char *name = rg_sim_doc_str(entry, "name");
		if (!offers(call, type, entry) ||
			!rg_sim_network_default_subnet(call->region, name))
			continue;
		gint64 left = MIN(rg_sim_placement_free(call, type, name), max);
		if (left > best) {
			best = left;
			*zone = name;
		}
	}
	if (best < 0)
		return fail_unsupported(call, type, "");
	if (best < min)
		return rg_sim_placement_fail_capacity(call, type, NULL);
	*count = best;
	return true;
}
