/* Texts of a fit report (schemas/fit.schema.json, made by src/workloads/workloads.h). Pure; the
 * caller owns the results (g_free). */
#pragma once
#include "render/render.h"

/* The whole report: workloads, pools, why not elsewhere, Ray's options. */
char *rg_render_fit(const json_t *fit, const RgStyle *style);
/* Its first part, as a plan shows it. */
void rg_render_fit_into(GString *text, const json_t *fit, const RgStyle *style);
/* Its "cost": a table of pools at their minimum and maximum number of nodes. */
void rg_render_fit_cost_into(GString *text, const json_t *cost, const RgStyle *style);
/* What rg_fit_explain found. */
char *rg_render_fit_explained(const json_t *explained, const RgStyle *style);
/* A Python module of Ray's options. */
char *rg_render_fit_python(const json_t *fit);
/* Of what rg_fit_emit made (workloads/emit.h): a Python module with a ScalingConfig, or the options
 * of a deployment, for each workload. */
char *rg_render_fit_train(const json_t *emitted);
char *rg_render_fit_serve(const json_t *emitted);
