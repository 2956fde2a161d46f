#include "spec/ray_image.h"

#include <string.h>

/* First version of each row's range and the Pythons of its images. Source: ray-project/ray,
 * ci/ray_ci/docker_container.py and ray-images.yaml, PRs 45621, 52593, 58374, 58581, issue 45904;
 * gathered 2026-08. 3.13 images exist from 2.52 on, earlier only wheels. */
static const struct {
	const char *from;
	const char *const pythons[8];
} image_rows[] = {
	{"2.59.0", {NULL}}, /* not known yet */
	{"2.52.0", {"3.10", "3.11", "3.12", "3.13", NULL}},
	{"2.31.0", {"3.9", "3.10", "3.11", "3.12", NULL}},
	{"2.11.0", {"3.9", "3.10", "3.11", NULL}},
	{"2.7.0", {"3.8", "3.9", "3.10", "3.11", NULL}},
};

/* Ray's tag grammar, ci/ray_ci/automation/push_ray_image.py: version, or version and commit,
 * then -extra, -pyXY, platform and architecture, each optional. */
#define TAG_PATTERN                                                                                \
	"^([0-9]+\\.[0-9]+\\.[0-9]+)(\\.[0-9a-f]{6}|\\.deprecated)?(-extra)?"                      \
	"(-py3([0-9]{1,2}))?(-(cpu|gpu|cu[0-9]{2,3}))?(-(aarch64|x86_64))?$"

void rg_ray_tag_clear(RgRayTag *tag)
{
	g_clear_pointer(&tag->version, g_free);
	g_clear_pointer(&tag->python, g_free);
}

/* The tag's text inside "host:port/name:tag@digest", NULL when there is none. g_free. */
static char *dup_tag(const char *image)
{
	g_autofree char *name = g_strndup(image, strcspn(image, "@"));
	const char *slash = strrchr(name, '/');
	const char *colon = strchr(slash != NULL ? slash : name, ':');
	return colon != NULL ? g_strdup(colon + 1) : NULL;
}

/* Also behind a mirror's host: "registry.example.com/rayproject/ray". */
static bool is_rays_own(const char *image)
{
	g_autofree char *name = g_strndup(image, strcspn(image, "@"));
	char *last = strrchr(name, '/');
	if (last == NULL)
		return false;
	last[strcspn(last, ":")] = '\0';
	static const char *const names[] = {"/ray", "/ray-ml", "/ray-llm", NULL};
	bool known = g_strv_contains(names, last);
	*last = '\0';
	return known && (strcmp(name, "rayproject") == 0 || g_str_has_suffix(name, "/rayproject"));
}

bool rg_ray_tag_parse(const char *image, RgRayTag *tag)
{
	g_autofree char *text = dup_tag(image);
	if (text == NULL || !is_rays_own(image))
		return false;
	g_autoptr(GRegex) grammar = g_regex_new(TAG_PATTERN, 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_assert(grammar != NULL);
	if (!g_regex_match(grammar, text, 0, &match))
		return false;
	g_autofree char *minor = g_match_info_fetch(match, 5);
	tag->version = g_match_info_fetch(match, 1);
	tag->python = minor != NULL && *minor != '\0' ? g_strconcat("3.", minor, NULL) : NULL;
	return true;
}

bool rg_ray_image_is_pinned(const char *image)
{
	if (strstr(image, "@sha256:") != NULL)
		return true;
	g_autofree char *tag = dup_tag(image);
	if (tag == NULL || *tag == '\0')
		return false;
	/* "nightly.250930.abcdef" is one build, "nightly-py310" is the last one. */
	if (g_str_has_prefix(tag, "nightly"))
		return g_str_has_prefix(tag, "nightly.");
	return strcmp(tag, "latest") != 0 && !g_str_has_prefix(tag, "latest-");
}

char *rg_ray_image_default(const char *version, const char *python)
{
	const char *dot = strchr(python, '.');
	g_assert(dot != NULL);
	return g_strdup_printf(
		"rayproject/ray:%s-py%.*s%s-cu121", version, (int)(dot - python), python, dot + 1);
}

int rg_ray_version_compare(const char *a, const char *b)
{
	for (;;) {
		char *a_end, *b_end;
		guint64 x = g_ascii_strtoull(a, &a_end, 10), y = g_ascii_strtoull(b, &b_end, 10);
		if (x != y)
			return x < y ? -1 : 1;
		if (*a_end != '.' || *b_end != '.')
			return (*a_end == '.') - (*b_end == '.');
		a = a_end + 1;
		b = b_end + 1;
	}
}

const char *const *rg_ray_pythons(const char *version)
{
	for (size_t i = 0; i < G_N_ELEMENTS(image_rows); i++) {
		if (rg_ray_version_compare(version, image_rows[i].from) >= 0)
			return image_rows[i].pythons[0] != NULL ? image_rows[i].pythons : NULL;
	}
	return NULL;
}
