/* The interface between the program (load.c) and raygpu-archive.so. Both come from one build;
 * `version` and `size` only detect a mixed installation. */
#pragma once
#include "archive/pack.h"

typedef struct {
	size_t size;
	const char *version;
	bool (*write)(const char *path, const RgArchiveFile *files, size_t n, RgDiags *diags);
} RgArchiveModule;

/* The only symbol that the module exports; returns its RgArchiveModule. */
#define RG_ARCHIVE_SYMBOL "raygpu_archive_module"
const void *raygpu_archive_module(void);
