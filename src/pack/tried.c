/* What a search tried in vain. */
#include "pack/internal.h"

#define MOST_COMPARED 48 /* at one position */

void rg_tried_init(RgTried *tried, unsigned width, unsigned positions)
{
	tried->width = width;
	tried->positions = positions;
	tried->states = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	tried->latest = g_new0(GPtrArray *, (size_t)positions + 1);
	for (unsigned k = 0; k < positions; k++)
		tried->latest[k] = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
}

void rg_tried_clear(RgTried *tried)
{
	for (unsigned k = 0; k < tried->positions; k++)
		g_ptr_array_unref(tried->latest[k]);
	g_free(tried->latest);
	g_hash_table_unref(tried->states);
}

bool rg_tried_has(const RgTried *tried, unsigned at, GBytes *state)
{
	const unsigned *now = g_bytes_get_data(state, NULL);
	const GPtrArray *latest = tried->latest[at];
	if (g_hash_table_contains(tried->states, state))
		return true;
	for (guint k = 0; k < latest->len; k++) {
		const unsigned *then = g_bytes_get_data(latest->pdata[k], NULL);
		unsigned i = 0;
		while (i < tried->width && then[i] <= now[i])
			i++;
		if (i == tried->width)
			return true;
	}
	return false;
}

void rg_tried_add(RgTried *tried, unsigned at, GBytes *state)
{
	GPtrArray *latest = tried->latest[at];
	g_hash_table_add(tried->states, g_bytes_ref(state));
	if (latest->len == MOST_COMPARED)
		g_ptr_array_remove_index(latest, 0);
	g_ptr_array_add(latest, g_bytes_ref(state));
}
