# shellcheck shell=bash
# What the module does on a host. It is sent to bash on its standard input, between the variables of a call and the
# name of one of these functions. Lines of the answer begin with the mark of the call: what a login prints does not matter.
# shellcheck disable=SC2154 # the variables: mark, token, lineage, cluster, pool, index, address, id, node_ip, script
set -u
umask 077
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
state=/var/lib/raygpu
claim=$state/claims/node
lib=/usr/local/lib/raygpu
unit=raygpu-ray.service
lock=/run/raygpu.lock
# All that src/boot and this file write there: what else is in these folders is not raygpu's, or is raygpu itself.
node_files=("$lib"/{cloud,cut-gpus,fatal-xids,gate,install-docker,lease,open-fast-network,prepare,report,report-nodes.py,start-ray,stop-ray,supervise,watch-ray}
	/etc/systemd/system/{raygpu-lease,raygpu-ray}.service)

tell() {
	local value=${2//[^[:print:]]/ }
	printf 'raygpu-%s: %s %s\n' "$mark" "$1" "${value:0:2000}"
}

quit() {
	tell failed "$1"
	tell end ''
	exit 0
}

# The calls that change a host, one at a time: one whose connection was lost may still go on. The file goes with the call, so
# what waited for it looks whether it has locked the file that is there now.
lock() {
	until [ "$lock" -ef "/proc/$$/fd/9" ]; do
		exec 9>>"$lock" || quit "cannot write $lock"
		flock --wait 60 9 || quit "another command of raygpu still changes this host"
	done
	trap 'rm -f "$lock"' EXIT
}

has_systemd() { [ -d /run/systemd/system ]; }

free_kib() { df -Pk /var/lib | awk 'NR == 2 {print $4}'; }

# ---- the claim: one file, which appears complete or not at all, and of which link(2) makes only one

# claimed KEY
claimed() { sed -n "s/^$1 //p" "$claim" 2>/dev/null | head -n 1; }

is_mine() { [ "$(claimed token)" = "$token" ] && [ "$(claimed address)" = "$address" ]; }

write_claim() {
	printf '%s %s\n' token "$token" lineage "$lineage" cluster "$cluster" pool "$pool" index "$index" \
		address "$address" id "$id" >"$1" && sync "$1"
}

# The host is not used: another one may be.
refuse() {
	tell refused "$1"
	tell end ''
	exit 0
}

# Fails if another node has the host.
take() {
	local new
	[ ! -e "$claim" ] || { is_mine; return; }
	[ "$(free_kib)" -ge 16384 ] || refuse "has $(free_kib) KiB free in /var/lib"
	[ -n "${node_ip:-$(own_address)}" ] || refuse 'has no default route, or no ip(8): set its internal_address in the inventory'
	! has_foreign_container || refuse "has a container \`ray\` that is not raygpu's"
	install -d -m 0755 "$state" "$state/claims" || refuse "cannot make $state/claims"
	new=$(mktemp "$state/claims/.new.XXXXXX") || refuse "cannot write in $state/claims"
	write_claim "$new" || { rm -f "$new"; refuse "cannot write in $state/claims"; }
	ln "$new" "$claim" 2>/dev/null && rm -f /var/log/raygpu/boot.log # of an earlier node
	rm -f "$new"
	is_mine
}

# ---- the service: of systemd, or a process of its own

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# Its process id, if it runs: after a boot another process may have it.
supervisor() {
	local boot pid command
	read -r boot pid 2>/dev/null <"$state/supervisor" || return 1
	[ "$boot" = "$(boot_id)" ] && command=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") &&
		[ "$command" = "bash $lib/supervise " ] && echo "$pid"
}

start_supervisor() {
	supervisor >/dev/null && return
	install -d -m 0755 /var/log/raygpu
	setsid bash "$lib/supervise" </dev/null >>/var/log/raygpu/start.log 2>&1 9>&- &
	echo "$(boot_id) $!" >"$state/supervisor"
	until supervisor >/dev/null || ! kill -0 $!; do sleep 0.1; done # it still has the name of its parent
}

write_supervisor() {
	cat >"$lib/supervise.new" <<-'END'
		#!/bin/bash
		# What raygpu-ray.service does, on a host without systemd.
		umask 022
		echo "$(cat /proc/sys/kernel/random/boot_id) $$" >/var/lib/raygpu/supervisor
		while :; do
			status=0
			/usr/local/lib/raygpu/start-ray || status=$?
			[ "$status" -ne 78 ] || exit 78
			sleep 10
		done
	END
	mv "$lib/supervise.new" "$lib/supervise"
	[ ! -d /etc/cron.d ] || echo "@reboot root setsid bash $lib/supervise" >/etc/cron.d/raygpu
}

# containers PROGRAM [FILTER...]: the id of the one that is called as Ray's.
containers() {
	! command -v "$1" >/dev/null || timeout 20 "$1" ps --all --quiet --filter name=^ray$ "${@:2}" 2>/dev/null
}

# Of the user, not of a node: start-ray could not start its own.
has_foreign_container() { [ -n "$(containers docker)" ] && [ -z "$(containers docker --filter label=raygpu.io/node)" ]; }

# Waits for its end too: what dies may still write. Where nothing reaps processes, they stay for ever.
end_group() {
	local tries
	for ((tries = 0; tries < 50; tries++)); do
		kill -KILL -- "-$1" 2>/dev/null || return 0
		sleep 0.1
	done
}

stop_service() {
	local pid
	if has_systemd; then
		systemctl disable --now "$unit" >/dev/null 2>&1
	else
		[ ! -e "$lib/stop-ray" ] || bash "$lib/stop-ray" >/dev/null 2>&1
	fi
	if pid=$(supervisor); then
		kill -TERM -- "-$pid" 2>/dev/null
	fi
	for program in docker podman; do
		[ -n "$(containers "$program" --filter label=raygpu.io/node)" ] || continue
		"$program" stop -t 10 ray >/dev/null 2>&1
		"$program" rm --force ray >/dev/null 2>&1
	done
	[ -z "${pid:-}" ] || end_group "$pid"
	rm -f "$state/supervisor"
}

# The claim of a host stays while Ray may run there. A docker that does not answer may have a container of a node that has booted.
stay_claimed_while_ray_runs() {
	local program left
	for program in docker podman; do
		if left=$(containers "$program" --filter label=raygpu.io/node --filter status=running); then
			[ -z "$left" ] || quit "Ray still runs: $program could not stop its container"
		elif [ -e "$state/booted" ]; then
			quit "$program does not answer, so Ray may still run"
		fi
	done
}

service() {
	if [ ! -e "$state/booted" ]; then
		echo unfinished
	elif has_systemd; then
		systemctl is-active "$unit" 2>/dev/null
	elif supervisor >/dev/null; then
		echo active
	else
		echo inactive
	fi
}

# One hash of all files that the node boots from.
files() {
	find /etc/raygpu "${node_files[@]}" -type f -exec sha256sum {} + 2>/dev/null |
		sort | sha256sum | cut -c -64
}

# The address of the default route; no packet is sent to the one asked for (RFC 5737).
own_address() {
	local route
	route=$(ip -4 -o route get 192.0.2.1 2>/dev/null) && [[ $route =~ \ src\ ([0-9.]+) ]] && echo "${BASH_REMATCH[1]}"
}

# What to do if the node cannot boot.
on_failure=quit

fail() {
	"$on_failure" "$1"
}

# What the script before this one wrote, and this one does not.
drop_old_files() {
	local file
	for file in "${node_files[@]}"; do
		[ "$file" = "$lib/supervise" ] || grep -q "^put [0-7]* $file '" "$state/script" || rm -f "$file"
	done
}

# The file `booted` is there from its end on: what is interrupted is a service that does not run.
boot_node() {
	local said
	rm -f "$state/booted"
	install -d -m 0755 /etc/raygpu "$lib" || fail "cannot make $lib"
	printf 'instance_id=%s\nnode_ip=%s\n' "$id" "${node_ip:-$(own_address)}" >/etc/raygpu/host ||
		fail "cannot write /etc/raygpu/host"
	if ! has_systemd; then
		write_supervisor || fail "cannot write $lib/supervise"
		systemctl() { :; } # for the start script
		export -f systemctl
	fi
	printf %s "$script" >"$state/script" || fail "cannot write $state/script"
	said=$(bash "$state/script" 2>&1) || fail "the start script failed: ${said##*$'\n'}"
	drop_old_files
	has_systemd || start_supervisor
	: >"$state/booted" || fail "cannot write $state/booted"
}

# ---- the calls

probe() {
	local key value line
	tell boot "$(boot_id)"
	tell clock "$(date +%s)"
	tell cpus "$(nproc)"
	tell memory_kib "$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)"
	tell disk_kib "$(free_kib)"
	tell address "$(own_address)"
	timeout 1 getent hosts "$(uname -n)" >/dev/null || [ "$?" -ne 124 ] || tell slow_name "$(uname -n)"
	for key in docker podman; do
		! command -v "$key" >/dev/null || tell runtime "$key"
	done
	value=$(command -v docker >/dev/null && timeout 10 docker version --format '{{.Server.Version}}' 2>/dev/null) &&
		tell docker_version "$value"
	if command -v nvidia-smi >/dev/null; then
		timeout 20 nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader 2>/dev/null |
			head -n 64 | while IFS= read -r line; do tell gpu "$line"; done
	fi
	if [ -e "$claim" ]; then
		tell claim "$claim"
		head -c 8192 "$claim" | head -n 7 | while read -r key value; do tell "claim.$key" "$value"; done
		tell service "$(service)"
		tell files "$(files)"
	elif has_foreign_container; then
		tell foreign ray
	fi
	tell end ''
}

# The host is released again: another one may be used.
give_back() {
	on_failure=quit
	delete_node
	refuse "$1"
}

create() {
	lock
	if take; then
		on_failure=give_back
		boot_node
		tell address "${node_ip:-$(own_address)}"
		tell files "$(files)"
		tell ok ''
	else
		tell taken "$(claimed cluster) as $(claimed address)"
	fi
	tell end ''
}

# As ssh_claim_is_sound.
is_sound() {
	local own
	own=$(claimed id)
	[ "${#own}" -gt 9 ] && [ "${own: -9}" = "/$(claimed token | head -c 8)" ] && [ -n "$(claimed cluster)" ] && [ -n "$(claimed address)" ]
}

# Only the node of this id: another one may have the host by now.
is_there() {
	[ -e "$claim" ] || return
	is_sound || quit "its claim, $claim, is damaged"
	[ "$(claimed id)" = "$id" ]
}

change() {
	lock
	is_there || { tell gone ''; tell end ''; return; }
	has_systemd || stop_service
	boot_node
	! has_systemd || systemctl restart --no-block "$unit" || quit "systemd does not start $unit again"
	tell address "${node_ip:-$(own_address)}"
	tell files "$(files)"
	tell ok ''
	tell end ''
}

# Asked by mountpoint(1), a FUSE file system whose process has ended would not be one.
unmount_all() {
	local at
	for at in "$state"/mounts/*; do
		umount "$at" 2>/dev/null || umount --lazy "$at" 2>/dev/null
	done
}

# Everything of ours, the claim last: what is interrupted is repeated.
delete_node() {
	stop_service
	stay_claimed_while_ray_runs
	unmount_all
	is_there || { tell gone ''; tell end ''; exit 0; }
	rm -rf --one-file-system /etc/raygpu /run/raygpu /var/log/raygpu "$state/ray" "$state/mounts" ||
		quit "cannot delete the files of the node"
	rm -f "${node_files[@]}" "${node_files[@]/%/.new}" /etc/cron.d/raygpu
	rmdir "$lib" 2>/dev/null
	! has_systemd || systemctl daemon-reload
	find "$state" -mindepth 1 -maxdepth 1 ! -name claims -exec rm -rf --one-file-system {} + ||
		quit "cannot delete $state"
	rm -f "$claim" || quit "cannot delete $claim"
	rmdir "$state/claims" "$state" 2>/dev/null
}

remove() {
	lock
	is_there || { tell gone ''; tell end ''; return; }
	delete_node
	tell ok ''
	tell end ''
}

# What the node boots from, for a state that is made again.
reveal() {
	is_there || { tell gone ''; tell end ''; return; }
	base64 "$state/script" 2>/dev/null | while IFS= read -r line; do tell log "$line"; done
	tell end ''
}

console() {
	is_there || { tell gone ''; tell end ''; return; }
	tail -c 60000 /var/log/raygpu/boot.log 2>/dev/null | while IFS= read -r line; do tell log "$line"; done
	tell end ''
}
