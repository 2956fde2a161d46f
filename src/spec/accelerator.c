#include "spec/accelerator.h"
#include <string.h>

static void accelerator_free(gpointer data)
{
	RgAccelerator *accelerator = data;
	g_free(accelerator->text);
	g_strfreev(accelerator->names);
	g_free(accelerator);
}

/* What precedes the number; the form has been checked. */
static const char *read_kind(const char *text, RgBoundKind *kind)
{
	static const struct {
		const char *sign;
		RgBoundKind kind;
	} signs[] = {{">=", RG_BOUND_LEAST}, {"<=", RG_BOUND_MOST}, {">", RG_BOUND_MORE},
		{"<", RG_BOUND_LESS}, {"=", RG_BOUND_EQUAL}, {"", RG_BOUND_LEAST}};
	size_t row = 0;
	while (!g_str_has_prefix(text, signs[row].sign))
		row++;
	*kind = signs[row].kind;
	return text + strlen(signs[row].sign);
}

static RgBound capability_of(const char *text)
{
	RgBound bound = {0};
	if (text)
		bound.value = (int)(g_ascii_strtod(read_kind(text, &bound.kind), NULL) * 10 + 0.5);
	return bound;
}

static void read_memory(RgAccelerator *accelerator, const json_t *value)
{
	RgBound bound = {.kind = RG_BOUND_LEAST, .value = json_number_value(value)};
	char *unit = NULL;
	if (!value)
		return;
	if (json_is_string(value))
		bound.value =
			g_ascii_strtod(read_kind(json_string_value(value), &bound.kind), &unit);
	if (unit && strstr(unit, "GiB"))
		accelerator->memory_gib = bound;
	else
		accelerator->memory_gb = bound;
}

static RgAccelerator *from_text(const char *text)
{
	RgAccelerator *accelerator = g_new0(RgAccelerator, 1);
	const char *colon = strchr(text, ':');
	accelerator->text = g_strdup(text);
	accelerator->names = g_new0(char *, 2);
	accelerator->names[0] = colon ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);
	accelerator->counted = colon != NULL;
	accelerator->count = colon ? (unsigned)g_ascii_strtoull(colon + 1, NULL, 10) : 1;
	return accelerator;
}

static RgAccelerator *from_mapping(const json_t *value)
{
	RgAccelerator *accelerator = g_new0(RgAccelerator, 1);
	const json_t *count = json_object_get(value, "count");
	g_autofree char *text = json_dumps(value, JSON_PRESERVE_ORDER);
	accelerator->text = g_steal_pointer(&text);
	accelerator->names = rg_json_texts(json_object_get(value, "name"));
	accelerator->counted = count != NULL;
	accelerator->count = count ? (unsigned)json_number_value(count) : 1;
	accelerator->capability = capability_of(rg_json_str(value, "compute_capability", NULL));
	read_memory(accelerator, json_object_get(value, "gpu_memory"));
	return accelerator;
}

static void add(
	GPtrArray *all, const RgDocument *document, const char *pointer, const json_t *value)
{
	RgAccelerator *accelerator =
		json_is_string(value) ? from_text(json_string_value(value)) : from_mapping(value);
	accelerator->source = rg_document_source(document, pointer);
	g_ptr_array_add(all, accelerator);
}

GPtrArray *rg_accelerators_build(
	const RgDocument *document, const char *pointer, const json_t *value)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(accelerator_free);
	if (!json_is_array(value)) {
		add(all, document, pointer, value);
		return all;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *member = g_strdup_printf("%s/%zu", pointer, i);
		add(all, document, member, json_array_get(value, i));
	}
	return all;
}

bool rg_bound_holds(const RgBound *bound, double value)
{
	switch (bound->kind) {
	case RG_BOUND_NONE:
		return true;
	case RG_BOUND_LEAST:
		return value >= bound->value;
	case RG_BOUND_MORE:
		return value > bound->value;
	case RG_BOUND_EQUAL:
		return value == bound->value;
	case RG_BOUND_LESS:
		return value < bound->value;
	case RG_BOUND_MOST:
		return value <= bound->value;
	}
	return false;
}
