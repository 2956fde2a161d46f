/* Texts of a fit report (schemas/fit.schema.json, made by src/fit/workloads.h). Pure; the caller
 * owns the results (g_free). */
#pragma once
#include "render/render.h"

/* The whole report: workloads, pools, why not elsewhere, Ray's options. */
char *rg_render_fit(const json_t *fit, const RgStyle *style);
/* Its first part, as a plan shows it. */
void rg_render_fit_into(GString *text, const json_t *fit, const RgStyle *style);
/* Its "cost": a table of pools at their minimum and maximum number of nodes. */
void rg_render_fit_cost_into(GString *text, const json_t *cost, const RgStyle *style);
/* A Python module of Ray's options. */
char *rg_render_fit_python(const json_t *fit);
