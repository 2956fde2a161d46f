#include "base/diag.h"

#include <string.h>

/* Longer words are not typing errors. */
#define WORD_MAX 64

/* Edit distance; swapping two neighbours counts as one edit ("zoens" is 1 from "zones"). */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][WORD_MAX + 1];
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differs = a[i - 1] != b[j - 1];
			row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], above2[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* Compares spelling, not letter case; a third of the letters may differ. Of equally near words, one
 * that begins with what was typed: "statu" is `status`, not `state`. */
const char *rg_nearest_word(const char *word, const char *const *words)
{
	size_t len = strlen(word);
	if (len == 0 || len > WORD_MAX)
		return NULL;
	g_autofree char *folded = g_ascii_strdown(word, -1);
	const char *best = NULL;
	size_t best_distance = MAX(1, len / 3) + 1;
	for (; *words != NULL; words++) {
		g_autofree char *other = g_ascii_strdown(*words, -1);
		size_t other_len = strlen(other);
		if (other_len > WORD_MAX || other_len == 0)
			continue;
		size_t d = distance(folded, len, other, other_len);
		bool nearer = d < best_distance ||
			      (best && d == best_distance && g_str_has_prefix(other, folded));
		if (nearer && d < MAX(len, other_len)) {
			best = *words;
			best_distance = d;
		}
	}
	return best;
}
