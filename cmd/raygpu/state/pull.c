#include "command.h"
#include "base/redact.h"
#include "transfer/document.h"
#include <string.h>

/* raygpu state pull: the state as a document. Reads only. */

static const RgSchema *schema_of(void *data, const char *provider, RgDiags *diags)
{
	const Context *context = data;
	return rg_provider_schema(context->providers, provider, diags);
}

/* Text that is secret in one place may not be in another. */
static char *text_of(const json_t *document, bool redact)
{
	char *text = json_dumps(document, JSON_INDENT(2));
	size_t len = strlen(text);
	char *shown = redact ? rg_redact(text, len) : g_strndup(text, len);
	free(text);
	return shown;
}

static bool write_file(Context *context, const char *path, const char *text)
{
	g_autofree char *lines = g_strconcat(text, "\n", NULL);
	g_autoptr(GError) error = NULL;
	if (g_file_set_contents_full(path, lines, -1,
		    G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, &error))
		return true;
	report_unwritable(context, path, error);
	return false;
}

int state_pull(Context *context, const char *out, bool redact)
{
	context_open_providers(context);
	context->store = context_open_state(context, RG_STORE_READ, context->diags);
	const RgStateRedactor redactor = {schema_of, context};
	json_auto_t *document = context->store ? rg_state_pull(context->store, context->cluster,
							 redact ? &redactor : NULL, context->diags)
					       : NULL;
	if (!document)
		return rg_diags_exit_code(context->diags);
	g_autofree char *text = text_of(document, redact);
	if (out)
		return write_file(context, out, text) ? EXIT_FINE
						      : rg_diags_exit_code(context->diags);
	out_document(text);
	return EXIT_FINE;
}
