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
            "options": {"num_cpus": 1, "num_gpus": 8},
            "placement_group": {"strategy": "STRICT_SPREAD", "bundles": [{"count": 2, "pools": ["train"], "resources": {"CPU": 1, "GPU": 8}, "label_selector": {"ray.io/node-group": "train"}, "options": {"num_cpus": 1, "num_gpus": 8}}]},
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
    where = "runs on no pool" if pool is None else f"does not run on pool {pool}"
    raise LookupError(f"workload {workload} {where}")


def options(workload, pool=None):
    """For .options() of a task or actor that is one replica, on one node."""
    return dict(_entry(workload, pool)["options"])


def placement_group(workload, pool=None):
    """For ray.util.placement_group(); LookupError when the workload needs none."""
    group = _entry(workload, pool).get("placement_group")
    if group is None:
        raise LookupError(f"workload {workload} needs no placement group: use options()")
    parts = [part for part in group["bundles"] for _ in range(part["count"])]
    made = {"bundles": [dict(part["resources"]) for part in parts],
            "strategy": group["strategy"]}
    if "label_selector" in parts[0]:
        made["bundle_label_selector"] = [dict(part["label_selector"]) for part in parts]
    return made
