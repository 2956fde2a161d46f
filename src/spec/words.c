#include "spec/words.h"

#include <string.h>

#define QUOTED_MAX 60

static const struct {
	const char *type, *words;
} type_words[] = {
	{"object", "a mapping"},
	{"array", "a list"},
	{"string", "text"},
	{"integer", "a whole number"},
	{"number", "a number"},
	{"boolean", "true or false"},
	{"null", "empty"},
};

static const char *words_of_type(const char *type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(type_words); i++) {
		if (g_str_equal(type_words[i].type, type))
			return type_words[i].words;
	}
	return type;
}

char *rg_words_of_types(const json_t *types)
{
	if (json_is_string(types))
		return g_strdup(words_of_type(json_string_value(types)));
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));
		g_string_append_printf(text, "%s%s", i > 0 ? " or " : "", words_of_type(type));
	}
	return g_string_free(text, FALSE);
}

char *rg_words_quote(const char *text)
{
	GString *quoted = g_string_new("\"");
	size_t n = 0;
	for (const char *at = text; *at != '\0' && n < QUOTED_MAX;
		at += g_utf8_skip[(guchar)*at], n++) {
		gunichar c = g_utf8_get_char(at);
		if (c == '\n')
			g_string_append(quoted, "\\n");
		else if (g_unichar_iscntrl(c))
			g_string_append_printf(quoted, "\\x%02x", c);
		else
			g_string_append_unichar(quoted, c);
	}
	bool is_cut = n == QUOTED_MAX && g_utf8_strlen(text, -1) > QUOTED_MAX;
	g_string_append(quoted, is_cut ? "...\"" : "\"");
	return g_string_free(quoted, FALSE);
}

char *rg_words_of_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return g_strdup("a mapping");
	case JSON_ARRAY:
		return g_strdup("a list");
	case JSON_STRING: {
		g_autofree char *quoted = rg_words_quote(json_string_value(value));
		return g_strdup_printf("text %s", quoted);
	}
	case JSON_INTEGER:
	case JSON_REAL: {
		g_autofree char *number =
			json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		return g_strdup_printf("the number %s", number);
	}
	case JSON_TRUE:
		return g_strdup("true");
	case JSON_FALSE:
		return g_strdup("false");
	case JSON_NULL:
		return g_strdup("nothing");
	}
	return g_strdup("nothing");
}

/* Words of Ray's cluster launcher, SkyPilot, KubeRay, Terraform and the clouds beside ours. */
static const char *const synonyms[][2] = {
	{"cluster_name", "cluster"},
	{"name", "cluster"},
	{"cloud", "provider"},
	{"type", "name"},
	{"location", "region"},
	{"endpoint_url", "endpoint"},
	{"ray_version", "ray"},
	{"rayVersion", "ray"},
	{"docker", "ray"},
	{"python_version", "python"},
	{"container_image", "image"},
	{"head_node", "head"},
	{"head_node_type", "head"},
	{"headGroupSpec", "head"},
	{"available_node_types", "pools"},
	{"worker_nodes", "pools"},
	{"workerGroupSpecs", "pools"},
	{"workers", "pools"},
	{"tags", "labels"},
	{"gpus", "accelerators"},
	{"gpu", "accelerators"},
	{"gpu_type", "accelerators"},
	{"machine_type", "instance_type"},
	{"vm_size", "instance_type"},
	{"InstanceType", "instance_type"},
	{"num_nodes", "nodes"},
	{"max_workers", "nodes"},
	{"min_workers", "nodes"},
	{"replicas", "nodes"},
	{"workers", "nodes"},
	{"count", "nodes"},
	{"availability_zone", "zones"},
	{"availability_zones", "zones"},
	{"ami", "image"},
	{"image_id", "image"},
	{"ImageId", "image"},
	{"disk_size", "disk"},
	{"disk_tier", "disk"},
	{"volume_type", "type"},
	{"size_gb", "size"},
	{"environment", "env"},
	{"envs", "env"},
	{"use_spot", "market"},
	{"spot", "market"},
	{"mig", "share"},
	{"time_slices", "share"},
	{"placement_group", "network"},
	{"associate_public_ip_address", "public_ip"},
	{"prevent_destroy", "protect"},
};

const char *rg_words_synonym(const char *word, const char *const *known)
{
	for (size_t i = 0; i < G_N_ELEMENTS(synonyms); i++) {
		if (g_str_equal(synonyms[i][0], word) && g_strv_contains(known, synonyms[i][1]))
			return synonyms[i][1];
	}
	return NULL;
}
