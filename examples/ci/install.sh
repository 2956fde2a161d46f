#!/usr/bin/env bash
# Builds raygpu without its tests and installs it, on Debian or Ubuntu: for the GitHub action and the container image.
# usage: install.sh find           outputs of a step: the folder to install to and the key of its cache; none if raygpu is installed
#        install.sh build PREFIX   installs the Debian packages it needs, then raygpu, unless it is there (below $DESTDIR if that is set)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

find_it() {
  local folder=${RUNNER_TEMP:-/tmp}/raygpu sources system
  if [ -n "$(type -P raygpu)" ]; then return; fi
  sources=$(cd "$top" && find meson.build meson_options.txt cmd src providers schemas man -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum)
  # shellcheck source=/dev/null
  system=$(. /etc/os-release && echo "$ID-$VERSION_ID-$(uname -m)")
  printf 'folder=%s\nkey=%s\n' "$folder" "raygpu-$system${folder//\//-}-${sources:0:32}"
}

build() {
  local prefix=$1 work
  "$top/tests/install.sh" build
  if [ -x "${DESTDIR:-}$prefix/bin/raygpu" ]; then return; fi
  work=$(mktemp -d)
  # warnings of compilers that are newer than ours stop nobody's pipeline
  meson setup "$work" "$top" --buildtype=release -Dwerror=false --prefix="$prefix"
  # what is installed, of all targets: not the tests
  meson introspect "$work" --targets | python3 -c 'import json, os, sys
for target in json.load(sys.stdin):
    if target["installed"]:
        print(*(os.path.relpath(path, sys.argv[1]) for path in target["filename"]), sep="\n")' "$work" |
    xargs ninja -C "$work"
  meson install -C "$work" --no-rebuild --strip
  rm -rf "$work"
}

case ${1:-} in
find) find_it ;;
build) build "$2" ;;
*) sed -n '3,4s/^# //p' "$0" >&2; exit 4 ;;
esac
