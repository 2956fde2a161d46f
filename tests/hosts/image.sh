#!/usr/bin/env bash
# Makes a container image with a real Ray: Debian's Python and Ray's published wheels, as an archive for `docker import`.
# Kept in DIR, one for each version. Needs root; about 3 minutes and 600 MB the first time.
# usage: image.sh DIR RAY_VERSION   (prints the archive's path)
set -euo pipefail
dir=$1 version=$2
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
archive=$dir/ray-$version.tar
if [ ! -s "$archive" ]; then
  root=$dir/root
  if [ ! -e "$dir/base.made" ]; then
    "$(dirname "$0")/debian.sh" "$root" python3,procps
    chroot "$root" useradd --create-home --uid 1000 ray
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/*
    touch "$dir/base.made"
  fi
  [ -e "$dir/pip/bin/pip" ] || /usr/bin/python3 -m venv "$dir/pip"
  rm -rf "$root/opt/ray"
  "$dir/pip/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --target "$root/opt/ray" "ray[default]==$version" >&2
  # the scripts name the Python of the venv
  sed -i '1s|^#!.*|#!/usr/bin/python3|' "$root"/opt/ray/bin/*
  tar -C "$root" -cf "$archive.new" --exclude=./proc/* --exclude=./sys/* --exclude=./dev/* .
  mv "$archive.new" "$archive"
fi
echo "$archive"
