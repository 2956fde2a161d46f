#include "catalog/table.h"
#include <csv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "base/caps.h"

#define MAX_COLUMNS 32
#define MOST 1000000 /* maximum of every figure: no column counts bytes or the like */

struct RgTable {
	const char *file; /* interned */
	const char *const *columns;
	GStringChunk *texts;
	GPtrArray *cells; /* width of them per row */
	GArray *lines;	  /* unsigned: where each row starts */
	size_t width;	  /* requested columns */
};

/* State shared by the callbacks of libcsv while one text is read. */
typedef struct {
	RgTable *table;
	RgDiags *diags;
	GPtrArray *fields;	    /* of the row being read; texts of the table */
	int column_of[MAX_COLUMNS]; /* index into the file's columns */
	size_t file_width;
	const char *first; /* rows that start with another cell are skipped; NULL: none */
	size_t first_len;
	unsigned line,
		row_line; /* the current line, and the one where the row began; 0 = between rows */
	bool in_row;	  /* libcsv may be in the middle of one */
	bool has_header, failed;
} Reader;

static void reader_fail(Reader *reader, const char *what)
{
	RgDiag *diag = rg_diags_error(
		reader->diags, "catalog.bad-data", "%s: %s", reader->table->file, what);
	rg_diag_at(diag, (RgSource){reader->table->file, reader->row_line, 1, 0});
	reader->failed = true;
}

static void on_field(void *text, size_t len, void *data)
{
	Reader *reader = data;
	if (reader->row_line == 0)
		reader->row_line = reader->line;
	if (len > 0 && memchr(text, 0, len))
		reader_fail(reader, "a NUL byte");
	g_ptr_array_add(reader->fields,
		g_string_chunk_insert_len(reader->table->texts, len > 0 ? text : "", (gssize)len));
}

static void take_header(Reader *reader)
{
	RgTable *table = reader->table;
	reader->file_width = reader->fields->len;
	for (size_t c = 0; c < table->width; c++) {
		const char *name = table->columns[c];
		bool may_be_missing = name[0] == '?';
		name += may_be_missing;
		reader->column_of[c] = -1;
		for (guint i = 0; i < reader->fields->len; i++) {
			if (!g_str_equal(reader->fields->pdata[i], name))
				continue;
			if (reader->column_of[c] >= 0)
				reader_fail(reader, "a column is given twice");
			reader->column_of[c] = (int)i;
		}
		if (reader->column_of[c] < 0 && !may_be_missing) {
			g_autofree char *what = g_strdup_printf("no column \"%s\"", name);
			reader_fail(reader, what);
		}
	}
	reader->has_header = true;
}

static void take_row(Reader *reader)
{
	RgTable *table = reader->table;
	if (reader->fields->len != reader->file_width) {
		g_autofree char *what = g_strdup_printf("%u fields where the header has %zu",
			reader->fields->len, reader->file_width);
		reader_fail(reader, what);
		return;
	}
	guint at = table->cells->len;
	g_ptr_array_set_size(table->cells, (gint)(at + table->width));
	for (size_t c = 0; c < table->width; c++)
		table->cells->pdata[at + c] = reader->column_of[c] < 0
						      ? (void *)(uintptr_t) ""
						      : reader->fields->pdata[reader->column_of[c]];
	g_array_append_val(table->lines, reader->row_line);
}

static void on_row(int end, void *data)
{
	Reader *reader = data;
	/* after a lone carriage return, the next one may have begun */
	reader->in_row = end != '\n';
	if (reader->failed)
		return;
	if (reader->has_header)
		take_row(reader);
	else
		take_header(reader);
	g_ptr_array_set_size(reader->fields, 0);
	reader->row_line = 0;
}

static bool is_skipped(const Reader *reader, const char *line, size_t len)
{
	if (!reader->first || reader->line == 1)
		return false;
	return len <= reader->first_len || line[reader->first_len] != ',' ||
	       memcmp(line, reader->first, reader->first_len) != 0;
}

/* Whether a line is a row of which libcsv would make just what is between its commas: it has no
 * quotes, control characters, or blanks beside a comma or an end. So is nearly every line of the
 * large tables, and libcsv would take five times as long. */
static bool is_plain(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];
		if (c > ',')
			continue;
		bool at_edge = i == 0 || i + 1 == len || line[i - 1] == ',' || line[i + 1] == ',';
		if (c < ' ' || c == '"' || (c == ' ' && at_edge))
			return false;
	}
	return len > 0;
}

static void take_plain(Reader *reader, const char *line, size_t len)
{
	char *cell = g_string_chunk_insert_len(reader->table->texts, line, (gssize)len), *comma;
	reader->row_line = reader->line;
	for (; (comma = strchr(cell, ',')); cell = comma + 1) {
		*comma = '\0';
		g_ptr_array_add(reader->fields, cell);
	}
	g_ptr_array_add(reader->fields, cell);
	on_row('\n', reader);
}

static void take_line(Reader *reader, struct csv_parser *parser, const char *text, size_t len)
{
	if (!reader->in_row && text[len - 1] == '\n' && is_plain(text, len - 1)) {
		take_plain(reader, text, len - 1);
		return;
	}
	reader->in_row = true;
	if (csv_parse(parser, text, len, on_field, on_row, reader) == len)
		return;
	reader->row_line = reader->line;
	reader_fail(reader, csv_strerror(csv_error(parser)));
}

