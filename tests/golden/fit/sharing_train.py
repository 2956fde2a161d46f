"""Ray Train configurations of the workloads of cluster sharing, for Ray 2.56.1.

Written by `raygpu fit --emit train`. Usage:

    trainer = TorchTrainer(train, scaling_config=scaling_config("NAME"))

Each worker has one GPU; a workload with several GPUs on a node has as many workers there.
If a workload can run on pools that need different options, pass the pool.
"""

WORKLOADS = {
    "finetune": [
        {
            "pools": ["train"],
            "replicas": 1,
            "arguments": {
                "num_workers": 16,
                "use_gpu": True,
                "resources_per_worker": {"CPU": 0.125, "GPU": 1},
                "placement_strategy": "PACK",
                "label_selector": {"ray.io/node-group": "train"},
            },
        },
    ],
    "reproduce": [
        {
            "pools": ["legacy"],
            "replicas": 1,
            "arguments": {
                "num_workers": 4,
                "use_gpu": True,
                "resources_per_worker": {"CPU": 0.25, "GPU": 1},
                "placement_strategy": "STRICT_PACK",
                "label_selector": {"ray.io/node-group": "legacy", "stage": "old"},
            },
        },
    ],
    "embed": [
        {
            "pools": ["serve"],
            "replicas": 12,
            "arguments": {
                "num_workers": 1,
                "use_gpu": True,
                "resources_per_worker": {"CPU": 1, "GPU": 0.25},
                "placement_strategy": "PACK",
                "label_selector": {"ray.io/node-group": "serve"},
            },
        },
    ],
    "notebooks": [
        {
            "pools": ["small"],
            "replicas": 40,
            "arguments": {
                "num_workers": 1,
                "use_gpu": True,
                "resources_per_worker": {"CPU": 1, "GPU": 1},
                "placement_strategy": "PACK",
                "label_selector": {"ray.io/node-group": "small"},
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


def scaling_config(workload, pool=None):
    """For a trainer: the workers of one run."""
    arguments = _entries(workload, pool)[0]["arguments"]
    from ray.train import ScalingConfig
    return ScalingConfig(**arguments)
