#include "base/words.h"
#include "base/json.h"
#include <string.h>

static const char *word_of(const json_t *words, const char *key, const char *usual)
{
	return g_intern_string(rg_json_str(words, key, usual));
}

RgWords rg_words_of(const json_t *words)
{
	return (RgWords){
		.instance_type = word_of(words, "instance_type", "instance type"),
		.zone = word_of(words, "zone", "zone"),
		.region = word_of(words, "region", "region"),
		.placement_group = word_of(words, "placement_group", "placement group"),
		.fast_network = word_of(words, "fast_network", "RDMA"),
		.fast_network_libraries = word_of(words, "fast_network_libraries", NULL),
		.without_fast_network = word_of(words, "without_fast_network", NULL),
	};
}

gint rg_by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *rg_place_text(const char *provider, const char *region)
{
	return region && *region ? g_strconcat(provider, " ", region, NULL) : g_strdup(provider);
}

const char *rg_place_name(const char *provider, const char *region)
{
	return region && *region ? region : provider;
}

char *rg_shell_word(const char *word)
{
	bool plain = *word && *word != '-';
	for (const char *at = word; *at; at++)
		plain = plain && (g_ascii_isalnum(*at) || strchr("_-./:+@%=", *at));
	return plain ? g_strdup(word) : g_shell_quote(word);
}
