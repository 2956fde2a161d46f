/* Accelerators that exist, and that raygpu cannot run Ray on: data/unsupported_accelerators.csv.
 * Read only when a name is unknown. */
#include "catalog/internal.h"

enum { PATTERN, WHAT, REASON };

char *rg_catalog_unsupported(const char *word)
{
	static const char *const columns[] = {"pattern", "what", "reason", NULL};
	const RgCatalogSource source = {
		.text = rg_catalog_embedded_text, .data = (void *)(uintptr_t)rg_catalog_data};
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* a test holds the file */
	g_autoptr(RgTable) table =
		rg_catalog_read_table(&source, "unsupported_accelerators.csv", columns, unsaid);
	for (size_t row = 0; table && row < rg_table_rows(table); row++) {
		g_autofree char *pattern =
			g_strdup_printf("^(?:%s)$", rg_table_cell(table, row, PATTERN));
		if (g_regex_match_simple(
			    pattern, word, G_REGEX_CASELESS | G_REGEX_DOLLAR_ENDONLY, 0))
			return g_strdup_printf("%s: %s", rg_table_cell(table, row, WHAT),
				rg_table_cell(table, row, REASON));
	}
	return NULL;
}
