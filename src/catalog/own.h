/* own: GPU models, instance types and prices that a project adds to the built-in tables (`catalog`
 * of raygpu.yaml). An input of every catalog that is opened: the built-in rows are read first, then
 * these are added or override them, so that readers see one catalog. Borrowed while a catalog is
 * opened; nothing of it is kept. Any thread. */
#pragma once
#include "base/json.h"

typedef struct {
	/* {gpus, instance_types: {PROVIDER: ..}, prices: {PROVIDER: [..]}}, in the form of
	 * `catalog` in schemas/project.schema.json */
	const json_t *rows;
	/* where the value at a JSON pointer into `rows` is */
	RgSource (*source)(const void *data, const char *pointer);
	const void *data;
} RgOwnRows;
