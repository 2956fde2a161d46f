#!/bin/bash
# Starts Ray on this node, in one pinned container. Run by raygpu-ray.service; what differs from
# node to node is in node.conf. Installs nothing, except what the spec's mounts need (prepare.sh), and docker where
# the module's schema says so (install-docker.sh).
# shellcheck disable=SC2154 # set by node.conf
set -euo pipefail
# shellcheck source=/dev/null
. /etc/raygpu/node.conf

lib=/usr/local/lib/raygpu
# shellcheck source=/dev/null
. "$lib/report"
# shellcheck source=/dev/null
. "$lib/watch-ray"
trap report_end EXIT

# shellcheck disable=SC2317 # for what start-ray sources
metadata() {
	curl --silent --show-error --fail --noproxy '*' --max-time 5 --retry 8 --retry-delay 2 \
		--retry-connrefused "$@"
}

store=/mnt/raygpu

# Sets `blank`: local disks that hold nothing: no partition, no other device on top of them, no signature of a file
# system, RAID or volume manager. A check that fails excludes the disk.
find_blank_disks() {
	local disk tree signs
	blank=()
	while read -r disk; do
		tree=$(lsblk --noheadings --output NAME "$disk" 2>&1) || continue
		signs=$(wipefs --no-act --noheadings "$disk" 2>&1) || continue
		[[ -n $signs || $tree = *$'\n'* ]] || blank+=("$disk")
	done < <(list_local_disks 2>/dev/null)
}

# What the image left as it was: one file system on all of them (RAID 0), found by its label after a reboot.
mount_store() {
	local label=raygpu-store device blank
	if ! device=$(blkid --label "$label" 2>/dev/null); then
		find_blank_disks
		[ "${#blank[@]}" -gt 0 ] || return 1
		device=${blank[0]}
		if [ "${#blank[@]}" -gt 1 ] && command -v mdadm >/dev/null; then
			device=/dev/md/raygpu
			mdadm --create "$device" --run --homehost=any --name=raygpu --level=0 \
				--raid-devices="${#blank[@]}" "${blank[@]}" >/dev/null 2>&1 || return 1
		fi
		mkfs.ext4 -q -m 0 -E nodiscard -L "$label" "$device" >/dev/null 2>&1 || return 1
		say "formatted the local disks, ${#blank[@]} of them, as $device"
	fi
	install -d "$store"
	mount -o noatime "$device" "$store"
}

# What the fragment of the provider's module may replace (README.md).
image_hint=
read_identity() { instance_id=$(cat /var/lib/cloud/data/instance-id); }
list_local_disks() { :; }
find_scratch() {
	scratch=/var/lib/raygpu/ray
	if mountpoint --quiet "$store" || mount_store; then scratch=$store/ray; fi
}
registry_login() { :; }
if [ -e "$lib/cloud" ]; then
	# shellcheck source=/dev/null
	. "$lib/cloud"
fi

# With several interfaces: the address of the default route. No packet is sent to the address asked
# for, which is kept for documentation (RFC 5737). Without such a route Ray chooses by itself.
find_address() {
	local route
	route=$(ip -4 -o route get 192.0.2.1 2>/dev/null) || return 0
	[[ ! $route =~ \ src\ ([0-9.]+) ]] || node_ip=${BASH_REMATCH[1]}
}

check_docker() {
	command -v docker >/dev/null ||
		give_up "no docker on this image: install it with initialization_commands, or use an image that has it$image_hint"
	docker info >/dev/null 2>&1 || try_again "docker does not answer"
}

# The driver may need a minute to find them all.
count_gpus() {
	local listed names seen tries
	for ((tries = 0; tries < 12; tries++)); do
		listed=$(nvidia-smi --list-gpus | grep '^GPU ') || true
		seen=$(grep -c . <<<"$listed") || true
		[ "$seen" -ne "$gpus" ] || break
		sleep 10
	done
	if [ "$seen" -eq "$gpus" ]; then
		names=$(sed -n 's/.*(UUID: \(.*\))$/\1/p' <<<"$listed")
		report gpus seen="$seen" gpu="${names//$'\n'/,}"
	elif [ -e "$lib/gate" ]; then
		begin gate
		give_up "nvidia-smi shows $seen GPUs of $gpus"
	else
		try_again "nvidia-smi shows $seen GPUs of $gpus"
	fi
}

