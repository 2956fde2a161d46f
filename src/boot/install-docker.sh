#!/bin/bash
# Docker and, on GPU nodes, NVIDIA's container toolkit, for an image without them: from the repositories that the image has.
# Sourced by start-ray where the module's schema asks for it.
# shellcheck disable=SC2154 # set by node.conf and start-ray

# Unattended upgrades hold the lock during the first boot. Lists of packages that can't be renewed may be new enough.
install_packages() {
	local error
	begin_try docker
	say "installing $*"
	apt-get -q update >/dev/null 2>&1 || true
	error=$(DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -q install -y "$@" 2>&1 >/dev/null) ||
		fail_try "can't install ${1%%=*}: ${error##*$'\n'}"
	end_try docker
}

has_apt_get() { command -v apt-get >/dev/null; }
has_toolkit() { command -v nvidia-ctk && command -v nvidia-container-runtime-hook; }

# The base package of the toolkit lacks the hook, through which docker hands out GPUs. The other packages must be of its
# version: images hold it.
install_toolkit() {
	local version=
	! command -v nvidia-ctk >/dev/null ||
		version=$(dpkg-query --show --showformat '${Version}' nvidia-container-toolkit-base 2>/dev/null) || version=
	if [ -n "$version" ]; then
		install_packages "nvidia-container-toolkit=$version" "libnvidia-container-tools=$version" \
			"libnvidia-container1=$version"
	else
		install_packages nvidia-container-toolkit
	fi
}

# What is installed is configured, in a later try if this one fails.
install_docker() {
	local installed=/var/lib/raygpu/docker-installed
	install -d /var/lib/raygpu
	if ! command -v docker >/dev/null; then
		has_apt_get ||
			give_up "no docker on this image, and no apt-get to install it with: install it with initialization_commands, or use an image that has it$image_hint"
		: >"$installed"
		install_packages docker.io
	fi
	if [ "$gpus" -gt 0 ] && ! has_toolkit >/dev/null; then
		if has_apt_get; then
			: >"$installed"
			install_toolkit
		else
			say "no apt-get to install nvidia-container-toolkit with: docker hands out GPUs with what this image has"
		fi
	fi
	[ -e "$installed" ] || return 0
	[ "$gpus" -eq 0 ] || nvidia-ctk runtime configure --runtime=docker >&2 ||
		try_again "nvidia-ctk can't configure docker"
	systemctl restart docker || try_again "docker does not start"
	rm -f "$installed"
}
