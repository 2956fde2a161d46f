#include "convert/internal.h"

/* Texts that should not go into a file that git tracks. Found by the names that people give them,
 * and by the forms of commands that take them. */

#define NAMES                                                                                      \
	"(?:secret|token|password|passwd|passphrase|credentials?|(?:api|access|private|auth)[_-]?" \
	"key)"
#define WORD "[\"']?[^\\s\"'$/&|;<>-][^\\s\"']*"

static void warn(Convert *convert, const char *pointer, const char *what)
{
	/* "seen" has pointers, which begin with a slash */
	if (!g_hash_table_add(convert->seen, g_strconcat("secret ", pointer, NULL)))
		return;
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

/* HF_TOKEN, api-key, SECRET_ID; not token_path or secret-name, which say where one is. */
static bool names_a_secret(const char *name)
{
	static GRegex *form;
	if (!form)
		form = g_regex_new("^(?!.*[_./-](?:name|ref|path|file)$)(?:.*[_./-])?(?:" NAMES
				   "s?(?:[_./-].*)?|pat)$|_key$",
			G_REGEX_CASELESS, 0, NULL);
	return g_regex_match(form, name, 0, NULL);
}

/* NAME_TOKEN=text, --password text, https://user:password@host, Authorization: Bearer text,
 * curl -u user:text, docker login -p text, sshpass -p text, a configure set ..._key text,
 * wandb login text, echo text | docker login --password-stdin */
static bool has_secret(const char *text)
{
	static GRegex *form;
	if (!form)
		form = g_regex_new("\\b\\w*(?:" NAMES "\\w*|_pat)=(?!=)" WORD "|--[\\w-]*" NAMES
				   "[ =]" WORD "|://[^\\s/:@$]+:[^\\s/@$]+@"
				   "|\\bbearer +[^\\s\"'$]+"
				   "|\\bcurl\\b.*\\s(?:-u|--user) *[\"']?[^\\s:\"'$]+:[^\\s\"'$]+"
				   "|\\blogin\\b.*\\s-p *" WORD "|\\bsshpass\\s+-p *" WORD
				   "|\\bconfigure\\s+set\\s+\\S*" NAMES "\\s+" WORD
				   "|\\bwandb\\s+login\\s+(?:--relogin\\s+)?" WORD
				   "|\\becho\\s+" WORD "[\"']?\\s*\\|.*--password-stdin",
			G_REGEX_CASELESS, 0, NULL);
	return g_regex_match(form, text, 0, NULL);
}

void convert_look_at(Convert *convert, const char *name, const json_t *value, const char *pointer)
{
	const char *text = json_string_value(value);
	rg_json_foreach_member (key, member, value)
		convert_look_at(convert, key, member, pointer);
	rg_json_foreach (item, json_is_array(value) ? value : NULL)
		convert_look_at(convert, name, item, pointer);
	if (text && name && names_a_secret(name) && !is_harmless(text)) {
		g_autofree char *what = g_strconcat("the value of ", name, NULL);
		warn(convert, pointer, what);
	} else if (text && has_secret(text)) {
		warn(convert, pointer, "a part of this text");
	}
}
