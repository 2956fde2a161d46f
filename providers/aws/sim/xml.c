#include "aws/sim/ec2.h"
#include <math.h>

static void append_escaped(GString *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		switch (*c) {
		case '&':
			g_string_append(out, "&amp;");
			break;
		case '<':
			g_string_append(out, "&lt;");
			break;
		case '>':
			g_string_append(out, "&gt;");
			break;
		case '"':
			g_string_append(out, "&quot;");
			break;
		case '\r': /* a parser would read an unescaped one as a line feed */
			g_string_append(out, "&#xd;");
			break;
		default:
			g_string_append_c(out, *c);
		}
	}
}

void ec2_xml_open(GString *out, const char *name)
{
	g_string_append_c(out, '<');
	g_string_append(out, name);
	g_string_append_c(out, '>');
}

void ec2_xml_close(GString *out, const char *name)
{
	g_string_append(out, "</");
	g_string_append(out, name);
	g_string_append_c(out, '>');
}

static void append_empty(GString *out, const char *name)
{
	g_string_append_c(out, '<');
	g_string_append(out, name);
	g_string_append(out, "/>");
}

void ec2_xml_text(GString *out, const char *name, const char *text)
{
	if (!text || !*text) {
		append_empty(out, name);
		return;
	}
	ec2_xml_open(out, name);
	append_escaped(out, text);
	ec2_xml_close(out, name);
}

static void append_number(GString *out, const char *name, const json_t *value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];
	if (json_is_integer(value)) {
		g_snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else {
		double real = json_real_value(value);
		/* 10.0 stays 10.0, as in EC2's answers. */
		g_ascii_formatd(text, sizeof(text), real == floor(real) ? "%.1f" : "%.15g", real);
	}
	ec2_xml_text(out, name, text);
}

static void append_object(GString *out, const char *name, const json_t *object)
{
	ec2_xml_open(out, name);
	/* jansson's iterator takes a non-const object but only reads it. */
	rg_json_foreach_member (key, member, object) {
		if (key[0] != '_')
			ec2_xml_value(out, key, member);
	}
	ec2_xml_close(out, name);
}

static void append_array(GString *out, const char *name, const json_t *array)
{
	if (json_array_size(array) == 0) {
		append_empty(out, name);
		return;
	}
	ec2_xml_open(out, name);
	rg_json_foreach (entry, array)
		ec2_xml_value(out, "item", entry);
	ec2_xml_close(out, name);
}

void ec2_xml_value(GString *out, const char *name, const json_t *value)
{
	if (!value) { /* a world file may lack what we would have written */
		append_empty(out, name);
		return;
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		append_object(out, name, value);
		break;
	case JSON_ARRAY:
		append_array(out, name, value);
		break;
	case JSON_STRING:
		ec2_xml_text(out, name, json_string_value(value));
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		append_number(out, name, value);
		break;
	case JSON_TRUE:
		ec2_xml_text(out, name, "true");
		break;
	case JSON_FALSE:
		ec2_xml_text(out, name, "false");
		break;
	case JSON_NULL:
		append_empty(out, name);
		break;
	}
}
