/* decide.md row 15 of a resource that alone cannot be read: it stops, or --replace gives it up. */
#include "diff/internal.h"

/* Its pool's name is not enough: it does not say that just this one is lost. */
bool is_given_up(const Differ *differ, const RgChange *change)
{
	GStrv replace = differ->options ? differ->options->replace : NULL;
	return change->desired && replace &&
	       g_strv_contains((const char *const *)replace, change->address);
}

/* It may still exist, so nothing counts as changed outside. */
void decide_given_up(Differ *differ, RgChange *change, const char *why)
{
	const char *id = change->recorded->id;
	g_autofree char *note = g_strdup_printf(
		"%s cannot be read: %s; another one is created in its place", id, why);
	change_settle(change, RG_ACTION_CREATE, RG_GRADE_DESTRUCTIVE, RG_ROW_UNREAD);
	change_note(change, note);
	RgDiag *diag = rg_diags_warning(differ->diags, "diff.unreachable",
		"%s may still run and cost money: raygpu forgets it", id);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "if it is not lost, end it yourself");
}

static void hint_unreachable(const Differ *differ, const RgChange *change, RgDiag *diag)
{
	const RgDiffOptions *options = differ->options;
	const char *address = change->address;
	if (options && options->looking)
		rg_diag_hint(diag, "run again when it can be read");
	else if (options && options->refresh_only)
		rg_diag_hint(diag, "`--exclude %s` leaves its record as it is", address);
	else if (!change->desired)
		rg_diag_hint(diag,
			"`--exclude %s` leaves it as it is; if it is lost, `raygpu state rm %s` "
			"forgets it",
			address, address);
	else
		rg_diag_hint(diag,
			"`--exclude %s` leaves it as it is; if it is lost, `--replace %s` creates "
			"another one in its place",
			address, address);
}

void decide_unreachable(Differ *differ, RgChange *change, const char *why)
{
	change_stop(change, RG_GRADE_UNKNOWN, RG_ROW_UNREAD, "it could not be read from the cloud");
	RgDiag *diag = rg_diags_error(differ->diags, "diff.unreachable",
		"the state of `%s` is unknown: %s", change->address, why);
	rg_diag_address(diag, change->address, NULL);
	hint_unreachable(differ, change, diag);
}
