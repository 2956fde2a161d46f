/* What a decision writes into a change. */
#include "diff/internal.h"
#include "base/words.h"

void change_settle(RgChange *change, RgAction action, RgGrade grade, int row)
{
	change->action = action;
	change->grade = grade;
	change->row = row;
}

void change_note(RgChange *change, const char *note)
{
	g_free(change->note);
	change->note = g_strdup(note);
}

void change_stop(RgChange *change, RgGrade grade, int row, const char *note)
{
	change_settle(change, RG_ACTION_STOP, grade, row);
	change->reason = NULL;
	change_note(change, note);
}

char *import_command(const RgResource *stray)
{
	g_autofree char *address = rg_shell_word(stray->address ? stray->address : "ADDRESS");
	g_autofree char *id = rg_shell_word(stray->id ? stray->id : "ID");
	return g_strdup_printf("raygpu import SPEC %s %s", address, id);
}
