#include "base/diag.h"

#include <string.h>
#include "base/diag_codes.h"
#include "base/each.h"

struct RgDiags {
	GPtrArray *items;  /* RgDiag *, owned */
	GHashTable *texts; /* file name (owned) -> GBytes */
};

static const struct {
	const char *code;
	int exit_code;
} codes[] = {
#define ROW(code, exit_code) {code, exit_code},
	RG_DIAG_CODES(ROW)
#undef ROW
};

/* The row of a code, or -1: a code that is not in the list is a programming error. */
static int find_code(const char *code)
{
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
		if (g_str_equal(codes[i].code, code))
			return (int)i;
	}
	return -1;
}

static void diag_free(gpointer data)
{
	RgDiag *diag = data;
	g_free(diag->summary);
	g_free(diag->detail);
	g_free(diag->hint);
	g_free(diag->address);
	g_free(diag->attribute);
	g_free(diag->provider);
	g_free(diag->cloud_code);
	g_free(diag->request_id);
	g_free(diag->origin);
	g_free(diag->related_text);
	g_free(diag);
}

RgDiags *rg_diags_new(void)
{
	RgDiags *diags = g_new0(RgDiags, 1);
	diags->items = g_ptr_array_new_with_free_func(diag_free);
	diags->texts = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
	return diags;
}

void rg_diags_free(RgDiags *diags)
{
	if (!diags)
		return;
	g_ptr_array_unref(diags->items);
	g_hash_table_unref(diags->texts);
	g_free(diags);
}

G_GNUC_PRINTF(4, 0)
static RgDiag *add(
	RgDiags *diags, RgSeverity severity, const char *code, const char *format, va_list args)
{
	int row = find_code(code);
	g_assert(row >= 0);
	RgDiag *diag = g_new0(RgDiag, 1);
	diag->severity = severity;
	diag->code = codes[row].code;
	diag->summary = g_strdup_vprintf(format, args);
	g_ptr_array_add(diags->items, diag);
	return diag;
}

RgDiag *rg_diags_error(RgDiags *diags, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	RgDiag *diag = add(diags, RG_SEVERITY_ERROR, code, format, args);
	va_end(args);
	return diag;
}

RgDiag *rg_diags_warning(RgDiags *diags, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	RgDiag *diag = add(diags, RG_SEVERITY_WARNING, code, format, args);
	va_end(args);
	return diag;
}

RgDiag *rg_diags_note(RgDiags *diags, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	RgDiag *diag = add(diags, RG_SEVERITY_NOTE, code, format, args);
	va_end(args);
	return diag;
}

RgDiag *rg_diag_at(RgDiag *diag, RgSource source)
{
	diag->source = source;
	return diag;
}

/* Takes `text`; the old text may have been an argument of the new one, so it is freed last. */
static void replace(char **slot, char *text)
{
	g_free(*slot);
	*slot = text;
}

RgDiag *rg_diag_detail(RgDiag *diag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	replace(&diag->detail, g_strdup_vprintf(format, args));
	va_end(args);
	return diag;
}

RgDiag *rg_diag_hint(RgDiag *diag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	replace(&diag->hint, g_strdup_vprintf(format, args));
	va_end(args);
	return diag;
}

RgDiag *rg_diag_address(RgDiag *diag, const char *address, const char *attribute)
{
	replace(&diag->address, g_strdup(address));
	replace(&diag->attribute, g_strdup(attribute));
	return diag;
}

RgDiag *rg_diag_cloud(
	RgDiag *diag, const char *provider, const char *cloud_code, const char *request_id)
{
	replace(&diag->provider, g_strdup(provider));
	replace(&diag->cloud_code, g_strdup(cloud_code));
	replace(&diag->request_id, g_strdup(request_id));
	return diag;
}

RgDiag *rg_diag_origin(RgDiag *diag, const char *origin)
{
	replace(&diag->origin, g_strdup(origin));
	return diag;
}

RgDiag *rg_diag_related(RgDiag *diag, RgSource source, const char *what)
{
	diag->related = source;
	replace(&diag->related_text, g_strdup(what));
	return diag;
}

void rg_diags_locate(
	RgDiags *diags, RgSource (*source)(const void *data, const char *origin), const void *data)
{
	rg_ptr_foreach (RgDiag, diag, diags->items)
		if (diag->origin && !diag->source.file)
			diag->source = source(data, diag->origin);
}

void rg_diags_soften(RgDiags *diags, bool (*soft)(const void *data, RgDiag *diag), const void *data)
{
	rg_ptr_foreach (RgDiag, diag, diags->items)
		if (diag->severity == RG_SEVERITY_ERROR && soft(data, diag))
			diag->severity = RG_SEVERITY_WARNING;
}

