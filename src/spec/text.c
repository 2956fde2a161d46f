#include <string.h>
#include "base/caps.h"
#include "base/log.h"
#include "spec/extend.h"
#include "spec/node.h"

static RgSource first_place(const char *file)
{
	return (RgSource){.file = g_intern_string(file), .line = 1, .column = 1};
}

/* libyaml would treat these as line ends, no editor does: line numbers would be wrong. */
static bool refuse_line_ends(const char *file, const char *text, size_t len, RgDiags *diags)
{
	static const struct {
		const char *bytes, *name;
	} strange[] = {
		{"\xc2\x85", "U+0085"}, {"\xe2\x80\xa8", "U+2028"}, {"\xe2\x80\xa9", "U+2029"}};
	RgSource source = first_place(file);
	for (const char *at = text, *end = text + len; at < end; at++) {
		const char *name = NULL;
		for (size_t i = 0; i < G_N_ELEMENTS(strange); i++) {
			if (strncmp(at, strange[i].bytes, strlen(strange[i].bytes)) == 0)
				name = strange[i].name;
		}
		if (*at == '\r' && at[1] != '\n')
			name = "a carriage return alone";
		if (name) {
			RgDiag *diag =
				rg_diags_error(diags, "yaml.syntax", "%s is not accepted", name);
			rg_diag_at(diag, source);
			rg_diag_hint(diag, "YAML readers disagree whether it ends a "
					   "line; end lines with a line feed");
			return true;
		}
		rg_source_pass(&source, *at);
	}
	return false;
}

static bool is_readable(const char *file, const char *text, size_t len, RgDiags *diags)
{
	const char *bad;
	if (len > RG_CAP_SPEC_BYTES) {
		RgDiag *diag = rg_diags_error(diags, "file.too-large", "%s is larger than %d KiB",
			file, RG_CAP_SPEC_BYTES / 1024);
		rg_diag_at(diag, (RgSource){.file = g_intern_string(file)});
		return false;
	}
	if (g_utf8_validate(text, (gssize)len, &bad))
		return !refuse_line_ends(file, text, len, diags);
	RgSource source = first_place(file);
	for (const char *at = text; at < bad; at++)
		rg_source_pass(&source, *at);
	bool is_utf16 =
		len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
	RgDiag *diag = rg_diags_error(diags, "yaml.not-utf8", "byte %zu of %s is %s",
		(size_t)(bad - text) + 1, file, *bad == '\0' ? "NUL" : "not UTF-8 text");
	rg_diag_at(diag, source);
	rg_diag_hint(diag, is_utf16 ? "it looks like UTF-16: save the file as UTF-8"
				    : "save the file as UTF-8");
	return false;
}

/* A NUL-ended copy, as the look-ahead of the checks requires. NULL and diagnostics if it cannot be
 * read; *len is without a byte order mark. g_free. */
static char *copy_readable(const char *file, const char *text, size_t *len, RgDiags *diags)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	if (*len >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
		text += 3;
		*len -= 3;
	}
	size_t kept = MIN(*len, RG_CAP_SPEC_BYTES);
	g_autofree char *copy = g_malloc(kept + 1);
	memcpy(copy, text, kept);
	copy[kept] = '\0';
	rg_log(RG_LOG_DEBUG, "reads %s", file);
	if (!is_readable(file, copy, *len, diags))
		return NULL;
	rg_diags_add_text(diags, file, copy, *len);
	return g_steal_pointer(&copy);
}

RgDocument *spec_read_text(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autofree char *copy = copy_readable(file, text, &len, diags);
	return copy ? rg_document_load(file, copy, len, diags) : NULL;
}

GPtrArray *spec_read_each(const char *file, const char *text, size_t len, RgDiags *diags)
{
	g_autofree char *copy = copy_readable(file, text, &len, diags);
	return copy ? rg_document_load_each(file, copy, len, diags) : NULL;
}
