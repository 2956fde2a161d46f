/* Reads AWS's shared credentials and config files. They look like key files but are not: `;`
 * comments, nested sections, blanks in headers and odd keys, which GLib's parser refuses with the
 * whole file, so only lines that matter are handed to it. Pure; any thread. */
#pragma once
#include "common/talk.h"

/* The text as a key file: section names stripped ("profile x"), keys in lower case, comments,
 * and lines of no known form left out; a setting of a nested block is "block.key". Never NULL. */
GKeyFile *aws_profile_parse(struct rgp_bytes text);
/* A value without blanks around it, NULL when absent or empty. g_free. */
char *aws_profile_value(GKeyFile *file, const char *section, const char *key);
