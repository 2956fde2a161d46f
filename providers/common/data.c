#include "common/data.h"

const struct rg_embedded *mod_data_find(const struct rg_embedded *files, const char *name)
{
	const struct rg_embedded *file = rg_embedded_find(files, name);
	g_assert(file != NULL);
	return file;
}

GPtrArray *mod_rows(const char *csv, guint least, gint most)
{
	GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_auto(GStrv) lines = g_strsplit(csv, "\n", -1);
	for (char **line = lines; *line && *++line;) {
		GStrv fields = g_strsplit(*line, ",", most);
		if (g_strv_length(fields) >= least)
			g_ptr_array_add(rows, fields);
		else
			g_strfreev(fields);
	}
	return rows;
}
