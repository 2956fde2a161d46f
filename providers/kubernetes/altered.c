#include "kubernetes/altered.h"
#include "common/talk.h"
#include <string.h>

#define SHOWN 5
#define TEXT_MAX 60

typedef struct {
	GString *text;
	unsigned found;
	bool new_;
} Finding;

static char *short_of(const json_t *value)
{
	char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
	char *text = dumped && strlen(dumped) <= TEXT_MAX ? g_strdup(dumped) : g_strdup("another");
	free(dumped);
	return text;
}

static void add(Finding *finding, const char *path, const char *what, const json_t *value)
{
	g_autofree char *now = value ? short_of(value) : g_strdup("");
	if (finding->found++ < SHOWN)
		g_string_append_printf(finding->text, "%s%s %s%s%s", finding->text->len ? ", " : "",
			path, what, value ? " " : "", now);
}

static void compare(Finding *finding, const char *path, const json_t *sent, const json_t *got);

static void compare_members(
	Finding *finding, const char *path, const json_t *sent, const json_t *got)
{
	mod_foreach_member (key, value, sent) {
		g_autofree char *below = g_strconcat(path, *path ? "." : "", key, NULL);
		compare(finding, below, value, json_object_get(got, key));
	}
	if (!finding->new_ || (!g_str_equal(path, "metadata.labels") &&
				      !g_str_equal(path, "metadata.annotations")))
		return;
	mod_foreach_member (key, value, got) {
		g_autofree char *below = g_strconcat(path, ".", key, NULL);
		if (!json_object_get(sent, key))
			add(finding, below, "is added:", value);
	}
}

static void compare_elements(
	Finding *finding, const char *path, const json_t *sent, const json_t *got)
{
	size_t i;
	const json_t *value;
	if (json_array_size(sent) != json_array_size(got))
		add(finding, path, "has other elements", NULL);
	json_array_foreach (sent, i, value) {
		g_autofree char *below = g_strdup_printf("%s[%zu]", path, i);
		if (i < json_array_size(got))
			compare(finding, below, value, json_array_get(got, i));
	}
}

static void compare(Finding *finding, const char *path, const json_t *sent, const json_t *got)
{
	if (json_is_object(sent) && json_is_object(got))
		compare_members(finding, path, sent, got);
	else if (json_is_array(sent) && json_is_array(got))
		compare_elements(finding, path, sent, got);
	else if (!got && (json_object_size(sent) || !json_is_object(sent)))
		add(finding, path, "is left out", NULL);
	else if (got && !json_equal(sent, got))
		add(finding, path, "becomes", got);
}

char *kube_altered(const json_t *sent, const json_t *got, bool new_)
{
	Finding finding = {.text = g_string_new(NULL), .new_ = new_};
	compare(&finding, "", sent, got);
	if (finding.found > SHOWN)
		g_string_append_printf(finding.text, " and %u more", finding.found - SHOWN);
	return g_string_free(finding.text, !finding.found);
}
