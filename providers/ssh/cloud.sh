# shellcheck shell=bash
# Sourced by start-ray: what the module wrote when it claimed the host.
# shellcheck disable=SC2034,SC2317 # for start-ray
read_identity() {
	# shellcheck source=/dev/null
	. /etc/raygpu/host
}

# No table says how much memory a host has: 30 % of it, as Ray uses.
[ "${shm_mib:-0}" -gt 0 ] || shm_mib=$(awk '/^MemTotal:/ {print int($2 / 1024 * 0.3)}' /proc/meminfo)
