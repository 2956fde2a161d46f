/* Keeps outside words in a log from being commands. A CI system reads the log of its job: GitHub's
 * runner obeys a line that begins with "::" after white space (ActionCommand.TryParseV2) and
 * "##[" anywhere in a line (ActionCommand.TryParse), other systems "##vso[" or "##teamcity[". Any
 * run of letters, digits, "." and "_" between "##" and "[" counts. */
#pragma once
#include <glib.h>

/* A copy in which no line is such a command: one ":" or "#" of each is U+FFFD, so that widths
 * stay. g_free it. */
char *rg_disarm(const char *text);
/* The same for a JSON text, which stays the same document: "#" is written as \u0023. */
char *rg_disarm_json(const char *text);
