# shellcheck shell=bash
# What start-ray and watch-ray must know about Compute Engine. Sourced by start-ray.
# shellcheck disable=SC2034 # set for them

# The metadata server; it answers only requests with this header.
mds=http://metadata.google.internal/computeMetadata/v1
flavor='Metadata-Flavor: Google'

# NVIDIA's open kernel modules do not support GPUs before Turing. "Dual MIT/GPL" is their license.
check_modules() {
	local modules
	modules=$(modinfo --field license nvidia 2>/dev/null) || return 0
	[[ $modules == *MIT* ]] || return 0
	! lspci -d 10de: 2>/dev/null | grep -qE 'V100|P100|P4\b' ||
		give_up "the image has NVIDIA's open kernel modules, which do not support this GPU: set image to one with the proprietary driver"
}

read_identity() {
	local zone number
	command -v curl >/dev/null || give_up "no curl on this image"
	number=$(metadata --header "$flavor" "$mds/instance/id") ||
		try_again "the metadata server does not answer"
	zone=$(metadata --header "$flavor" "$mds/instance/zone") ||
		try_again "the metadata server does not report the zone"
	instance_id=${zone##*/}/$number
	node_ip=$(metadata --header "$flavor" "$mds/instance/network-interfaces/0/ip") ||
		try_again "the metadata server does not report the address"
}

# TRUE about 30 seconds before Compute Engine takes a spot instance back.
read_notice() {
	local answer
	answer=$(curl --silent --fail --noproxy '*' --max-time 2 --header "$flavor" "$mds/instance/preempted") || return 0
	[ "$answer" != TRUE ] || [ -n "$notice" ] || notice=$(date --utc --date '+30 seconds' +%Y-%m-%dT%H:%M:%SZ)
}

# Local SSDs with NVMe, which machines of some series have without asking
# (cloud.google.com/compute/docs/disks/add-local-ssd, with the names of their links). A stopped machine loses them.
list_local_disks() {
	local link
	for link in /dev/disk/by-id/google-local-nvme-ssd-*; do
		[[ ! -e $link || $link =~ -part[0-9]+$ ]] || readlink --canonicalize "$link"
	done
}

find_lease() { lease_request=(--header "$flavor" "$mds/instance/attributes/raygpu-expires"); }

access_token() {
	local answer form='"access_token" *: *"([^"]+)"'
	answer=$(metadata --header "$flavor" "$mds/instance/service-accounts/default/token") || return 1
	[[ $answer =~ $form ]] && printf %s "${BASH_REMATCH[1]}"
}

# Both by the node's service account, which the plan requires for them.
registry_login() {
	[[ $1 == *-docker.pkg.dev || $1 == gcr.io || $1 == *.gcr.io ]] || return 0
	registry_user=oauth2accesstoken
	registry_password=$(access_token) || try_again "the metadata server supplies no token of the service account"
}

read_secret() {
	local token answer form='"data" *: *"([^"]+)"'
	token=$(access_token) || try_again "the metadata server supplies no token of the service account"
	answer=$(curl --silent --fail --max-time 10 --header @- "https://secretmanager.googleapis.com/v1/$1:access" \
		<<<"Authorization: Bearer $token") ||
		try_again "can't read the secret $1: does the service account have secretmanager.versions.access?"
	[[ $answer =~ $form ]] || try_again "the secret $1 has no data"
	registry_password=$(base64 --decode <<<"${BASH_REMATCH[1]}")
}

[ "${gpus:-0}" -eq 0 ] || check_modules
