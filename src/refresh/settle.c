/* Clouds are eventually consistent: for consistency_s after a change they may still show the old
 * state. A view that contradicts such a recent change is read again, with growing waits, before it
 * is believed. */
#include "refresh/internal.h"

#include <string.h>
#include "base/clock.h"
#include "resource/expr.h"

#define WAIT_FIRST_MS 200
#define WAIT_MAX_MS 2000

const RgKind *rg_reader_kind(const RgReader *reader, const RgResource *resource)
{
	return rg_schema_kind(rg_provider_get_schema(reader->provider), resource->kind);
}

/* When the newest read began. */
static int64_t read_s(const RgReader *reader)
{
	return reader->input->now_s + (reader->read_ms - reader->begin_ms) / 1000;
}

/* A clock that was ahead may have dated a change in the future. What is certain is how long we have
 * known of it. */
static int64_t age_s(const RgReader *reader, int64_t changed_s)
{
	const RgRefreshInput *input = reader->input;
	int64_t since_ms = input->since_ms ? input->since_ms : reader->begin_ms;
	return MAX(read_s(reader) - changed_s, (reader->read_ms - since_ms) / 1000);
}

int64_t rg_reader_young_for_s(const RgReader *reader, const RgResource *recorded)
{
	/* the start of its removal is no reason for the cloud not to show it */
	int64_t changed_s = recorded->leaving ? recorded->created_s
					      : MAX(recorded->created_s, recorded->updated_s);
	const RgKind *kind = rg_reader_kind(reader, recorded);
	return rg_provider_consistency_s(reader->provider, kind) - age_s(reader, changed_s);
}

bool rg_reader_is_young(const RgReader *reader, const RgResource *recorded)
{
	return rg_reader_young_for_s(reader, recorded) > 0;
}

static bool values_are_equal(
	const RgAttribute *attribute, const json_t *wanted, const json_t *observed)
{
	if (!observed || json_is_null(observed))
		observed = attribute->default_value;
	json_auto_t *part = rg_attribute_cut(attribute, observed, wanted, NULL);
	return rg_attribute_equal(attribute, wanted, part);
}

bool rg_reader_is_telling(const RgAttribute *attribute)
{
	return attribute && !attribute->unreadable && !attribute->create_only &&
	       !attribute->computed && !attribute->sensitive && !attribute->ignore_drift;
}

/* `observed` as it was read: its address is the one in its marks. */
static bool shows_marks(
	const RgReader *reader, const RgResource *recorded, const RgResource *observed)
{
	const char *last = recorded->mismarked ? recorded->marked_as : recorded->address;
	return !rg_reader_kind(reader, recorded)->updates_marks ||
	       g_strcmp0(observed->address, last) == 0;
}

/* The value of an attribute that the cloud has to report of a record. */
typedef struct {
	const RgAttribute *attribute;
	json_t *value;
} Shown;

static void shown_clear(gpointer shown)
{
	json_decref(((Shown *)shown)->value);
}

GArray *rg_shown_new(void)
{
	GArray *shown = g_array_new(FALSE, FALSE, sizeof(Shown));
	g_array_set_clear_func(shown, shown_clear);
	return shown;
}

static void shown_make(RgReader *reader, const RgResource *recorded)
{
	const RgKind *kind = rg_reader_kind(reader, recorded);
	/* The set is only read; the callback's type cannot express that. */
	void *set = (void *)(uintptr_t)reader->input->recorded;
	g_array_set_size(reader->shown, 0);
	reader->shown_of = recorded;
	rg_json_foreach_member (name, wanted, recorded->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (!rg_reader_is_telling(attribute) || json_is_null(wanted))
			continue;
		json_auto_t *value = rg_expr_resolve_known(wanted, rg_resource_set_value, set);
		if (!value || rg_expr_has_refs(value))
			continue;
		const Shown shown = {attribute, json_incref(value)};
		g_array_append_val(reader->shown, shown);
	}
}

static bool shows_record(RgReader *reader, const RgResource *recorded, const RgResource *observed)
{
	if (!shows_marks(reader, recorded, observed))
		return false;
	const RgResource *last = reader->shown_of;
	if (!last || last->kind != recorded->kind || last->attrs != recorded->attrs)
		shown_make(reader, recorded);
	for (guint i = 0; i < reader->shown->len; i++) {
		const Shown *shown = &g_array_index(reader->shown, Shown, i);
		const json_t *value = json_object_get(observed->attrs, shown->attribute->name);
		if (!values_are_equal(shown->attribute, shown->value, value))
			return false;
	}
	return true;
}

