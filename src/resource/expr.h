/* Expressions inside desired attributes, resolved at apply:
 *   {"$ref": ADDRESS, "attr": NAME}      an attribute of another resource
 *   {"$join": [text or expression...]}   concatenation
 *   {"$gzip_base64": text or expression} gzip (mtime 0, so the same bytes each time), base64
 * Pure. */
#pragma once
#include "base/json.h"

bool rg_expr_is(const json_t *value); /* well-formed, without other members */
/* false if a key that starts with "$" occurs outside a well-formed expression. */
bool rg_expr_valid(const json_t *value);
/* Adds (g_strdup) every address that `value` refers to, at any depth, to `addresses` (set). */
void rg_expr_refs(const json_t *value, GHashTable *addresses);
/* The value with other addresses in its references: `renamed` is char* -> char*. A new reference,
 * to `value` itself if it contains none of them. */
json_t *rg_expr_rename_refs(const json_t *value, GHashTable *renamed);
bool rg_expr_has_refs(const json_t *value);

/* Returns the value of `attr` of `address`, a new reference, or NULL if unknown. */
typedef json_t *(*RgExprLookup)(void *data, const char *address, const char *attr);
/* A new value with every expression replaced; NULL and a diagnostic (apply.blocked) if a reference
 * has no value or is not a string inside $join. */
json_t *rg_expr_resolve(const json_t *value, RgExprLookup lookup, void *data, RgDiags *diags);
/* As far as possible: unresolvable expressions stay as they are. `lookup` is called for every
 * reference, even after one without a value. */
json_t *rg_expr_resolve_known(const json_t *value, RgExprLookup lookup, void *data);
/* The text inside a $gzip_base64; NULL if it is not one, or is larger than `max` bytes. */
char *rg_expr_gunzip(const char *base64, size_t max);
/* The number of bytes of a $gzip_base64 before base64; that of a faster compression, which makes
 * more of them, if it is not more than `enough`. */
size_t rg_expr_gzip_size(const char *data, size_t len, size_t enough);
