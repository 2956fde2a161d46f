/* A spec file as JSON, with the place of every value and key: between the YAML text and the schema
 * check. Owns everything; src/spec and the simulator's scenarios only. */
#pragma once
#include "base/json.h"

typedef struct {
	const char *file;     /* interned */
	const char *what;     /* what findings call the whole file; NULL: "the spec" */
	json_t *value;	      /* merged and with aliases resolved: what `validate --json` shows */
	GHashTable *sources;  /* JSON pointer -> RgSource*: the value */
	GHashTable *keys;     /* JSON pointer -> RgSource*: the key of the member there */
	GHashTable *words;    /* JSON pointer -> char*: unquoted scalars that are not plain text
				 (numbers, booleans, nulls, YAML 1.1 words), as written */
	GHashTable *spoiled;  /* set of JSON pointers about which something was reported: any later
				 finding at or under them is a consequence */
	GPtrArray *files;     /* char*: the file and those that it extends, the nearest first; NULL:
				 not asked yet (extend.h) */
	GPtrArray *overrides; /* RgOverride*: values of bases that were replaced; NULL: none */
	RgDiags *findings;    /* of a file that may have several documents; otherwise NULL */
} RgDocument;

/* A value of a file that another file extends and replaces (extend.h). */
typedef struct {
	char *pointer;
	RgSource source, key; /* of the value that counts, and of its key */
	RgSource replaced;
	bool removed; /* by null */
} RgOverride;
void rg_override_free(gpointer override);

/* NULL if the text is not YAML or exceeds the limits (base/caps.h); smaller findings go to `diags`
 * and a document is still returned. `text` is UTF-8 without a byte order mark. */
RgDocument *rg_document_load(const char *file, const char *text, size_t len, RgDiags *diags);
void rg_document_free(RgDocument *document);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDocument, rg_document_free)

/* The documents of a file that may have several, RgDocument*, each with its findings; one that
 * exceeds the limits has no value. Otherwise as rg_document_load. */
GPtrArray *rg_document_load_each(const char *file, const char *text, size_t len, RgDiags *diags);

void rg_document_spoil(RgDocument *document, const char *pointer);
bool rg_document_is_spoiled(const RgDocument *document, const char *pointer);
/* The file's ("-": standard input); NULL and diagnostics if it cannot be read. */
GPtrArray *rg_document_load_file(const char *path, const char *what, RgDiags *diags);
/* Moves the document's findings to `diags`, in the order of the lines. */
void rg_document_deliver(RgDocument *document, RgDiags *diags);
/* "/pools/train/zones/1" as people write it: "pools.train.zones[1]"; `what` for "". g_free. */
char *rg_spec_path(const RgDocument *document, const char *pointer);
/* The place of the value at `pointer`, or of its nearest parent in the file. */
RgSource rg_document_source(const RgDocument *document, const char *pointer);
/* The place of its key; for list items and the root, of the value. */
RgSource rg_document_key_source(const RgDocument *document, const char *pointer);
/* Nearest entry of a pointer -> RgSource* table at or above `pointer`; NULL if none. */
const RgSource *rg_source_find(GHashTable *sources, const char *pointer);
