#include "common/errors.h"
#include "common/data.h"
#include <string.h>

typedef struct {
	const char *code, *text;
	ModErrorRow row;
} TextRow;

/* All texts are those of `fields` and `text_fields`. */
struct ModErrors {
	GHashTable *rows; /* char * -> ModErrorRow * */
	GArray *texts;	  /* TextRow: what the message says, where one code means several things */
	GPtrArray *fields, *text_fields; /* GStrv */
};

static const char *errors_text(GStrv fields, guint n, guint count)
{
	return n < count && *fields[n] ? fields[n] : NULL;
}

/* `from`: the field of the class. */
static ModErrorRow errors_row(GStrv fields, guint from)
{
	guint count = g_strv_length(fields);
	return (ModErrorRow){.class_ = mod_class_parse(fields[from]),
		.attribute = errors_text(fields, from + 1, count),
		.hint = errors_text(fields, from + 2, count)};
}

ModErrors *mod_errors_new(const char *csv, const char *texts)
{
	ModErrors *errors = g_new0(ModErrors, 1);
	errors->rows = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	errors->texts = g_array_new(FALSE, FALSE, sizeof(TextRow));
	errors->fields = mod_rows(csv, 2, 4);
	errors->text_fields = mod_rows(texts ? texts : "", 3, 5);
	mod_ptr_foreach (ModField, fields, errors->fields) {
		ModErrorRow *row = g_new(ModErrorRow, 1);
		*row = errors_row(fields, 1);
		g_hash_table_insert(errors->rows, fields[0], row);
	}
	mod_ptr_foreach (ModField, fields, errors->text_fields) {
		const TextRow row = {fields[0], fields[1], errors_row(fields, 2)};
		g_array_append_val(errors->texts, row);
	}
	return errors;
}

void mod_errors_free(ModErrors *errors)
{
	if (!errors)
		return;
	g_hash_table_unref(errors->rows);
	g_array_unref(errors->texts);
	g_ptr_array_unref(errors->fields);
	g_ptr_array_unref(errors->text_fields);
	g_free(errors);
}

const ModErrorRow *mod_errors_find(const ModErrors *errors, const char *code)
{
	return g_hash_table_lookup(errors->rows, code);
}

static const ModErrorRow *errors_find_text(
	const ModErrors *errors, const char *code, const char *message)
{
	for (guint i = 0; i < errors->texts->len; i++) {
		const TextRow *row = &g_array_index(errors->texts, TextRow, i);
		if (g_str_equal(row->code, code) && strstr(message, row->text))
			return &row->row;
	}
	return mod_errors_find(errors, code);
}

void mod_errors_describe(
	const ModErrors *errors, const char *code, const char *message, ModFailure *failure)
{
	const ModErrorRow *row = errors_find_text(errors, code, message);
	mod_failure_set(failure, row ? row->class_ : RGP_CLASS_UNKNOWN, code, "%s",
		*message ? message : code);
	if (!row)
		return;
	failure->attribute = row->attribute;
	failure->hint = row->hint;
}

int32_t mod_class_of_status(int32_t status)
{
	switch (status) {
	case 401:
	case 403:
		return RGP_CLASS_DENIED;
	case 408:
	case 500:
	case 502:
	case 503:
	case 504:
		return RGP_CLASS_TRANSIENT;
	case 429:
		return RGP_CLASS_THROTTLED;
	default:
		return status >= 400 && status < 500 ? RGP_CLASS_INVALID : RGP_CLASS_UNKNOWN;
	}
}
