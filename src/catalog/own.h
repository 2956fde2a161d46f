/* own: GPU models, instance types and prices that a project states beside the built-in tables
 * (`catalog` of raygpu.yaml). An input of every catalog that is opened: the built-in rows are read
 * first, then these are added or put over them, so that whoever reads a catalog sees one.
 * Borrowed while a catalog is opened; nothing of it is kept. Any thread. */
#pragma once
#include "base/json.h"

typedef struct {
	/* {gpus, instance_types: {PROVIDER: ..}, prices: {PROVIDER: [..]}}, of the shape that
	 * schemas/project.schema.json gives `catalog` */
	const json_t *rows;
	/* where the value at a JSON pointer into `rows` stands */
	RgSource (*source)(const void *data, const char *pointer);
	const void *data;
} RgOwnRows;
