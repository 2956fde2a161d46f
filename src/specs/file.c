/* One file: what it is, in the work tree or in a commit. */
#include "specs/internal.h"

void specs_file_free(gpointer data)
{
	RgSpecFile *file = data;
	g_free(file->path);
	g_free(file->cluster);
	g_free(file->was);
	if (file->files)
		g_ptr_array_unref(file->files);
	g_free(file);
}

RgSpecFile *specs_file_new(const char *path, RgSpecPeek *peek)
{
	RgSpecFile *file = g_new0(RgSpecFile, 1);
	file->path = g_strdup(path);
	file->cluster = g_steal_pointer(&peek->cluster);
	file->source = peek->source;
	file->files = g_steal_pointer(&peek->files);
	return file;
}

bool specs_is_yaml(const char *path)
{
	return g_str_has_suffix(path, ".yaml") || g_str_has_suffix(path, ".yml");
}

bool specs_peek(const char *path, const char *ref, RgSpecPeek *peek, RgDiags *diags)
{
	if (!ref)
		return rg_spec_peek_file(path, peek, diags);
	size_t len = 0;
	g_autoptr(RgProvenance) unused = NULL;
	g_autofree char *text = rg_git_read(path, ref, &len, &unused, diags);
	if (text)
		*peek = rg_spec_peek(path, text, len, &(RgSpecReader){specs_read_at, ref}, diags);
	return text != NULL;
}
