#include "common/errors.h"
#include "common/data.h"

struct ModErrors {
	GHashTable *rows;  /* char * -> ModErrorRow *; texts are those of `fields` */
	GPtrArray *fields; /* GStrv */
};

static const char *errors_text(GStrv fields, guint n, guint count)
{
	return n < count && *fields[n] ? fields[n] : NULL;
}

ModErrors *mod_errors_new(const char *csv)
{
	ModErrors *errors = g_new0(ModErrors, 1);
	errors->rows = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	errors->fields = mod_rows(csv, 2, 4);
	mod_ptr_foreach (ModField, fields, errors->fields) {
		guint count = g_strv_length(fields);
		ModErrorRow *row = g_new0(ModErrorRow, 1);
		row->class_ = mod_class_parse(fields[1]);
		row->attribute = errors_text(fields, 2, count);
		row->hint = errors_text(fields, 3, count);
		g_hash_table_insert(errors->rows, fields[0], row);
	}
	return errors;
}

void mod_errors_free(ModErrors *errors)
{
	if (!errors)
		return;
	g_hash_table_unref(errors->rows);
	g_ptr_array_unref(errors->fields);
	g_free(errors);
}

const ModErrorRow *mod_errors_find(const ModErrors *errors, const char *code)
{
	return g_hash_table_lookup(errors->rows, code);
}

void mod_errors_describe(
	const ModErrors *errors, const char *code, const char *message, ModFailure *failure)
{
	const ModErrorRow *row = mod_errors_find(errors, code);
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
