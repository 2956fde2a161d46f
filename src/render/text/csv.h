/* Tables for other programs, quoted according to RFC 4180. */
#pragma once
#include <glib.h>

/* Adds one row: the fields, ended by NULL, quoted where necessary, and a line feed. */
void rg_csv_add_row(GString *to, ...) G_GNUC_NULL_TERMINATED;
