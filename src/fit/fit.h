/* fit: cluster + catalog + facts from the cloud -> the fitted document (README.md beside this
 * file), which boot completes and a module lowers. Pure, in two steps, because facts come from the
 * cloud in between; the caller owns all results. Any thread may use it on its own results.
 *
 * `pins` is what the state remembers, so that neither tomorrow's catalog nor a newer default image
 * changes running nodes. One object, or NULL before the first apply:
 *   {"facts": the `facts` of the last fitted document, or null,
 *    "nodes": {"head" or "POOL/INDEX":
 *        {"instance_type": text, "zone": text, "image_key": text, "image_id": text,
 *         "price_microusd_hour": integer or null, "price_date": text or null,
 *         "price_quality": text or null, "reason": text or null, "market": text, absent: on-demand,
 *         "reservation": id, absent: none}},
 *    "kept": {"POOL/INDEX": as in `nodes`}, of nodes that went when their pool was disabled;
 *        absent: none,
 *    "reservations": {id: facts of the provider's `resolve`, null if there is no such}; absent:
 *        nobody asked, so that the pools' types are chosen as without a reservation,
 *    "types": {NAME: as the provider's `resolve` describes it}, of types that no table has and that
 *        the catalog was given; absent: none,
 *    "types_later": true if the cloud will be asked about such types: they are a warning,
 *    "settings": the spec's provider settings on which the facts depend; absent: none,
 *    "zone_maps": [those whose keys are the allowed zones]; absent: none,
 *    "pool_settings": {POOL: settings of the provider module for its nodes}; absent: none,
 *    "pool_cpus": {POOL: those of them that change its CPUs, as {"value": their number} or
 *        {"per_core": threads of each core}}; absent: none,
 *    "pool_labels": {POOL: {SETTING: labels that its nodes have in Ray}}; absent: none,
 *    "pool_limits": {POOL: settings that limit which of a stock suit it}; absent: none,
 *    "lacking": {POOL: [instance types of which too few are free for its new nodes]}; absent: none,
 *    "image": the rules of the provider's schema.json; absent: none,
 *    "reoptimize": true to ignore pinned instance types,
 *    "renew_images": true to ignore pinned images}
 * A missing member counts as not pinned. The rules are in README.md. */
#pragma once
#include "catalog/catalog.h"
#include "spec/cluster.h"

/* Each pool with its instance type. Borrows the cluster, the catalog and the pins. */
typedef struct RgShapes RgShapes;

/* NULL and diagnostics (catalog.*, fit.*) at the spec's lines if a pool has no suitable type; with
 * `types_later`, only warnings if nothing else is wrong. */
RgShapes *rg_fit_shapes(
	const RgCluster *cluster, const RgCatalog *catalog, const json_t *pins, RgDiags *diags);
void rg_fit_shapes_free(RgShapes *shapes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgShapes, rg_fit_shapes_free)
/* The input of the provider's `resolve` (provider.h): only what the pins do not answer. Borrowed;
 * NULL if there is nothing to ask. */
const json_t *rg_fit_request(const RgShapes *shapes);

/* Whether the pool's nodes must be in one zone. */
bool rg_fit_is_gathered(const RgPool *pool);
/* The fitted document, a new reference. `facts`: the reply of resolve, NULL if nothing was asked.
 * `lineage`: 32 hex digits, or NULL before the first apply. NULL and diagnostics on error; unknown
 * prices are warnings (catalog.no-price). `lacking` gets {POOL: instance type} of which too few are
 * free (fit.no-stock). */
json_t *rg_fit(const RgCluster *cluster, const RgShapes *shapes, const json_t *facts,
	const json_t *pins, const char *lineage, json_t *lacking, RgDiags *diags);