check_gpus() {
	[ "$gpus" -gt 0 ] || return 0
	begin driver
	command -v nvidia-smi >/dev/null || give_up "no nvidia-smi on this image: it has no GPU driver"
	command -v nvidia-ctk >/dev/null || command -v nvidia-container-cli >/dev/null ||
		give_up "no nvidia-container-toolkit on this image: docker can't hand out GPUs"
	driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1) || true
	[ -n "$driver" ] || try_again "nvidia-smi shows no driver"
	report driver driver="$driver"
	begin gpus
	count_gpus
	if [ -e "$lib/gate" ]; then
		# shellcheck source=/dev/null
		. "$lib/gate"
		admit_gpus
	fi
	if [ -e "$lib/cut-gpus" ]; then
		# shellcheck source=/dev/null
		. "$lib/cut-gpus"
		begin mig
		cut_gpus
	else
		container_args+=(--gpus all)
	fi
}

check_fast_network() {
	[ -e "$lib/open-fast-network" ] || return 0
	begin fast-network
	# shellcheck source=/dev/null
	. "$lib/open-fast-network"
	open_fast_network
}

# The image's user may read a copy that lives until the next boot; the original is root's.
share_token() {
	[ "$auth" = token ] || return 0
	[ -s /etc/raygpu/token ] || give_up "no Ray token in /etc/raygpu/token"
	install -m 0400 -o "$user" /etc/raygpu/token /run/raygpu/token
	container_args+=(--volume /run/raygpu/token:/etc/raygpu/token:ro)
}

# With the spec's user, else as the cloud's fragment does; what Docker keeps of it is gone after a reboot.
log_in() {
	local registry=${image%%/*} registry_password='' error
	if [ "$registry" = "$image" ] || [[ $registry != localhost && $registry != *[.:]* ]]; then
		registry=docker.io
	fi
	if [ -n "${registry_user:-}" ]; then
		read_secret "$registry_secret"
	else
		registry_login "$registry"
	fi
	[ -n "$registry_password" ] || return 0
	export DOCKER_CONFIG=/run/raygpu/docker
	install -d -m 0700 "$DOCKER_CONFIG"
	error=$(printf %s "$registry_password" |
		docker login --username "$registry_user" --password-stdin "$registry" 2>&1 >/dev/null) ||
		try_again "can't log in to $registry: ${error##*$'\n'}"
}

# count_try NAME: sets `tries`, this one included.
count_try() {
	local failures=/run/raygpu/$1-failures
	tries=$(cat "$failures" 2>/dev/null) || tries=0
	tries=$((tries + 1))
	echo "$tries" >"$failures"
}

# begin_try NAME: after each failure the next try waits twice as long, up to 5 minutes, and a random part less: all nodes
# of a pool start at once.
begin_try() {
	local wait
	count_try "$1"
	[ "$tries" -gt 1 ] || return 0
	wait=$((10 << (tries < 6 ? tries - 1 : 5)))
	[ "$wait" -le 300 ] || wait=300
	sleep $((wait / 2 + RANDOM % (wait / 2 + 1)))
}

end_try() { rm -f "/run/raygpu/$1-failures"; }

# What failed may work later, but not for ever.
# shellcheck disable=SC2317 # for what start-ray sources
fail_try() {
	[ "$tries" -lt 8 ] || give_up "$1 ($tries tries)"
	try_again "$1"
}

# Registries limit how often an address may pull.
pull_image() {
	local error
	docker image inspect "$image" >/dev/null 2>&1 && return 0
	begin_try pull
	log_in
	error=$(docker pull --quiet "$image" 2>&1 >/dev/null) || try_again "can't pull $image: ${error##*$'\n'}"
	end_try pull
}

# Ray's logs, its object store's spilled objects and its sessions: on the fastest disk, and kept when the container
# ends. The logs of the last sessions stay, what they spilled is useless.
make_scratch() {
	local old
	find_scratch
	install -d -m 0755 -o "$user" "$scratch"
	rm -rf "$scratch"/session_2*/ray_spilled_objects*
	old=("$scratch"/session_2*)
	[ "${#old[@]}" -lt 5 ] || rm -rf "${old[@]:0:${#old[@]}-4}"
	container_args+=(--volume "$scratch:/tmp/ray")
}

# Passes on what is said, and keeps the last line: the reason, if that was the end. Docker's last line is an advice.
keep_last_line() {
	local line advice="^(See|Run) 'docker "
	while IFS= read -r line || [ -n "$line" ]; do
		printf '%s\n' "$line" >&2 || true
		[[ $line != *[![:space:]]* || $line =~ $advice ]] || printf %s "$line" >"$last_line" || true
	done
}

# Docker with these arguments. The exit status is its own.
run_docker() {
	rm -f "$last_line"
	{ docker run "$@" 2>&1 >&3 | defuse | keep_last_line; } 3>&1 | defuse
}

# Each part of the dashboard gets 30 s to start, and the whole 60 s (Ray's dashboard/consts.py, _private/ray_constants.py):
# too short for a first start from a cold disk. `ray start` would then go on without the dashboard, and so without jobs.
allow_slow_dashboard() {
	local name
	[ "$role" = head ] || return 0
	for name in RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT RAY_DASHBOARD_STARTUP_TIMEOUT_S; do
		grep -q "^$name=" /etc/raygpu/ray.env || container_args+=(--env "$name=600")
	done
}

run_container() {
	run_docker --rm --name ray --init --network host --label raygpu.io/node --shm-size "${shm_mib}m" \
		--ulimit nofile=65536:65536 --env-file /etc/raygpu/ray.env "${container_args[@]}" \
		"$image" "${command[@]}"
}

explain() {
	local line
	line=$(cat "$last_line" 2>/dev/null) || true
	why="$1${line:+: $line}"
}

# explain_end NAME TEXT STATUS: what docker (125, 126, 127) or Ray with these options (2) could not start will hardly
# start later. The watcher ends the tries of a Ray that joined: docker also exits with 125 when its daemon stops.
explain_end() {
	explain "$2"
	case $3 in
	2 | 125 | 126 | 127) [ "$tries" -lt 5 ] || [ ! -e "/run/raygpu/$1-failures" ] || give_up "$why ($tries tries)" ;;
	*) end_try "$1" ;;
	esac
}

