/* The checked, typed, located cluster: what a spec file means. Made by rg_spec_load (spec.h), read
 * by fit and boot. Owns everything it points to, immutable once returned, freed once by the
 * pipeline. Safe to read from any thread. */
#pragma once
#include "base/json.h"
#include "spec/accelerator.h"
#include "spec/lease.h"
#include "spec/workload.h"

/* Room for the driver image, a Ray image and its layers, some data. */
#define RG_DISK_DEFAULT_GIB 100

typedef struct {
	int64_t size_gb;		/* 0 = RG_DISK_DEFAULT_GIB, or what the image needs */
	char *type;			/* the cloud's name for it; NULL = the provider's default */
	int64_t iops, throughput_mib_s; /* 0 = what the type has */
	RgSource source;
} RgDisk;

/* How each GPU is shared; all members empty: it is not. */
typedef struct {
	GStrv mig;	      /* one profile, or the slices of one GPU; NULL: no MIG */
	bool mig_is_list;     /* false: as many of mig[0] as fit on the GPU */
	unsigned time_slices; /* 0: none */
	/* not of a GPU but of a node: "node", its GPUs are of one worker; "gpu", others may use the
	 * rest; "": not said */
	const char *of;
	RgSource source;
} RgShare;

/* How nodes are bought. */
typedef struct {
	bool is_spot;
	bool falls_back;      /* what spot has no capacity for is bought on demand */
	unsigned floor;	      /* nodes of a spot pool, of the lowest indexes, bought on demand */
	int64_t max_microusd; /* an hour, of one spot node; 0: the spec has no limit */
	char *reservation;    /* id of reserved capacity; NULL: none */
	RgSource source;      /* of the limit or the reservation, else of `market` */
} RgMarket;

/* One pool of equal nodes; the head is a pool of one with role head. */
typedef struct {
	char *name;   /* "head" or the key in `pools` */
	char *origin; /* JSON pointer into the spec: "/head", "/pools/train" */
	bool is_head;
	RgSource source;	 /* the pool's key */
	GPtrArray *accelerators; /* RgAccelerator*, best first; NULL if instance_type is given */
	char *instance_type;	 /* NULL if accelerators is given */
	RgSource shape_source;	 /* value of accelerators or instance_type */
	unsigned nodes;		 /* fixed count, 0 is allowed for workers; 1 for the head */
	unsigned nodes_max;	 /* above `nodes` in an elastic pool, whose minimum is `nodes` */
	bool is_elastic;	 /* nodes: {min, max} */
	/* `enabled: false` of the pool or of all workers: `nodes` and `nodes_max` are 0, and these
	 * are what the spec says; otherwise they are the same */
	bool is_disabled;
	unsigned wanted, wanted_max;
	RgSource enabled_source; /* of the `enabled` that is false */
	RgSource nodes_source;
	GStrv zones; /* candidates in order; NULL = any */
	RgSource zones_source;
	char *image; /* cloud image id; NULL = the provider's default GPU image */
	RgSource image_source;
	char *driver; /* of NVIDIA, in `image`, "535.183.01"; NULL = not stated */
	RgDisk disk;
	RgShare share;
	bool gate;	 /* bad GPUs keep a node out of Ray */
	unsigned diag;	 /* level of `dcgmi diag` that each node must pass; 0: none */
	double min_gbps; /* sustained bandwidth of each node; 0: any */
	bool public_ip;	 /* each node gets a public address */
	bool placement;	 /* all nodes in one zone, as close to each other as the cloud allows */
	RgSource placement_source;
	bool rdma; /* each node gets the RDMA adapters of its type; all in one zone */
	RgSource rdma_source;
	RgMarket market;
	bool gang; /* its new nodes are created all or none */
	/* nodes that may be missing while they are replaced; at least 1 */
	unsigned max_unavailable;
	/* new nodes created before the old ones are removed; 0: the old ones go first */
	unsigned max_surge;
	unsigned ready_timeout_s; /* until a new node must have joined Ray; 0: not stated */
	bool protect;		  /* no plan may destroy or replace its nodes */
	RgLease lease;		  /* its own; the others have the cluster's */
	GStrv renamed_from;	  /* its earlier names, the last one first; NULL: none */
	json_t *labels; /* object of strings: Ray node labels of this pool, without the default ones
			 */
	json_t *resources; /* object of numbers: Ray custom resources */
	int num_cpus;	   /* that Ray counts on each node; -1: those of the machine */
	/* {"memory", "object_store_memory": bytes, "system_config": object}, each optional:
	 * settings of `ray start`; NULL: none */
	json_t *ray_start;
	json_t *env;	/* object of strings: environment of the Ray container */
	json_t *config; /* object: settings of the provider module for these nodes; NULL: none */
	/* {"initialization_commands", "setup_commands", "mounts"}, the pool's or the cluster's,
	 * lists as in the spec, no empty ones; NULL: none */
	json_t *prepare;
} RgPool;

