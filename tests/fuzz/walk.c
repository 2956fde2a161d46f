/* Runs a target on files: each argument is a file, or a folder with files. */
#include <stdio.h>
#include "fuzz.h"

static unsigned eat_file(const char *path)
{
	g_autofree char *bytes = NULL;
	size_t len;
	if (!g_file_get_contents(path, &bytes, &len, NULL))
		g_error("%s cannot be read", path);
	/* A copy of the exact size, so that reading one byte too many is detected. */
	g_autofree uint8_t *exact = g_memdup2(bytes, len);
	LLVMFuzzerTestOneInput(len > 0 ? exact : (const uint8_t *)"", len);
	return 1;
}

static unsigned eat(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	unsigned count = 0;
	if (!dir)
		return eat_file(path);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *inner = g_build_filename(path, name, NULL);
		count += eat(inner);
	}
	return count;
}

int main(int argc, char **argv)
{
	int code = argc > 1 ? 0 : 4;
	for (int i = 1; i < argc; i++) {
		unsigned count = eat(argv[i]);
		printf("%s: %u inputs\n", argv[i], count);
		if (count == 0)
			code = 1;
	}
	return code;
}
