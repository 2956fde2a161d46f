#include "diff/internal.h"

/* decide.md, row by row. */

/* The result for one attribute of an existing resource. */
typedef struct {
	RgAction action; /* NONE, RECORD, UPDATE, REPLACE */
	bool moved;	 /* spec */
	bool drift;	 /* cloud */
	bool listed;	 /* belongs in RgChange.attrs */
} Verdict;

/* In the form in which it is compared; a new reference, NULL = absent. */
static json_t *observed_value(const RgChange *change, const Field *field)
{
	const RgResource *observed = change->observed;
	const RgAttribute *attribute = field->attribute;
	const json_t *value = observed ? json_object_get(observed->attrs, attribute->name) : NULL;
	if (!value || json_is_null(value))
		value = attribute->default_value;
	return rg_attribute_cut(attribute, value, field->want, field->was);
}

static const json_t *pinned_value(const RgChange *change, const Field *field)
{
	return json_object_get(rg_resource_outputs(change->recorded), field->attribute->name);
}

/* Another value than the recorded one: what it stands for was changed. A value that is missing on
 * either side proves nothing. */
static Verdict judge_pinned(const Field *field, const RgChange *change)
{
	const RgAttribute *attribute = field->attribute;
	json_auto_t *is = observed_value(change, field);
	const char *text = json_string_value(is);
	if (text && rg_resource_output_is(change->recorded, attribute->name, text))
		return (Verdict){.action = RG_ACTION_NONE};
	const json_t *was = pinned_value(change, field);
	bool known = was && !json_is_null(was) && is;
	bool drift = known && !rg_attribute_equal(attribute, is, was);
	return (Verdict){.drift = drift,
		.listed = drift,
		.action = !drift		 ? RG_ACTION_NONE
			  : attribute->force_new ? RG_ACTION_REPLACE
						 : RG_ACTION_UPDATE};
}

static Verdict judge(const Field *field, const RgChange *change)
{
	if (field->pinned)
		return judge_pinned(field, change);
	const RgAttribute *attribute = field->attribute;
	json_auto_t *is = observed_value(change, field);
	Verdict verdict = {.moved = field->moved || field->unknown};
	bool needed = verdict.moved;
	if (field->compare_was && !attribute->ignore_drift)
		verdict.drift = !rg_attribute_equal(attribute, is, field->was);
	if (field->unknown)
		needed = true;
	else if (field->compare_want && (!attribute->ignore_drift || field->moved))
		needed = !rg_attribute_equal(attribute, is, field->want);
	if (needed)
		verdict.action = attribute->force_new ? RG_ACTION_REPLACE : RG_ACTION_UPDATE;
	else if (verdict.moved || verdict.drift)
		verdict.action = RG_ACTION_RECORD; /* row 9 */
	else
		verdict.action = RG_ACTION_NONE;
	verdict.listed = verdict.action != RG_ACTION_NONE;
	return verdict;
}

static json_t *share(const json_t *value)
{
	return json_incref(rg_json_unconst(value));
}

static RgAttrChange *add_attr(RgChange *change, const Field *field, const Verdict *verdict)
{
	RgAttrChange *attr = g_new0(RgAttrChange, 1);
	const RgAttribute *attribute = field->attribute;
	bool seen = change->observed && (field->readable || field->pinned);
	attr->name = attribute->name;
	attr->force_new = attribute->force_new && verdict->action != RG_ACTION_RECORD;
	attr->sensitive = attribute->sensitive;
	attr->spec = verdict->moved;
	attr->drift = verdict->drift;
	attr->record = verdict->action == RG_ACTION_RECORD;
	attr->after_unknown = field->unknown || field->pinned;
	if (field->pinned)
		change_note(change, attribute->pinned);
	if (!attribute->sensitive) {
		attr->recorded = share(field->pinned ? pinned_value(change, field)
				       : field->was  ? field->was
						     : field->recorded);
		attr->before = seen ? observed_value(change, field) : share(attr->recorded);
		if (!attr->after_unknown)
			attr->after = share(field->want ? field->want : field->desired);
	}
	g_ptr_array_add(change->attrs, attr);
	return attr;
}

/* For a creation, only values that come from elsewhere are worth listing. */
static void list_references(Differ *differ, RgChange *change)
{
	const GArray *fields = fields_of(differ, change->desired, NULL);
	Verdict verdict = {.moved = true};
	for (guint i = 0; i < fields->len; i++) {
		const Field *field = &g_array_index(fields, Field, i);
		if (field->has_refs)
			add_attr(change, field, &verdict);
	}
}

