#include "plan/members.h"
#include "base/money.h"
#include <string.h>

#define NAMED(Record, member, key, type)                                                           \
	{                                                                                          \
		key, MEMBER_##type, offsetof(Record, member)                                       \
	}
#define MEMBER(Record, member, type) NAMED(Record, member, #member, type)

const Member attr_members[] = {MEMBER(RgPlanAttr, name, NEEDED), MEMBER(RgPlanAttr, before, LONG),
	MEMBER(RgPlanAttr, after, LONG), MEMBER(RgPlanAttr, recorded, LONG),
	MEMBER(RgPlanAttr, after_unknown, FLAG), MEMBER(RgPlanAttr, force_new, FLAG),
	MEMBER(RgPlanAttr, sensitive, FLAG), MEMBER(RgPlanAttr, drift, FLAG), {0}};

const Member change_members[] = {MEMBER(RgPlanChange, group, TEXT), MEMBER(RgPlanChange, id, TEXT),
	MEMBER(RgPlanChange, note, TEXT), MEMBER(RgPlanChange, drifted, FLAG),
	MEMBER(RgPlanChange, interrupted, FLAG), MEMBER(RgPlanChange, replay, FLAG),
	MEMBER(RgPlanChange, keep_marks, FLAG), MEMBER(RgPlanChange, left, FLAG),
	MEMBER(RgPlanChange, origin, TEXT), MEMBER(RgPlanChange, source, SOURCE),
	MEMBER(RgPlanChange, price_microusd_hour, PRICE), MEMBER(RgPlanChange, accelerator, TEXT),
	MEMBER(RgPlanChange, gpus, SOME), MEMBER(RgPlanChange, nodes, LIST),
	MEMBER(RgPlanChange, desired, OBJECT), MEMBER(RgPlanChange, before, OBJECT),
	MEMBER(RgPlanChange, observed, OBJECT), MEMBER(RgPlanChange, pin, SHARED_MAP),
	MEMBER(RgPlanChange, computed, SHARED_LIST), MEMBER(RgPlanChange, sensitive, SHARED_MAP),
	MEMBER(RgPlanChange, spec_changes, LONG), MEMBER(RgPlanChange, import, SHARED_MAP),
	MEMBER(RgPlanChange, removal, SHARED_MAP), {0}};

const Member pool_members[] = {MEMBER(RgPlanPool, pool, NEEDED),
	MEMBER(RgPlanPool, instance_type, TEXT), MEMBER(RgPlanPool, accelerator, TEXT),
	MEMBER(RgPlanPool, market, TEXT), MEMBER(RgPlanPool, reason, TEXT),
	MEMBER(RgPlanPool, instance_type_before, TEXT), MEMBER(RgPlanPool, market_before, TEXT),
	MEMBER(RgPlanPool, price_date, TEXT), MEMBER(RgPlanPool, price_quality, TEXT),
	MEMBER(RgPlanPool, gang, FLAG), MEMBER(RgPlanPool, max_unavailable, SOME),
	MEMBER(RgPlanPool, max_surge, SOME), MEMBER(RgPlanPool, destroyed, SOME),
	MEMBER(RgPlanPool, removed, TEXT), MEMBER(RgPlanPool, disabled, FLAG),
	MEMBER(RgPlanPool, disabled_at, SOURCE), MEMBER(RgPlanPool, runs, MAP),
	MEMBER(RgPlanPool, again, TEXT), {0}};

const Member sum_members[] = {MEMBER(RgPlanSum, nodes, COUNT), MEMBER(RgPlanSum, gpus, COUNT),
	MEMBER(RgPlanSum, microusd_hour, AMOUNT), MEMBER(RgPlanSum, unpriced, COUNT), {0}};

const Member sum_carbon_members[] = {
	MEMBER(RgPlanSum, carbon_mg_hour, AMOUNT), MEMBER(RgPlanSum, uncounted, COUNT), {0}};

const Member market_sum_members[] = {MEMBER(RgPlanSum, nodes, COUNT),
	MEMBER(RgPlanSum, microusd_hour, AMOUNT), MEMBER(RgPlanSum, unpriced, COUNT), {0}};

const Member limit_members[] = {
	MEMBER(RgPlanLimit, pool, TEXT), MEMBER(RgPlanLimit, source, SOURCE), {0}};

const Member plan_members[] = {MEMBER(RgPlan, command, NEEDED), MEMBER(RgPlan, cluster, NEEDED),
	MEMBER(RgPlan, refresh_only, FLAG), MEMBER(RgPlan, lineage, TEXT),
	MEMBER(RgPlan, provider, TEXT), MEMBER(RgPlan, region, TEXT), MEMBER(RgPlan, config, MAP),
	MEMBER(RgPlan, facts, MAP), MEMBER(RgPlan, labels, MAP),
	MEMBER(RgPlan, ready_timeouts, MAP), MEMBER(RgPlan, ignore_tags, LIST),
	MEMBER(RgPlan, protect, LIST), MEMBER(RgPlan, protection, LIST),
	MEMBER(RgPlan, renames, LIST), MEMBER(RgPlan, leases, LIST), MEMBER(RgPlan, fit, MAP),
	MEMBER(RgPlan, details, MAP), MEMBER(RgPlan, serial, NUMBER), MEMBER(RgPlan, state, TEXT),
	{0}};

