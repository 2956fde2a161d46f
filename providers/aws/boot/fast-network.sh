# shellcheck shell=bash
# Gives this node's EFA adapters to the container. Sourced by start-ray if node.conf requests
# them. They appear as InfiniBand devices, and memory that they read and write must be locked.
# shellcheck disable=SC2154 # rdma: set by node.conf

open_fast_network() {
	local class=/sys/class/infiniband seen device
	[ -d "$class" ] ||
		give_up "no EFA driver on this image: use one that has it, as AWS's deep learning base images do"
	seen=$(find "$class" -mindepth 1 -maxdepth 1 | grep -c .) || true
	[ "$seen" -ge "$rdma" ] || try_again "$class shows $seen EFA devices of $rdma"
	for device in /dev/infiniband/uverbs*; do
		[ -e "$device" ] || try_again "no /dev/infiniband/uverbs* yet"
		container_args+=(--device "$device")
	done
	container_args+=(--ulimit memlock=-1:-1)
	# libfabric would look for other providers too; the user's choice wins
	grep -q '^FI_PROVIDER=' /etc/raygpu/ray.env || container_args+=(--env FI_PROVIDER=efa)
}
