#include "refresh/internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include "base/clock.h"

/* People watch a count grow; more often than this they cannot read it. */
#define PROGRESS_STEP 100

static void free_resource(gpointer resource)
{
	rg_resource_free(resource);
}

static void tell_progress(const RgReader *reader, bool done)
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
		tell_progress(reader, false);
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

static void *run_reader(void *data)
{
	RgReader *reader = data;
	reader->ok = rg_reader_read(reader) && rg_reader_settle(reader);
	tell_progress(reader, true);
	return NULL;
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

RgResource *rg_reader_find(const RgReader *reader, const RgResource *recorded)
{
	return g_hash_table_lookup(reader->by_id, recorded);
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
	for (size_t i = 0; i < rg_resource_set_size(input->recorded); i++) {
		RgResource *recorded = rg_resource_set_get(input->recorded, i);
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

static void start_all(GPtrArray *readers)
{
	for (guint i = 0; i < readers->len; i++) {
		RgReader *reader = g_ptr_array_index(readers, i);
		if (!reader->running)
			reader->running =
				pthread_create(&reader->thread, NULL, run_reader, reader) == 0;
	}
}

static void wait_for_all(GPtrArray *readers)
{
	for (guint i = 0; i < readers->len; i++) {
		RgReader *reader = g_ptr_array_index(readers, i);
		if (reader->running)
			pthread_join(reader->thread, NULL);
		else
			run_reader(reader);
		reader->running = false;
	}
}

/* A placeholder for a record without anything to show. */
static void add_unseen(RgResourceSet *set, const RgResource *recorded, RgPresence presence)
{
	RgResource *resource = rg_resource_new(recorded->kind, recorded->name, recorded->index);
	resource->group = recorded->group;
	resource->id = g_strdup(recorded->id);
	resource->presence = presence;
	rg_resource_set_add(set, resource);
}

/* Puts an observed resource at the address of its record. Its attributes are not interned: each has
 * ids and addresses of its own. */
static void add_seen(RgResourceSet *set, const RgResource *recorded, RgResource *observed)
{
	observed->mismarked = g_strcmp0(observed->address, recorded->address) != 0;
	if (observed->mismarked)
		observed->marked_as = g_steal_pointer(&observed->address);
	g_free(observed->address);
	observed->address = g_strdup(recorded->address);
	observed->name = recorded->name;
	observed->index = recorded->index;
	observed->group = recorded->group;
	observed->unmanaged = false;
	rg_resource_set_add(set, observed);
}

static void judge_record(RgReader *reader, const RgResource *recorded, RgResourceSet *set)
{
	/* Takes an observed resource out of the reader, so that it is not freed with it. */
	RgResource *observed = rg_reader_find(reader, recorded);
	if (observed)
		g_hash_table_remove(reader->by_id, observed);
	if (observed) {
		observed->doubtful = rg_reader_is_doubtful(reader, recorded, observed);
		add_seen(set, recorded, observed);
	} else if (rg_reader_is_young(reader, recorded)) {
		int64_t left_s = MAX(1, rg_reader_young_for_s(reader, recorded));
		RgDiag *diag = rg_diags_error(reader->diags, "refresh.unsettled",
			"%s was created or changed a moment ago, and the cloud does not show it "
			"yet",
			recorded->address);
		rg_diag_address(diag, recorded->address, NULL);
		rg_diag_cloud(diag, rg_provider_name(reader->provider), NULL, NULL);
		rg_diag_hint(diag, "try again in %" PRId64 " s", left_s);
		add_unseen(set, recorded, RG_UNKNOWN);
	} else {
		add_unseen(set, recorded, RG_ABSENT);
	}
}

/* The record of an interrupted create that `observed` must come from, by its marks; NULL: none. */
static const RgResource *find_pending(
	const RgReader *reader, const RgResource *observed, const RgResourceSet *set)
{
	if (!observed->address || rg_resource_set_find(set, observed->address))
		return NULL;
	const RgResource *recorded =
		rg_resource_set_find(reader->input->recorded, observed->address);
	if (!recorded || recorded->id)
		return NULL;
	bool same = rg_kind_is_of_create(
		rg_reader_kind(reader, recorded), recorded->token, observed->token);
	return same ? recorded : NULL;
}

/* A resource with the cluster's name and without a record. False: it was not used, the caller
 * frees it. */
static bool judge_stranger(RgReader *reader, RgResource *observed, RgResourceSet *set)
{
	if (observed->presence != RG_PRESENT)
		return false;
	if (observed->lineage && reader->input->strangers)
		g_ptr_array_add(reader->input->strangers, observed);
	if (observed->lineage || !reader->input->lineage)
		return observed->lineage && reader->input->strangers;
	if (rg_reader_is_ghost(reader, observed)) {
		RgDiag *diag = rg_diags_warning(reader->diags, "refresh.unsettled",
			"%s was removed a short while ago, but the cloud still shows it as %s",
			observed->id, observed->status ? observed->status : "present");
		rg_diag_address(diag, observed->address, NULL);
		rg_diag_cloud(diag, rg_provider_name(reader->provider), NULL, NULL);
		rg_diag_hint(diag, "check again in a minute; if it remains, the removal failed");
		return false;
	}
	const RgResource *pending = find_pending(reader, observed, set);
	if (pending) {
		add_seen(set, pending, observed);
		return true;
	}
	observed->unmanaged = true;
	rg_resource_set_add_extra(set, observed);
	return true;
}

/* Unmanaged resources in the order of their ids: which of two gets a pending address must not
 * depend on the order of pages. */
static gint by_id(gconstpointer a, gconstpointer b)
{
	const RgResource *x = *(const RgResource *const *)a, *y = *(const RgResource *const *)b;
	return strcmp(x->id, y->id);
}

static void judge_strangers(RgReader *reader, RgResourceSet *set)
{
	/* From here on `seen` owns nothing: resources with a record went to the set, the rest is in
	 * by_id. */
	g_autoptr(GPtrArray) strangers = g_ptr_array_new();
	GHashTableIter iter;
	gpointer observed;
	g_hash_table_iter_init(&iter, reader->by_id);
	while (g_hash_table_iter_next(&iter, &observed, NULL))
		g_ptr_array_add(strangers, observed);
	g_hash_table_remove_all(reader->by_id);
	g_ptr_array_set_free_func(reader->seen, NULL);
	g_ptr_array_set_size(reader->seen, 0);
	g_ptr_array_sort(strangers, by_id);
	for (guint i = 0; i < strangers->len; i++) {
		RgResource *stranger = g_ptr_array_index(strangers, i);
		if (!judge_stranger(reader, stranger, set))
			rg_resource_free(stranger);
	}
}

static void report_incomplete(RgReader *reader)
{
	/* The caller knows why it canceled. */
	for (size_t i = 0; i < rg_diags_count(reader->diags); i++) {
		if (g_str_equal(rg_diags_get(reader->diags, i)->code, "provider.canceled"))
			return;
	}
	RgDiag *diag = rg_diags_error(reader->diags, "refresh.incomplete",
		"%s could not be read: its %u recorded resource%s could not be checked",
		reader->name, reader->recorded->len, reader->recorded->len == 1 ? "" : "s");
	rg_diag_cloud(diag, rg_provider_name(reader->provider), NULL, NULL);
	rg_diag_hint(
		diag, "resources of this kind are not planned or changed until they can be read");
}

static void know_nothing(const RgReader *reader, RgResourceSet *set)
{
	for (guint i = 0; i < reader->recorded->len; i++)
		add_unseen(set, g_ptr_array_index(reader->recorded, i), RG_UNKNOWN);
}

static void judge(RgReader *reader, RgResourceSet *set)
{
	if (!reader->ok) {
		report_incomplete(reader);
		know_nothing(reader, set);
		return;
	}
	for (guint i = 0; i < reader->recorded->len; i++) {
		const RgResource *recorded = g_ptr_array_index(reader->recorded, i);
		if (recorded->id)
			judge_record(reader, recorded, set);
	}
	judge_strangers(reader, set);
}

/* The core's own kind exists only in the state: what is recorded exists. */
static void add_secrets(const RgRefreshInput *input, RgResourceSet *set)
{
	for (size_t i = 0; i < rg_resource_set_size(input->recorded); i++) {
		const RgResource *recorded = rg_resource_set_get(input->recorded, i);
		if (!g_str_equal(recorded->kind, RG_SECRET_KIND) ||
			recorded->presence != RG_PRESENT)
			continue;
		RgResource *secret =
			rg_resource_new(recorded->kind, recorded->name, recorded->index);
		secret->id = g_strdup(recorded->id);
		secret->attrs = json_incref(recorded->attrs);
		secret->presence = RG_PRESENT;
		rg_resource_set_add(set, secret);
	}
}

/* Records of a kind that the module does not have (any more). */
static void add_strange_kinds(
	RgProvider *provider, const RgRefreshInput *input, RgResourceSet *set, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(provider);
	for (size_t i = 0; i < rg_resource_set_size(input->recorded); i++) {
		const RgResource *recorded = rg_resource_set_get(input->recorded, i);
		if (rg_schema_kind(schema, recorded->kind))
			continue;
		RgDiag *diag = rg_diags_error(diags, "refresh.incomplete",
			"%s is of a kind that provider %s does not have", recorded->address,
			rg_provider_name(provider));
		rg_diag_address(diag, recorded->address, NULL);
		rg_diag_hint(diag, "use the version of the module that created it");
		add_unseen(set, recorded, RG_UNKNOWN);
	}
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
	for (guint i = 0; i < readers->len; i++) {
		const RgReader *reader = g_ptr_array_index(readers, i);
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

/* In the schema's order, so that diagnostics do not depend on which thread was first. */
static gint by_kind(gconstpointer a, gconstpointer b, gpointer data)
{
	const RgReader *x = *(const RgReader *const *)a, *y = *(const RgReader *const *)b;
	const char *const *kinds = data;
	for (; *kinds; kinds++) {
		if (g_str_equal(*kinds, x->kinds[0]) || g_str_equal(*kinds, y->kinds[0]))
			return g_str_equal(*kinds, x->kinds[0]) ? -1 : 1;
	}
	return 0;
}

struct RgRefresh {
	RgProvider *provider;
	RgRefreshInput input;
	GPtrArray *readers; /* RgReader* */
};

RgRefresh *rg_refresh_begin(RgProvider *provider, const RgRefreshInput *input)
{
	RgRefresh *refresh = g_new0(RgRefresh, 1);
	refresh->provider = provider;
	refresh->input = *input;
	refresh->readers = rg_readers_new();
	rg_readers_add(refresh->readers, provider, &refresh->input);
	start_all(refresh->readers);
	return refresh;
}

void rg_refresh_drop(RgRefresh *refresh)
{
	if (!refresh)
		return;
	for (guint i = 0; i < refresh->readers->len; i++) {
		RgReader *reader = g_ptr_array_index(refresh->readers, i);
		g_atomic_int_set(&reader->dropped, 1);
		if (reader->running)
			pthread_join(reader->thread, NULL);
	}
	g_ptr_array_unref(refresh->readers);
	g_free(refresh);
}

static RgResourceSet *judge_all(const RgRefresh *refresh, RgDiags *diags)
{
	const GPtrArray *readers = refresh->readers;
	if (rg_readers_all_failed(readers)) {
		rg_refresh_report_failed(readers, diags);
		return NULL;
	}
	RgResourceSet *set = rg_resource_set_new();
	add_secrets(&refresh->input, set);
	bool hidden = rg_readers_see_nothing(readers);
	if (hidden)
		rg_refresh_report_hidden(refresh->provider, readers, diags);
	for (guint i = 0; i < readers->len; i++) {
		RgReader *reader = g_ptr_array_index(readers, i);
		if (hidden)
			know_nothing(reader, set);
		else
			judge(reader, set);
		rg_diags_take_all(diags, reader->diags);
	}
	add_strange_kinds(refresh->provider, &refresh->input, set, diags);
	return set;
}

RgResourceSet *rg_refresh_end(RgRefresh *refresh, const RgResourceSet *desired, RgDiags *diags)
{
	refresh->input.desired = desired;
	rg_readers_add(refresh->readers, refresh->provider, &refresh->input);
	start_all(refresh->readers);
	wait_for_all(refresh->readers);
	g_ptr_array_sort_with_data(refresh->readers, by_kind,
		rg_schema_kinds(rg_provider_get_schema(refresh->provider)));
	RgResourceSet *set = judge_all(refresh, diags);
	rg_refresh_drop(refresh);
	return set;
}

RgResourceSet *rg_refresh(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags)
{
	return rg_refresh_end(rg_refresh_begin(provider, input), input->desired, diags);
}
