#include "print/stream.h"
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* A thread counts signals, so reading must not block Ctrl-C. */
static bool read_line(char *line, int size)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	while (!signals_came(NULL)) {
		if (poll(&input, 1, 100) > 0)
			return fgets(line, size, stdin) != NULL;
	}
	return false;
}

/* Terraform's question: only the complete word counts. */
bool confirm(Context *context, const char *question, const char *what, const char *otherwise)
{
	bool asks = !stream_shown(context);
	if (!asks || !isatty(STDIN_FILENO)) {
		RgDiag *diag = rg_diags_error(context->diags, "apply.no-terminal",
			asks ? "cannot ask for approval: no terminal"
			     : "cannot ask for approval with --json");
		rg_diag_hint(diag, "%s", otherwise);
		return false;
	}
	fflush(stdout);
	fputs(question, stderr);
	char line[64] = "";
	bool yes = read_line(line, sizeof(line)) && g_str_equal(g_strstrip(line), "yes");
	fputs("\n", stderr);
	if (!yes)
		rg_diags_error(context->diags, "apply.declined", "%s cancelled", what);
	return yes;
}