const Member money_members[] = {MEMBER(RgPlan, catalog_date, TEXT),
	NAMED(RgPlan, oldest_date, "oldest_price_date", TEXT),
	NAMED(RgPlan, override, "budget_override", TEXT), {0}};

const Member touched_members[] = {MEMBER(RgPlan, touched, MAP), {0}};

const Member spec_members[] = {
	NAMED(RgPlan, spec_file, "file", TEXT), NAMED(RgPlan, spec_digest, "digest", TEXT), {0}};

const Member git_members[] = {MEMBER(RgPlan, in_git, BOOL), MEMBER(RgPlan, commit, TEXT),
	MEMBER(RgPlan, dirty, BOOL), {0}};

const Member effort_members[] = {
	MEMBER(RgPlan, api_calls, COUNT), MEMBER(RgPlan, api_seconds, COUNT), {0}};

const Member summary_members[] = {MEMBER(RgPlan, create, COUNT), MEMBER(RgPlan, update, COUNT),
	MEMBER(RgPlan, replace, COUNT), NAMED(RgPlan, remove, "delete", COUNT),
	MEMBER(RgPlan, record, COUNT), MEMBER(RgPlan, forget, COUNT), MEMBER(RgPlan, stop, COUNT),
	MEMBER(RgPlan, drifted, COUNT), MEMBER(RgPlan, import, SOME), MEMBER(RgPlan, release, SOME),
	{0}};

/* ---- writing */

static json_t *source_json(const RgSource *source)
{
	return source->line > 0
		       ? json_pack("{s:s*, s:I, s:I}", "file", source->file, "line",
				 (json_int_t)source->line, "column", (json_int_t)source->column)
		       : NULL;
}

static json_t *amount_json(int64_t amount)
{
	return amount == RG_MONEY_UNKNOWN ? json_null() : json_integer(amount);
}

static json_t *long_json(const Member *row, const json_t *value, Blobs *blobs)
{
	if (!value || row->type == MEMBER_MAP || row->type == MEMBER_LIST)
		return json_incref(rg_json_unconst(value));
	if (row->type == MEMBER_OBJECT)
		return blobs_put_object(blobs, value, LONG_VALUE);
	return blobs_put(blobs, value, row->type == MEMBER_LONG ? LONG_TEXT : LONG_VALUE);
}

/* A new reference; NULL: it is omitted. */
static json_t *member_json(const Member *row, const void *member, Blobs *blobs)
{
	const char *text;
	unsigned count;
	int64_t number;
	switch (row->type) {
	case MEMBER_TEXT:
	case MEMBER_NEEDED:
		text = *(const char *const *)member;
		return text ? json_string(text) : NULL;
	case MEMBER_FLAG:
		return *(const bool *)member ? json_true() : NULL;
	case MEMBER_BOOL:
		return json_boolean(*(const bool *)member);
	case MEMBER_COUNT:
	case MEMBER_SOME:
		count = *(const unsigned *)member;
		return count > 0 || row->type == MEMBER_COUNT ? json_integer(count) : NULL;
	case MEMBER_NUMBER:
	case MEMBER_AMOUNT:
	case MEMBER_PRICE:
		number = *(const int64_t *)member;
		return number != 0 || row->type != MEMBER_PRICE ? amount_json(number) : NULL;
	case MEMBER_SOURCE:
		return source_json(member);
	case MEMBER_MAP:
	case MEMBER_LIST:
	case MEMBER_SHARED_MAP:
	case MEMBER_SHARED_LIST:
	case MEMBER_LONG:
	case MEMBER_OBJECT:
		return long_json(row, *(json_t *const *)member, blobs);
	case MEMBER_END:
	default:
		return NULL;
	}
}

void members_put(const Member *members, const void *record, json_t *object, Blobs *blobs)
{
	for (; members->type != MEMBER_END; members++) {
		json_t *value = member_json(members, (const char *)record + members->at, blobs);
		if (value)
			json_object_set_new(object, members->key, value);
	}
}

json_t *members_json(const Member *members, const void *record, Blobs *blobs)
{
	json_t *object = json_object();
	members_put(members, record, object, blobs);
	return object;
}

void members_free(const Member *members, void *record)
{
	for (; members->type != MEMBER_END; members++) {
		void *member = (char *)record + members->at;
		if (members->type == MEMBER_TEXT || members->type == MEMBER_NEEDED)
			g_free(*(char **)member);
		else if (members->type >= MEMBER_MAP)
			json_decref(*(json_t **)member);
	}
}

