/* The readers of a refresh: which listings are read, each on a thread of its own. */
#include "refresh/internal.h"

#include "base/clock.h"

static void free_resource(gpointer resource)
{
	rg_resource_free(resource);
}

/* By kind and id; kinds are interned. */
static guint identity_hash(gconstpointer data)
{
	const RgResource *resource = data;
	return g_str_hash(resource->id) ^ g_direct_hash(resource->kind);
}

static gboolean identity_equal(gconstpointer a, gconstpointer b)
{
	const RgResource *x = a, *y = b;
	return x->kind == y->kind && g_str_equal(x->id, y->id);
}

/* Takes ownership of the array of kinds. */
static RgReader *new_reader(RgProvider *provider, const RgRefreshInput *input, GStrv kinds)
{
	RgReader *reader = g_new0(RgReader, 1);
	reader->provider = provider;
	reader->input = input;
	reader->kinds = kinds;
	reader->name = g_strjoinv(", ", kinds);
	reader->recorded = g_ptr_array_new();
	reader->begin_ms = rg_clock_monotonic_ms();
	reader->seen = g_ptr_array_new_with_free_func(free_resource);
	reader->shown = rg_shown_new();
	reader->by_id = g_hash_table_new(identity_hash, identity_equal);
	reader->diags = rg_diags_new();
	reader->known = json_object();
	for (size_t i = 0; kinds[i]; i++)
		json_object_set_new(reader->known, kinds[i], json_array());
	rg_resource_foreach (recorded, input->recorded) {
		json_t *ids = json_object_get(reader->known, recorded->kind);
		if (!ids)
			continue;
		g_ptr_array_add(reader->recorded, recorded);
		if (recorded->id)
			json_array_append_new(ids, json_string(recorded->id));
	}
	return reader;
}

static void free_reader(gpointer data)
{
	RgReader *reader = data;
	g_ptr_array_unref(reader->recorded);
	g_hash_table_unref(reader->by_id);
	g_ptr_array_unref(reader->seen);
	g_strfreev(reader->kinds);
	g_free(reader->name);
	json_decref(reader->known);
	g_array_unref(reader->shown);
	rg_diags_free(reader->diags);
	g_free(reader);
}

static bool has_kind(const RgResourceSet *set, const char *kind)
{
	for (size_t i = 0; set && i < rg_resource_set_size(set); i++) {
		if (g_str_equal(rg_resource_set_get(set, i)->kind, kind))
			return true;
	}
	return false;
}

static bool is_read(RgProvider *provider, const RgRefreshInput *input, const char *name)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(provider), name);
	return !g_str_equal(name, RG_SECRET_KIND) &&
	       (!kind->read_if_used || has_kind(input->recorded, name) ||
		       has_kind(input->desired, name));
}

GPtrArray *rg_readers_new(void)
{
	return g_ptr_array_new_with_free_func(free_reader);
}

static bool has_reader(const GPtrArray *readers, const char *kind)
{
	rg_ptr_foreach (const RgReader, reader, readers) {
		if (g_strv_contains((const char *const *)reader->kinds, kind))
			return true;
	}
	return false;
}

void rg_readers_add(GPtrArray *readers, RgProvider *provider, const RgRefreshInput *input)
{
	const GPtrArray *listings = rg_schema_listings(rg_provider_get_schema(provider));
	for (guint i = 0; i < listings->len; i++) {
		char *const *all = listings->pdata[i];
		g_autoptr(GStrvBuilder) wanted = g_strv_builder_new();
		for (size_t k = 0; all[k]; k++) {
			if (is_read(provider, input, all[k]) && !has_reader(readers, all[k]))
				g_strv_builder_add(wanted, all[k]);
		}
		g_auto(GStrv) kinds = g_strv_builder_end(wanted);
		if (kinds[0])
			g_ptr_array_add(
				readers, new_reader(provider, input, g_steal_pointer(&kinds)));
	}
}

static void *run_reader(void *data)
{
	RgReader *reader = data;
	reader->ok = rg_reader_read(reader) && rg_reader_settle(reader);
	rg_reader_tell(reader, true);
	return NULL;
}

void rg_readers_start(GPtrArray *readers)
{
	rg_ptr_foreach (RgReader, reader, readers) {
		if (!reader->running)
			reader->running =
				pthread_create(&reader->thread, NULL, run_reader, reader) == 0;
	}
}

void rg_readers_wait(GPtrArray *readers)
{
	rg_ptr_foreach (RgReader, reader, readers) {
		if (reader->running)
			pthread_join(reader->thread, NULL);
		else
			run_reader(reader);
		reader->running = false;
	}
}
