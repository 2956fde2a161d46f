#include "aws/xml.h"
#include <expat.h>
#include <string.h>

#define DEPTH_MAX 64
#define TEXT_MAX (1024 * 1024)

typedef struct {
	const AwsShape *shape;
	json_t *value; /* object or array; NULL while a text is collected */
} Frame;

typedef struct {
	XML_Parser parser;
	const AwsShape *root;
	AwsRecordFn record;
	void *data;
	Frame frames[DEPTH_MAX];
	int depth;   /* frames in use */
	int skipped; /* elements open inside an unwanted one */
	GString *text;
	json_t *result;
	char *problem;
} Reader;

/* Expat may still call handlers after it was stopped (the end of an empty element): they look at
 * `problem` first. */
static void stop(Reader *reader, const char *problem)
{
	if (!reader->problem)
		reader->problem = g_strdup(problem);
	XML_StopParser(reader->parser, XML_FALSE);
}

static bool is_list(const AwsShape *shape)
{
	return shape->kids && !strcmp(shape->kids[0].name, "item") && !shape->kids[1].name;
}

static const AwsShape *find_kid(const AwsShape *shape, const char *name)
{
	for (const AwsShape *kid = shape->kids; kid && kid->name; kid++)
		if (!strcmp(kid->name, name))
			return kid;
	return NULL;
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes)
{
	Reader *reader = data;
	if (reader->problem)
		return;
	if (reader->depth + reader->skipped >= DEPTH_MAX) {
		stop(reader, "elements are nested too deeply");
		return;
	}
	if (reader->skipped) {
		reader->skipped++;
		return;
	}
	const AwsShape *shape = reader->root;
	if (reader->depth) {
		shape = find_kid(reader->frames[reader->depth - 1].shape, name);
		if (!shape) {
			reader->skipped = 1;
			return;
		}
	} else if (strcmp(name, shape->name)) {
		g_autofree char *problem =
			g_strdup_printf("a <%.40s> instead of <%s>", name, shape->name);
		stop(reader, problem);
		return;
	}
	json_t *value = !shape->kids ? NULL : is_list(shape) ? json_array() : json_object();
	reader->frames[reader->depth++] = (Frame){shape, value};
	g_string_truncate(reader->text, 0);
}

/* Puts a finished value where its shape says; steals it. */
static void settle(Reader *reader, const AwsShape *shape, json_t *value)
{
	if (!reader->depth) {
		reader->result = value;
		return;
	}
	json_t *parent = reader->frames[reader->depth - 1].value;
	if (shape->fate == AWS_RECORD && reader->record)
		reader->record(reader->data, value);
	if (shape->fate == AWS_DROP || (shape->fate == AWS_RECORD && reader->record))
		json_decref(value);
	else if (json_is_array(parent))
		json_array_append_new(parent, value);
	else
		json_object_set_new_nocheck(parent, shape->name, value);
}

static void XMLCALL on_end(void *data, const char *name)
{
	Reader *reader = data;
	if (reader->problem)
		return;
	if (reader->skipped) {
		reader->skipped--;
		return;
	}
	Frame frame = reader->frames[--reader->depth];
	if (!frame.value)
		frame.value = json_stringn_nocheck(reader->text->str, reader->text->len);
	settle(reader, frame.shape, frame.value);
}

static void XMLCALL on_text(void *data, const char *text, int len)
{
	Reader *reader = data;
	if (reader->problem || reader->skipped || !reader->depth ||
		reader->frames[reader->depth - 1].value)
		return;
	if (reader->text->len + (size_t)len > TEXT_MAX)
		stop(reader, "a text is too long");
	else
		g_string_append_len(reader->text, text, len);
}

/* EC2 sends neither; both are the way in for expanding entities. */
static void XMLCALL on_doctype(
	void *data, const char *name, const char *system, const char *public, int internal)
{
	stop(data, "a document type declaration");
}

static void XMLCALL on_entity(void *data, const char *name, int is_parameter, const char *value,
	int len, const char *base, const char *system, const char *public, const char *notation)
{
	stop(data, "an entity declaration");
}

static void parse(Reader *reader, struct rgp_bytes body)
{
	XML_SetUserData(reader->parser, reader);
	XML_SetElementHandler(reader->parser, on_start, on_end);
	XML_SetCharacterDataHandler(reader->parser, on_text);
	XML_SetStartDoctypeDeclHandler(reader->parser, on_doctype);
	XML_SetEntityDeclHandler(reader->parser, on_entity);
	/* XML_Parse takes an int; the pieces also bound what expat holds at a time */
	for (size_t at = 0, piece; !reader->problem; at += piece) {
		piece = MIN(body.len - at, (size_t)1 << 20);
		bool last = at + piece == body.len;
		if (XML_Parse(reader->parser, body.data + at, (int)piece, last) != XML_STATUS_OK &&
			!reader->problem)
			reader->problem = g_strdup_printf("%s in line %lu",
				XML_ErrorString(XML_GetErrorCode(reader->parser)),
				(unsigned long)XML_GetCurrentLineNumber(reader->parser));
		if (last)
			break;
	}
}

json_t *aws_xml_read(
	struct rgp_bytes body, const AwsShape *root, AwsRecordFn record, void *data, char **problem)
{
	Reader reader = {
		.parser = XML_ParserCreate(NULL),
		.root = root,
		.record = record,
		.data = data,
		.text = g_string_new(NULL),
	};
	parse(&reader, body);
	while (reader.depth)
		json_decref(reader.frames[--reader.depth].value);
	XML_ParserFree(reader.parser);
	g_string_free(reader.text, TRUE);
	*problem = reader.problem;
	if (!reader.problem)
		return reader.result;
	json_decref(reader.result);
	return NULL;
}
