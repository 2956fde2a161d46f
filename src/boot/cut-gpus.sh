#!/bin/bash
# Cuts the GPUs of this node into MIG slices before Ray starts. Sourced by start-ray on nodes whose
# pool says so; `mig` (the slices of one GPU, as nvidia-smi takes them), `gpus` and `slices` are in
# node.conf. The slices are gone after each boot, MIG mode mostly is not: whatever is as it should
# be stays. A node whose GPUs can't be cut never joins Ray.
# shellcheck disable=SC2154 # set by node.conf, or start-ray's functions
rebooted=/var/lib/raygpu/rebooted-for-mig

mig_mode() { nvidia-smi --id="$1" --query-gpu=mig.mode.current --format=csv,noheader; }

# MIG mode needs a reset of the GPU (NVIDIA's MIG user guide); machines that get their GPU passed
# through often can't do it by themselves, and are booted again, once.
turn_mig_on() {
	local gpu=$1 mode
	mode=$(mig_mode "$gpu") || try_again "nvidia-smi does not report the MIG mode of GPU $gpu"
	case $mode in
	Enabled) return 0 ;;
	Disabled) ;;
	*) give_up "GPU $gpu can't be cut into MIG slices: its MIG mode is \"$mode\"; this node stays out of Ray" ;;
	esac
	say "turning MIG mode on for GPU $gpu"
	nvidia-smi --id="$gpu" --multi-instance-gpu=1 >&2 ||
		try_again "can't turn MIG mode on for GPU $gpu"
	[ "$(mig_mode "$gpu")" = Enabled ] && return 0
	nvidia-smi --id="$gpu" --gpu-reset >&2 || say "GPU $gpu can't be reset"
	[ "$(mig_mode "$gpu")" = Enabled ]
}

boot_again() {
	if [ -e "$rebooted" ]; then
		give_up "MIG mode is still off after a reboot: this node stays out of Ray"
	fi
	install -d "${rebooted%/*}"
	: >"$rebooted"
	why="MIG mode needs a reboot; rebooting once"
	say "$why"
	systemctl reboot
	exit 1
}

# The profiles that a GPU is cut into now, in order.
slices_of() {
	nvidia-smi --list-gpus | while read -r word second rest; do
		[ "$word" = GPU ] && current=${second%:}
		if [ "$word" = MIG ] && [ "$current" = "$1" ]; then echo "$second"; fi
		: "$rest"
	done | sort
}

cut_gpu() {
	local gpu=$1 wish
	wish=$(printf '%s\n' "${mig[@]%%:*}" | sort)
	[ "$(slices_of "$gpu")" != "$wish" ] || return 0
	# compute instances first, then what holds them; there may be none
	nvidia-smi mig --id "$gpu" --destroy-compute-instance >/dev/null 2>&1 || true
	nvidia-smi mig --id "$gpu" --destroy-gpu-instance >/dev/null 2>&1 || true
	wish=$(IFS=,; echo "${mig[*]}")
	nvidia-smi mig --id "$gpu" --create-gpu-instance "$wish" --default-compute-instance >&2 ||
		try_again "can't cut GPU $gpu into $wish: this node stays out of Ray"
}

# From Docker 29 on, --gpus resolves its devices by CDI first, and the service that writes CDI's list does not notice that
# GPUs are cut (NVIDIA Container Toolkit, "Support for Container Device Interface").
hand_out() {
	local uuid version listed devices=()
	systemctl restart nvidia-cdi-refresh.service >/dev/null 2>&1 || true
	version=$(docker version --format '{{.Server.Version}}' 2>/dev/null) || version=0
	listed=$(nvidia-ctk cdi list 2>/dev/null) || listed=
	for uuid in ${1//,/ }; do
		[[ " ${listed//$'\n'/ } " != *" nvidia.com/gpu=$uuid "* ]] || devices+=(--device "nvidia.com/gpu=$uuid")
	done
	version=${version%%.*}
	if [ "${version:-0}" -ge 29 ] && [ "${#devices[@]}" -eq $((slices * 2)) ]; then
		container_args+=("${devices[@]}")
	else
		# docker reads the value as CSV, so the list needs quotes of its own
		container_args+=(--gpus "\"device=$1\"")
	fi
}

cut_gpus() {
	local gpu all_on=1 uuids seen
	for ((gpu = 0; gpu < gpus; gpu++)); do turn_mig_on "$gpu" || all_on=0; done
	[ "$all_on" = 1 ] || boot_again
	rm -f "$rebooted"
	for ((gpu = 0; gpu < gpus; gpu++)); do cut_gpu "$gpu"; done
	uuids=$(nvidia-smi --list-gpus | grep -o 'MIG-[0-9A-Za-z/-]*' | paste -s -d, -) || true
	seen=$(tr -cd , <<<"$uuids,")
	[ -n "$uuids" ] || seen=
	[ "${#seen}" -eq "$slices" ] || try_again "nvidia-smi shows ${#seen} MIG slices of $slices"
	hand_out "$uuids"
	# CUDA and Ray count slices by their UUIDs only
	container_args+=(--env "CUDA_VISIBLE_DEVICES=$uuids")
	say "GPUs are cut into $slices slices"
}
