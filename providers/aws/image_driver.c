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
	g_autoptr(GPtrArray) rows = mod_rows(aws_data_find("images.csv")->data, FIELDS, FIELDS + 1);
	mod_ptr_foreach (ModField, fields, rows) {
		if (!last || !strstr(name, fields[NAME]))
			continue;
		modules = fields[MODULES];
		if (*fields[FROM] && strverscmp(fields[FROM], last + 1) <= 0)
			version = fields[VERSION];
	}
	return modules ? json_pack("{s:s?, s:s}", "version", version, "modules", modules) : NULL;
}
