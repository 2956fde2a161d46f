#!/bin/bash
# Ends Ray on this node. raygpu-ray.service runs it when it stops, mostly because the machine shuts down; the module ssh, when it
# takes a node off a host without systemd.
# shellcheck disable=SC2034,SC2154 # set for what it sources, and by node.conf
set -uo pipefail
# shellcheck source=/dev/null
. /etc/raygpu/node.conf

lib=/usr/local/lib/raygpu
# shellcheck source=/dev/null
. "$lib/report"
# shellcheck source=/dev/null
. "$lib/watch-ray"

# A worker leaves as before the end that a cloud announces. Some clouds give a spot node only 30 seconds to shut down.
leave_worker() {
	local now why="this node shuts down" seconds=30
	[ "${market:-}" != spot ] || seconds=15
	if [ -e "$taken_back" ]; then # the watcher drains it
		timeout "$seconds" docker wait ray >/dev/null 2>&1
		return
	fi
	now=$(date +%s)
	say "$why; draining it"
	drain_ray "$seconds" "$why" || seconds=0
	leave_ray $((now + seconds)) "$why"
}

step=ray
patience=20
if [ -n "$(docker ps --quiet --filter name=^ray$ --filter label=raygpu.io/node 2>/dev/null)" ]; then
	[ "$role" = head ] || leave_worker
	docker stop -t 45 ray >/dev/null 2>&1
fi
open_agent
