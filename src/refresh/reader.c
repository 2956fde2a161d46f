/* One read of a listing, and what was seen. */
#include "refresh/internal.h"

#include "base/clock.h"

/* People watch a count grow; more often than this they cannot read it. */
#define PROGRESS_STEP 100

void rg_reader_tell(const RgReader *reader, bool done)
{
	if (reader->input->progress)
		reader->input->progress(
			reader->input->progress_data, reader->name, reader->seen->len, done);
}

static void take_observed(void *data, RgResource *resource)
{
	RgReader *reader = data;
	if (g_strcmp0(resource->lineage, reader->input->lineage) == 0)
		g_clear_pointer(&resource->lineage, g_free);
	g_ptr_array_add(reader->seen, resource);
	g_hash_table_add(reader->by_id, resource);
	if (reader->seen->len % PROGRESS_STEP == 0)
		rg_reader_tell(reader, false);
}

bool rg_reader_read(RgReader *reader)
{
	reader->read_ms = rg_clock_monotonic_ms();
	g_hash_table_remove_all(reader->by_id);
	g_ptr_array_set_size(reader->seen, 0);
	const RgListing listing = {.kinds = (const char *const *)reader->kinds,
		.cluster = reader->input->cluster,
		.lineage = reader->input->lineage,
		.known = reader->known};
	return rg_provider_list(reader->provider, &listing, take_observed, reader, reader->diags);
}

RgResource *rg_reader_find(const RgReader *reader, const RgResource *recorded)
{
	return g_hash_table_lookup(reader->by_id, recorded);
}
