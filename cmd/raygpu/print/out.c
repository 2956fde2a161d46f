#include "command.h"
#include "base/disarm.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* All output goes through here, because no name, path or answer of a server may start a line that a
 * CI system or a terminal executes. */
void out_put(const char *text, FILE *to)
{
	g_autofree char *shown = rg_render_printable(text);
	fputs(shown, to);
}

void out_text(const char *text)
{
	out_put(text, stdout);
}

void out_script(const char *text)
{
	fputs(text, stdout);
}

static bool has_document;

bool out_has_document(void)
{
	return has_document;
}

void out_document(const char *json)
{
	has_document = true;
	g_autofree char *text = rg_disarm_json(json);
	fputs(text, stdout);
	fputs("\n", stdout);
}

void out_json(const json_t *value)
{
	char *dumped = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
	out_document(dumped);
	free(dumped);
}

bool out_close(void)
{
	bool ok = fflush(stdout) == 0 && !ferror(stdout);
	if (!ok && errno != EPIPE)
		fprintf(stderr, "Error: cannot write the output: %s\n", g_strerror(errno));
	return ok || errno == EPIPE;
}
