/* What `raygpu cost` shows: the spend as a table, JSON or CSV (RFC 4180). Pure; results are the
 * caller's. `notes` are lines that say how far the figures can be believed. */
#pragma once
#include "plan/spend.h"
#include "render/render.h"

/* `history_from_s`: before it, only what was still there is known; 0: all is. */
char *rg_render_cost(const RgSpend *spend, int64_t history_from_s, const RgStyle *style);
json_t *rg_render_cost_json(const RgSpend *spend, int64_t history_from_s);
char *rg_render_cost_csv(const RgSpend *spend);