static bool record_is_settled(RgReader *reader, const RgResource *recorded)
{
	if (!recorded->id || !rg_reader_is_young(reader, recorded))
		return true;
	const RgResource *observed = rg_reader_find(reader, recorded);
	if (!observed)
		return false;
	/* "gone" is the cloud's own statement, not an old view of a new resource. */
	return observed->presence == RG_ABSENT || reader->input->removing ||
	       shows_record(reader, recorded, observed);
}

/* An update that was started may have been pending, and may still be, unless the cloud said before
 * this read that it is not. */
static int64_t pending_s(const RgReader *reader, const RgResource *recorded)
{
	GHashTable *quiet = (GHashTable *)(uintptr_t)reader->input->quiet;
	const int64_t *quiet_ms = quiet ? g_hash_table_lookup(quiet, recorded->address) : NULL;
	const RgKind *kind = rg_reader_kind(reader, recorded);
	int64_t shown_ms = 1000 * rg_provider_consistency_s(reader->provider, kind);
	if (!recorded->updating || (quiet_ms && reader->read_ms >= *quiet_ms + shown_ms))
		return 0;
	return kind->unseen_update_s;
}

bool rg_reader_is_doubtful(RgReader *reader, const RgResource *recorded, const RgResource *observed)
{
	if (rg_reader_young_for_s(reader, recorded) + pending_s(reader, recorded) <= 0 ||
		observed->presence != RG_PRESENT)
		return false;
	return recorded->updating || !shows_record(reader, recorded, observed);
}

bool rg_reader_is_ghost(const RgReader *reader, const RgResource *observed)
{
	GHashTable *tombstones = (GHashTable *)(uintptr_t)reader->input->tombstones;
	const int64_t *removed_s =
		tombstones ? g_hash_table_lookup(tombstones, observed->id) : NULL;
	const RgKind *kind = rg_reader_kind(reader, observed);
	int64_t shown_s = rg_provider_consistency_s(reader->provider, kind);
	/* a date further ahead says nothing, and what runs is better shown than hidden */
	return removed_s && *removed_s <= read_s(reader) + shown_s &&
	       shown_s > age_s(reader, *removed_s);
}

static bool is_settled(RgReader *reader)
{
	for (guint i = 0; i < reader->recorded->len; i++) {
		if (!record_is_settled(reader, g_ptr_array_index(reader->recorded, i)))
			return false;
	}
	for (guint i = 0; reader->input->tombstones && i < reader->seen->len; i++) {
		const RgResource *observed = g_ptr_array_index(reader->seen, i);
		if (observed->presence == RG_PRESENT && rg_reader_is_ghost(reader, observed))
			return false;
	}
	return true;
}

/* When it is no longer waited. What is to be removed, or was asked to leave by a run that was cut
 * off, is waited for as long as the cloud may hide it, and so is what a clock that was ahead has
 * dated in the future: the next run would wait too. */
static int64_t settle_end_ms(RgReader *reader)
{
	const RgRefreshInput *input = reader->input;
	int64_t end_ms = reader->begin_ms + input->settle_ms;
	for (guint i = 0; input->settle_ms && i < reader->recorded->len; i++) {
		const RgResource *recorded = g_ptr_array_index(reader->recorded, i);
		bool ahead = MAX(recorded->created_s, recorded->updated_s) > input->now_s;
		if ((input->removing || recorded->leaving || ahead) &&
			!record_is_settled(reader, recorded))
			end_ms = MAX(end_ms,
				reader->read_ms + 1000 * rg_reader_young_for_s(reader, recorded));
	}
	return end_ms;
}

bool rg_reader_settle(RgReader *reader)
{
	int64_t wait_ms = WAIT_FIRST_MS, begun_ms = rg_clock_monotonic_ms();
	const RgRefreshInput *input = reader->input;
	bool told = !input->waiting;
	while (!is_settled(reader)) {
		int64_t left_ms = settle_end_ms(reader) - rg_clock_monotonic_ms();
		if (left_ms <= 0 || g_atomic_int_get(&reader->dropped) ||
			(input->in_vain && input->in_vain(input->in_vain_data)))
			return true;
		int64_t waited_ms = rg_clock_monotonic_ms() - begun_ms + MIN(wait_ms, left_ms);
		if (!told && waited_ms > 1000)
			input->waiting(input->progress_data, reader->name, (left_ms + 999) / 1000);
		told = told || waited_ms > 1000;
		if (!rg_provider_sleep(reader->provider, (unsigned)MIN(wait_ms, left_ms))) {
			rg_diags_error(reader->diags, "provider.canceled",
				"reading %s was canceled", reader->name);
			return false;
		}
		wait_ms = MIN(2 * wait_ms, WAIT_MAX_MS);
		if (!rg_reader_read(reader))
			return false;
	}
	return true;
}
