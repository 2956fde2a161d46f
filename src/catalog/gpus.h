/* gpus: the GPU models and their names, one table for all providers (data/gpu_models.csv,
 * embedded). Read by a provider's catalog, by fit, and by whoever needs a figure of a GPU. Owns all
 * it hands out, never changes once opened, may be read by any thread. Shared by reference. */
#pragma once
#include "catalog/own.h"

/* Texts are never NULL. A figure of 0 is not known, or there is none. */
typedef struct {
	const char *name;	  /* "A100-80GB": raygpu's own, also of the MIG tables */
	const char *vendor;	  /* "NVIDIA" */
	const char *architecture; /* "Ampere" */
	const char *form;	  /* "SXM4", "PCIe" */
	const char *ray_type;	  /* "A100": ray.io/accelerator-type; empty: can't be asked for */
	const char *ray_memory_type; /* "A100-80G", a second accelerator_type resource; or empty */
	unsigned memory_gb;    /* as marketed; what a wish for memory in GB is compared with */
	double bandwidth_gb_s; /* of its memory */
	unsigned compute_capability;	/* tenths: 80 is 8.0; 0: not CUDA */
	const char *precisions;		/* of tensor cores: "tf32|bf16|fp16|int8"; may be empty */
	double fp16_tflops, fp8_tflops; /* tensor, dense */
	double power_w;			/* the board's limit (TDP), for one GPU */
	double nvlink_gb_s;		/* both directions, all links; 0: none */
	unsigned mig_instances;		/* how many of the smallest slice; 0: no MIG */
	const char *mig_min_driver;	/* "450.80.02"; or empty */
	const char *min_driver;		/* oldest Linux driver that knows the chip; or empty */
	const char *min_cuda;		/* "11.0"; or empty */
	unsigned last_cuda_major; /* the last CUDA that runs on it, as far as known; 0: no CUDA */
	/* of the project file; NULL, false: the table's row as it is */
	const char *own;       /* "raygpu.yaml:4", where it stands */
	bool own_power;	       /* power_w is the user's */
	const json_t *own_mig; /* {PROFILE: how many one GPU makes} */
} RgGpuModel;

typedef struct RgGpus RgGpus;

/* The text of a data file ("gpu_models.csv"), valid until what reads it returns; NULL when there
 * is none. */
typedef const char *(*RgCatalogText)(void *data, const char *name, size_t *len);

/* A new reference; NULL and catalog.bad-data when the table is wrong. */
RgGpus *rg_gpus_open(RgDiags *diags);
/* With the models of `own` (NULL: none) added, or put over the table's; findings under their lines.
 */
RgGpus *rg_gpus_open_with(const RgOwnRows *own, RgDiags *diags);
/* The same over another text of the table (tests). */
RgGpus *rg_gpus_open_text(RgCatalogText text, void *data, const RgOwnRows *own, RgDiags *diags);
RgGpus *rg_gpus_ref(RgGpus *gpus);
void rg_gpus_unref(RgGpus *gpus);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgGpus, rg_gpus_unref)

/* RgGpuModel*, in the order of the table. */
const GPtrArray *rg_gpus_get_all(const RgGpus *gpus);
/* By raygpu's own name, exactly; NULL when not known. */
const RgGpuModel *rg_gpus_find(const RgGpus *gpus, const char *name);
/* What a spec's word means, in any case: "A100" (Ray, SkyPilot), "nvidia-tesla-a100" (a cloud),
 * "A100-40GB". Several models may share a word, because a cloud has only one of them. NULL when
 * nobody calls a GPU so, or none that raygpu can run Ray on. RgGpuModel*. */
const GPtrArray *rg_gpus_named(const RgGpus *gpus, const char *word);
bool rg_gpus_is_model(const RgGpus *gpus, const char *word, const RgGpuModel *model);

/* "fp8", "bf16": whether the tensor cores compute it. */
bool rg_gpu_has_precision(const RgGpuModel *model, const char *precision);
/* "8.0" to 80; false for anything but digits, a point, and one digit. */
bool rg_gpu_parse_capability(const char *text, unsigned *tenths);
