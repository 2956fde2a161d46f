/* Tables of a text, with columns as wide as they must be; also for cmd. */
#pragma once
#include "render/render.h"

/* A table: rows of as many cells as the first, the heading (GStrv each). */
GPtrArray *table_new(const char *heads); /* "POOL,NODES" */
/* Copies of the cells, each on one line (clean); NULL ends them. */
void table_add(GPtrArray *table, ...) G_GNUC_NULL_TERMINATED;
/* Each column as wide as its widest cell, the heading in bold. */
void paint_rows(GString *text, const GPtrArray *table, const RgStyle *style);
typedef struct {
	const char *indent;
	unsigned numbers; /* number of columns after the first that are right-aligned */
	bool total;	  /* the last row is in bold too */
} TableLook;
void paint_table(
	GString *text, const GPtrArray *table, const TableLook *look, const RgStyle *style);
