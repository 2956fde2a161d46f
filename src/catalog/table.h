/* A CSV file with a header line, read strictly by libcsv: every requested column occurs once, every
 * row has the header's width. The first step of rg_catalog_open; owns its texts. */
#pragma once
#include "base/diag.h"

typedef struct RgTable RgTable;

/* `columns` (NULL-ended, at most 32, borrowed) are what rg_table_cell's index counts; a column
 * written "?name" may be missing, and its cells are then empty; other columns are ignored. NULL and
 * catalog.bad-data with file and line if anything is wrong. */
RgTable *rg_table_read(
	const char *file, const char *text, size_t len, const char *const *columns, RgDiags *diags);
/* Only the rows whose first cell is `first`; the others are skipped without parsing, so faults in
 * them go unnoticed. Each row must then be one line: no cell has a line break. */
RgTable *rg_table_read_only(const char *file, const char *text, size_t len,
	const char *const *columns, const char *first, RgDiags *diags);
void rg_table_free(RgTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgTable, rg_table_free)

size_t rg_table_rows(const RgTable *table);
/* Never NULL; valid as long as the table. */
const char *rg_table_cell(const RgTable *table, size_t row, size_t column);
RgSource rg_table_source(const RgTable *table, size_t row);
/* Plain decimal digits, no sign, at most 1000000; otherwise false and a diagnostic. */
bool rg_table_count(
	const RgTable *table, size_t row, size_t column, unsigned *value, RgDiags *diags);
/* The same, or 0 for an empty cell. */
bool rg_table_count_or_none(
	const RgTable *table, size_t row, size_t column, unsigned *value, RgDiags *diags);
/* A finite decimal number above 0, at most 1000000, "22.35"; an empty cell is 0 if
 * `may_be_empty`. */
bool rg_table_amount(const RgTable *table, size_t row, size_t column, bool may_be_empty,
	double *value, RgDiags *diags);
/* One of two words. */
bool rg_table_yes_no(const RgTable *table, size_t row, size_t column, bool *value, RgDiags *diags);
/* catalog.bad-data about one cell: "FILE: column: what". */
void rg_table_complain(
	const RgTable *table, size_t row, size_t column, const char *expected, RgDiags *diags);
