#include "sim/core/user_data.h"
#include <string.h>
#include "base/json.h"
#include "resource/gzip.h"

#define HEAD "#cloud-config\n"
#define TEXT_MAX (1024 * 1024)

json_t *rg_sim_user_config(const void *user_data, gsize len)
{
	g_autoptr(GBytes) given = g_bytes_new(user_data, len);
	g_autoptr(GBytes) unpacked = rg_gunzip(given, TEXT_MAX);
	gsize size = 0;
	const char *text = g_bytes_get_data(unpacked ? unpacked : given, &size);
	if (size < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0)
		return NULL;
	return json_loadb(text + strlen(HEAD), size - strlen(HEAD), 0, NULL);
}

const json_t *rg_sim_user_file(const json_t *config, const char *path)
{
	rg_json_foreach (file, json_object_get(config, "write_files"))
		if (g_str_equal(rg_json_str(file, "path", ""), path))
			return file;
	return NULL;
}
