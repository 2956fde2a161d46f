#include "spec/ray_image.h"

#include <string.h>

/* Ray's tag grammar, ci/ray_ci/automation/push_ray_image.py: version, or version and commit,
 * then -extra, -pyXY, platform and architecture, each optional. */
#define TAG_PATTERN                                                                                \
	"^([0-9]+\\.[0-9]+\\.[0-9]+)(\\.[0-9a-f]{6}|\\.deprecated)?(-extra)?"                      \
	"(-py3([0-9]{1,2}))?(-(cpu|gpu|cu[0-9]{2,3}))?(-(aarch64|x86_64))?$"

void rg_ray_tag_clear(RgRayTag *tag)
{
	g_clear_pointer(&tag->version, g_free);
	g_clear_pointer(&tag->python, g_free);
	g_clear_pointer(&tag->platform, g_free);
	g_clear_pointer(&tag->arch, g_free);
}

/* The tag's text inside "host:port/name:tag@digest", NULL if there is none. g_free. */
static char *dup_tag(const char *image)
{
	g_autofree char *name = g_strndup(image, strcspn(image, "@"));
	const char *slash = strrchr(name, '/');
	const char *colon = strchr(slash ? slash : name, ':');
	return colon ? g_strdup(colon + 1) : NULL;
}

/* Also on a mirror's host: "registry.example.com/rayproject/ray". */
static bool is_rays_own(const char *image)
{
	g_autofree char *name = g_strndup(image, strcspn(image, "@"));
	char *last = strrchr(name, '/');
	if (!last)
		return false;
	last[strcspn(last, ":")] = '\0';
	static const char *const names[] = {"/ray", "/ray-ml", "/ray-llm", NULL};
	bool known = g_strv_contains(names, last);
	*last = '\0';
	return known && (g_str_equal(name, "rayproject") || g_str_has_suffix(name, "/rayproject"));
}

/* NULL if the group did not participate. */
static char *fetch(const GMatchInfo *match, int group)
{
	char *text = g_match_info_fetch(match, group);
	if (text && *text == '\0')
		g_clear_pointer(&text, g_free);
	return text;
}

bool rg_ray_tag_parse(const char *image, RgRayTag *tag)
{
	g_autofree char *text = dup_tag(image);
	if (!text || !is_rays_own(image))
		return false;
	g_autoptr(GRegex) grammar = g_regex_new(TAG_PATTERN, 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_assert(grammar != NULL);
	if (!g_regex_match(grammar, text, 0, &match))
		return false;
	g_autofree char *minor = g_match_info_fetch(match, 5);
	g_autofree char *extra = fetch(match, 3);
	tag->version = g_match_info_fetch(match, 1);
	tag->is_extra = extra != NULL;
	tag->python = minor && *minor != '\0' ? g_strconcat("3.", minor, NULL) : NULL;
	tag->platform = fetch(match, 7);
	tag->arch = fetch(match, 9);
	return true;
}

bool rg_ray_image_is_pinned(const char *image)
{
	if (strstr(image, "@sha256:"))
		return true;
	g_autofree char *tag = dup_tag(image);
	if (!tag || *tag == '\0')
		return false;
	/* "nightly.250930.abcdef" is one build, "nightly-py310" is the last one. */
	if (g_str_has_prefix(tag, "nightly"))
		return g_str_has_prefix(tag, "nightly.");
	return !g_str_equal(tag, "latest") && !g_str_has_prefix(tag, "latest-");
}

char *rg_ray_image_default(const char *version, const char *python)
{
	const char *dot = strchr(python, '.');
	g_assert(dot != NULL);
	return g_strdup_printf(
		"rayproject/ray:%s-py%.*s%s-cu121", version, (int)(dot - python), python, dot + 1);
}

bool rg_ray_image_has_registry(const char *image)
{
	g_autofree char *first = g_strndup(image, strcspn(image, "/"));
	return strchr(image, '/') && (strpbrk(first, ".:") || g_str_equal(first, "localhost"));
}

char *rg_ray_image_mirrored(const char *image, const char *mirror)
{
	if (!mirror || rg_ray_image_has_registry(image))
		return g_strdup(image);
	return g_strconcat(mirror, strchr(image, '/') ? "/" : "/library/", image, NULL);
}
