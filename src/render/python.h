/* A JSON value as a Python literal: True, False and None instead of JSON's words. Pure. */
#pragma once
#include "base/json.h"

/* Objects and lists of more than one line are indented by `indent` more than their line. */
void rg_python_append(GString *text, const json_t *value, unsigned indent);
