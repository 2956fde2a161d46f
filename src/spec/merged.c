#include <string.h>
#include "spec/build.h"
#include "spec/check.h"
#include "spec/emitter.h"
#include "spec/extend.h"
#include "spec/scalar.h"

/* A spec with what it extends, written out: for a reviewer who asks what a file of an environment
 * comes to. Numbers stay as they were written. */

typedef struct {
	yaml_emitter_t yaml;
	const RgDocument *document;
} Writer;

static void write_scalar(Writer *writer, const char *text, bool quote)
{
	yaml_event_t event;
	yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
		(int)strlen(text), 1, 1,
		quote ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
	rg_emitter_emit(&writer->yaml, &event);
}

static void write_text(Writer *writer, const char *text)
{
	json_auto_t *value = NULL;
	write_scalar(writer, text, rg_scalar_resolve(text, &value) != RG_SCALAR_TEXT);
}

static void write_value(Writer *writer, json_t *value, const char *pointer);

static void write_members(Writer *writer, json_t *value, const char *pointer)
{
	rg_json_foreach_member (name, member, value) {
		g_autofree char *at = rg_json_pointer_add(pointer, name);
		write_text(writer, name);
		write_value(writer, member, at);
	}
}

static void write_value(Writer *writer, json_t *value, const char *pointer)
{
	yaml_event_t event;
	const char *word = g_hash_table_lookup(writer->document->words, pointer);
	if (json_is_object(value)) {
		yaml_mapping_start_event_initialize(
			&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
		rg_emitter_emit(&writer->yaml, &event);
		write_members(writer, value, pointer);
		yaml_mapping_end_event_initialize(&event);
		rg_emitter_emit(&writer->yaml, &event);
	} else if (json_is_array(value)) {
		yaml_sequence_start_event_initialize(
			&event, NULL, NULL, 1, YAML_FLOW_SEQUENCE_STYLE);
		rg_emitter_emit(&writer->yaml, &event);
		for (size_t i = 0; i < json_array_size(value); i++) {
			g_autofree char *at = g_strdup_printf("%s/%zu", pointer, i);
			write_value(writer, json_array_get(value, i), at);
		}
		yaml_sequence_end_event_initialize(&event);
		rg_emitter_emit(&writer->yaml, &event);
	} else if (json_is_string(value) && !word) {
		write_text(writer, json_string_value(value));
	} else {
		/* the word of a null can be nothing, which libyaml would write as '' */
		bool kept = word && *word;
		g_autofree char *text = kept ? NULL : json_dumps(value, JSON_ENCODE_ANY);
		write_scalar(writer, kept ? word : text, false);
	}
}

static void write_document(GString *out, const RgDocument *document)
{
	Writer writer = {.document = document};
	rg_emitter_begin(&writer.yaml, out, 100);
	write_value(&writer, document->value, "");
	rg_emitter_end(&writer.yaml);
}

/* "# prod.yaml:4:5: pools.train.nodes replaces base.yaml:9:12" */
static void write_comments(GString *out, const RgDocument *document)
{
	for (guint i = 1; i < document->files->len; i++)
		g_string_append_printf(out, "# %s extends %s\n",
			(const char *)document->files->pdata[i - 1],
			(const char *)document->files->pdata[i]);
	for (guint i = 0; document->overrides && i < document->overrides->len; i++) {
		const RgOverride *override = document->overrides->pdata[i];
		g_autofree char *path = rg_spec_path(document, override->pointer);
		g_string_append_printf(out, "# %s:%u:%u: %s %s %s:%u:%u\n", override->source.file,
			override->source.line, override->source.column, path,
			override->removed ? "removes" : "replaces", override->replaced.file,
			override->replaced.line, override->replaced.column);
	}
}

static void *build_yaml(RgDocument *document, const RgSpecReader *reader, RgDiags *diags)
{
	if (!spec_extend(document, reader, diags) || rg_diags_has_errors(diags))
		return NULL;
	GString *out = g_string_new(NULL);
	write_comments(out, document);
	write_document(out, document);
	return g_string_free(out, FALSE);
}

static void *build_json(RgDocument *document, const RgSpecReader *reader, RgDiags *diags)
{
	bool read = spec_extend(document, reader, diags) && !rg_diags_has_errors(diags);
	return read ? json_dumps(document->value, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
}

char *rg_spec_merged(const char *file, const char *text, size_t len, const RgSpecReader *reader,
	bool json, RgDiags *diags)
{
	return spec_load_text(file, text, len, json ? build_json : build_yaml, reader, diags);
}

char *rg_spec_merged_file(const char *path, bool json, RgDiags *diags)
{
	return spec_load_file(path, json ? build_json : build_yaml, diags);
}
