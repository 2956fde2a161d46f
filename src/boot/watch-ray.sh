#!/bin/bash
# Runs beside the container, as a part of raygpu-ray.service. Sourced by start-ray.
# shellcheck disable=SC2154 # set by node.conf and start-ray

# The dashboard agent says "success" once the GCS lists this node as alive (Ray's
# dashboard/modules/reporter); it needs no token.
ray_has_joined() {
	[ "$(curl --silent --noproxy '*' --max-time 5 http://127.0.0.1:52365/api/local_raylet_healthz)" = success ]
}

# The head repeats what its Ray sees of the cluster: when it changes, and every quarter of an hour, because the console
# keeps only what was printed last.
report_nodes() {
	local nodes at words
	nodes=$(docker exec --interactive ray python3 - <"$lib/report-nodes.py" 2>/dev/null) || return 0
	if [ -z "$nodes" ] || { [ "$nodes" = "$nodes_reported" ] && [ "$SECONDS" -lt "$nodes_due" ]; }; then
		return 0
	fi
	nodes_reported=$nodes
	nodes_due=$((SECONDS + 900))
	printf -v at '%(%s)T' -1
	while read -r -a words; do report nodes at="$at" "${words[@]}"; done <<<"$nodes"
}

watch_ray() {
	local nodes_reported='' nodes_due=0
	until ray_has_joined; do sleep 5; done
	report joined instance="$instance_id" gpus="${slices:-$gpus}" driver="$driver"
	[ "$role" = head ] || return 0
	while sleep 15; do report_nodes; done
}
