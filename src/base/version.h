/* Version numbers as software writes them, "2.52.0", "570.195.03", "12.1": numbers between points,
 * compared number by number. Pure. */
#pragma once

/* Less than, equal to or greater than 0; where one ends early, it is the smaller one. */
int rg_version_compare(const char *a, const char *b);
/* The same over the numbers that both have: "2.52" and "2.52.3" are one. */
int rg_version_compare_common(const char *a, const char *b);
