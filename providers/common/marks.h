/* Ownership marks as a module's cloud carries them: tags or labels, {prefix + mark: value}. Pure.
 */
#pragma once
#include <glib.h>
#include <jansson.h>

/* NULL: there is no such mark. */
typedef struct {
	char *kind, *name, *token, *lineage, *cluster, *region;
	char *indexes, *index; /* of a batch (indexes.h); of one resource, or MOD_NO_INDEX */
} ModMarks;

#define MOD_NO_INDEX "none"

void mod_marks_clear(ModMarks *marks);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ModMarks, mod_marks_clear)

/* Reads the marks; returns the tags that have no such prefix, a new reference. */
json_t *mod_marks_read(const json_t *tags, const char *prefix, ModMarks *marks);
/* "aws.instance.train[3]" -> "train", the mark `name`; g_free */
char *mod_marks_name(const char *kind, const char *address);
/* The mark `index` of an address: "3", or MOD_NO_INDEX; g_free. */
char *mod_marks_index(const char *address);
/* The address of these marks; index NULL or MOD_NO_INDEX: of a resource without one. g_free. */
char *mod_marks_address(const ModMarks *marks, const char *kind, const char *index);