typedef struct {
	char *version;	 /* "2.56.1" */
	char *python;	 /* "3.11"; NULL if not stated */
	char *image;	 /* container image, pinned tag, as nodes pull it */
	bool is_default; /* the spec states no image */
	bool auth_token; /* false only with `auth: none` */
	/* of the image's registry; NULL: no login */
	char *registry_user, *registry_secret;
	RgSource source;
} RgRay;

typedef struct {
	char *name;	/* of the module */
	char *region;	/* empty if not given */
	char *origin;	/* "/provider", or "/provider/any_of/0" */
	json_t *config; /* the rest of its mapping (endpoint, profile), object */
	RgSource source, region_source;
} RgProviderRef;

/* What makes one offer better than another. */
typedef enum {
	RG_OPTIMIZE_COST,
	RG_OPTIMIZE_CARBON,
	RG_OPTIMIZE_BALANCED, /* half price, half carbon, each as a multiple of the least */
} RgOptimize;

/* An existing resource that is to be recorded. */
typedef struct {
	char *address, *id;
	bool as_is;   /* what no cloud reports is assumed to be as in the spec */
	char *origin; /* "/imports/0" */
} RgSpecImport;

/* A pool that left the spec. */
typedef struct {
	char *pool;
	bool destroy;	/* false: its resources stay, and are forgotten */
	bool keep_tags; /* they keep their ownership marks */
	char *origin;	/* "/removed/old" */
} RgSpecRemoved;

typedef struct RgCluster {
	char *name;
	char *file;	     /* as the user named it */
	char *digest;	     /* SHA-256 hex of the canonical JSON view of the file */
	json_t *labels;	     /* object of strings: tags on every cloud resource */
	json_t *ignore_tags; /* array of patterns: keys that others also set; NULL: none */
	GPtrArray *places; /* RgProviderRef*: the candidates in order; one if there is no any_of */
	RgProviderRef provider; /* the chosen one, borrowed; initially the first */
	RgOptimize optimize;
	RgLease lease;
	RgRay ray;
	RgPool *head;
	GPtrArray *pools;     /* RgPool*, in the order of the file */
	GPtrArray *workloads; /* RgWorkload*, in the order of the file */
	json_t *jobs;	      /* by name, as in the file; NULL: none */
	GPtrArray *imports;   /* RgSpecImport*, in the order of the file */
	GPtrArray *removed;   /* RgSpecRemoved*, in the order of the file */
	GHashTable *sources;  /* JSON pointer (char*) -> RgSource*: the place of each value in the
				 file */
	GPtrArray *files;     /* char*: the spec and the files that it extends, the nearest first */
	json_t *view;	      /* the file as JSON (validate --json prints it) */
} RgCluster;

void rg_cluster_free(RgCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCluster, rg_cluster_free)

/* Chooses places[i]: the only change to a cluster after it was built, made by src/pipeline/place.c
 * before others read it. */
void rg_cluster_settle(RgCluster *cluster, guint i);
/* "on-demand" or "spot", as fitted document, pins and plans call it. */
const char *rg_market_word(bool is_spot);
/* The same of what a pool buys: nodes in a reservation are "reserved". */
const char *rg_pool_market_word(const RgPool *pool, bool is_spot);
/* Whether it has no nodes now: it is disabled, or the spec says 0. */
bool rg_pool_is_empty(const RgPool *pool);
/* Whether the pool's node of that index is first asked for on spot. */
bool rg_pool_is_spot(const RgPool *pool, unsigned index);
/* Where the value at `pointer` stands, or, when it is not in the file, its nearest parent.
 * "/provider/endpoint" is that of the place that holds. */
RgSource rg_cluster_source(const RgCluster *cluster, const char *pointer);
/* 0: the head, then the worker pools; NULL behind the last. Borrowed. */
const RgPool *rg_cluster_pool(const RgCluster *cluster, guint i);
/* The head or a worker pool; NULL: it has no such pool. */
const RgPool *rg_cluster_find_pool(const RgCluster *cluster, const char *name);
/* "cost", "carbon" or "balanced"; false for another word. */
bool rg_optimize_parse(const char *text, RgOptimize *optimize);
/* Head and workers: the number of nodes of the whole cluster. */
unsigned rg_cluster_nodes(const RgCluster *cluster);
