# preStop hook of workers, with the seconds that Ray has: it gives the node no new work, notifies what runs there, and ends
# the raylet once nothing does. ($1 is set by the command of the hook.)
# shellcheck shell=sh
node=$(timeout 20 python3 -c 'import ray
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
print(ray.get_runtime_context().get_node_id())' 2>/dev/null | tail -n 1)
[ -n "$node" ] || exit 0
timeout 20 ray drain-node --node-id "$node" --reason DRAIN_NODE_REASON_PREEMPTION --reason-message 'its pod is deleted' \
	--deadline-remaining-seconds "$1" || exit 0
end=$(($(date +%s) + $1))
while [ "$(date +%s)" -lt "$end" ] && grep -qsx raylet /proc/[0-9]*/comm; do sleep 1; done
