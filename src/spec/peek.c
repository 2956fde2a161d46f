#include "spec/spec.h"

#include <string.h>
#include <yaml.h>
#include "base/caps.h"
#include "spec/extend.h"

/* Which YAML files of a folder are specs: decided by the keys at the top of the first document,
 * before anything is checked. */

typedef struct {
	bool cluster, manifest_version, manifest_kind, is_map, broken;
	unsigned others; /* keys that only a spec has together */
	bool at_name;
	char *name; /* of the cluster, also if the rest is not YAML */
} Keys;

static bool is_word(const yaml_event_t *event, const char *word)
{
	return event->data.scalar.length == strlen(word) &&
	       memcmp(event->data.scalar.value, word, event->data.scalar.length) == 0;
}

static void note_key(Keys *keys, const yaml_event_t *event)
{
	static const char *const others[] = {"extends", "provider", "ray", "head", "pools"};
	keys->at_name = is_word(event, "cluster");
	keys->cluster = keys->cluster || keys->at_name;
	keys->manifest_version = keys->manifest_version || is_word(event, "apiVersion");
	keys->manifest_kind = keys->manifest_kind || is_word(event, "kind");
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		keys->others += is_word(event, others[i]);
}

/* One event of the first document; false at its end. `at` counts the nodes of the top map, so keys
 * are the even ones. */
static bool take(Keys *keys, const yaml_event_t *event, unsigned *depth, size_t *at)
{
	bool starts =
		event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
	bool ends = event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
	bool stands = starts || event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT;
	if (event->type == YAML_DOCUMENT_END_EVENT || event->type == YAML_STREAM_END_EVENT)
		return false;
	if (starts && *depth == 0)
		keys->is_map = event->type == YAML_MAPPING_START_EVENT;
	bool inside = stands && *depth == 1;
	if (inside && (*at)++ % 2 == 0) {
		keys->at_name = false;
		if (event->type == YAML_SCALAR_EVENT)
			note_key(keys, event);
	} else if (inside && keys->at_name && event->type == YAML_SCALAR_EVENT && !keys->name) {
		keys->name = g_strdup((const char *)event->data.scalar.value);
	}
	*depth += starts;
	*depth -= ends;
	return *depth <= RG_CAP_YAML_DEPTH;
}

static Keys keys_of(const char *text, size_t len)
{
	Keys keys = {0};
	yaml_parser_t parser;
	unsigned depth = 0;
	size_t at = 0;
	bool more = true;
	if (!yaml_parser_initialize(&parser))
		return (Keys){.broken = true};
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (more) {
		yaml_event_t event;
		keys.broken = !yaml_parser_parse(&parser, &event);
		if (keys.broken)
			break;
		more = take(&keys, &event, &depth, &at);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return keys;
}

/* A Kubernetes manifest, a Ray launcher's file, values of a chart, settings of another tool: none
 * of these has `cluster` or two of the other keys. */
static bool is_spec(const Keys *keys)
{
	if (keys->manifest_version && keys->manifest_kind)
		return false;
	if (keys->broken)
		return true;
	return keys->is_map && (keys->cluster || keys->others >= 2);
}

void rg_spec_peek_clear(RgSpecPeek *peek)
{
	g_clear_pointer(&peek->cluster, g_free);
	g_clear_pointer(&peek->files, g_ptr_array_unref);
}

RgSpecPeek rg_spec_peek(
	const char *file, const char *text, size_t len, const RgSpecReader *reader, RgDiags *diags)
{
	Keys keys = keys_of(text, MIN(len, RG_CAP_SPEC_BYTES));
	g_autofree char *told = keys.name;
	RgSpecPeek peek = {.is_spec = is_spec(&keys)};
	if (!peek.is_spec)
		return peek;
	peek.cluster = g_steal_pointer(&told); /* unless the document says more */
	if (keys.broken || len > RG_CAP_SPEC_BYTES || !g_utf8_validate(text, (gssize)len, NULL))
		return peek;
	g_autoptr(RgDiags) unused = rg_diags_new(); /* the loader reports them */
	size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	g_autofree char *copy = g_strndup(text + mark, len - mark);
	g_autoptr(RgDocument) document =
		rg_document_load(g_intern_string(file), copy, len - mark, unused);
	if (!document)
		return peek;
	g_clear_pointer(&peek.cluster, g_free);
	spec_extend(document, reader, unused);
	peek.files = g_steal_pointer(&document->files);
	const char *name = rg_json_str(document->value, "cluster", NULL);
	if (!name)
		return peek;
	peek.cluster = g_strdup(name);
	peek.source = rg_document_source(document, "/cluster");
	rg_diags_add_text(diags, file, copy, len - mark);
	return peek;
}
