#include "aws/xml.h"
#include <libxml/parserInternals.h>
#include <pthread.h>
#include <string.h>

#define DEPTH_MAX 64
#define TEXT_MAX (1024 * 1024)

typedef struct {
	const AwsShape *shape;
	json_t *value; /* object, array, or null of a pair; NULL while a text is collected */
} Frame;

typedef struct {
	xmlParserCtxtPtr parser;
	const AwsShape *root;
	AwsRecordFn record;
	void *data;
	Frame frames[DEPTH_MAX];
	int depth;   /* frames in use */
	int skipped; /* elements open inside an ignored one */
	GString *text;
	GString *key;	    /* of the open pair; empty: not seen (yet) */
	json_t *pair_value; /* of it, or NULL */
	json_t *result;
	char *problem;
} Reader;

/* Handlers check `problem` first: after an abort, the end of an element may still arrive. */
static void stop(Reader *reader, const char *problem)
{
	if (!reader->problem)
		reader->problem = g_strdup(problem);
	xmlStopParser(reader->parser);
}

static const AwsShape *find_kid(const AwsShape *shape, const char *name)
{
	for (const AwsShape *kid = shape->kids; kid && kid->name; kid++)
		if (*kid->name == *name && g_str_equal(kid->name, name))
			return kid;
	return NULL;
}

static json_t *new_value(const AwsShape *shape)
{
	if (!shape->kids)
		return NULL;
	if (shape->fate == AWS_PAIR)
		return json_null();
	bool is_list = g_str_equal(shape->kids[0].name, "item") && !shape->kids[1].name;
	return is_list && shape->kids[0].fate != AWS_PAIR ? json_array() : json_object();
}

/* The shape of the element that begins; NULL: ignored, or unexpected (stopped). */
static const AwsShape *choose_shape(Reader *reader, const char *name, bool qualified)
{
	if (reader->depth)
		return qualified ? NULL : find_kid(reader->frames[reader->depth - 1].shape, name);
	if (!qualified && g_str_equal(name, reader->root->name))
		return reader->root;
	g_autofree char *problem =
		g_strdup_printf("a <%.40s> instead of <%s>", name, reader->root->name);
	stop(reader, problem);
	return NULL;
}

/* NOLINTNEXTLINE(readability-function-size): the type is libxml2's */
static void on_start(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
	int n_spaces, const xmlChar **spaces, int n_attributes, int n_defaulted,
	const xmlChar **attributes)
{
	Reader *reader = data;
	if (reader->problem)
		return;
	if (reader->depth + reader->skipped >= DEPTH_MAX) {
		stop(reader, "elements are nested too deeply");
		return;
	}
	const AwsShape *shape =
		reader->skipped ? NULL : choose_shape(reader, (const char *)name, prefix);
	if (!shape) {
		reader->skipped++;
		return;
	}
	reader->frames[reader->depth++] = (Frame){shape, new_value(shape)};
	g_string_truncate(reader->text, 0);
}

/* Stores a finished value as its shape requires; steals it. */
static void settle(Reader *reader, const AwsShape *shape, json_t *value)
{
	if (!reader->depth) {
		reader->result = value;
		return;
	}
	const Frame *parent = &reader->frames[reader->depth - 1];
	if (shape->fate == AWS_RECORD && reader->record)
		reader->record(reader->data, value);
	if (shape->fate == AWS_DROP || (shape->fate == AWS_RECORD && reader->record)) {
		json_decref(value);
	} else if (shape->fate == AWS_PAIR) {
		/* A pair is complete: it becomes a member of its object. A later one with the same
		 * key wins. */
		if (reader->key->len && reader->pair_value)
			json_object_set_nocheck(
				parent->value, reader->key->str, reader->pair_value);
		g_string_truncate(reader->key, 0);
		g_clear_pointer(&reader->pair_value, json_decref);
	} else if (parent->shape->fate == AWS_PAIR) {
		json_decref(reader->pair_value);
		reader->pair_value = value;
	} else if (json_is_array(parent->value)) {
		json_array_append_new(parent->value, value);
	} else {
		json_object_set_new_nocheck(parent->value, shape->name, value);
	}
}