# Docker, where the module's schema says so; the spec's commands and mounts, where it has any.
install_docker() { :; }
if [ -e "$lib/install-docker" ]; then
	# shellcheck source=/dev/null
	. "$lib/install-docker"
fi
run_initialization() { :; }
mount_all() { :; }
set_up() { :; }
if [ -e "$lib/prepare" ]; then
	# shellcheck source=/dev/null
	. "$lib/prepare"
fi

driver=
last_line=/run/raygpu/last-line
install -d -m 0711 /run/raygpu
rm -f "$ended" "$last_line"
[ ! -e "$taken_back" ] || give_up "$(cat "$taken_back")"
begin start booted
run_initialization
begin docker
install_docker
check_docker
check_gpus
check_fast_network
node_ip=
begin identity
read_identity
[ -n "$node_ip" ] || find_address
[ -z "$node_ip" ] || ray_args+=("--node-ip-address=$node_ip")
mount_all
begin pull pulling image="$image"
pull_image
report pulled
# Ray's own view has no drivers; the head repeats this one (report-nodes.py)
[ -z "$driver" ] || ray_args=("${ray_args[@]/#--labels=/--labels=raygpu.io/driver=$driver,}")
begin container
begin_try container
# without GPUs: the CUDA images ask for all of them
user=$(run_docker --rm --network none --env NVIDIA_VISIBLE_DEVICES=void --entrypoint id "$image" -u) || {
	explain_end container "$image does not run" $?
	try_again "$why"
}
end_try container
make_scratch
begin token
share_token
[ "$role" = head ] || ray_args+=("--address=$(cat /etc/raygpu/head):$gcs_port")
# One of this name without the label is not raygpu's, and stays: docker then says that the name is in use.
[ -z "$(docker ps --all --quiet --filter name=^ray$ --filter label=raygpu.io/node 2>/dev/null)" ] ||
	docker rm --force ray >/dev/null 2>&1 || true
# never empty: bash before 4.4 takes an empty array for a variable that is not set
container_args+=(--env "RAY_CLOUD_INSTANCE_ID=$instance_id")
allow_slow_dashboard
command=(ray start "${ray_args[@]}")
container=
set_up
begin ray
if [ -n "$container" ]; then count_try ray; else begin_try ray; fi
say "starting Ray as $role of $image on $instance_id"
close_agent
watch_ray &
watcher=$!
status=0
if [ -n "$container" ]; then
	wait "$container" || status=$?
else
	run_container || status=$?
fi
kill "$watcher" 2>/dev/null || true
if why=$(cat "$ended" 2>/dev/null); then
	end_try ray
else
	explain_end ray "the container ended with status $status" "$status"
fi
say "$why"
exit "$status"
