#include "doctor/checkup.h"
#include <glib/gstdio.h>
#include <unistd.h>

/* The checks of the state: its place, what it records, who has its locks. */

static void check_writable(const char *place, RgDiags *found)
{
	g_autofree char *at = g_strdup(place);
	if (!rg_store_is_file(place))
		return;
	while (!g_file_test(at, G_FILE_TEST_EXISTS)) {
		char *folder = g_path_get_dirname(at);
		g_free(at);
		at = folder;
	}
	if (g_access(at, W_OK) == 0)
		return;
	RgDiag *diag = rg_diags_warning(found, "state.unwritable",
		"\"%s\" cannot be written: plan works, apply does not", at);
	rg_diag_hint(diag, "correct its permissions, or select another state with --state");
}

static void check_cluster(Doctor *doctor, const char *name)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgSnapshot) snapshot = rg_store_load(doctor->context->store, name, found);
	if (snapshot && snapshot->journal->len) {
		RgDiag *diag = rg_diags_warning(found, "doctor.interrupted",
			"a run of cluster %s was interrupted: the outcome of %u creation%s is "
			"unknown",
			name, snapshot->journal->len, snapshot->journal->len == 1 ? "" : "s");
		rg_diag_hint(diag, "run `raygpu apply` again: it completes them or cleans up");
	}
	if (!doctor_take(doctor, "state", found) || !snapshot)
		return;
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_printf(text, "cluster %s: serial %" G_GINT64_FORMAT ", %zu resources", name,
		snapshot->serial, rg_resource_set_size(snapshot->recorded));
	if (snapshot->sealed)
		g_string_append_printf(text,
			"; its secrets are sealed with key %s, which is not given: apply needs it",
			snapshot->sealed);
	doctor_ok(doctor, "state", "%s", text->str);
}

static void report_held(const RgLockView *view, const char *name, RgDiags *found)
{
	RgDiag *diag = rg_diags_warning(
		found, "state.locked", "cluster %s is locked by another run", name);
	if (view->holder)
		rg_diag_detail(diag, "held by %s", view->holder);
	if (view->id)
		rg_diag_hint(diag,
			"wait until it has ended; if it is dead, `raygpu state unlock %s` ends its "
			"lock",
			view->id);
	else
		rg_diag_hint(diag, "wait until it has ended; the lock ends with that process");
}

static void report_left(const RgLockView *view, const char *name, RgDiags *found)
{
	RgDiag *diag = rg_diags_warning(found, "doctor.lock-left",
		"the last run of cluster %s died while it had the lock", name);
	rg_diag_detail(diag, "it was %s", view->holder);
	rg_diag_hint(diag, "nothing blocks the next run: `raygpu apply` takes the lock over and "
			   "completes what was interrupted");
}

static void check_lock(Doctor *doctor, const char *name)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_auto(RgLockView) view = {0};
	if (rg_lock_look(doctor->context->store, name, &view, found)) {
		if (view.state == RG_LOCK_STATE_HELD)
			report_held(&view, name, found);
		else if (view.state == RG_LOCK_STATE_LEFT)
			report_left(&view, name, found);
	}
	if (!doctor_take(doctor, "lock", found))
		return;
	if (view.state == RG_LOCK_STATE_UNKNOWN)
		doctor_ok(doctor, "lock",
			"the server of the state reports a lock only to a run that "
			"requests it");
	else
		doctor_ok(doctor, "lock", "cluster %s is not locked", name);
}

/* The spec's cluster, or all. */
static void check_contents(Doctor *doctor, GStrv names)
{
	for (guint i = 0; names[i]; i++) {
		if (doctor->cluster && !g_str_equal(doctor->cluster, names[i]))
			continue;
		check_cluster(doctor, names[i]);
		check_lock(doctor, names[i]);
	}
	bool recorded =
		doctor->cluster && g_strv_contains((const char *const *)names, doctor->cluster);
	if (doctor->cluster && !recorded)
		check_lock(doctor, doctor->cluster); /* of a first apply */
}

bool doctor_check_state(Doctor *doctor)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) found = rg_diags_new();
	if (doctor->spec)
		context_use_spec(context, doctor->spec);
	const char *place = context_state_path(context);
	context->store = context_open_state(context, RG_STORE_READ, found);
	rg_diags_take_all(found, context->diags);
	g_auto(GStrv) names = context->store ? rg_store_clusters(context->store, found) : NULL;
	if (names)
		check_writable(context->state_path, found);
	bool missing = names && rg_store_is_file(place) &&
		       !g_file_test(context->state_path, G_FILE_TEST_EXISTS);
	bool clean = doctor_take(doctor, "state", found);
	if (!names)
		return false;
	guint n = g_strv_length(names);
	if (clean && missing)
		doctor_ok(doctor, "state", "%s does not exist yet: the first apply creates it",
			place);
	else if (clean)
		doctor_ok(doctor, "state", "%s has %u cluster%s", place, n, n == 1 ? "" : "s");
	check_contents(doctor, names);
	return true;
}
