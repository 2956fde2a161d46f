#include <string.h>
#include "spec/emitter.h"
#include "spec/scalar.h"
#include "spec/spec.h"

/* A spec that a program made, as a person would write it: mappings in blocks, short lists in one
 * line, a comment at the end of a line. libyaml writes each value; it cannot write comments. */

typedef struct {
	GString *out;
	GHashTable *comments;
} Writer;

static void emit_text(yaml_emitter_t *yaml, const char *text, bool quote)
{
	yaml_event_t event;
	yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
		(int)strlen(text), 1, 1,
		quote ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
	rg_emitter_emit(yaml, &event);
}

/* Characters at which some YAML readers end a line, and control characters. */
static bool has_ends(const char *text)
{
	for (; *text; text += g_utf8_skip[(guchar)*text]) {
		gunichar c = g_utf8_get_char(text);
		if (g_unichar_iscntrl(c) || c == 0x2028 || c == 0x2029)
			return true;
	}
	return false;
}

static void emit_string(yaml_emitter_t *yaml, const char *text)
{
	json_auto_t *value = NULL;
	bool plain = rg_scalar_resolve(text, &value) == RG_SCALAR_TEXT && !has_ends(text);
	emit_text(yaml, text, !plain);
}

static void emit_value(yaml_emitter_t *yaml, json_t *value)
{
	yaml_event_t event;
	if (json_is_object(value)) {
		yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_FLOW_MAPPING_STYLE);
		rg_emitter_emit(yaml, &event);
		rg_json_foreach_member (name, member, value) {
			emit_string(yaml, name);
			emit_value(yaml, member);
		}
		yaml_mapping_end_event_initialize(&event);
		rg_emitter_emit(yaml, &event);
	} else if (json_is_array(value)) {
		yaml_sequence_start_event_initialize(
			&event, NULL, NULL, 1, YAML_FLOW_SEQUENCE_STYLE);
		rg_emitter_emit(yaml, &event);
		rg_json_foreach (member, value)
			emit_value(yaml, member);
		yaml_sequence_end_event_initialize(&event);
		rg_emitter_emit(yaml, &event);
	} else if (json_is_string(value)) {
		emit_string(yaml, json_string_value(value));
	} else {
		g_autofree char *text =
			json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		emit_text(yaml, text, false);
	}
}

/* Appends a value in one line. It is written as the only item of a list, because libyaml puts
 * signs of the document's end after a value by itself. */
static void append_value(GString *out, json_t *value)
{
	yaml_emitter_t yaml;
	g_autoptr(GString) text = g_string_new(NULL);
	rg_emitter_begin(&yaml, text, -1);
	json_auto_t *list = json_array();
	json_array_append(list, value);
	emit_value(&yaml, list);
	rg_emitter_end(&yaml);
	g_strchomp(text->str);
	size_t len = strlen(text->str);
	g_assert_true(len >= 2 && text->str[0] == '[' && text->str[len - 1] == ']');
	g_string_append_len(out, text->str + 1, (gssize)len - 2);
}

static bool has_comments(const Writer *writer, const json_t *value, const char *pointer)
{
	if (g_hash_table_contains(writer->comments, pointer))
		return true;
	rg_json_foreach_at (i, member, value) {
		g_autofree char *at = g_strdup_printf("%s/%zu", pointer, i);
		if (has_comments(writer, member, at))
			return true;
	}
	rg_json_foreach_member (name, member, value) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		if (has_comments(writer, member, at))
			return true;
	}
	return false;
}

static void end_line(const Writer *writer, const char *pointer)
{
	const char *comment = g_hash_table_lookup(writer->comments, pointer);
	if (comment)
		g_string_append_printf(writer->out, " # %s", comment);
	g_string_append_c(writer->out, '\n');
}

static bool inside_has_comments(const Writer *writer, json_t *value, const char *pointer)
{
	rg_json_foreach_member (name, member, value) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		if (has_comments(writer, member, at))
			return true;
	}
	rg_json_foreach_at (i, member, value) {
		g_autofree char *at = g_strdup_printf("%s/%zu", pointer, i);
		if (has_comments(writer, member, at))
			return true;
	}
	return false;
}

static void indent(const Writer *writer, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		g_string_append(writer->out, "  ");
}

static void write_members(Writer *writer, json_t *value, const char *pointer, unsigned depth);

/* What follows a key and its colon. */
static void write_value(Writer *writer, json_t *value, const char *pointer, unsigned depth)
{
	bool block = inside_has_comments(writer, value, pointer);
	if (!block) {
		g_string_append_c(writer->out, ' ');
		append_value(writer->out, value);
		end_line(writer, pointer);
		return;
	}
	end_line(writer, pointer);
	if (json_is_object(value)) {
		write_members(writer, value, pointer, depth + 1);
		return;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *at = g_strdup_printf("%s/%zu", pointer, i);
		indent(writer, depth + 1);
		g_string_append(writer->out, "- ");
		append_value(writer->out, json_array_get(value, i));
		end_line(writer, at);
	}
}

static void write_members(Writer *writer, json_t *value, const char *pointer, unsigned depth)
{
	rg_json_foreach_member (name, member, value) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		json_auto_t *key = json_string(name);
		indent(writer, depth);
		append_value(writer->out, key);
		g_string_append_c(writer->out, ':');
		write_value(writer, member, at, depth);
	}
}

char *rg_spec_write(const json_t *spec, GHashTable *comments)
{
	Writer writer = {.out = g_string_new(NULL), .comments = comments};
	write_members(&writer, rg_json_unconst(spec), "", 0);
	return g_string_free(writer.out, FALSE);
}
