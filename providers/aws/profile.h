/* Reads AWS's shared credentials and config files. They look like key files but have `;` comments,
 * nested sections, blanks in headers and unusual keys, for which GLib's parser rejects the whole
 * file, so it gets only the relevant lines. Pure; any thread. */
#pragma once
#include "common/talk.h"

/* The text as a key file: section names stripped ("profile x"), keys in lower case; comments and
 * lines of unknown form are omitted; a setting of a nested block is "block.key". Never NULL. */
GKeyFile *aws_profile_parse(struct rgp_bytes text);
/* A value without blanks around it, NULL if absent or empty. g_free. */
char *aws_profile_value(GKeyFile *file, const char *section, const char *key);
