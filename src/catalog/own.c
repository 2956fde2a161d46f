/* Shared by the three kinds of rows of the project file. */
#include "catalog/own.h"
#include "catalog/internal.h"

RgSource rg_own_source(const RgOwnRow *row, const char *key)
{
	g_autofree char *member =
		key ? rg_json_pointer_add(row->pointer, key) : g_strdup(row->pointer);
	return row->own->source(row->own->data, member);
}

RgDiag *rg_own_complain(const RgOwnRow *row, const char *key, char *what)
{
	g_autofree char *summary = what;
	RgDiag *diag = rg_diags_error(row->diags, "catalog.bad-own-row", "%s", summary);
	return rg_diag_at(diag, rg_own_source(row, key));
}

bool rg_own_has_all(
	const RgOwnRow *row, const char *const *needed, const char *what, const char *name)
{
	bool good = true;
	for (size_t i = 0; needed[i] != NULL; i++) {
		if (json_object_get(row->row, needed[i]))
			continue;
		RgDiag *diag = rg_own_complain(row, NULL,
			g_strdup_printf("the new %s %s has no \"%s\"", what, name, needed[i]));
		rg_diag_hint(diag, "only a built-in %s may be incomplete", what);
		good = false;
	}
	return good;
}

char *rg_own_place(const RgOwnRow *row)
{
	RgSource source = rg_own_source(row, NULL);
	return g_strdup_printf("%s:%u", source.file ? source.file : "raygpu.yaml", source.line);
}

double rg_own_size(const RgOwnRow *row, const char *key)
{
	char *unit = NULL;
	double size = g_ascii_strtod(rg_json_str(row->row, key, ""), &unit);
	while (*unit == ' ')
		unit++;
	return *unit == 'T' ? size * 1024 : size;
}

void rg_own_amount(const RgOwnRow *row, const char *key, double *amount)
{
	const json_t *value = json_object_get(row->row, key);
	if (value)
		*amount = json_number_value(value);
}

unsigned rg_own_mig_count(const json_t *value)
{
	return json_is_integer(value) ? (unsigned)json_integer_value(value)
				      : (unsigned)rg_json_int(value, "count", 0);
}

unsigned rg_own_mig_memory(const json_t *value)
{
	return json_is_object(value) ? (unsigned)rg_json_int(value, "memory_mib", 0) : 0;
}
