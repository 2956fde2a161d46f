/* The body of an EC2 Query request: JSON parameters under their wire names -> ordered form pairs.
 * Lists are flattened from 1 (Filter.1.Value.2), members joined with dots, as in the `ec2` protocol
 * of botocore's service description (API 2016-11-15). Pure. */
#pragma once
#include "common/talk.h"

#define AWS_EC2_VERSION "2016-11-15"

/* "Action=...&Version=...&..."; members in the order of `params` (an object, or NULL). Values are
 * strings, integers, booleans, arrays and objects; null and empty arrays send nothing. g_free. */
char *aws_form_format(const char *action, const json_t *params);
/* The same for another service's version of the API (STS). */
char *aws_form_format_version(const char *action, const char *version, const json_t *params);

/* Adds {"Name": name, "Value": [values...]} to params' "Filter" list. */
void aws_form_filter(json_t *params, const char *name, const char *const *values, size_t count);
