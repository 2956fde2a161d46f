#include "convert/internal.h"

#include <string.h>
#include "base/version.h"
#include "spec/ray_image.h"

/* Ray has an image for each kind of node and finds its version in it; a spec has one image, and
 * states the versions. */

#define DEFAULT_RAY "2.56.1"
#define DEFAULT_PYTHON "3.11"

void convert_image(Convert *convert, const ConvertAt *at)
{
	const char *text = json_string_value(at->value);
	if (!text || !*text) {
		convert_key(convert, at->pointer, CONVERT_SAME, NULL, "it is empty");
		return;
	}
	bool head = g_str_has_suffix(at->path, "head_image");
	bool worker = g_str_has_suffix(at->path, "worker_image");
	char **slot = at->node ? &at->node->image
		      : head   ? &convert->head_image
		      : worker ? &convert->worker_image
			       : &convert->image;
	char **place = at->node ? &at->node->image_at
		       : head	? &convert->head_image_at
		       : worker ? &convert->worker_image_at
				: &convert->image_at;
	g_free(*slot);
	g_free(*place);
	*slot = g_strdup(text);
	*place = g_strdup(at->pointer);
}

void convert_ray_version(Convert *convert, const ConvertAt *at)
{
	const char *text = json_string_value(at->value);
	if (!text) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL, "it is not a version");
		return;
	}
	g_free(convert->version);
	g_free(convert->version_at);
	convert->version = g_strdup(text);
	convert->version_at = g_strdup(at->pointer);
}

/* The image of most GPUs: a pool's own, the workers', the common one, the head's. */
static const char *choose(const Convert *convert, const char **place)
{
	rg_ptr_foreach (const ConvertNode, node, convert->nodes) {
		if (!node->is_head && node->image) {
			*place = node->image_at;
			return node->image;
		}
	}
	const ConvertNode *head = convert->nodes->len ? convert->nodes->pdata[0] : NULL;
	const char *images[] = {convert->worker_image, convert->image, convert->head_image,
		head ? head->image : NULL};
	const char *places[] = {convert->worker_image_at, convert->image_at, convert->head_image_at,
		head ? head->image_at : NULL};
	for (size_t i = 0; i < G_N_ELEMENTS(images); i++) {
		if (images[i]) {
			*place = places[i];
			return images[i];
		}
	}
	return NULL;
}

static void note_image(Convert *convert, const char *image, const char *pointer, const char *chosen)
{
	if (!image)
		return;
	if (g_strcmp0(image, chosen) == 0)
		convert_key(convert, pointer, CONVERT_DONE, "ray.image", NULL);
	else
		convert_key(convert, pointer, CONVERT_NONE, NULL,
			"all nodes of a cluster have one image, ray.image");
}

static void note_images(Convert *convert, const char *chosen)
{
	note_image(convert, convert->image, convert->image_at, chosen);
	note_image(convert, convert->head_image, convert->head_image_at, chosen);
	note_image(convert, convert->worker_image, convert->worker_image_at, chosen);
	rg_ptr_foreach (const ConvertNode, node, convert->nodes)
		note_image(convert, node->image, node->image_at, chosen);
}

/* "py310" of a tag, also of one without a version: "latest-py310-gpu". g_free; NULL: none. */
static char *python_of(const char *image)
{
	g_autoptr(GRegex) form = g_regex_new("-py3([0-9]{1,2})(?=-|$)", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	if (!image || !g_regex_match(form, image, 0, &match))
		return NULL;
	g_autofree char *minor = g_match_info_fetch(match, 1);
	return g_strconcat("3.", minor, NULL);
}

static void put_ray(
	Convert *convert, const char *key, const char *value, const char *from, const char *comment)
{
	char *steps[] = {(char *)(uintptr_t) "ray", (char *)(uintptr_t)key, NULL};
	g_autofree char *pointer = convert_join(steps);
	convert_set_steps(convert, steps, json_string(value), from);
	if (!from)
		convert_say(convert, pointer, g_strdup(comment));
}

static void put_version(Convert *convert, const char *from_image, const char *image_at)
{
	const char *version = from_image ? from_image : convert->version;
	if (from_image && convert->version && !g_str_equal(from_image, convert->version))
		convert_key(convert, convert->version_at, CONVERT_NONE, NULL,
			"the image has another version of Ray, which counts");
	else if (convert->version_at)
		convert_key(convert, convert->version_at, CONVERT_DONE, "ray.version", NULL);
	put_ray(convert, "version", version ? version : DEFAULT_RAY,
		from_image ? image_at : convert->version_at,
		"the file names no version: assumed, check it");
	if (version && rg_version_compare(version, RG_RAY_FIRST_WITH_TOKEN) < 0)
		put_ray(convert, "auth", "none", NULL,
			"as in Ray: everyone who reaches the head can run code; "
			"from " RG_RAY_FIRST_CLOSED " on, leave this out");
}

void convert_images_finish(Convert *convert)
{
	const char *place = NULL, *image = choose(convert, &place);
	g_auto(RgRayTag) tag = {0};
	bool pinned = image && rg_ray_image_is_pinned(image);
	bool known = pinned && rg_ray_tag_parse(image, &tag);
	put_version(convert, known ? tag.version : NULL, place);
	note_images(convert, image);
	g_autofree char *python = python_of(image);
	/* an image that is not Ray's has the Python that it has */
	if (python)
		put_ray(convert, "python", python, place, NULL);
	else if (!pinned)
		put_ray(convert, "python", DEFAULT_PYTHON, NULL,
			"the file names no version: assumed, check it");
	if (pinned)
		put_ray(convert, "image", image, place, NULL);
	if (!image || pinned)
		return;
	/* noted as converted above: the tag is not */
	rg_ptr_foreach (ConvertKey, key, convert->keys) {
		if (g_strcmp0(key->to, "ray.image") != 0)
			continue;
		/* what else their own image has is not in Ray's */
		key->outcome = strstr(image, "rayproject/ray") ? CONVERT_NONE : CONVERT_LOST;
		g_clear_pointer(&key->to, g_free);
		key->reason =
			g_strdup("its tag moves from version to version; raygpu uses Ray's own "
				 "image of ray.version and ray.python, or a fixed tag in "
				 "`ray: {image: ...}`");
	}
}
