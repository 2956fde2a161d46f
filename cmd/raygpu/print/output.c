#include "print/stream.h"
#include <errno.h>
#include <stdio.h>

static void put_err(Context *context, const char *text)
{
	if (stream_shown(context))
		return;
	status_clear(context);
	fflush(stdout);
	out_put(text, stderr);
}

void err_text(Context *context, const char *text)
{
	stream_log(context, text);
	put_err(context, text);
}

void print_diags(Context *context, const RgDiags *diags)
{
	if (!rg_diags_count(diags))
		return;
	stream_diags(context, diags);
	g_autofree char *text = rg_render_diags(diags, &context->err);
	put_err(context, text);
}

/* GLib's own texts name temporary files and begin in upper case: only the reason is used. */
static const char *reason_of(const GError *error)
{
	static const struct {
		int code, number;
	} reasons[] = {{G_FILE_ERROR_NOENT, ENOENT}, {G_FILE_ERROR_ACCES, EACCES},
		{G_FILE_ERROR_PERM, EPERM}, {G_FILE_ERROR_ISDIR, EISDIR},
		{G_FILE_ERROR_NOTDIR, ENOTDIR}, {G_FILE_ERROR_NOSPC, ENOSPC},
		{G_FILE_ERROR_ROFS, EROFS}, {G_FILE_ERROR_IO, EIO}, {G_FILE_ERROR_LOOP, ELOOP},
		{G_FILE_ERROR_MFILE, EMFILE}, {G_FILE_ERROR_NAMETOOLONG, ENAMETOOLONG},
		{G_FILE_ERROR_EXIST, EEXIST}, {G_FILE_ERROR_TXTBSY, ETXTBSY}};
	for (size_t i = 0; error->domain == G_FILE_ERROR && i < G_N_ELEMENTS(reasons); i++) {
		if (error->code == reasons[i].code)
			return g_strerror(reasons[i].number);
	}
	return error->message;
}

void report_unwritable(Context *context, const char *path, const GError *error)
{
	RgDiag *diag = rg_diags_error(context->diags, "file.unwritable",
		"\"%s\" cannot be written: %s", path, reason_of(error));
	rg_diag_hint(diag, "check the path and the permissions of its folder");
}

void report_unreadable(Context *context, const char *path, const GError *error)
{
	rg_diags_error(context->diags, "file.unreadable", "\"%s\" cannot be read: %s", path,
		reason_of(error));
}

void status_clear(Context *context)
{
	if (!context->status_shown)
		return;
	fputs("\r\033[K", stderr);
	context->status_shown = false;
}

/* Shows what is being read, on a terminal only: a CI log gets only the result. */
void status_progress(void *data, const char *stage, const char *what, size_t n, bool done)
{
	Context *context = data;
	if (!context->live || done)
		return;
	g_autofree char *line = n ? g_strdup_printf("%s %s: %zu", stage, what, n)
				  : g_strdup_printf("%s %s", stage, what);
	g_autofree char *shown = rg_render_printable(line);
	fprintf(stderr, "\r\033[K%.*s", (int)context->err.width - 1, shown);
	fflush(stderr);
	context->status_shown = true;
}

void status_lock(void *data, const char *cluster, const char *holder, unsigned left_s)
{
	Context *context = data;
	if (!cluster) {
		g_autofree char *away = g_strdup_printf(
			"The connection to the state was lost; trying again for up to %u s.\n",
			left_s);
		err_text(context, away);
		return;
	}
	g_autofree char *line = g_strdup_printf(
		"Waiting for the lock of cluster \"%s\"%s%s. This can take up to %u s.\n", cluster,
		holder ? ", " : "", holder ? holder : "", left_s);
	err_text(context, line);
}

void status_waiting(void *data, const char *line)
{
	err_text(data, line);
}

void status_retry(
	void *data, const char *what, unsigned try_number, unsigned wait_ms, const char *why)
{
	Context *context = data;
	if (wait_ms < 1000)
		return;
	g_autofree char *line = g_strdup_printf("%s: %s; trying again in %u s (try %u)\n",
		what ? what : "request", why, (wait_ms + 500) / 1000, try_number);
	stream_log(context, line);
	if (stream_shown(context))
		return;
	fputs(context->live ? "\r\033[K" : "", stderr);
	out_put(line, stderr);
}
