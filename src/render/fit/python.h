/* Python text: a JSON value as a literal (True, False and None instead of JSON's words), and what
 * emitted modules have in common. Pure. */
#pragma once
#include "base/json.h"

/* Objects and lists of more than one line are indented by `indent` more than their line. */
void rg_python_append(GString *text, const json_t *value, unsigned indent);
/* Opens the mapping WORKLOADS of an emitted module, after a comment about `start_order`, if any. */
void rg_python_open_workloads(GString *text, const json_t *fit);
/* Closes the mapping WORKLOADS of an emitted module, and finds in it the entries of a workload. */
extern const char rg_python_finder[];
