/* What a cluster must be able to run: the `workloads` of a spec. Built by rg_cluster_build; fit
 * places them. Owned by the RgCluster, immutable, safe to read from any thread. */
#pragma once
#include "base/json.h"

/* One replica spans `nodes` nodes (1 if not given) and needs the same on each of them. */
typedef struct {
	char *name;
	char *origin;	 /* JSON pointer into the spec: "/workloads/finetune" */
	RgSource source; /* the workload's key */
	double gpus;	 /* 0, a fraction of one GPU, or a whole number */
	RgSource gpus_source;
	double gpu_memory_gb; /* of each GPU, or of the fraction; 0: any */
	RgSource gpu_memory_source;
	unsigned nodes; /* 0: not given, so replicas may share a node */
	unsigned replicas;
	bool gang;
	unsigned capability; /* tenths, 80 is 8.0; 0: any */
	GStrv models;	     /* names of GPU models; NULL: any */
	GStrv pools;	     /* names; NULL: any */
	json_t *labels;	     /* object of texts: Ray's label selector */
	json_t *resources;   /* object of numbers */
	double cpus;
	int64_t memory_gib; /* 0: not requested */
} RgWorkload;
