/* Prevents text from outside from acting as a command in a log. A CI system reads the log of its
 * job: GitHub's runner executes a line that begins with "::" after white space
 * (ActionCommand.TryParseV2) and "##[" anywhere in a line (ActionCommand.TryParse), other systems
 * "##vso[" or "##teamcity[". This covers any run of letters, digits, "." and "_" between "##" and
 * "[". */
#pragma once
#include <glib.h>

/* A copy without such commands: one ":" or "#" of each becomes U+FFFD, so that widths do not
 * change. g_free it. */
char *rg_disarm(const char *text);
/* The same for a JSON text, whose meaning does not change: "#" is written as \u0023. */
char *rg_disarm_json(const char *text);
