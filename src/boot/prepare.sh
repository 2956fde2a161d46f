#!/bin/bash
# The spec's commands and mounts: on the host before the image is pulled, in the container before Ray starts. Sourced by
# start-ray where there are any; they are in node.conf.
# shellcheck disable=SC2034,SC2154 # for start-ray; set by node.conf, or start-ray's functions

# Each once in a boot, as root, in a shell of its own.
run_initialization() {
	local last=/run/raygpu/initialized log=/var/log/raygpu/initialization.log n=${#initialization_commands[@]} i status
	[ "$n" -gt 0 ] || return 0
	i=$(cat "$last" 2>/dev/null) || i=0
	[ "$i" -lt "$n" ] || return 0
	begin initialization
	begin_try initialization
	for (( ; i < n; i++)); do
		status=0
		HOME=/root bash -c "${initialization_commands[i]}" </dev/null >"$log" 2>&1 || status=$?
		cat "$log" >&2
		[ "$status" -eq 0 ] ||
			fail_try "initialization_commands[$i] ended with status $status: $(sed -n '$p' "$log")"
		echo $((i + 1)) >"$last"
	done
	end_try initialization
}

install_nfs_client() {
	local error
	if command -v apt-get >/dev/null; then
		error=$(apt-get -o DPkg::Lock::Timeout=300 -q update 2>&1 >/dev/null &&
			DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q -y --no-install-recommends \
				install nfs-common 2>&1 >/dev/null) ||
			fail_try "can't install nfs-common: ${error##*$'\n'}"
	elif command -v dnf >/dev/null; then
		error=$(dnf -q -y install nfs-utils 2>&1 >/dev/null) ||
			fail_try "can't install nfs-utils: ${error##*$'\n'}"
	else
		give_up "no mount.$1 on this image, and neither apt-get nor dnf to install it with"
	fi
}

# mount(8) calls mount.TYPE, or the kernel knows the type itself.
check_mount_type() {
	! command -v "mount.$1" >/dev/null || return 0
	case $1 in
	nfs | nfs4) install_nfs_client "$1" ;;
	*)
		grep -qw -- "$1" /proc/filesystems || modinfo -- "$1" >/dev/null 2>&1 ||
			give_up "no mount.$1 on this image: install it with initialization_commands, or use an image that has it"
		;;
	esac
}

# A FUSE file system whose process ended with the service still occupies the folder.
mount_one() {
	local at=$1 path=$2 source=$3 type=$4 options=$5 status=0 error
	check_mount_type "$type"
	umount --lazy "$at" 2>/dev/null || true
	install -d -m 0755 "$at"
	error=$(timeout 180 mount -t "$type" ${options:+-o "$options"} -- "$source" "$at" 2>&1) || status=$?
	case $status in
	0) ;;
	124) fail_try "can't mount $source at $path: mount did not end within 3 minutes" ;;
	*) fail_try "can't mount $source at $path: ${error##*$'\n'}" ;;
	esac
}

# Four words each: path, source, type, options.
mount_all() {
	local i at path only
	[ "${#mounts[@]}" -gt 0 ] || return 0
	begin mount
	begin_try mount
	for ((i = 0; i < ${#mounts[@]}; i += 4)); do
		at=/var/lib/raygpu/mounts/$((i / 4))
		path=${mounts[i]} only=
		mountpoint -q "$at" 2>/dev/null || mount_one "$at" "${mounts[@]:i:4}"
		[[ ,${mounts[i + 3]}, != *,ro,* ]] || only=:ro
		container_args+=(--volume "$at:$path$only")
	done
	end_try mount
}

# Runs in the container. Ray takes its place, and keeps what the commands changed there. /tmp/ray is the host's $scratch. Like
# Ray's cluster launcher, it reads ~/.bashrc for each command and for Ray, so an interactive shell; what that says about a missing terminal is dropped.
# shellcheck disable=SC2016 # expanded there
setup_script='
log=/tmp/ray/setup.log ended=/tmp/ray/setup.ended n=$1
shift
for ((i = 0; i < n; i++)); do
	status=0
	bash -i -c "exec 2>&1; (eval \"\$1\")" bash "$1" </dev/null >"$log" 2>/dev/null || status=$?
	cat "$log"
	if [ "$status" -ne 0 ]; then
		echo "setup_commands[$i] ended with status $status: $(sed -n "\$p" "$log")" >"$ended"
		exit "$status"
	fi
	shift
done
echo finished >"$ended"
exec bash -i -c "exec 2>&3 3>&-; exec \"\$@\"" bash "$@" 3>&2 2>/dev/null'

# Starts the container in the background, and returns when its commands are done.
set_up() {
	local ended=$scratch/setup.ended status=0 said
	[ "${#setup_commands[@]}" -gt 0 ] || return 0
	begin setup
	begin_try setup
	rm -f "$ended" "$scratch/setup.log"
	command=(bash -c "$setup_script" setup "${#setup_commands[@]}" "${setup_commands[@]}" "${command[@]}")
	run_container &
	container=$!
	while [ ! -s "$ended" ] && kill -0 "$container" 2>/dev/null; do sleep 1; done
	said=$(cat "$ended" 2>/dev/null) || true
	if [ "$said" != finished ]; then
		wait "$container" || status=$?
		explain "the container ended with status $status before its setup_commands were done"
		fail_try "${said:-$why}"
	fi
	end_try setup
}
