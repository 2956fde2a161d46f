"""Ray options of the workloads of cluster sharing, for Ray 2.56.1.

Written by `raygpu fit --emit python`. Usage:

    task.options(**options("NAME")).remote()
    group = ray.util.placement_group(**placement_group("NAME"))
    for count, arguments in submissions("NAME"): ...

If pools have GPUs of different memory, the share of a GPU depends on the pool: pass the pool.
"""

WORKLOADS = {
    "finetune": [
        {
            "pools": ["train"],
            "replicas": 1,
            "options": {"num_cpus": 1, "num_gpus": 8},
            "groups": 1,
            "placement_group": {"strategy": "STRICT_SPREAD", "bundles": [{"count": 2, "pools": ["train"], "resources": {"CPU": 1, "GPU": 8}, "label_selector": {"ray.io/node-group": "train"}, "options": {"num_cpus": 1, "num_gpus": 8}}]},
        },
    ],
    "reproduce": [
        {
            "pools": ["legacy"],
            "replicas": 1,
            "options": {"num_cpus": 1, "num_gpus": 4, "label_selector": {"ray.io/node-group": "legacy", "stage": "old"}},
        },
    ],
    "embed": [
        {
            "pools": ["serve"],
            "replicas": 12,
            "options": {"num_cpus": 1, "num_gpus": 0.25, "label_selector": {"ray.io/node-group": "serve"}},
        },
    ],
    "notebooks": [
        {
            "pools": ["small"],
            "replicas": 40,
            "options": {"num_cpus": 1, "num_gpus": 1, "label_selector": {"ray.io/node-group": "small"}},
        },
    ],
}


def _entries(workload, pool):
    found = [entry for entry in WORKLOADS[workload] if pool is None or pool in entry["pools"]]
    if not found:
        where = "runs on no pool" if pool is None else f"does not run on pool {pool}"
        raise LookupError(f"workload {workload} {where}")
    return found


def _group(entry):
    group = entry["placement_group"]
    parts = [part for part in group["bundles"] for _ in range(part["count"])]
    made = {"bundles": [dict(part["resources"]) for part in parts],
            "strategy": group["strategy"]}
    if "label_selector" in parts[0]:
        made["bundle_label_selector"] = [dict(part["label_selector"]) for part in parts]
    return made


def options(workload, pool=None):
    """For .options() of a task or actor that is one replica, on one node."""
    found = _entries(workload, pool)
    alone = [entry for entry in found if "placement_group" not in entry]
    return dict((alone or found)[0]["options"])


def placement_group(workload, pool=None):
    """For ray.util.placement_group(); LookupError when the workload needs none."""
    for entry in _entries(workload, pool):
        if "placement_group" in entry:
            return _group(entry)
    raise LookupError(f"workload {workload} needs no placement group: use options()")


def submissions(workload):
    """What was placed: pairs of how many and the arguments, of ray.util.placement_group() if
    they have "bundles", else of .options()."""
    return [(entry["groups"], _group(entry)) if "placement_group" in entry
            else (entry["replicas"], dict(entry["options"]))
            for entry in WORKLOADS[workload]]
