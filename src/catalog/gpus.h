/* gpus: the GPU models and their names, one table for all providers (data/gpu_models.csv,
 * embedded). Read by a provider's catalog, by fit, and by all code that needs a figure of a GPU.
 * Owns everything it returns; immutable once opened, any thread. Reference-counted. */
#pragma once
#include "catalog/own.h"

/* Texts are never NULL. A figure of 0 is unknown or does not exist. */
typedef struct {
	const char *name;	  /* "A100-80GB": raygpu's own name, also in the MIG tables */
	const char *vendor;	  /* "NVIDIA" */
	const char *architecture; /* "Ampere" */
	const char *form;	  /* "SXM4", "PCIe" */
	const char *ray_type;	  /* "A100": ray.io/accelerator-type; empty: cannot be requested */
	const char *ray_memory_type; /* "A100-80G", a second accelerator_type resource; or empty */
	unsigned memory_gb;    /* as marketed; requests for memory in GB are compared with it */
	unsigned memory_mib;   /* as nvidia-smi shows it; requests in GiB are compared with it */
	double bandwidth_gb_s; /* of its memory */
	unsigned compute_capability;	/* tenths: 80 is 8.0; 0: not CUDA */
	const char *precisions;		/* of tensor cores: "tf32|bf16|fp16|int8"; may be empty */
	double fp16_tflops, fp8_tflops; /* tensor, dense */
	double power_w;			/* the board's limit (TDP), for one GPU */
	double nvlink_gb_s;		/* both directions, all links; 0: none */
	unsigned mig_instances;		/* how many of the smallest slice; 0: no MIG */
	const char *mig_min_driver;	/* "450.80.02"; or empty */
	const char *min_driver;	  /* the oldest Linux driver that supports the chip; or empty */
	const char *min_cuda;	  /* "11.0"; or empty */
	unsigned last_cuda_major; /* the last CUDA that supports it, as far as known; 0: no CUDA */
	/* from the project file; NULL, false: the table's row unchanged */
	const char *own;       /* "raygpu.yaml:4", its line */
	bool own_power;	       /* power_w is the user's */
	const json_t *own_mig; /* {PROFILE: as in the project file}; NULL: none */
} RgGpuModel;

typedef struct RgGpus RgGpus;

/* The text of a data file ("gpu_models.csv"), valid until the function that reads it returns; NULL
 * if there is none. */
typedef const char *(*RgCatalogText)(void *data, const char *name, size_t *len);

/* A new reference; NULL and catalog.bad-data if the table is wrong. */
RgGpus *rg_gpus_open(RgDiags *diags);
/* Adds the models of `own` (NULL: none), or replaces the table's; findings at their lines. */
RgGpus *rg_gpus_open_with(const RgOwnRows *own, RgDiags *diags);
/* The same with another text of the table (tests). */
RgGpus *rg_gpus_open_text(RgCatalogText text, void *data, const RgOwnRows *own, RgDiags *diags);
RgGpus *rg_gpus_ref(RgGpus *gpus);
void rg_gpus_unref(RgGpus *gpus);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgGpus, rg_gpus_unref)

/* RgGpuModel*, in the order of the table. */
const GPtrArray *rg_gpus_get_all(const RgGpus *gpus);
/* By raygpu's own name, exactly; NULL if unknown. */
const RgGpuModel *rg_gpus_find(const RgGpus *gpus, const char *name);
/* What a spec's name means, in any case: "A100" (Ray, SkyPilot), "nvidia-tesla-a100" (a cloud),
 * "A100-40GB". Several models may share a name, because a cloud has only one of them. NULL if no
 * GPU has this name, or none that raygpu can run Ray on. RgGpuModel*. */
const GPtrArray *rg_gpus_named(const RgGpus *gpus, const char *word);
bool rg_gpus_is_model(const RgGpus *gpus, const char *word, const RgGpuModel *model);
/* V100-16GB and V100-32GB: two models that Ray calls alike. */
bool rg_gpus_are_sisters(const RgGpuModel *model, const RgGpuModel *other);

/* "fp8", "bf16": whether the tensor cores support it. */
bool rg_gpu_has_precision(const RgGpuModel *model, const char *precision);
/* "8.0" to 80; false for anything but digits, a point, and one digit. */
bool rg_gpu_parse_capability(const char *text, unsigned *tenths);
