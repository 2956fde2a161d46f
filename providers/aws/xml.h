/* Streaming reader of EC2's XML answers: bytes -> JSON, only the elements that a shape names.
 * Records (instances, groups, ...) are returned one by one and dropped, so that a page is never in
 * memory as a tree. Hostile input is refused: document types and entities, deep nesting, endless
 * texts, truncation. Pure; any thread. The only user of libxml2 (its SAX2 calls: a third of expat's
 * time for the same page). */
#pragma once
#include "common/talk.h"

/* One element: its name and what is read inside. kids NULL: a text. An element whose only kid is
 * called "item" becomes an array, any other an object. The table ends with a NULL name. */
typedef struct AwsShape {
	const char *name;
	const struct AwsShape *kids;
	enum {
		AWS_KEEP = 0, /* becomes a member of its parent */
		AWS_RECORD,   /* is passed to the callback, and dropped */
		AWS_DROP,     /* only a container of what is inside */
		AWS_PAIR,     /* an <item> of a key and a value, its two kids in this order: the
			       * list becomes an object of them */
		AWS_OWN,      /* a text that differs between records, such as an id */
	} fate;
} AwsShape;

/* A record that differs from the previous one only in its AWS_OWN texts is passed as the same
 * object with those texts replaced. A callback that keeps a record must copy it. */
typedef void (*AwsRecordFn)(void *data, const json_t *record);

/* Reads a document whose root element is root->name. A new object with what was kept; NULL and
 * *problem (g_free) if the document is truncated, malformed, hostile or of another kind; records
 * may have been returned by then and must be discarded. */
json_t *aws_xml_read(struct rgp_bytes body, const AwsShape *root, AwsRecordFn record, void *data,
	char **problem);

/* A text of what was read as a number; 0: it is absent. */
json_int_t aws_xml_number(const json_t *record, const char *key);
