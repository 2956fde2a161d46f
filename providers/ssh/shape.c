/* The GPUs of a host, by the name that plans use: an inventory may say A100 as a pool may. */
#include "ssh/data.h"
#include "ssh/inventory.h"
#include <string.h>

#define NO_GPUS "cpu"

static bool is_named(const char *names, const char *word)
{
	g_auto(GStrv) all = g_strsplit(names, "|", -1);
	for (char **name = all; *name; name++)
		if (!g_ascii_strcasecmp(*name, word))
			return true;
	return false;
}

/* The model of the catalog's table: the one that is called so, else the first that has this name
 * too. NULL: none has; the project file may. g_free */
static char *model_of(const char *word)
{
	g_autoptr(GPtrArray) rows = mod_rows(ssh_data_find("gpu_models.csv")->data, 2, -1);
	const char *first = NULL;
	mod_ptr_foreach (ModField, row, rows) {
		if (!g_ascii_strcasecmp(row[0], word))
			return g_strdup(row[0]);
		if (!first && is_named(row[g_strv_length(row) - 1], word))
			first = row[0];
	}
	return g_strdup(first);
}

int64_t ssh_shape_gpus(const char *shape)
{
	const char *colon = strchr(shape, ':');
	return colon ? g_ascii_strtoll(colon + 1, NULL, 10) : 0;
}

bool ssh_is_shape(const char *name)
{
	return g_str_equal(name, NO_GPUS) || ssh_shape_gpus(name) > 0;
}

char *ssh_shape_of(const char *gpus)
{
	const char *colon = gpus ? strchr(gpus, ':') : NULL;
	if (!colon)
		return g_strdup(NO_GPUS);
	g_autofree char *word = g_strndup(gpus, (gsize)(colon - gpus));
	g_autofree char *model = model_of(word);
	return g_strdup_printf("%s:%" G_GUINT64_FORMAT, model ? model : word,
		g_ascii_strtoull(colon + 1, NULL, 10));
}
