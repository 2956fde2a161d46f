#include <string.h>
#include "gcp/sim/gce.h"

/* Machine types that no list has, because their name gives their size, and the GPUs that N1
 * machines can have: data/custom_types.json. */

#define CUSTOM                                                                                     \
	"^(?:(?<s>n1|n2|n2d|e2|n4)-)?custom-(?<v>[1-9][0-9]{0,3})-(?<m>[1-9][0-9]{0,7})(?<e>-ext)" \
	"?$"

static bool has_vcpus(const json_t *ranges, json_int_t vcpus)
{
	rg_json_foreach (range, ranges) {
		json_int_t first = json_integer_value(json_array_get(range, 0));
		json_int_t last = json_integer_value(json_array_get(range, 1));
		json_int_t step = json_integer_value(json_array_get(range, 2));
		if (vcpus >= first && vcpus <= last && (vcpus - first) % step == 0)
			return true;
	}
	return false;
}

static bool has_memory(const json_t *rule, json_int_t vcpus, json_int_t mb, bool extended)
{
	double least = json_number_value(json_object_get(rule, "leastMb")) * (double)vcpus;
	double most = json_number_value(json_object_get(rule, "mostMb")) * (double)vcpus;
	double total = json_number_value(json_object_get(rule, "totalMb"));
	return mb % 256 == 0 && (double)mb >= least && (double)mb <= total &&
	       (extended || (double)mb <= most);
}

static gint64 number_of(const GMatchInfo *match, const char *name)
{
	g_autofree char *text = g_match_info_fetch_named(match, name);
	return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

const json_t *gce_type_facts(const GceData *data, const char *name)
{
	const json_t *listed = json_object_get(data->types, name);
	g_autoptr(GRegex) regex = g_regex_new(CUSTOM, G_REGEX_DOLLAR_ENDONLY, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	if (!listed)
		listed = json_object_get(data->made, name);
	if (listed || !g_regex_match(regex, name, 0, &match))
		return listed;
	g_autofree char *series = g_match_info_fetch_named(match, "s");
	g_autofree char *ext = g_match_info_fetch_named(match, "e");
	const json_t *rule = json_object_get(data->custom, series && *series ? series : "n1");
	json_int_t vcpus = number_of(match, "v"), mb = number_of(match, "m");
	bool extended = ext && *ext;
	if ((extended && !rg_json_bool(rule, "extended", false)) ||
		!has_vcpus(json_object_get(rule, "vcpus"), vcpus) ||
		!has_memory(rule, vcpus, mb, extended))
		return NULL;
	json_t *facts = json_copy(json_object_get(data->types, doc_str(rule, "like")));
	json_object_set_new(facts, "guestCpus", json_integer(vcpus));
	json_object_set_new(facts, "memoryMb", json_integer(mb));
	json_object_set_new(facts, "description", json_string("Custom created machine type."));
	json_object_set_new(data->made, name, facts);
	return facts;
}

/* The table of the GPU documentation: most vCPUs and memory of an N1 host, by accelerator and
 * number. */
bool gce_can_attach(const GceData *data, const char *type, const json_t *facts,
	const char *accelerator, gint64 count)
{
	g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, count);
	const json_t *counts =
		json_object_get(json_object_get(data->custom, "attachable"), accelerator);
	const json_t *most = json_object_get(counts, number);
	bool is_n1 = g_str_has_prefix(type, "n1-") || g_str_has_prefix(type, "custom-");
	return is_n1 && most &&
	       doc_int(facts, "guestCpus") <= json_integer_value(json_array_get(most, 0)) &&
	       doc_int(facts, "memoryMb") <= json_integer_value(json_array_get(most, 1));
}

/* Where some machine has such a GPU; an empty list of regions means that no table says where. */
bool gce_has_accelerator(const GceData *data, const char *accelerator, const char *region)
{
	rg_json_foreach_member (name, facts, data->types) {
		json_t *counts = json_object_get(json_object_get(facts, "attachable"), accelerator);
		rg_json_foreach_member (count, regions, counts) {
			if (!json_array_size(regions) || rg_json_has_text(regions, region))
				return true;
		}
	}
	return false;
}
