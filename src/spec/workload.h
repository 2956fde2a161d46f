/* What a cluster must be able to run: the `workloads` of a spec. Built by rg_cluster_build; fit
 * places them. Owned by the RgCluster, immutable, safe to read from any thread. */
#pragma once
#include "base/json.h"

/* What runs on one node as one task or actor. */
typedef struct {
	unsigned count; /* in each replica */
	double gpus;	/* 0, a fraction of one GPU, or a whole number */
	RgSource gpus_source;
	/* of each GPU, or of the fraction, at most one of them: the advertised size, or what the
	 * GPU reports; 0: any */
	double gpu_memory_gb, gpu_memory_gib;
	RgSource gpu_memory_source;
	double cpus;
	int64_t memory_gib; /* 0: not requested */
	json_t *resources;  /* object of numbers */
} RgBundle;

/* Under Ray's names. */
typedef enum {
	RG_STRATEGY_PACK,
	RG_STRATEGY_SPREAD,
	RG_STRATEGY_STRICT_PACK,
	RG_STRATEGY_STRICT_SPREAD,
} RgStrategy;

typedef struct {
	char *name;
	char *origin;	    /* JSON pointer into the spec: "/workloads/finetune" */
	RgSource source;    /* the workload's key */
	GPtrArray *bundles; /* RgBundle*; the only one of a workload without `bundles` has a count
			       of max(nodes, 1) */
	bool has_bundles;   /* written as a list */
	unsigned nodes;	    /* 0: not given, so replicas may share a node */
	unsigned replicas;
	bool gang;
	RgStrategy strategy;
	bool same_gpu;
	RgSource same_gpu_source;
	unsigned capability; /* tenths, 80 is 8.0; 0: any */
	GStrv models;	     /* names of GPU models; NULL: any */
	GStrv pools;	     /* names; NULL: any */
	json_t *labels;	     /* object of texts: Ray's label selector */
} RgWorkload;

/* Whether a replica, or with `gang` all of them, is a placement group. */
bool rg_workload_is_group(const RgWorkload *workload);
/* "STRICT_SPREAD". */
const char *rg_strategy_word(RgStrategy strategy);
