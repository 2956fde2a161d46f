/* Version numbers such as "2.52.0", "570.195.03", "12.1": numbers separated by points, compared
 * number by number. Pure. */
#pragma once

/* Less than, equal to or greater than 0; if one ends early, it is the smaller one. */
int rg_version_compare(const char *a, const char *b);
/* Compares only the numbers that both have: "2.52" equals "2.52.3". */
int rg_version_compare_common(const char *a, const char *b);
