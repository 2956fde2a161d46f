/* What a trace must not show, found by name: form parameters, XML elements, JSON members. */
#pragma once
#include "base/json.h"

#define RG_HIDDEN "[redacted]"

typedef struct {
	GRegex *form, *xml, *member;
	GHashTable *names; /* in lower case */
} RgHide;

/* `names`: those of the provider, a list of texts or NULL; some names are built in. */
void rg_hide_init(RgHide *hide, const json_t *names);
void rg_hide_clear(RgHide *hide);
/* The text without the values of these names. g_free the result. */
char *rg_hide(const RgHide *hide, const char *text);