/* ---- reading */

void load_fail(Loader *loader, const char *where, const char *what)
{
	if (loader->failed)
		return;
	loader->failed = true;
	RgDiag *diag = rg_diags_error(loader->diags, "plan.bad-file",
		"not a raygpu plan, or edited since: %s: %s", where, what);
	rg_diag_hint(
		diag, "create it again with `raygpu plan --out FILE`; a plan cannot be edited");
}

const char *load_text(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);
	if (value && (!text || strlen(text) != json_string_length(value))) {
		load_fail(loader, key, "not a string");
		return NULL;
	}
	return text;
}

const json_t *load_value(Loader *loader, const json_t *object, const char *key, json_type type)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return NULL;
	value = blobs_get(loader->blobs, value);
	if (value && json_typeof(value) == type)
		return value;
	load_fail(loader, key, !value ? "refers to no blob" : "of the wrong type");
	return NULL;
}

static unsigned take_count(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);
	if (!value || (json_is_integer(value) && number >= 0 && number <= G_MAXUINT32))
		return (unsigned)number;
	load_fail(loader, key, "not a count");
	return 0;
}

static int64_t take_number(Loader *loader, const Member *row, const json_t *value)
{
	bool amount = row->type != MEMBER_NUMBER;
	if (amount && json_is_null(value))
		return RG_MONEY_UNKNOWN;
	if (value || !amount) {
		if (!json_is_integer(value))
			load_fail(loader, row->key, value ? "not a number" : "missing");
		else if (amount && json_integer_value(value) < 0)
			load_fail(loader, row->key, "not an amount");
	}
	return json_integer_value(value);
}

static RgSource take_source(Loader *loader, const json_t *value)
{
	const char *file = load_text(loader, value, "file");
	return (RgSource){.file = file ? g_intern_string(file) : NULL,
		.line = take_count(loader, value, "line"),
		.column = take_count(loader, value, "column")};
}

/* An object of values, some of which may refer to blobs themselves. */
static json_t *take_object(Loader *loader, const json_t *object, const char *key)
{
	const json_t *packed = load_value(loader, object, key, JSON_OBJECT);
	json_t *known = packed ? g_hash_table_lookup(loader->unpacked, packed) : NULL;
	if (packed && !known) {
		known = blobs_unpack(loader->blobs, packed);
		if (!known)
			load_fail(loader, key, "refers to no blob");
		else
			g_hash_table_insert(loader->unpacked, (gpointer)(uintptr_t)packed, known);
	}
	return json_incref(known);
}

/* Of any type. */
static json_t *take_long(Loader *loader, const json_t *value, const char *key)
{
	const json_t *found = value ? blobs_get(loader->blobs, value) : NULL;
	if (value && !found)
		load_fail(loader, key, "refers to no blob");
	return json_incref(rg_json_unconst(found));
}

static void take_member(Loader *loader, const Member *row, void *member, const json_t *object)
{
	const json_t *value = json_object_get(object, row->key);
	bool list = row->type == MEMBER_LIST || row->type == MEMBER_SHARED_LIST;
	switch (row->type) {
	case MEMBER_TEXT:
	case MEMBER_NEEDED:
		*(char **)member = g_strdup(load_text(loader, object, row->key));
		if (!value && row->type == MEMBER_NEEDED)
			load_fail(loader, row->key, "missing");
		break;
	case MEMBER_FLAG:
	case MEMBER_BOOL:
		if (value && !json_is_boolean(value))
			load_fail(loader, row->key, "neither true nor false");
		*(bool *)member = json_is_true(value);
		break;
	case MEMBER_COUNT:
	case MEMBER_SOME:
		*(unsigned *)member = take_count(loader, object, row->key);
		break;
	case MEMBER_NUMBER:
	case MEMBER_AMOUNT:
	case MEMBER_PRICE:
		*(int64_t *)member = take_number(loader, row, value);
		break;
	case MEMBER_SOURCE:
		*(RgSource *)member = take_source(loader, value);
		break;
	case MEMBER_MAP:
	case MEMBER_LIST:
	case MEMBER_SHARED_MAP:
	case MEMBER_SHARED_LIST:
		*(json_t **)member = json_incref(rg_json_unconst(
			load_value(loader, object, row->key, list ? JSON_ARRAY : JSON_OBJECT)));
		break;
	case MEMBER_LONG:
		*(json_t **)member = take_long(loader, value, row->key);
		break;
	case MEMBER_OBJECT:
		*(json_t **)member = take_object(loader, object, row->key);
		break;
	case MEMBER_END:
	default:
		break;
	}
}

void members_take(Loader *loader, const Member *members, void *record, const json_t *object)
{
	for (; members->type != MEMBER_END; members++)
		take_member(loader, members, (char *)record + members->at, object);
}
