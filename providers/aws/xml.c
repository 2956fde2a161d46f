#include "aws/xml.h"
#include <libxml/parserInternals.h>
#include <pthread.h>
#include <string.h>

#define DEPTH_MAX 64
#define TEXT_MAX (1024 * 1024)

enum { BEGIN, END, TEXT, OWN };

/* An element of a shape: its beginning and its end if it has kids, or a text. Compared bytewise, so
 * there must be no padding. */
typedef struct {
	const AwsShape *shape;
	size_t what;
} Event;

/* Elements in document order, and their texts, each with its NUL. */
typedef struct {
	GArray *events;
	GString *texts;
} Log;

typedef struct {
	xmlParserCtxtPtr parser;
	const AwsShape *root;
	AwsRecordFn give;
	void *data;
	const AwsShape *open[DEPTH_MAX];
	int depth;	/* of `open` in use */
	int skipped;	/* elements open inside an ignored one */
	Log log;	/* what is kept, followed by the record that is being read */
	gsize text;	/* where the newest text begins */
	bool in_record; /* inside a record */
	guint at_event; /* where that begins */
	gsize at_text;
	GString *own;	  /* its AWS_OWN texts, each with its NUL */
	Log last;	  /* the previous record, without its own texts */
	json_t *record;	  /* that record */
	GPtrArray *owned; /* json_t *: its own texts, in their order */
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

/* The shape of the element that begins; NULL: ignored, or unexpected (stopped). */
static const AwsShape *choose_shape(Reader *reader, const char *name, bool qualified)
{
	if (reader->depth)
		return qualified ? NULL : find_kid(reader->open[reader->depth - 1], name);
	if (!qualified && g_str_equal(name, reader->root->name))
		return reader->root;
	g_autofree char *problem =
		g_strdup_printf("a <%.40s> instead of <%s>", name, reader->root->name);
	stop(reader, problem);
	return NULL;
}

static bool is_given(const Reader *reader, const AwsShape *shape)
{
	return shape->fate == AWS_RECORD && reader->give;
}

static void add_event(Reader *reader, const AwsShape *shape, size_t what)
{
	const Event event = {.shape = shape, .what = what};
	g_array_append_val(reader->log.events, event);
}

/* The newest text is complete. */
static void add_text(Reader *reader, const AwsShape *shape)
{
	GString *texts = reader->log.texts;
	bool own = shape->fate == AWS_OWN && reader->in_record;
	add_event(reader, shape, own ? OWN : TEXT);
	g_string_append_c(texts, '\0');
	if (!own)
		return;
	g_string_append_len(
		reader->own, texts->str + reader->text, (gssize)(texts->len - reader->text));
	g_string_truncate(texts, reader->text);
}

/* Makes values of events and texts. */
typedef struct {
	const Event *event;
	const char *text, *own;
	GPtrArray *owned;
} Builder;

static json_t *build(Builder *builder);

static json_t *build_text(Builder *builder)
{
	bool own = builder->event++->what == OWN;
	const char **from = own ? &builder->own : &builder->text;
	size_t len = strlen(*from);
	json_t *value = json_stringn_nocheck(*from, len);
	*from += len + 1;
	if (own)
		g_ptr_array_add(builder->owned, json_incref(value));
	return value;
}

/* A key and a value become a member of their object. A later pair with the same key wins. */
static void build_pair(Builder *builder, json_t *object)
{
	const AwsShape *key_shape = builder->event++->shape->kids;
	json_t *pair[] = {NULL, NULL}; /* value and key */
	while (builder->event->what != END) {
		bool is_key = builder->event->shape == key_shape;
		json_decref(pair[is_key]);
		pair[is_key] = build(builder);
	}
	builder->event++;
	if (json_string_length(pair[1]) && pair[0])
		json_object_set_nocheck(object, json_string_value(pair[1]), pair[0]);
	json_decref(pair[0]);
	json_decref(pair[1]);
}

static void build_kid(Builder *builder, json_t *parent)
{
	const AwsShape *shape = builder->event->shape;
	if (shape->fate == AWS_PAIR) {
		build_pair(builder, parent);
		return;
	}
	json_t *value = build(builder);
	if (shape->fate == AWS_DROP)
		json_decref(value);
	else if (json_is_array(parent))
		json_array_append_new(parent, value);
	else
		json_object_set_new_nocheck(parent, shape->name, value);
}

/* The value that starts at the next event, a new reference. */
static json_t *build(Builder *builder)
{
	if (builder->event->what != BEGIN)
		return build_text(builder);
	const AwsShape *kids = builder->event++->shape->kids;
	bool is_list = g_str_equal(kids->name, "item") && !kids[1].name;
	json_t *value = is_list && kids->fate != AWS_PAIR ? json_array() : json_object();
	while (builder->event->what != END)
		build_kid(builder, value);
	builder->event++;
	return value;
}

static bool is_like_last(const Reader *reader, const Event *events, guint n, const GString *texts)
{
	const Log *last = &reader->last;
	gsize len = texts->len - reader->at_text;
	return reader->own->len && last->events->len == n && last->texts->len == len &&
	       !memcmp(last->events->data, events, n * sizeof *events) &&
	       !memcmp(last->texts->str, texts->str + reader->at_text, len);
}

static void replace_own(Reader *reader)
{
	const char *text = reader->own->str;
	for (guint i = 0; i < reader->owned->len; i++) {
		size_t len = strlen(text);
		json_string_setn_nocheck(reader->owned->pdata[i], text, len);
		text += len + 1;
	}
}

/* Passes the finished record to the callback, and removes it from the log. */
static void give_record(Reader *reader)
{
	GArray *events = reader->log.events;
	GString *texts = reader->log.texts;
	const Event *first = &g_array_index(events, Event, reader->at_event);
	guint n = events->len - reader->at_event;
	if (is_like_last(reader, first, n, texts)) {
		replace_own(reader);
	} else {
		Builder builder = {.event = first,
			.text = texts->str + reader->at_text,
			.own = reader->own->str,
			.owned = reader->owned};
		g_ptr_array_set_size(reader->owned, 0);
		json_decref(reader->record);
		reader->record = build(&builder);
		g_array_set_size(reader->last.events, 0);
		g_array_append_vals(reader->last.events, first, n);
		g_string_truncate(reader->last.texts, 0);
		g_string_append_len(reader->last.texts, texts->str + reader->at_text,
			(gssize)(texts->len - reader->at_text));
	}
	reader->give(reader->data, reader->record);
	g_array_set_size(events, reader->at_event);
	g_string_truncate(texts, reader->at_text);
	g_string_truncate(reader->own, 0);
	reader->in_record = false;
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
	reader->open[reader->depth++] = shape;
	reader->text = reader->log.texts->len;
	if (is_given(reader, shape)) {
		reader->in_record = true;
		reader->at_event = reader->log.events->len;
		reader->at_text = reader->log.texts->len;
	}
	if (shape->kids)
		add_event(reader, shape, BEGIN);
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
	const AwsShape *shape = reader->open[--reader->depth];
	if (shape->kids)
		add_event(reader, shape, END);
	else
		add_text(reader, shape);
	if (is_given(reader, shape))
		give_record(reader);
}

static void on_text(void *data, const xmlChar *text, int len)
{
	Reader *reader = data;
	if (reader->problem || reader->skipped || !reader->depth ||
		reader->open[reader->depth - 1]->kids)
		return;
	GString *texts = reader->log.texts;
	if (texts->len - reader->text + (size_t)len > TEXT_MAX)
		stop(reader, "a string is too long");
	else
		g_string_append_len(texts, (const char *)text, len);
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

static Log log_new(void)
{
	return (Log){g_array_new(FALSE, FALSE, sizeof(Event)), g_string_new(NULL)};
}

static void log_free(Log *log)
{
	g_array_free(log->events, TRUE);
	g_string_free(log->texts, TRUE);
}

json_t *aws_xml_read(
	struct rgp_bytes body, const AwsShape *root, AwsRecordFn record, void *data, char **problem)
{
	Reader reader = {
		.root = root,
		.give = record,
		.data = data,
		.log = log_new(),
		.last = log_new(),
		.own = g_string_new(NULL),
		.owned = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref),
	};
	parse(&reader, body);
	*problem = reader.problem;
	json_t *result = NULL;
	if (!reader.problem) {
		Builder builder = {.event = (const Event *)(const void *)reader.log.events->data,
			.text = reader.log.texts->str};
		result = build(&builder);
	}
	json_decref(reader.record);
	g_ptr_array_unref(reader.owned);
	g_string_free(reader.own, TRUE);
	log_free(&reader.last);
	log_free(&reader.log);
	return result;
}

json_int_t aws_xml_number(const json_t *record, const char *key)
{
	return g_ascii_strtoll(mod_str(record, key), NULL, 10);
}
