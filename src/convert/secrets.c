#include "convert/internal.h"

/* Texts that should not go into a file that git tracks. Found by the names that people give them.
 */

#define NAMES                                                                                      \
	"(?:secret|token|password|passwd|passphrase|credentials?|(?:api|access|private|auth)[_-]?" \
	"key)"

static void warn(Convert *convert, const char *pointer, const char *what)
{
	convert->has_secrets = true;
	RgDiag *diag = rg_diags_warning(convert->diags, "convert.secret",
		"%s looks like a secret, and the spec contains it", what);
	rg_diag_at(diag, rg_document_key_source(convert->document, pointer));
	rg_diag_hint(diag,
		"remove it before you commit the spec, and read it on the node or in the "
		"job instead: who can read the spec or a node's user data can read it");
}

/* A path, a reference to another variable or a switch is none. */
static bool is_harmless(const char *value)
{
	static const char *const words[] = {"", "0", "1", "true", "false", "none", NULL};
	g_autofree char *small = g_ascii_strdown(value, -1);
	return *value == '/' || *value == '$' || g_strv_contains(words, small);
}

void convert_look_at_variable(
	Convert *convert, const char *name, const char *value, const char *pointer)
{
	static GRegex *form;
	if (!form)
		form = g_regex_new("(?:^|_)" NAMES "s?(?:_|$)|_key$", G_REGEX_CASELESS, 0, NULL);
	if (is_harmless(value) || !g_regex_match(form, name, 0, NULL))
		return;
	g_autofree char *what = g_strconcat("the variable ", name, NULL);
	warn(convert, pointer, what);
}

void convert_look_at_command(Convert *convert, const char *text, const char *pointer)
{
	/* NAME_TOKEN=text, --password text, https://user:password@host, Authorization: Bearer text
	 */
	static GRegex *form;
	if (!form)
		form = g_regex_new("\\b\\w*" NAMES "\\w*=(?!=)[\"']?([^\\s\"'$/][^\\s\"']*)"
				   "|--[\\w-]*" NAMES "[ =][\"']?([^\\s\"'$/-][^\\s\"']*)"
				   "|://[^\\s/:@$]+:[^\\s/@$]+@"
				   "|\\bbearer +[^\\s\"'$]+",
			G_REGEX_CASELESS, 0, NULL);
	if (g_regex_match(form, text, 0, NULL))
		warn(convert, pointer, "a text in this command");
}