/* Whether the spec differs from the record (or the journal). */
static bool spec_moved(Differ *differ, const RgChange *change)
{
	const GArray *fields = fields_of(differ, change->desired, change->recorded);
	for (guint i = 0; i < fields->len; i++) {
		const Field *field = &g_array_index(fields, Field, i);
		if (field->moved || field->unknown)
			return true;
	}
	return false;
}

/* Row 1b: `make` is the row that would have created it. */
static bool blocked_by_stray(Differ *differ, RgChange *change)
{
	const GPtrArray *strays = g_hash_table_lookup(differ->strays, change->address);
	if (!strays || strays->len == 0 || refreshes(differ))
		return false;
	const RgResource *stray = strays->pdata[0];
	const char *id = stray->id ? stray->id : "?";
	change_stop(change, RG_GRADE_CONFLICT, ROW_UNMANAGED,
		"a resource with this cluster's ownership tags exists at its address, but is not "
		"recorded");
	if (differ->options && differ->options->looking)
		return true;
	RgDiag *diag = rg_diags_error(differ->diags, "diff.conflict",
		"`%s` cannot be created: %s `%s` already has its ownership tags", change->address,
		stray->kind, id);
	rg_diag_address(diag, change->address, NULL);
	g_autofree char *unread = rg_resource_unread(stray, "it");
	if (stray->presence == RG_UNKNOWN)
		rg_diag_detail(diag, "%s", unread);
	g_autofree char *import = import_command(stray);
	rg_diag_hint(diag,
		"it is not recorded, so it is left unchanged: record it with `%s`, remove `%s` "
		"manually, or, if it belongs to another state, use that one",
		import, id);
	return true;
}

/* What came with another resource before a run ended; it is then not unmanaged. */
static bool take_found(Differ *differ, const RgChange *change)
{
	const RgKind *kind = rg_schema_kind(differ->schema, change->desired->kind);
	GPtrArray *strays = g_hash_table_lookup(differ->strays, change->address);
	if (!kind || !kind->create_finds || !strays || strays->len != 1 ||
		((const RgResource *)strays->pdata[0])->presence != RG_PRESENT)
		return false;
	g_ptr_array_remove_index(strays, 0);
	return true;
}

const RgResource *take_left_behind(Differ *differ, const char *address)
{
	const RgDiffOptions *options = differ->options;
	GPtrArray *strays = g_hash_table_lookup(differ->strays, address);
	if (!strays || strays->len != 1 ||
		(options && (options->looking || options->refresh_only || options->targets ||
				    options->excludes)))
		return NULL;
	const RgResource *stray = strays->pdata[0];
	const RgKind *kind = rg_schema_kind(differ->schema, stray->kind);
	if (!kind || !kind->create_finds || !stray->id || !stray->token ||
		stray->presence != RG_PRESENT)
		return NULL;
	g_ptr_array_remove_index(strays, 0);
	return stray;
}

void decide_left_behind(RgChange *change, const RgResource *stray)
{
	change->recorded = change->observed = stray;
	change_settle(change, RG_ACTION_DELETE, RG_GRADE_RECOVER, RG_ROW_LEFT_BEHIND);
	change_note(change, "an interrupted run created it, and the spec no longer has it");
}

/* Rows 1b, 2 and 21. */
static void decide_new(Differ *differ, RgChange *change)
{
	if (take_found(differ, change)) {
		change_settle(change, RG_ACTION_CREATE, RG_GRADE_RECOVER, ROW_FOUND);
		change_note(change, "an interrupted run created it; it is now recorded");
		list_references(differ, change);
		return;
	}
	if (blocked_by_stray(differ, change))
		return;
	change_settle(change, RG_ACTION_CREATE, RG_GRADE_SAFE, 2);
	list_references(differ, change);
}

