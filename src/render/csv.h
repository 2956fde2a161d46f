/* Tables for other programs, quoted as RFC 4180 says. */
#pragma once
#include <glib.h>

/* Adds one row: the fields, ended by NULL, quoted where they must be, and a line feed. */
void rg_csv_add_row(GString *to, ...) G_GNUC_NULL_TERMINATED;
