#include "spec/ray_image.h"

#include <string.h>

/* Ray's tag grammar, ci/ray_ci/automation/push_ray_image.py: version, or version and commit,
 * then -extra, -pyXY, platform and architecture, each optional. */
#define TAG_PATTERN                                                                                \
	"^([0-9]+\\.[0-9]+\\.[0-9]+)(?:\\.([0-9a-f]{6}|deprecated))?(-extra)?"                     \
	"(-py3([0-9]{1,2}))?(-(cpu|gpu|tpu|cu[0-9]{2,3}))?(-(aarch64|x86_64))?$"
#define DEFAULT_PLATFORM "cu121"

void rg_ray_tag_clear(RgRayTag *tag)
{
	g_clear_pointer(&tag->repository, g_free);
	g_clear_pointer(&tag->version, g_free);
	g_clear_pointer(&tag->build, g_free);
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

/* "ray-llm" of Ray's own image, also on a mirror's host: "registry.example.com/rayproject/ray-llm".
 * NULL: it is not Ray's. g_free. */
static char *dup_repository(const char *image)
{
	g_autofree char *name = g_strndup(image, strcspn(image, "@"));
	char *last = strrchr(name, '/');
	if (!last)
		return NULL;
	*last++ = '\0';
	last[strcspn(last, ":")] = '\0';
	static const char *const names[] = {"ray", "ray-ml", "ray-llm", NULL};
	bool known = g_strv_contains(names, last) &&
		     (g_str_equal(name, "rayproject") || g_str_has_suffix(name, "/rayproject"));
	return known ? g_strdup(last) : NULL;
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
	g_autofree char *text = dup_tag(image), *repository = dup_repository(image);
	if (!text || !repository)
		return false;
	static GRegex *grammar;
	if (g_once_init_enter(&grammar)) {
		GRegex *regex = g_regex_new(TAG_PATTERN, 0, 0, NULL);
		g_once_init_leave(&grammar, regex);
	}
	g_autoptr(GMatchInfo) match = NULL;
	if (!g_regex_match(grammar, text, 0, &match))
		return false;
	g_autofree char *minor = g_match_info_fetch(match, 5);
	g_autofree char *extra = fetch(match, 3);
	tag->repository = g_steal_pointer(&repository);
	tag->version = g_match_info_fetch(match, 1);
	tag->build = fetch(match, 2);
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
	return g_strdup_printf("rayproject/ray:%s-py%.*s%s-" DEFAULT_PLATFORM, version,
		(int)(dot - python), python, dot + 1);
}

char *rg_ray_image_for_platform(const char *image, const char *platform)
{
	g_assert(g_str_has_suffix(image, "-" DEFAULT_PLATFORM));
	return g_strdup_printf(
		"%.*s%s", (int)(strlen(image) - strlen(DEFAULT_PLATFORM)), image, platform);
}

/* The registry's host is named: a first part with a dot or port, or localhost. Others are Docker
 * Hub's. */
static bool has_registry(const char *image)
{
	g_autofree char *first = g_strndup(image, strcspn(image, "/"));
	return strchr(image, '/') && (strpbrk(first, ".:") || g_str_equal(first, "localhost"));
}

char *rg_ray_image_mirrored(const char *image, const char *mirror)
{
	if (!mirror || has_registry(image))
		return g_strdup(image);
	return g_strconcat(mirror, strchr(image, '/') ? "/" : "/library/", image, NULL);
}
