/* application/x-www-form-urlencoded bodies from JSON. Pure. */
#pragma once
#include <glib.h>
#include <jansson.h>

/* Appends "name=value"; both are escaped. */
void mod_form_add(GString *form, const char *name, const char *value);
/* Appends the members in their order: texts, integers and booleans; elements of a list under
 * name.1, name.2, ..., members of an object under name.member. */
void mod_form_add_members(GString *form, const json_t *object);
