#!/bin/bash
# Keeps a node with bad GPUs out of Ray. Sourced by start-ray unless the spec has `health: {gate: false}`;
# `gpus`, `nvlink` and `diag` are in node.conf. What a GPU or driver does not report ([N/A]) counts as good.
# shellcheck disable=SC2034,SC2154 # for report; set by node.conf, or start-ray's functions
bad_gpus=() bad_serials=() complaints=()
fatal_xids=" $(cat "$lib/fatal-xids") "

# complain GPU WHAT: its index, or none, and what is wrong with it.
complain() {
	complaints+=("${1:+GPU $1: }$2")
	[ -n "$1" ] || return 0
	bad_gpus[$1]=${uuids[$1]}
	bad_serials[$1]=${serials[$1]}
}

read_gpus() {
	local index uuid serial bus errors rows
	uuids=() serials=() buses=()
	rows=$(nvidia-smi --query-gpu=index,uuid,serial,pci.bus_id,ecc.errors.uncorrected.volatile.total \
		--format=csv,noheader) || try_again "nvidia-smi does not report the health of the GPUs"
	while IFS=', ' read -r index uuid serial bus errors; do
		uuids[index]=$uuid
		serials[index]=${serial/\[N\/A]/}
		# 00000000:10:1C.0, in the kernel's log 0000:10:1c
		bus=${bus:4:10}
		buses[index]=${bus,,}
		case $errors in
		*[!0-9]* | 0) ;;
		*) complain "$index" "$errors uncorrectable ECC errors since boot" ;;
		esac
	done <<<"$rows"
}

index_of() {
	local index
	for index in "${!uuids[@]}"; do
		[ "${uuids[index]}" != "$1" ] && [ "${buses[index]}" != "$1" ] || echo "$index"
	done
}

# Rows that a reset would replace, and rows that could not be replaced (A100 and newer); pages on older GPUs.
check_memory() {
	local uuid pending failure
	while IFS=', ' read -r uuid pending failure; do
		case $pending in Yes | 1) complain "$(index_of "$uuid")" "memory rows wait to be remapped" ;; esac
		case $failure in Yes | 1) complain "$(index_of "$uuid")" "memory rows could not be remapped" ;; esac
	done < <(nvidia-smi --query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure \
		--format=csv,noheader 2>/dev/null)
	while IFS=', ' read -r uuid pending; do
		[ "$pending" != Yes ] || complain "$(index_of "$uuid")" "memory pages wait to be retired"
	done < <(nvidia-smi --query-gpu=uuid,retired_pages.pending --format=csv,noheader 2>/dev/null)
}

# "NVRM: Xid (PCI:0000:10:1c): 79, pid=1, GPU has fallen off the bus."
check_xids() {
	local line seen=' ' form='Xid \(PCI:([0-9a-fA-F:]+)[^)]*\): ([0-9]+)(.*)'
	while read -r line; do
		[[ $line =~ $form ]] || continue
		local bus=${BASH_REMATCH[1],,} xid=${BASH_REMATCH[2]} text=${BASH_REMATCH[3]}
		[[ $fatal_xids = *" $xid "* && $seen != *" $bus/$xid "* ]] || continue
		seen+="$bus/$xid "
		complain "$(index_of "$bus")" "Xid $xid${text:0:80}"
	done < <({ journalctl --dmesg --boot --quiet --no-pager --output=cat || dmesg; } 2>/dev/null |
		grep -F 'NVRM: Xid')
}

# Sets `faults`, each "GPU:WHAT". All GPUs must have the same number of links up, at least one: some types have
# unused links. While the fabric of H100 and newer GPUs is in progress, CUDA programs hang or fail.
find_nvlink_faults() {
	local line gpu=0 up=() most=0
	faults=()
	! nvidia-smi --query-gpu=fabric.state --format=csv,noheader 2>/dev/null | grep -q 'In Progress' ||
		faults+=(":the NVLink fabric is still in progress")
	while read -r line; do
		case $line in
		'GPU '*)
			gpu=${line#GPU }
			gpu=${gpu%%:*}
			up[gpu]=0
			;;
		*'GB/s'*) up[gpu]=$((up[gpu] + 1)) ;;
		esac
		((${up[gpu]:-0} <= most)) || most=${up[gpu]}
	done < <(nvidia-smi nvlink --status 2>/dev/null)
	if ((most == 0)); then
		faults+=(":no NVLink is up")
		return
	fi
	for ((gpu = 0; gpu < gpus; gpu++)); do
		((${up[gpu]:-0} == most)) || faults+=("$gpu:${up[gpu]:-0} of $most NVLinks are up")
	done
}

# The driver and NVIDIA's fabric manager bring the links up after boot.
check_nvlink() {
	[ "${nvlink:-0}" = 1 ] || return 0
	local faults fault tries
	for ((tries = 0; tries < 18; tries++)); do
		find_nvlink_faults
		[ "${#faults[@]}" -gt 0 ] || return 0
		sleep 10
	done
	for fault in "${faults[@]}"; do complain "${fault%%:*}" "${fault#*:}"; done
}

# Once, because it takes minutes; again if the GPUs are others. The form of the JSON is not documented (DCGM):
# only names, GPUs and verdicts are read, in any object.
run_diag() {
	local passed=/var/lib/raygpu/diag-passed log=/var/log/raygpu/diag.json key value name='' gpu='' said='' fails=0 status=0
	[ "${diag:-0}" -gt 0 ] && [ "$(cat "$passed" 2>/dev/null)" != "${uuids[*]}" ] || return 0
	command -v dcgmi >/dev/null || give_up "no dcgmi on this image: health.diag requires NVIDIA DCGM"
	begin diag
	systemctl start nvidia-dcgm >/dev/null 2>&1 || nv-hostengine >/dev/null 2>&1 || true
	install -d "${passed%/*}" "${log%/*}"
	timeout 5400 dcgmi diag --run "$diag" --json >"$log" 2>&1 || status=$?
	while IFS=: read -r key value; do
		value=${value//[\" ]/}
		case $key in
		'"name"') name=$value gpu='' ;;
		'"gpu_id"' | '"gpu_ids"' | '"entity_id"') gpu=${value%%,*} ;;
		'"status"')
			[ "${value,,}" = fail ] || continue
			fails=$((fails + 1))
			[ -n "${uuids[${gpu:-999}]:-}" ] || gpu=
			# its summary repeats it
			[ "$said" != "$gpu/$name" ] || continue
			said=$gpu/$name
			complain "$gpu" "dcgmi diag $diag: $name failed"
			;;
		esac
	done < <(grep -oE '"(name|gpu_ids?|entity_id|status)" *: *("[^"]*"|[0-9]+)' "$log" | sed 's/" *:/":/')
	[ "$status" = 0 ] || [ "$fails" -gt 0 ] || complain "" "dcgmi diag $diag ended with status $status"
	[ "${#complaints[@]}" -gt 0 ] || printf '%s' "${uuids[*]}" >"$passed"
}

admit_gpus() {
	begin gate
	read_gpus
	check_memory
	check_xids
	check_nvlink
	[ "${#complaints[@]}" -gt 0 ] || run_diag
	[ "${#complaints[@]}" -gt 0 ] || return 0
	step=gate
	local text
	text=$(printf '%s; ' "${complaints[@]}")
	[ "${#bad_gpus[@]}" = 0 ] || clues=("gpu=$(IFS=,; echo "${bad_gpus[*]}")" "serial=$(IFS=,; echo "${bad_serials[*]}")")
	give_up "${text%; }"
}