static void on_end(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	Reader *reader = data;
	if (reader->problem)
		return;
	if (reader->skipped) {
		reader->skipped--;
		return;
	}
	Frame frame = reader->frames[--reader->depth];
	if (reader->depth) {
		const AwsShape *parent = reader->frames[reader->depth - 1].shape;
		if (parent->fate == AWS_PAIR && frame.shape == parent->kids) {
			g_string_assign(reader->key, reader->text->str);
			return;
		}
	}
	if (!frame.value)
		frame.value = json_stringn_nocheck(reader->text->str, reader->text->len);
	settle(reader, frame.shape, frame.value);
}

static void on_text(void *data, const xmlChar *text, int len)
{
	Reader *reader = data;
	if (reader->problem || reader->skipped || !reader->depth ||
		reader->frames[reader->depth - 1].value)
		return;
	if (reader->text->len + (size_t)len > TEXT_MAX)
		stop(reader, "a string is too long");
	else
		g_string_append_len(reader->text, (const char *)text, len);
}

/* EC2 sends none; document types allow entities that expand, and files of this machine. */
static void on_doctype(
	void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
	stop(data, "a document type declaration");
}

static const xmlSAXHandler handlers = {
	.initialized = XML_SAX2_MAGIC,
	.internalSubset = on_doctype,
	.startElementNs = on_start,
	.endElementNs = on_end,
	.characters = on_text,
	.cdataBlock = on_text,
};

/* Errors of character conversion are not parser errors, so without this libxml2 would write them to
 * the program's stderr; wellFormed still reports them. */
static void say_nothing(void *data, xmlErrorPtr error) // NOLINT(readability-non-const-parameter)
{
}

static void tell_error(Reader *reader)
{
	const xmlError *error = xmlCtxtGetLastError(reader->parser);
	g_autofree char *words = g_utf8_make_valid(
		error && error->message ? error->message : "not a well-formed document", -1);
	reader->problem =
		g_strdup_printf("%s in line %d", g_strchomp(words), error ? error->line : 0);
}

static void parse(Reader *reader, struct rgp_bytes body)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, xmlInitParser);
	if (!body.len || body.len > G_MAXINT) {
		reader->problem = g_strdup("it is empty");
		return;
	}
	reader->parser = xmlCreateMemoryParserCtxt(body.data, (int)body.len);
	if (!reader->parser)
		g_error("out of memory");
	*reader->parser->sax = handlers;
	reader->parser->userData = reader;
	xmlCtxtUseOptions(
		reader->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	/* libxml2 keeps one per thread */
	xmlStructuredErrorFunc others = xmlStructuredError;
	void *others_data = xmlStructuredErrorContext;
	xmlSetStructuredErrorFunc(NULL, say_nothing);
	xmlParseDocument(reader->parser);
	xmlSetStructuredErrorFunc(others_data, others);
	if (!reader->parser->wellFormed && !reader->problem)
		tell_error(reader);
	/* libxml2 creates one for entities that are declared after an error, when on_doctype is no
	 * longer called */
	if (reader->parser->myDoc)
		xmlFreeDoc(reader->parser->myDoc);
	xmlFreeParserCtxt(reader->parser);
}

json_t *aws_xml_read(
	struct rgp_bytes body, const AwsShape *root, AwsRecordFn record, void *data, char **problem)
{
	Reader reader = {
		.root = root,
		.record = record,
		.data = data,
		.text = g_string_new(NULL),
		.key = g_string_new(NULL),
	};
	parse(&reader, body);
	while (reader.depth)
		json_decref(reader.frames[--reader.depth].value);
	json_decref(reader.pair_value);
	g_string_free(reader.key, TRUE);
	g_string_free(reader.text, TRUE);
	*problem = reader.problem;
	if (!reader.problem)
		return reader.result;
	json_decref(reader.result);
	return NULL;
}