/* Rows 16 to 18. */
static void decide_pending(Differ *differ, RgChange *change, const RgResource *found)
{
	change->replay = true;
	if (found && found->presence == RG_UNKNOWN)
		found = NULL;
	change->observed = found;
	if (!change->desired) {
		change_settle(change, RG_ACTION_DELETE, RG_GRADE_RECOVER, 18);
		change_note(
			change, "an interrupted run was creating it; what was created is deleted");
		return;
	}
	if (blocked_by_stray(differ, change)) {
		change->replay = false;
		return;
	}
	int row = found ? 16 : 17;
	if (spec_moved(differ, change)) {
		change_settle(change, RG_ACTION_REPLACE, RG_GRADE_RECOVER, row);
		change_note(change,
			"an interrupted run was creating it from an older spec; what was "
			"created is replaced");
	} else {
		change_settle(change, RG_ACTION_CREATE, RG_GRADE_RECOVER, row);
		change_note(change, found ? "an interrupted run created it; it is now recorded"
					  : "an interrupted run was creating it; its request is "
					    "repeated with the same token");
	}
	list_references(differ, change);
}

static bool runs_once(const Differ *differ, const RgChange *change)
{
	const RgKind *kind = rg_schema_kind(differ->schema, change->recorded->kind);
	return kind && kind->runs_once;
}

/* Row 22: what it started has ended, and may be cleaned up. */
static void decide_done(Differ *differ, RgChange *change)
{
	bool again = change->desired &&
		     (scope_replaces(differ, change->address) || spec_moved(differ, change));
	change_settle(change,
		again		  ? RG_ACTION_CREATE
		: change->desired ? RG_ACTION_NONE
				  : RG_ACTION_FORGET,
		RG_GRADE_SAFE, RG_ROW_DONE);
	if (again)
		list_references(differ, change);
}

/* Rows 7, 11, 14, 22. */
static void decide_absent(Differ *differ, RgChange *change)
{
	if (runs_once(differ, change)) {
		decide_done(differ, change);
		return;
	}
	change->drifted = true;
	if (!change->desired || refreshes(differ)) {
		change->desired = NULL;
		change_settle(change, RG_ACTION_FORGET, RG_GRADE_SAFE, RG_ROW_GONE_LEFT);
		return;
	}
	if (blocked_by_stray(differ, change))
		return;
	bool moved = spec_moved(differ, change);
	const RgResource *gone = rg_resource_set_find(differ->observed, change->recorded->address);
	change->gone_status = gone ? gone->status : NULL;
	change_settle(
		change, RG_ACTION_CREATE, RG_GRADE_DRIFT, moved ? RG_ROW_GONE_MOVED : RG_ROW_GONE);
	change_note(change, "it no longer exists; will be recreated");
	list_references(differ, change);
}

/* Row 15, of one resource alone: the others can be read. */
static void decide_silent(Differ *differ, RgChange *change, const char *why)
{
	if (!is_given_up(differ, change)) {
		decide_unreachable(differ, change, why);
	} else if (!blocked_by_stray(differ, change)) {
		decide_given_up(differ, change, why);
		list_references(differ, change);
	}
}

/* Rows 12 and 13. */
static void decide_leaving(Differ *differ, RgChange *change)
{
	const GArray *fields = fields_of(differ, NULL, change->recorded);
	for (guint i = 0; i < fields->len; i++) {
		const Field *field = &g_array_index(fields, Field, i);
		Verdict verdict = judge(field, change);
		if (verdict.drift) {
			verdict.moved = false;
			RgAttrChange *attr = add_attr(change, field, &verdict);
			g_clear_pointer(&attr->after, json_decref);
			attr->after_unknown = false;
			change->drifted = true;
		}
	}
	change_settle(change, RG_ACTION_DELETE, RG_GRADE_DESTRUCTIVE, change->drifted ? 13 : 12);
	g_autofree char *family =
		g_strconcat(change->recorded->kind, ".", change->recorded->name, NULL);
	if (differ->options && differ->options->destroy)
		change->reason = NULL;
	else if (change->recorded->index >= 0 && g_hash_table_contains(differ->families, family))
		change->reason = "delete_because_count_index";
	else
		change->reason = "delete_because_no_resource_config";
}

static void settle_present(RgChange *change, RgAction action, bool moved, bool drift)
{
	change->reason = NULL;
	switch (action) {
	case RG_ACTION_NONE:
		change_settle(change, action, RG_GRADE_SAFE, 5);
		return;
	case RG_ACTION_RECORD:
		change_settle(change, action, RG_GRADE_SAFE, 9);
		return;
	case RG_ACTION_REPLACE:
		change->reason = "replace_because_cannot_update";
		break;
	case RG_ACTION_CREATE:
	case RG_ACTION_UPDATE:
	case RG_ACTION_DELETE:
	case RG_ACTION_FORGET:
	case RG_ACTION_RELEASE:
	case RG_ACTION_STOP:
		break;
	}
	if (drift)
		change_settle(change, action, RG_GRADE_DRIFT, moved ? 10 : 6);
	else
		change_settle(change, action,
			action == RG_ACTION_REPLACE ? RG_GRADE_DESTRUCTIVE : RG_GRADE_SAFE, 8);
}

