#include "refresh/internal.h"

#include <inttypes.h>
#include <string.h>

/* A placeholder for a record without anything to show. */
static RgResource *add_unseen(RgResourceSet *set, const RgResource *recorded, RgPresence presence)
{
	RgResource *resource = rg_resource_new(recorded->kind, recorded->name, recorded->index);
	resource->group = recorded->group;
	resource->id = g_strdup(recorded->id);
	resource->presence = presence;
	rg_resource_set_add(set, resource);
	return resource;
}

/* The cloud knows it, and cannot say what it is: only this one. It has a record, so it is not a
 * stranger. */
static void add_unknown(
	RgReader *reader, RgResourceSet *set, const RgResource *recorded, RgResource *observed)
{
	RgResource *resource = add_unseen(set, recorded, RG_UNKNOWN);
	resource->status = g_strdup(observed->status ? observed->status : "it cannot be read");
	g_hash_table_remove(reader->by_id, observed);
	g_ptr_array_remove_fast(reader->seen, observed);
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
	if (observed && observed->presence == RG_UNKNOWN) {
		add_unknown(reader, set, recorded, observed);
		return;
	}
	if (observed)
		g_hash_table_remove(reader->by_id, observed);
	if (observed) {
		observed->doubtful = rg_reader_is_doubtful(reader, recorded, observed);
		observed->unended = observed->doubtful && !rg_reader_is_young(reader, recorded);
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

/* The record whose creation was sent with the address in these marks: its pool may have another
 * name since. */
static const RgResource *find_marked(const RgReader *reader, const RgResource *observed)
{
	const RgResource *found = rg_resource_set_find(reader->input->recorded, observed->address);
	for (guint i = 0; !found && i < reader->recorded->len; i++) {
		const RgResource *recorded = g_ptr_array_index(reader->recorded, i);
		if (!recorded->id && recorded->mismarked && recorded->kind == observed->kind &&
			g_strcmp0(recorded->marked_as, observed->address) == 0)
			found = recorded;
	}
	return found;
}

/* The record of an interrupted create that `observed` must come from, by its marks; NULL: none. */
static const RgResource *find_pending(
	const RgReader *reader, const RgResource *observed, const RgResourceSet *set)
{
	const RgResource *recorded = observed->address ? find_marked(reader, observed) : NULL;
	if (!recorded || recorded->id || rg_resource_set_find(set, recorded->address))
		return NULL;
	bool same = rg_kind_is_of_create(
		rg_reader_kind(reader, recorded), recorded->token, observed->token);
	return same ? recorded : NULL;
}

/* A resource with the cluster's name and without a record. False: it was not used, the caller
 * frees it. */
static bool judge_stranger(RgReader *reader, RgResource *observed, RgResourceSet *set)
{
	/* what cannot be read may exist: nothing is created in its place */
	if (observed->presence == RG_ABSENT)
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
	rg_hash_keys (RgResource, observed, reader->by_id)
		g_ptr_array_add(strangers, observed);
	g_hash_table_remove_all(reader->by_id);
	g_ptr_array_set_free_func(reader->seen, NULL);
	g_ptr_array_set_size(reader->seen, 0);
	g_ptr_array_sort(strangers, by_id);
	rg_ptr_foreach (RgResource, stranger, strangers) {
		if (!judge_stranger(reader, stranger, set))
			rg_resource_free(stranger);
	}
}

static void report_incomplete(RgReader *reader)
{
	/* The caller knows why it canceled. */
	if (rg_diags_has_code(reader->diags, "provider.canceled"))
		return;
	unsigned n = reader->recorded->len;
	g_autofree char *checks =
		n ? g_strdup_printf(": its %u recorded resource%s could not be checked", n,
			    n == 1 ? "" : "s")
		  : g_strdup("");
	RgDiag *diag = rg_diags_error(reader->diags, "refresh.incomplete", "%s could not be read%s",
		reader->name, checks);
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
	if (!reader->input->removing && !rg_reader_check_read(reader)) {
		know_nothing(reader, set);
		return;
	}
	rg_ptr_foreach (const RgResource, recorded, reader->recorded) {
		if (recorded->id)
			judge_record(reader, recorded, set);
	}
	judge_strangers(reader, set);
}

/* The core's own kind exists only in the state: what is recorded exists. */
static void add_secrets(const RgRefreshInput *input, RgResourceSet *set)
{
	rg_resource_foreach (recorded, input->recorded) {
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
	rg_resource_foreach (recorded, input->recorded) {
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
	rg_readers_start(refresh->readers);
	return refresh;
}

void rg_refresh_drop(RgRefresh *refresh)
{
	if (!refresh)
		return;
	rg_ptr_foreach (RgReader, reader, refresh->readers) {
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
	rg_ptr_foreach (RgReader, reader, readers) {
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
	rg_readers_start(refresh->readers);
	rg_readers_wait(refresh->readers);
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
