/* Shapes: what the nodes of each pool are, and what Ray sees of them. fit fills them; whether
 * workloads fit on them is decided in src/workloads. */
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
	json_t *config;		   /* the pool's of the pins' pool_settings, borrowed; NULL: none */
	const json_t *cpus;	   /* the pool's of the pins' pool_cpus, borrowed; NULL: none */
	const json_t *labels;	   /* the pool's of the pins' pool_labels, borrowed; NULL: none */
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
	/* of the pins; NULL: none */
	json_t *settings, *zone_maps, *pool_settings, *pool_cpus, *pool_labels, *pool_limits,
		*lacking, *image;
	json_t *reservations; /* of the pins; NULL: not asked about */
	bool moved;	      /* the pinned facts were resolved with other settings */
	json_t *request;
	RgMig *mig; /* opened when a pool requests it */
	RgCompat *compat;
	RgCarbon *carbon;  /* opened if the spec optimizes for it */
	bool types_later;  /* of the pins */
	bool reoptimize;   /* pinned types are ignored */
	bool renew_images; /* pinned images are ignored */
};

/* images.c: what the shape's nodes boot: the key of the node image and, if the spec leaves it to
 * raygpu, the container image. */
void rg_fit_choose_images(const RgShapes *shapes, RgShape *shape);

/* offers.c: the price assumed for a spot node of the zone, by its name in the price table: the
 * zone's own if the catalog has one, else that of the region's most expensive zone. NULL: none is
 * known. */
const RgPrice *rg_fit_spot_price(const RgInstanceType *type, const char *region, const char *zone);
/* What the spot nodes of a pool of `count` nodes cost in that zone, in micro-USD per hour; 0 if it
 * has none, or no price is known. */
int64_t rg_fit_spot_sum(const RgCluster *cluster, const RgShape *shape, const RgInstanceType *type,
	const char *zone, unsigned count);

/* share.c: cuts the shape's GPUs as its pool says. False with fit.mig-* or fit.no-gpu-to-share. */
bool rg_fit_share(RgShapes *shapes, RgShape *shape, RgDiags *diags);

/* ray.c: what Ray sees of a node. Divided GPUs count as their slices. */
unsigned rg_fit_ray_gpus(const RgShape *shape);
/* The CPUs that Ray counts on a node of the shape, and false if they are not known. */
bool rg_fit_ray_cpus(const RgShape *shape, unsigned *cpus);
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
/* policy.c, compat.c: of one shape or variant alone; findings go into `diags`, which is empty. */
bool rg_fit_policy_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const RgLimits *limits, size_t n, RgDiags *diags);
bool rg_fit_compat_admits(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const json_t *facts, RgDiags *diags);
