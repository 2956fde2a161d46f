#include "kubernetes/document.h"
#include <glib.h>
#include <stdbool.h>
#include <yaml.h>

/* A kubeconfig of a few hundred clusters has some 10,000 values. */
#define BYTES_MAX (4u << 20)
#define VALUES_MAX 200000
#define DEPTH_MAX 32

typedef struct {
	yaml_document_t *document;
	size_t values; /* converted so far: anchors repeat them */
	char *problem;
} Reading;

static json_t *fail(Reading *reading, const yaml_node_t *node, const char *what)
{
	if (!reading->problem)
		reading->problem = g_strdup_printf("line %zu: %s", node->start_mark.line + 1, what);
	return NULL;
}

static json_t *read_scalar(Reading *reading, const yaml_node_t *node)
{
	const char *text = (const char *)node->data.scalar.value;
	bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (plain && g_str_equal(text, "true"))
		return json_true();
	if (plain && g_str_equal(text, "false"))
		return json_false();
	if (plain && (!*text || g_str_equal(text, "~") || g_str_equal(text, "null")))
		return json_null();
	json_t *value = json_stringn(text, node->data.scalar.length);
	return value ? value : fail(reading, node, "the text is not UTF-8");
}

static json_t *read_node(Reading *reading, int index, unsigned depth);

static json_t *read_sequence(Reading *reading, const yaml_node_t *node, unsigned depth)
{
	json_t *list = json_array();
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
		item < node->data.sequence.items.top && !reading->problem; item++)
		json_array_append_new(list, read_node(reading, *item, depth));
	return list;
}

static json_t *read_mapping(Reading *reading, const yaml_node_t *node, unsigned depth)
{
	json_t *object = json_object();
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top && !reading->problem; pair++) {
		const yaml_node_t *name = yaml_document_get_node(reading->document, pair->key);
		const char *key = name->type == YAML_SCALAR_NODE
					  ? (const char *)name->data.scalar.value
					  : NULL;
		if (!key || !g_utf8_validate(key, -1, NULL))
			fail(reading, name, "a key must be a text");
		else if (json_object_get(object, key))
			fail(reading, name, "the key is there twice");
		else
			json_object_set_new(object, key, read_node(reading, pair->value, depth));
	}
	return object;
}

static json_t *read_node(Reading *reading, int index, unsigned depth)
{
	const yaml_node_t *node = yaml_document_get_node(reading->document, index);
	if (depth == DEPTH_MAX || ++reading->values > VALUES_MAX)
		return fail(reading, node, "it is nested too deeply, or has too many values");
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return read_scalar(reading, node);
	case YAML_SEQUENCE_NODE:
		return read_sequence(reading, node, depth + 1);
	case YAML_MAPPING_NODE:
		return read_mapping(reading, node, depth + 1);
	case YAML_NO_NODE:
	default:
		return fail(reading, node, "there is no value");
	}
}

static json_t *read_document(yaml_document_t *document, char **problem)
{
	Reading reading = {.document = document};
	if (!yaml_document_get_root_node(document))
		return json_object();
	json_t *value = read_node(&reading, 1, 0); /* nodes count from 1, the root is first */
	*problem = reading.problem;
	if (!reading.problem)
		return value;
	json_decref(value);
	return NULL;
}

json_t *kube_yaml_read(struct rgp_bytes text, char **problem)
{
	yaml_parser_t parser;
	yaml_document_t document;
	json_t *value = NULL;
	*problem = NULL;
	if (text.len > BYTES_MAX) {
		*problem = g_strdup("it is larger than 4 MiB");
		return NULL;
	}
	if (!yaml_parser_initialize(&parser))
		g_error("out of memory");
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
		&parser, (const unsigned char *)(text.data ? text.data : ""), text.len);
	if (yaml_parser_load(&parser, &document)) {
		value = read_document(&document, problem);
		yaml_document_delete(&document);
	} else {
		*problem = g_strdup_printf("line %zu: %s", parser.problem_mark.line + 1,
			parser.problem ? parser.problem : "it is not YAML");
	}
	yaml_parser_delete(&parser);
	return value;
}
