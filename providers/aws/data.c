#include "aws/data.h"
#include <glib.h>
#include <string.h>

extern const struct rg_embedded aws_module_files[]; /* made by embed.py */

const struct rg_embedded *aws_data_find(const char *name)
{
	for (const struct rg_embedded *file = aws_module_files; file->name; file++)
		if (g_str_equal(file->name, name))
			return file;
	g_assert_not_reached();
}
