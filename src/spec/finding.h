/* One fault of a spec's shape, on its way from the schema check to a message: value.c describes
 * faults of a value, shape.c those of a mapping's keys and a list's items. src/spec only. */
#pragma once
#include "base/json_schema.h"
#include "spec/document.h"

typedef struct {
	const RgSchemaFinding *found;
	const char *path;	/* "pools.train.nodes" */
	const json_t *synonyms; /* of the schema: {"max_workers": ["nodes"]}; NULL: none */
	RgDocument *document;
	RgDiags *diags;
} RgFinding;

/* False if the keyword does not apply to a value by itself; nothing is reported then. */
bool rg_value_report(RgFinding *finding);
/* A word such as `no` without quotes. */
void rg_value_report_word11(RgFinding *finding, bool wants_boolean);
