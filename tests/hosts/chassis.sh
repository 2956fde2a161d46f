#!/usr/bin/env bash
# What a host keeps without power: its disk, in memory, and its network interface. Runs in a new mount and network namespace (hosts.py).
# usage: chassis.sh DIR SIZE
set -euo pipefail
dir=$1
mkdir -p "$dir/disk"
mount -t tmpfs -o "size=$2" tmpfs "$dir/disk"
mkdir "$dir"/disk/{upper,work,root,docker}
ip link set lo up
touch "$dir/ready"
exec sleep infinity
