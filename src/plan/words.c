#include "plan/internal.h"
#include <string.h>

static const char *const actions[] = {
	[RG_ACTION_NONE] = "none",
	[RG_ACTION_CREATE] = "create",
	[RG_ACTION_UPDATE] = "update",
	[RG_ACTION_REPLACE] = "replace",
	[RG_ACTION_DELETE] = "delete",
	[RG_ACTION_RECORD] = "record",
	[RG_ACTION_FORGET] = "forget",
	[RG_ACTION_RELEASE] = "release",
	[RG_ACTION_STOP] = "stop",
};

static const char *const grades[] = {
	[RG_GRADE_SAFE] = "safe",
	[RG_GRADE_DESTRUCTIVE] = "destructive",
	[RG_GRADE_DRIFT] = "drift",
	[RG_GRADE_RECOVER] = "recover",
	[RG_GRADE_CONFLICT] = "conflict",
	[RG_GRADE_UNKNOWN] = "unknown",
};

const char *action_name(RgAction action)
{
	return actions[action];
}

const char *grade_name(RgGrade grade)
{
	return grades[grade];
}

static bool find_word(const char *const *words, size_t n, const char *word, unsigned *found)
{
	for (size_t i = 0; word && i < n; i++) {
		if (g_str_equal(words[i], word)) {
			*found = (unsigned)i;
			return true;
		}
	}
	return false;
}

bool action_parse(const char *name, RgAction *action)
{
	unsigned found;
	if (!find_word(actions, G_N_ELEMENTS(actions), name, &found))
		return false;
	*action = (RgAction)found;
	return true;
}

bool grade_parse(const char *name, RgGrade *grade)
{
	unsigned found;
	if (!find_word(grades, G_N_ELEMENTS(grades), name, &found))
		return false;
	*grade = (RgGrade)found;
	return true;
}
