#include "aws/image_driver.h"
#include "aws/data.h"
#include <glib.h>
#include <string.h>

enum { NAME, FROM, VERSION, MODULES, FIELDS };

/* A row of images.csv applies to names that contain its text; its version to those that end with a
 * date or a version ("71.6") not before "from". Rows are ordered by "from". */
json_t *aws_image_driver(const char *name)
{
	const char *last = strrchr(name, ' '), *version = NULL, *modules = NULL;
	g_auto(GStrv) rows = g_strsplit(aws_data_find("images.csv")->data, "\n", -1);
	g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	for (size_t i = 1; rows[0] && rows[i] && *rows[i] && last; i++) {
		GStrv fields = g_strsplit(rows[i], ",", FIELDS + 1);
		g_ptr_array_add(kept, fields);
		if (g_strv_length(fields) <= MODULES || !strstr(name, fields[NAME]))
			continue;
		modules = fields[MODULES];
		if (*fields[FROM] && strverscmp(fields[FROM], last + 1) <= 0)
			version = fields[VERSION];
	}
	return modules ? json_pack("{s:s?, s:s}", "version", version, "modules", modules) : NULL;
}
