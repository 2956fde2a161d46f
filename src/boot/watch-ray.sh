#!/bin/bash
# Runs beside the container, as a part of raygpu-ray.service. Sourced by start-ray.
# shellcheck disable=SC2154 # set by node.conf and start-ray

# The dashboard agent says "success" once the GCS lists this node as alive (Ray's
# dashboard/modules/reporter); it needs no token.
ray_has_joined() {
	[ "$(curl --silent --noproxy '*' --max-time 5 http://127.0.0.1:52365/api/local_raylet_healthz)" = success ]
}

watch_ray() {
	until ray_has_joined; do sleep 5; done
	report joined instance="$instance_id" gpus="${slices:-$gpus}" driver="$driver"
}