static int severity(RgAction action)
{
	return action == RG_ACTION_REPLACE  ? 3
	       : action == RG_ACTION_UPDATE ? 2
	       : action == RG_ACTION_RECORD ? 1
					    : 0;
}

/* The result of all attributes together. */
typedef struct {
	RgAction action;
	bool moved, drift;
} Worst;

static void take_verdict(Worst *worst, const Verdict *verdict)
{
	if (severity(verdict->action) > severity(worst->action))
		worst->action = verdict->action;
	if (verdict->action != RG_ACTION_RECORD) {
		worst->moved |= verdict->moved;
		worst->drift |= verdict->drift;
	}
}

/* The address that the marks of a resource name; NULL: none. */
static const char *marks_of(const RgResource *resource)
{
	return resource->mismarked ? resource->marked_as : resource->address;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : NULL;
}

/* decide.md "Marks": an attribute of every kind whose module can rewrite them. */
static void judge_marks(Differ *differ, RgChange *change, Worst *worst)
{
	const RgKind *kind = rg_schema_kind(differ->schema, change->recorded->kind);
	if (!kind->updates_marks || worst->action == RG_ACTION_REPLACE ||
		scope_replaces(differ, change->address))
		return;
	const RgResource *was = change->recorded, *is = change->observed;
	Verdict verdict = {.moved = was->mismarked,
		.drift = is->mismarked && g_strcmp0(is->marked_as, marks_of(was)) != 0,
		.action = is->mismarked ? RG_ACTION_UPDATE : RG_ACTION_RECORD};
	if (!verdict.moved && !verdict.drift)
		return;
	change->drifted |= verdict.drift;
	RgAttrChange *attr = g_new0(RgAttrChange, 1);
	attr->name = RG_MARKS;
	attr->spec = verdict.moved;
	attr->drift = verdict.drift;
	attr->record = verdict.action == RG_ACTION_RECORD;
	attr->before = text_or_null(marks_of(change->observed));
	attr->recorded = text_or_null(marks_of(change->recorded));
	attr->after = json_string(change->address);
	guint at = 0;
	while (at < change->attrs->len &&
		strcmp(((RgAttrChange *)change->attrs->pdata[at])->name, RG_MARKS) < 0)
		at++;
	g_ptr_array_insert(change->attrs, (gint)at, attr);
	take_verdict(worst, &verdict);
}

/* Row 15. */
static void decide_unread(Differ *differ, RgChange *change, const char *note)
{
	change_stop(change, RG_GRADE_UNKNOWN, RG_ROW_UNREAD, note);
	const char *kind = change->recorded->kind;
	GPtrArray *others = g_hash_table_lookup(differ->unread, kind);
	if (!others) {
		others = g_ptr_array_new();
		g_hash_table_insert(differ->unread, (gpointer)(uintptr_t)kind, others);
	}
	g_ptr_array_add(others, change);
}

/* The view may be one from before an update, and a decision to do nothing would rely on it. One
 * with as many desired values that the record does not have as the update was to change is the
 * update's own result: nothing of it is still to come. */
static bool relies_on_doubt(const RgChange *change)
{
	const RgResource *observed = change->observed;
	if (!observed || !observed->doubtful)
		return false;
	guint updates = change->recorded->updates;
	bool is_result = observed->unended && change->action == RG_ACTION_RECORD && updates > 0 &&
			 change->attrs->len >= updates;
	return !is_result && severity(change->action) <= severity(RG_ACTION_RECORD);
}

