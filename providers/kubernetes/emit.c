#include "kubernetes/emit.h"
#include <stdint.h>
#include <string.h>
#include <yaml.h>
#include "common/talk.h"

static int append(void *data, unsigned char *bytes, size_t length)
{
	g_string_append_len(data, (const char *)bytes, (gssize)length);
	return 1;
}

static yaml_char_t *chars(const char *text)
{
	return (yaml_char_t *)(uintptr_t)text;
}

static void scalar(yaml_emitter_t *emitter, const char *text, size_t length, bool quoted)
{
	yaml_event_t event;
	yaml_scalar_event_initialize(&event, NULL, NULL, chars(text), (int)length, 1, 1,
		quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
	yaml_emitter_emit(emitter, &event);
}

/* YAML 1.1 readers, such as kubectl's, take these for booleans and null. */
static bool is_word_of_yaml(const char *text)
{
	static const char *const words[] = {
		"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", NULL};
	g_autofree char *lower = g_ascii_strdown(text, -1);
	return g_strv_contains(words, lower);
}

/* Begins with a letter, or a slash, and has nothing in it that means something in YAML. */
static bool is_plain(const char *text)
{
	if (!g_ascii_isalpha(*text) && *text != '/')
		return false;
	for (const char *c = text; *c; c++)
		if (!g_ascii_isalnum(*c) && !strchr("-_./", *c))
			return false;
	return !is_word_of_yaml(text);
}

static void emit(yaml_emitter_t *emitter, const json_t *value);

static void emit_object(yaml_emitter_t *emitter, const json_t *object)
{
	yaml_event_t event;
	yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
		json_object_size(object) ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE);
	yaml_emitter_emit(emitter, &event);
	mod_foreach_member (key, member, object) {
		scalar(emitter, key, strlen(key), !is_plain(key));
		emit(emitter, member);
	}
	yaml_mapping_end_event_initialize(&event);
	yaml_emitter_emit(emitter, &event);
}

static void emit_array(yaml_emitter_t *emitter, const json_t *array)
{
	yaml_event_t event;
	yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
		json_array_size(array) ? YAML_BLOCK_SEQUENCE_STYLE : YAML_FLOW_SEQUENCE_STYLE);
	yaml_emitter_emit(emitter, &event);
	mod_foreach (member, array)
		emit(emitter, member);
	yaml_sequence_end_event_initialize(&event);
	yaml_emitter_emit(emitter, &event);
}

static void emit(yaml_emitter_t *emitter, const json_t *value)
{
	if (json_is_object(value)) {
		emit_object(emitter, value);
	} else if (json_is_array(value)) {
		emit_array(emitter, value);
	} else if (json_is_string(value)) {
		const char *text = json_string_value(value);
		scalar(emitter, text, json_string_length(value), !is_plain(text));
	} else {
		char *text = json_dumps(value, JSON_ENCODE_ANY);
		scalar(emitter, text, strlen(text), false);
		free(text);
	}
}

void kube_yaml_append(GString *text, const json_t *value)
{
	yaml_emitter_t emitter;
	yaml_event_t event;
	yaml_emitter_initialize(&emitter);
	yaml_emitter_set_output(&emitter, append, text);
	yaml_emitter_set_width(&emitter, -1);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
	yaml_emitter_emit(&emitter, &event);
	yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 0);
	yaml_emitter_emit(&emitter, &event);
	emit(&emitter, value);
	yaml_document_end_event_initialize(&event, 1);
	yaml_emitter_emit(&emitter, &event);
	yaml_stream_end_event_initialize(&event);
	yaml_emitter_emit(&emitter, &event);
	yaml_emitter_delete(&emitter);
}
