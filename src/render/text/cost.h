/* What `raygpu cost` shows: the spend as a table, JSON or CSV (RFC 4180). Pure; the caller owns the
 * results. `notes` are lines about the accuracy of the figures. */
#pragma once
#include "plan/spend.h"
#include "render/render.h"

/* Before `history_from_s` only what still existed is known; 0: everything is. */
char *rg_render_cost(const RgSpend *spend, int64_t history_from_s, const RgStyle *style);
json_t *rg_render_cost_json(const RgSpend *spend, int64_t history_from_s);
char *rg_render_cost_csv(const RgSpend *spend);
