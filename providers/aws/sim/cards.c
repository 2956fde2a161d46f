#include "aws/sim/cards.h"
#include "aws/sim/types.h"

/* "efa" has an EFA and an ordinary device, "efa-only" just the first (EC2 API, shape
 * InstanceNetworkInterfaceSpecification). */
static bool is_efa(const char *type)
{
	return g_strcmp0(type, "efa") == 0 || rg_sim_card_is_bare(type);
}

bool rg_sim_card_is_bare(const char *interface_type)
{
	return g_strcmp0(interface_type, "efa-only") == 0;
}

static gint64 member(const json_t *type, const char *name, gint64 otherwise)
{
	const json_t *value = json_object_get(json_object_get(type, "networkInfo"), name);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static gint64 max_efa(const json_t *type)
{
	const json_t *info = json_object_get(json_object_get(type, "networkInfo"), "efaInfo");
	return json_integer_value(json_object_get(info, "maximumEfaInterfaces"));
}

/* Devices of one card: as the type's entry lists them, else the type's. */
static gint64 max_devices(const json_t *type, gint64 card)
{
	const json_t *cards = json_object_get(json_object_get(type, "networkInfo"), "networkCards");
	size_t i;
	const json_t *entry;
	json_array_foreach (cards, i, entry) {
		if (json_integer_value(json_object_get(entry, "networkCardIndex")) == card)
			return json_integer_value(
				json_object_get(entry, "maximumNetworkInterfaces"));
	}
	return rg_sim_type_max_interfaces(type);
}

/* Of a type with more cards than EFA interfaces (p6-b300: 17 and 16) the first card takes none
 * (AWS's engineers in aws-parallelcluster issue 7143). */
static bool takes_efa(const json_t *type, gint64 card)
{
	return card > 0 || member(type, "maximumNetworkCards", 1) <= max_efa(type);
}

static bool check_place(RgSimCall *call, const RgSimLaunch *launch, const RgSimAttachment *place)
{
	gint64 cards = member(launch->type_entry, "maximumNetworkCards", 1);
	if (place->card < 0 || place->card >= cards)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"The specified number '%" G_GINT64_FORMAT
			"' for the network card index exceeds the maximum number of network cards "
			"supported by %s. Specify a number from 0 to %" G_GINT64_FORMAT
			", and try again.",
			place->card, launch->type, cards - 1);
	gint64 devices = max_devices(launch->type_entry, place->card);
	if (place->device >= devices)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"The specified number '%" G_GINT64_FORMAT
			"' for the device index exceeds the maximum number of network interfaces "
			"supported by the network card at network card index %" G_GINT64_FORMAT
			". The maximum devices for this network card is %" G_GINT64_FORMAT
			". Specify a number from 0 to %" G_GINT64_FORMAT ", and try again.",
			place->device, place->card, devices, devices - 1);
	return true;
}

static bool has_earlier_efa(const RgSimLaunch *launch, unsigned n, gint64 card)
{
	for (unsigned i = 0; i < n; i++) {
		const RgSimLaunchInterface *other =
			&g_array_index(launch->interfaces, RgSimLaunchInterface, i);
		if (is_efa(other->form.interface_type) && other->attachment.card == card)
			return true;
	}
	return false;
}

static bool check_efa(RgSimCall *call, const RgSimLaunch *launch, unsigned n)
{
	const RgSimLaunchInterface *wanted =
		&g_array_index(launch->interfaces, RgSimLaunchInterface, n);
	const char *kind = wanted->form.interface_type;
	gint64 card = wanted->attachment.card;
	if (!is_efa(kind))
		return !kind || g_str_equal(kind, "interface") ||
		       rg_sim_fail(call, 400, "InvalidParameterValue",
			       "Invalid value '%s' for InterfaceType.", kind);
	if (!max_efa(launch->type_entry))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"%s instances do not support Elastic Fabric Adapters.", launch->type);
	if (!takes_efa(launch->type_entry, card))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The network card at network card index %" G_GINT64_FORMAT
			" of %s does not support Elastic Fabric Adapters.",
			card, launch->type);
	if (rg_sim_card_is_bare(kind) && card == 0 && wanted->attachment.device == 0)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"An EFA-only network interface cannot be the primary network interface.");
	if (has_earlier_efa(launch, n, card))
		return rg_sim_fail(call, 400, "AttachmentLimitExceeded",
			"EFA count 2 exceeds the limit of 1 for the network card at network card "
			"index %" G_GINT64_FORMAT,
			card);
	return true;
}

bool rg_sim_cards_check(RgSimCall *call, const RgSimLaunch *launch)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const RgSimAttachment *place =
			&g_array_index(launch->interfaces, RgSimLaunchInterface, i).attachment;
		if (!check_place(call, launch, place) || !check_efa(call, launch, i))
			return false;
	}
	return true;
}
