/* Inside fit: shapes.c fills, facts.c merges, zone.c chooses, fit.c writes the document. */
#pragma once
#include "catalog/carbon.h"
#include "catalog/compat.h"
#include "catalog/mig.h"
#include "fit/offers.h"
#include "fit/policy.h"

typedef struct RgShape RgShape;

/* One node: the contents of its pin, borrowed; NULL where it is not pinned. */
typedef struct {
	const json_t *pin;
	bool is_kept;	      /* the pin is of a node that went when its pool was disabled */
	const RgShape *as;    /* its pool's shape, or the variant of it that the node is */
	const char *zone;     /* pinned and admitted by the spec */
	const char *image_id; /* pinned under the pool's image key */
	bool same_type;	      /* pinned with the type of `as` */
} RgFitNode;

struct RgShape {
	const RgPool *pool;
	const RgInstanceType *type;
	bool is_spot;
	const json_t *reservation; /* the facts of its pool's; NULL: none, or not known */
	char *reason;		   /* why this type; NULL: an older state's pin, which has none */
	unsigned preference;	   /* which of the accelerators asked for it has, from 0 */
	const char *image_key;	   /* borrowed from the pool, or static */
	char *ray_image;	   /* instead of the cluster's default one; NULL: that one */
	const char *pinned_image;  /* image id of the lowest pinned node, for new ones */
	RgFitNode *nodes;	   /* rg_fit_wanted of the pool; of a disabled one only pins */
	unsigned homeless;	   /* nodes without a zone yet */
	const char *gathered;	   /* zone of a pool with a placement and nodes; NULL: none */
	GHashTable *nodes_in;	   /* zone -> number of nodes that keep it; keys borrowed */
	GPtrArray *slices; /* of each GPU, RgMigProfile* borrowed from the catalog; NULL: whole */
	unsigned starts[RG_MIG_MAX_SLICES]; /* where each lies */
	GPtrArray *variants; /* RgShape*: the same pool with other types or on the other market */
	unsigned rank;	     /* among them; 0: the shape itself */
	bool opened;	     /* all that may stand in for it are among them, best first */
};

struct RgShapes {
	const RgCluster *cluster;
	const RgCatalog *catalog;
	GPtrArray *shapes; /* RgShape*: head, then pools in the order of the file */
	json_t *settings, *zone_maps, *image; /* of the pins; NULL: none */
	json_t *reservations;		      /* of the pins; NULL: not asked about */
	bool moved; /* the pinned facts were resolved with other settings */
	json_t *request;
	RgMig *mig; /* opened when a pool requests it */
	RgCompat *compat;
	RgCarbon *carbon;  /* opened if the spec optimizes for it */
	bool reoptimize;   /* pinned types are ignored */
	bool renew_images; /* pinned images are ignored */
};

/* How many nodes of a pool are fitted: the first stands for all of an elastic pool. */
static inline unsigned rg_fit_count(const RgPool *pool)
{
	return pool->is_elastic ? MIN(pool->nodes_max, 1) : pool->nodes;
}

/* The same if the pool were enabled. */
static inline unsigned rg_fit_wanted(const RgPool *pool)
{
	if (!pool->is_disabled)
		return rg_fit_count(pool);
	return pool->is_elastic ? MIN(pool->wanted_max, 1) : pool->wanted;
}

#define RG_FIT_DEFAULT_IMAGE "default/x86_64"
#define RG_FIT_OLD_GPU_IMAGE "default/x86_64/proprietary"

/* choose.c: sets the shape's type and reason. False with catalog.* or fit.* at the spec's lines. */
bool rg_fit_choose_type(RgShapes *shapes, const RgCluster *cluster, RgShape *shape, RgDiags *diags);
/* Whether a node of the shape may stay what its pin says. */
bool rg_fit_keeps_type(const RgShapes *shapes, const RgCluster *cluster, const RgShape *shape,
	const RgInstanceType *type);

/* variants.c: whether the pool's node of that index may be bought so. */
bool rg_fit_admits_market(const RgPool *pool, unsigned index, bool is_spot);
/* The shape with that type and market, made when first asked for. NULL: its GPUs can't be shared as
 * the pool requires. */
RgShape *rg_fit_variant(RgShapes *shapes, RgShape *shape, const RgInstanceType *type, bool is_spot);
/* Makes all variants that may stand in for the shape: type by type in the order of preference, each
 * on the pool's market, then on the one that it falls back to. Nothing stands in for a
 * reservation. */
void rg_fit_open(RgShapes *shapes, const RgCluster *cluster, RgShape *shape);
/* What the shape's nodes boot: the key of the node image and, if the spec leaves it to raygpu, the
 * container image. */
void rg_fit_choose_images(const RgShapes *shapes, RgShape *shape);

/* offers.c: the price assumed for a spot node of the zone, by its name in the price table: the
 * zone's own if the catalog has one, else that of the region's most expensive zone. NULL: none is
 * known. */
const RgPrice *rg_fit_spot_price(const RgInstanceType *type, const char *region, const char *zone);

