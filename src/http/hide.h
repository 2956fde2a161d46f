/* What a trace must not show: form parameters, XML elements and JSON members by name, JSON values
 * by pointer, and headers. */
#pragma once
#include "base/json.h"

#define RG_HIDDEN "[redacted]"

typedef struct {
	GRegex *form, *xml, *member;
	GHashTable *names, *headers; /* in lower case */
	GPtrArray *pointers;	     /* GStrv: their steps */
} RgHide;

/* `secrets`: those of the provider (http.h) or NULL; some names and headers are built in. */
void rg_hide_init(RgHide *hide, const json_t *secrets);
void rg_hide_clear(RgHide *hide);
/* The text without these values. g_free the result. */
char *rg_hide(const RgHide *hide, const char *text);
bool rg_hide_is_header(const RgHide *hide, const char *name);
