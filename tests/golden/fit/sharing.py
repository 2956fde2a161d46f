"""Ray options of the workloads of cluster sharing, for Ray 2.52.0.

Written by `raygpu fit --emit python`. Usage:

    task.options(**options("NAME")).remote()
    group = ray.util.placement_group(**placement_group("NAME"))

If pools have GPUs of different memory, the share of a GPU depends on the pool: pass the pool.
"""

WORKLOADS = {
    "finetune": [
        {
            "pools": ["train"],
            "options": {"num_cpus": 1, "num_gpus": 8, "label_selector": {"ray.io/node-group": "train"}},
            "placement_group": {"count": 2, "bundle": {"CPU": 1, "GPU": 8}, "strategy": "STRICT_SPREAD", "label_selector": {"ray.io/node-group": "train"}},
        },
    ],
    "reproduce": [
        {
            "pools": ["legacy"],
            "options": {"num_cpus": 1, "num_gpus": 4, "label_selector": {"ray.io/node-group": "legacy", "stage": "old"}},
        },
    ],
    "embed": [
        {
            "pools": ["serve"],
            "options": {"num_cpus": 1, "num_gpus": 0.25, "label_selector": {"ray.io/node-group": "serve"}},
        },
    ],
    "notebooks": [
        {
            "pools": ["small"],
            "options": {"num_cpus": 1, "num_gpus": 1, "label_selector": {"ray.io/node-group": "small"}},
        },
    ],
}


def _entry(workload, pool):
    for entry in WORKLOADS[workload]:
        if pool is None or pool in entry["pools"]:
            return entry
    raise LookupError(f"workload {workload} does not run on pool {pool}")


def options(workload, pool=None):
    """For .options() of a task or actor that is one replica, on one node."""
    return dict(_entry(workload, pool)["options"])


def placement_group(workload, pool=None):
    """For ray.util.placement_group(); KeyError when the workload needs none."""
    group = _entry(workload, pool)["placement_group"]
    count = group["count"]
    made = {"bundles": [dict(group["bundle"]) for _ in range(count)],
            "strategy": group["strategy"]}
    if "label_selector" in group:
        made["bundle_label_selector"] = [dict(group["label_selector"]) for _ in range(count)]
    return made