/* Rows 5, 6, 8, 9, 10: the worst of the attributes. */
static void decide_present(Differ *differ, RgChange *change)
{
	const GArray *fields = fields_of(differ, change->desired, change->recorded);
	Worst worst = {.action = RG_ACTION_NONE};
	for (guint i = 0; i < fields->len; i++) {
		const Field *field = &g_array_index(fields, Field, i);
		Verdict verdict = judge(field, change);
		change->drifted |= verdict.drift;
		if (!verdict.listed)
			continue;
		add_attr(change, field, &verdict);
		take_verdict(&worst, &verdict);
	}
	judge_marks(differ, change, &worst);
	settle_present(change, worst.action, worst.moved, worst.drift);
	if (worst.action != RG_ACTION_REPLACE && scope_replaces(differ, change->address)) {
		change_settle(change, RG_ACTION_REPLACE, RG_GRADE_DESTRUCTIVE, 8);
		change->reason = "replace_by_request";
	}
	if (change->action == RG_ACTION_REPLACE && blocked_by_stray(differ, change))
		return;
	if (relies_on_doubt(change)) {
		change->drifted = false; /* nor is that known */
		decide_unread(differ, change,
			"it was changed a moment ago, and the cloud may still show its former "
			"state");
	}
}

/* Rows 19 and 20: whatever the cloud still shows, or no longer shows, proves nothing. */
static void decide_half_removed(Differ *differ, RgChange *change, RgPresence found)
{
	if (!change->desired) {
		change_settle(change, found == RG_ABSENT ? RG_ACTION_FORGET : RG_ACTION_DELETE,
			RG_GRADE_RECOVER, 20);
		change_note(
			change, "an interrupted run was deleting it; the deletion is completed");
		return;
	}
	if (blocked_by_stray(differ, change))
		return;
	change_settle(change, found == RG_ABSENT ? RG_ACTION_CREATE : RG_ACTION_REPLACE,
		RG_GRADE_RECOVER, 19);
	change_note(change,
		"an interrupted run was deleting it; the deletion is completed, then it "
		"is created again");
	if (change->action == RG_ACTION_CREATE)
		list_references(differ, change);
}

/* Finds the interrupted create among the unmanaged resources with our marks; it is then not
 * unmanaged. */
static const RgResource *take_crashed(Differ *differ, const RgResource *recorded)
{
	GPtrArray *strays = g_hash_table_lookup(differ->strays, recorded->address);
	const RgKind *kind = rg_schema_kind(differ->schema, recorded->kind);
	for (guint i = 0; strays && i < strays->len; i++) {
		const RgResource *stray = strays->pdata[i];
		if (!rg_kind_is_of_create(kind, recorded->token, stray->token))
			continue;
		g_ptr_array_remove_index(strays, i);
		return stray;
	}
	return NULL;
}

/* What the cloud reports about a recorded resource. A record that the refresh did not mention was
 * not read. */
static RgPresence presence(
	const Differ *differ, const RgResource *recorded, const RgResource **observed)
{
	*observed = rg_resource_set_find(differ->observed, recorded->address);
	if (g_str_equal(recorded->kind, RG_SECRET_KIND))
		return RG_PRESENT;
	if (!*observed || (*observed)->presence == RG_PENDING)
		return RG_UNKNOWN;
	RgPresence found = (*observed)->presence;
	if (found == RG_ABSENT)
		*observed = NULL;
	return found;
}

void decide(Differ *differ, RgChange *change)
{
	const RgResource *recorded = change->recorded;
	if (differ->left_out && g_hash_table_contains(differ->left_out, change->address)) {
		change_settle(change, RG_ACTION_NONE, RG_GRADE_SAFE, RG_ROW_LEFT_OUT);
		change_note(change, "excluded by --target or --exclude");
		if (recorded && recorded->presence == RG_PENDING)
			change->observed = take_crashed(differ, recorded);
		else if (recorded)
			presence(differ, recorded, &change->observed);
		return;
	}
	if (!recorded) {
		decide_new(differ, change);
		return;
	}
	const RgRelease *release = g_hash_table_lookup(differ->released, change->address);
	if (recorded->presence == RG_PENDING && release) {
		decide_release(differ, change, release);
		return;
	}
	if (recorded->presence == RG_PENDING) {
		decide_pending(differ, change, take_crashed(differ, recorded));
		return;
	}
	RgPresence found = presence(differ, recorded, &change->observed);
	if (found == RG_UNKNOWN && change->observed && change->observed->status)
		decide_silent(differ, change, change->observed->status);
	else if (found == RG_UNKNOWN)
		decide_unread(differ, change, "it could not be read from the cloud");
	else if (recorded->leaving)
		decide_half_removed(differ, change, found);
	else if (found == RG_ABSENT)
		decide_absent(differ, change);
	else if (release)
		decide_release(differ, change, release);
	else if (!change->desired)
		decide_leaving(differ, change);
	else
		decide_present(differ, change);
}
