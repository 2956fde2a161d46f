#!/usr/bin/env bash
# Unpacks a minimal Debian 12 into a folder, from the mirror that this machine uses. Needs root.
# usage: debian.sh FOLDER [PACKAGE,...]
set -euo pipefail
root=$1 packages=${2:-}
mirror=$(grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/ 2>/dev/null | head -n 1 | tr -d ' ' || true)
rm -rf "$root"
debootstrap --variant=minbase ${packages:+--include="$packages"} bookworm "$root" ${mirror:+"$mirror"} >&2
