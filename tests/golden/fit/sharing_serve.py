"""Ray Serve deployments of the workloads of cluster sharing, for Ray 2.56.1.

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
                "ray_actor_options": {"num_cpus": 1, "num_gpus": 8},
                "placement_group_bundles": [{"CPU": 1, "GPU": 8}] * 2,
                "placement_group_strategy": "STRICT_SPREAD",
                "placement_group_bundle_label_selector": [{"ray.io/node-group": "train"}] * 2,
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
                    "label_selector": {"ray.io/node-group": "legacy", "stage": "old"},
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
                    "label_selector": {"ray.io/node-group": "serve"},
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
                    "label_selector": {"ray.io/node-group": "small"},
                },
            },
        },
    ],
}


def _entries(workload, pool):
    found = [entry for entry in WORKLOADS[workload] if pool is None or pool in entry["pools"]]
    if not found:
        where = "runs on no pool" if pool is None else f"does not run on pool {pool}"
        raise LookupError(f"workload {workload} {where}")
    return found


def deployment(workload, pool=None):
    """For @serve.deployment(**...) or .options(**...) of a deployment."""
    return copy.deepcopy(_entries(workload, pool)[0]["arguments"])
