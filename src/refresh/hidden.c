/* The whole cluster is missing, including dead nodes: it is more likely that the credentials belong
 * to another account than that all of it is gone. Otherwise raygpu would forget nodes that keep
 * costing money, or assume that their removal is done. */
#include "refresh/internal.h"

/* A resource whose removal has started may be gone as well. */
static guint count_standing(const GPtrArray *readers)
{
	guint standing = 0;
	rg_ptr_foreach (const RgReader, reader, readers) {
		rg_ptr_foreach (const RgResource, recorded, reader->recorded)
			standing += recorded->id && !recorded->leaving;
	}
	return standing;
}

static bool has_young(const RgReader *reader)
{
	for (guint i = 0; i < reader->recorded->len; i++) {
		if (rg_reader_is_young(reader, g_ptr_array_index(reader->recorded, i)))
			return true;
	}
	return false;
}

/* Another account may well have a cluster of that name. */
static bool sees_ours(const RgReader *reader)
{
	for (guint i = 0; i < reader->seen->len; i++) {
		if (!((const RgResource *)reader->seen->pdata[i])->lineage)
			return true;
	}
	rg_ptr_foreach (const RgResource, recorded, reader->recorded) {
		if (recorded->id && rg_reader_find(reader, recorded))
			return true;
	}
	return false;
}

bool rg_readers_see_nothing(const GPtrArray *readers)
{
	rg_ptr_foreach (const RgReader, reader, readers)
		if (!reader->ok || sees_ours(reader) || has_young(reader))
			return false;
	return count_standing(readers) > 1;
}

void rg_refresh_report_hidden(RgProvider *provider, const GPtrArray *readers, RgDiags *diags)
{
	const char *name = rg_provider_name(provider);
	const char *cluster = ((const RgReader *)readers->pdata[0])->input->cluster;
	RgDiag *diag = rg_diags_error(diags, "refresh.nothing-there",
		"%s lists nothing of this cluster, of which %u resources are recorded", name,
		count_standing(readers));
	rg_diag_cloud(diag, name, NULL, NULL);
	rg_diag_detail(diag, "they would be forgotten, or created again, and might still run");
	rg_diag_hint(diag,
		"check that the credentials and the endpoint are those of the cluster's account; "
		"if everything is really gone: `raygpu state rm --cluster %s $(raygpu state list "
		"--cluster %s)`",
		cluster, cluster);
}

/* Listings with few records first: one call is usually enough. */
static gint by_records(gconstpointer a, gconstpointer b)
{
	const RgReader *x = *(const RgReader *const *)a, *y = *(const RgReader *const *)b;
	return (x->recorded->len > y->recorded->len) - (x->recorded->len < y->recorded->len);
}

bool rg_refresh_is_there(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags)
{
	g_autoptr(GPtrArray) readers = rg_readers_new();
	rg_readers_add(readers, provider, input);
	if (count_standing(readers) < 2)
		return true;
	g_ptr_array_sort(readers, by_records);
	rg_ptr_foreach (RgReader, reader, readers) {
		if (reader->recorded->len == 0)
			continue;
		bool read = rg_reader_read(reader);
		rg_diags_take_all(diags, reader->diags);
		if (!read || sees_ours(reader))
			return read;
	}
	rg_refresh_report_hidden(provider, readers, diags);
	return false;
}
