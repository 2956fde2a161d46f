#include "spec/disk.h"
#include <string.h>
#include "base/json.h"

int64_t rg_disk_gib(const json_t *size)
{
	if (!json_is_string(size))
		return (int64_t)json_number_value(size);
	char *unit;
	guint64 number = g_ascii_strtoull(json_string_value(size), &unit, 10);
	return (int64_t)number * (strchr(unit, 'T') ? 1024 : 1);
}