/* libcsv does not report positions, so it gets one line at a time. */
static void feed(Reader *reader, struct csv_parser *parser, const char *text, size_t len)
{
	const char *end = text + len;
	while (text < end && !reader->failed) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t part = (size_t)((newline ? newline + 1 : end) - text);
		reader->line++;
		if (!is_skipped(reader, text, part))
			take_line(reader, parser, text, part);
		text += part;
	}
	if (!reader->failed && csv_fini(parser, on_field, on_row, reader) != 0) {
		reader->row_line = reader->line;
		reader_fail(reader, csv_strerror(csv_error(parser)));
	}
	if (!reader->failed && !reader->has_header)
		reader_fail(reader, "empty");
}

RgTable *rg_table_read(
	const char *file, const char *text, size_t len, const char *const *columns, RgDiags *diags)
{
	return rg_table_read_only(file, text, len, columns, NULL, diags);
}

RgTable *rg_table_read_only(const char *file, const char *text, size_t len,
	const char *const *columns, const char *first, RgDiags *diags)
{
	g_autoptr(RgTable) table = g_new0(RgTable, 1);
	table->file = g_intern_string(file);
	table->columns = columns;
	table->texts = g_string_chunk_new(4096);
	table->cells = g_ptr_array_new();
	table->lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
	while (columns[table->width])
		table->width++;
	g_assert(table->width <= MAX_COLUMNS);

	g_autoptr(GPtrArray) fields = g_ptr_array_new();
	Reader reader = {.table = table,
		.diags = diags,
		.fields = fields,
		.first = first,
		.first_len = first ? strlen(first) : 0};
	struct csv_parser parser;
	if (len > RG_CAP_FILE_BYTES) {
		reader_fail(&reader, "too large");
		return NULL;
	}
	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
		reader_fail(&reader, "cannot start the CSV reader");
		return NULL;
	}
	feed(&reader, &parser, text, len);
	csv_free(&parser);
	return reader.failed ? NULL : g_steal_pointer(&table);
}

void rg_table_free(RgTable *table)
{
	if (!table)
		return;
	g_string_chunk_free(table->texts);
	g_ptr_array_unref(table->cells);
	g_array_unref(table->lines);
	g_free(table);
}

size_t rg_table_rows(const RgTable *table)
{
	return table->lines->len;
}

const char *rg_table_cell(const RgTable *table, size_t row, size_t column)
{
	return table->cells->pdata[row * table->width + column];
}

RgSource rg_table_source(const RgTable *table, size_t row)
{
	return (RgSource){table->file, g_array_index(table->lines, unsigned, row), 1, 0};
}

void rg_table_complain(
	const RgTable *table, size_t row, size_t column, const char *expected, RgDiags *diags)
{
	const char *name = table->columns[column];
	RgDiag *diag = rg_diags_error(diags, "catalog.bad-data", "%s: %s is \"%s\", expected %s",
		table->file, name[0] == '?' ? name + 1 : name, rg_table_cell(table, row, column),
		expected);
	rg_diag_at(diag, rg_table_source(table, row));
}

bool rg_table_count(
	const RgTable *table, size_t row, size_t column, unsigned *value, RgDiags *diags)
{
	const char *cell = rg_table_cell(table, row, column);
	guint64 number = 0;
	if (!g_ascii_string_to_unsigned(cell, 10, 0, MOST, &number, NULL)) {
		rg_table_complain(table, row, column, "a whole number", diags);
		return false;
	}
	*value = (unsigned)number;
	return true;
}

bool rg_table_count_or_none(
	const RgTable *table, size_t row, size_t column, unsigned *value, RgDiags *diags)
{
	*value = 0;
	return rg_table_cell(table, row, column)[0] == '\0' ||
	       rg_table_count(table, row, column, value, diags);
}

bool rg_table_amount(const RgTable *table, size_t row, size_t column, bool may_be_empty,
	double *value, RgDiags *diags)
{
	const char *cell = rg_table_cell(table, row, column);
	*value = 0;
	if (may_be_empty && cell[0] == '\0')
		return true;
	char *end = NULL;
	/* strtod alone would accept "nan", "inf", "0x1p3", " 1" and "-1" */
	bool plain = cell[0] != '\0' && strspn(cell, "0123456789.") == strlen(cell);
	double number = plain ? g_ascii_strtod(cell, &end) : 0;
	if (!plain || *end != '\0' || !isfinite(number) || number <= 0 || number > MOST) {
		rg_table_complain(table, row, column, "a number above 0, at most 1000000", diags);
		return false;
	}
	*value = number;
	return true;
}

bool rg_table_yes_no(const RgTable *table, size_t row, size_t column, bool *value, RgDiags *diags)
{
	const char *cell = rg_table_cell(table, row, column);
	*value = g_str_equal(cell, "yes");
	if (*value || g_str_equal(cell, "no"))
		return true;
	rg_table_complain(table, row, column, "\"yes\" or \"no\"", diags);
	return false;
}