static void reword(char **text, const char *from, const char *to)
{
	GString *copy = g_string_new(*text);
	g_string_replace(copy, from, to, 0);
	replace(text, g_string_free(copy, FALSE));
}

void rg_diags_reword(RgDiags *diags, const char *from, const char *to)
{
	rg_ptr_foreach (RgDiag, diag, diags->items) {
		reword(&diag->summary, from, to);
		if (diag->hint)
			reword(&diag->hint, from, to);
	}
}

size_t rg_diags_count(const RgDiags *diags)
{
	return diags->items->len;
}

const RgDiag *rg_diags_get(const RgDiags *diags, size_t i)
{
	g_assert(i < diags->items->len);
	return g_ptr_array_index(diags->items, i);
}

size_t rg_diags_count_of(const RgDiags *diags, RgSeverity severity)
{
	size_t n = 0;
	for (size_t i = 0; i < diags->items->len; i++)
		n += rg_diags_get(diags, i)->severity == severity;
	return n;
}

bool rg_diags_has_errors(const RgDiags *diags)
{
	return rg_diags_count_of(diags, RG_SEVERITY_ERROR) > 0;
}

bool rg_diags_has_code(const RgDiags *diags, const char *code)
{
	rg_ptr_foreach (const RgDiag, diag, diags->items)
		if (g_str_equal(diag->code, code))
			return true;
	return false;
}

void rg_diags_take_all(RgDiags *to, RgDiags *from)
{
	if (to == from)
		return;
	g_ptr_array_extend_and_steal(to->items, g_ptr_array_ref(from->items));
	GHashTableIter iter;
	gpointer file, text;
	g_hash_table_iter_init(&iter, from->texts);
	while (g_hash_table_iter_next(&iter, &file, &text)) {
		g_hash_table_iter_steal(&iter);
		g_hash_table_replace(to->texts, file, text);
	}
}

int rg_diags_exit_code(const RgDiags *diags)
{
	for (size_t i = 0; i < diags->items->len; i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		if (diag->severity == RG_SEVERITY_ERROR)
			return codes[find_code(diag->code)].exit_code;
	}
	return 0;
}

void rg_diags_add_text(RgDiags *diags, const char *file, const char *text, size_t len)
{
	g_hash_table_replace(diags->texts, g_strdup(file), g_bytes_new(text, len));
}

/* The line without its end; *offset: where it begins in the file. NULL: there is none. */
static const char *find_line(
	const RgDiags *diags, const char *file, unsigned line, size_t *width, size_t *offset)
{
	GBytes *bytes = file ? g_hash_table_lookup(diags->texts, file) : NULL;
	if (!bytes || line == 0)
		return NULL;
	size_t len;
	const char *text = g_bytes_get_data(bytes, &len), *at = text;
	for (unsigned n = 1; len > 0; n++) {
		const char *newline = memchr(at, '\n', len);
		*width = newline ? (size_t)(newline - at) : len;
		*offset = (size_t)(at - text);
		if (n == line) {
			if (*width > 0 && at[*width - 1] == '\r')
				(*width)--;
			return at;
		}
		if (!newline)
			return NULL;
		at = newline + 1;
		len -= *width + 1;
	}
	return NULL;
}

char *rg_diags_dup_line(const RgDiags *diags, const char *file, unsigned line)
{
	size_t width, offset;
	const char *at = find_line(diags, file, line, &width, &offset);
	return at ? g_strndup(at, width) : NULL;
}

size_t rg_diags_line_offset(const RgDiags *diags, const char *file, unsigned line)
{
	size_t width, offset;
	return find_line(diags, file, line, &width, &offset) ? offset : 0;
}

void rg_diags_clear(RgDiags *diags)
{
	g_ptr_array_set_size(diags->items, 0);
}

void rg_diags_drop(RgDiags *diags, const char *code)
{
	for (guint i = diags->items->len; i > 0; i--) {
		const RgDiag *diag = diags->items->pdata[i - 1];
		if (g_str_equal(diag->code, code))
			g_ptr_array_remove_index(diags->items, i - 1);
	}
}

static bool has_equal(const RgDiags *diags, const RgDiag *other)
{
	rg_ptr_foreach (const RgDiag, diag, diags->items)
		if (g_str_equal(diag->code, other->code) &&
			g_str_equal(diag->summary, other->summary) &&
			diag->source.file == other->source.file &&
			diag->source.line == other->source.line &&
			diag->source.column == other->source.column)
			return true;
	return false;
}

void rg_diags_take_new(RgDiags *to, RgDiags *from)
{
	while (from->items->len > 0) {
		RgDiag *diag = g_ptr_array_steal_index(from->items, 0);
		if (has_equal(to, diag))
			diag_free(diag);
		else
			g_ptr_array_add(to->items, diag);
	}
	rg_diags_take_all(to, from);
}
