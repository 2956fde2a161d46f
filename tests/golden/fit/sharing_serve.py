"""Ray Serve deployments of the workloads of cluster sharing, for Ray 2.52.0.

Written by `raygpu fit --emit serve`. Usage:

    app = Model.options(**deployment("NAME")).bind()

If a workload can run on pools that need different options, each pool needs a deployment
of its own: pass the pool.
"""
import copy

WORKLOADS = {
    "finetune": [
        {
            "pools": ["train"],
            "replicas": 1,
            "arguments": {
                "num_replicas": 1,
                "ray_actor_options": {
                    "num_cpus": 1,
                    "num_gpus": 8,
                    "resources": {"accelerator_type:A100": 0.001},
                },
                "placement_group_bundles": [{"CPU": 1, "GPU": 8, "accelerator_type:A100": 0.001}] * 2,
                "placement_group_strategy": "STRICT_SPREAD",
            },
        },
    ],
    "reproduce": [
        {
            "pools": ["legacy"],
            "replicas": 1,
            "arguments": {
                "num_replicas": 1,
                "ray_actor_options": {
                    "num_cpus": 1,
                    "num_gpus": 4,
                    "resources": {"accelerator_type:V100": 0.001},
                },
            },
        },
    ],
    "embed": [
        {
            "pools": ["serve"],
            "replicas": 12,
            "arguments": {
                "num_replicas": 12,
                "ray_actor_options": {
                    "num_cpus": 1,
                    "num_gpus": 0.25,
                    "resources": {"accelerator_type:T4": 0.001},
                },
            },
        },
    ],
    "notebooks": [
        {
            "pools": ["small"],
            "replicas": 40,
            "arguments": {
                "num_replicas": 40,
                "ray_actor_options": {
                    "num_cpus": 1,
                    "num_gpus": 1,
                    "resources": {"accelerator_type:A100": 0.001},
                },
            },
        },
    ],
}


def _entry(workload, pool):
    for entry in WORKLOADS[workload]:
        if pool is None or pool in entry["pools"]:
            return entry
    where = "runs on no pool" if pool is None else f"does not run on pool {pool}"
    raise LookupError(f"workload {workload} {where}")


def deployment(workload, pool=None):
    """For @serve.deployment(**...) or .options(**...) of a deployment."""
    return copy.deepcopy(_entry(workload, pool)["arguments"])