/* Whether NVIDIA's open kernel modules support the GPU: they are for Turing and later (NVIDIA's
 * driver README, "Open Linux Kernel Modules"); older GPUs need the proprietary ones. */
bool rg_fit_takes_open_driver(const RgInstanceType *type);
/* Whether it supports nothing else: Blackwell and Grace Hopper (NVIDIA's announcement of driver
 * R560). */
bool rg_fit_needs_open_driver(const RgInstanceType *type);

/* Facts of the reply merged over those of the pins, reduced to what the shapes use; new
 * reference. */
json_t *rg_fit_merge_facts(const RgShapes *shapes, const json_t *facts, const json_t *pins);

/* False and fit.no-placement if the type cannot be placed as the pool requires (placement.c). */
bool rg_fit_check_placement(const RgPool *pool, const RgInstanceType *type, RgDiags *diags);
/* False and fit.no-rdma if the pool requires RDMA and the type has no adapters (placement.c). */
bool rg_fit_check_rdma(const RgPool *pool, const RgInstanceType *type, RgDiags *diags);
/* A pool with a placement or RDMA is in one zone: nodes pinned elsewhere become homeless. */
void rg_fit_gather(RgShape *shape);

/* reservation.c: the type of the pool's reservation, if the pool admits it; NULL with fit.* at the
 * spec's lines. Sets the shape's reservation. */
const RgInstanceType *rg_fit_reserved_type(
	const RgShapes *shapes, RgShape *shape, const RgWish *wish, RgDiags *diags);
/* Whether the pool's nodes may be there, by its list and its reservation. */
bool rg_fit_admits_zone(const RgShape *shape, const char *zone);
/* How the pool's nodes are bought, in the document's word. */
const char *rg_fit_market_word(const RgShape *shape);

bool rg_fit_has_zone(const json_t *facts, const char *zone);
/* Whether nodes can be placed in the zone, and the type is offered there as far as the facts
 * say. */
bool rg_fit_zone_works(const json_t *facts, const RgInstanceType *type, const char *zone);
/* The zones of the pool where the type can be, best first; the first is where its new nodes go.
 * Texts borrowed from facts or cluster. */
GPtrArray *rg_fit_rank_zones(const RgShapes *shapes, const RgShape *shape,
	const RgInstanceType *type, const json_t *facts);
/* Where the pool's homeless nodes go; borrowed from facts or cluster. NULL with fit.no-zone or
 * fit.zone-not-offered. `beside`: the zone to prefer if the spec lists none, or NULL. */
const char *rg_fit_choose_zone(const RgShapes *shapes, const RgShape *shape, const json_t *facts,
	const char *beside, const char *region, RgDiags *diags);

/* node.c: nodes of a pool that are equal in all that the document says. Borrowed texts. */
typedef struct {
	const RgShape *as;
	const char *zone, *image_id, *price_date, *price_quality, *reason;
	int64_t price;
	json_t *indexes;
} RgFitGroup;

/* Their entry of `nodes`, without `boot`; a new reference. */
json_t *rg_fit_node(const RgCluster *cluster, const json_t *facts, const RgFitGroup *group);
/* Pinned for nodes that stay as they are, today's for all others; `node` may be NULL. */
void rg_fit_set_price(
	const RgCluster *cluster, const json_t *facts, const RgFitNode *node, RgFitGroup *group);
/* Of a new node: that of its like, else today's. Borrowed. */
const char *rg_fit_image_of(const json_t *facts, const RgShape *shape);
/* False with fit.bad-facts, fit.image-arch or fit.disk-too-small. */
bool rg_fit_check_image(const json_t *facts, const RgShape *shape, RgDiags *diags);

/* share.c: cuts the shape's GPUs as its pool says. False with fit.mig-* or fit.no-gpu-to-share. */
bool rg_fit_share(RgShapes *shapes, RgShape *shape, RgDiags *diags);

/* ray.c: what Ray sees of a node. Divided GPUs count as their slices. */
unsigned rg_fit_ray_gpus(const RgShape *shape);
/* The marketed size of each; of different slices the smallest, because Ray cannot distinguish
 * them. */
unsigned rg_fit_gpu_memory_gb(const RgShape *shape);
/* The same as the GPU reports it: what requests in GiB are compared with. */
double rg_fit_gpu_memory_gib(const RgShape *shape);
/* Main memory of a node that Ray offers to tasks, in MiB. */
int64_t rg_fit_ray_memory_mib(const RgShape *shape);
/* "1g.5gb", "mixed", or NULL without slices. g_free the result. */
char *rg_fit_slice_word(const RgShape *shape);
/* New references; without the zone's label if `zone` is NULL. */
json_t *rg_fit_labels(const RgCluster *cluster, const RgShape *shape, const char *zone);
json_t *rg_fit_resources(const RgShape *shape);
/* NULL if the GPUs are not shared. */
json_t *rg_fit_share_json(const RgShape *shape);

/* policy.c, compat.c: of one shape or variant alone; findings go into `diags`, which is empty. */
bool rg_fit_policy_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const RgLimits *limits, size_t n, RgDiags *diags);
bool rg_fit_compat_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const json_t *facts, RgDiags *diags);
