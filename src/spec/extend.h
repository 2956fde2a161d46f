/* Private to src/spec. A spec that takes over what another file says and changes parts of it:
 *
 *	extends: base.yaml
 *
 * Mappings are merged key by key, everything else replaces, null removes. A base may extend another
 * file. */
#pragma once
#include "spec/document.h"
#include "spec/spec.h"

/* A text that is checked to be readable, as a document; findings may refer to the text. NULL and
 * diagnostics if it is not YAML (text.c). */
RgDocument *spec_read_text(const char *file, const char *text, size_t len, RgDiags *diags);
/* The same of a file that may have several documents: RgDocument*. */
GPtrArray *spec_read_each(const char *file, const char *text, size_t len, RgDiags *diags);
/* Merges the files that the document extends into it, and removes `extends` and the keys that start
 * with "x-". document->files gets their names, also of one that cannot be read. `reader` NULL: the
 * document may not extend anything. false and diagnostics if one of them cannot be read. */
bool spec_extend(RgDocument *document, const RgSpecReader *reader, RgDiags *diags);
/* The value that the one at this place replaced; NULL: none. */
const RgSource *spec_replaced(const RgDocument *document, RgSource source);
