#!/usr/bin/env bash
# Installs the missing Debian packages that raygpu is built and tested with.
# usage: tests/install.sh [build | test | hosts]   (test: also what only the tests need; hosts: what real hosts on this machine need)
set -eu
build="gcc libc6-dev meson ninja-build pkg-config python3 ca-certificates curl scdoc
  libglib2.0-dev libyaml-dev libjansson-dev libcurl4-openssl-dev libpq-dev libsqlite3-dev libgit2-dev libarchive-dev
  libssl-dev libxml2-dev libmicrohttpd-dev libcsv-dev libglpk-dev zlib1g-dev libxxhash-dev libsodium-dev git"
test="ccache g++ clang clang-tidy libclang-rt-14-dev cppcheck valgrind python3-pytest python3-pytest-xdist python3-jsonschema
  python3-yaml awscli cloud-init shellcheck json-schema-test-suite debootstrap faketime clang-format openssl groff zsh fish
  postgresql pgbouncer gh openssh-server iproute2 tini sudo ansible-core"
hosts="openssh-server openssh-client iproute2 tini util-linux docker.io debootstrap python3-pytest python3-venv"
want=$build
[ "${1:-build}" = test ] && want="$build $test"
[ "${1:-build}" = hosts ] && want="$build $hosts"
missing=
for package in $want; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get"
log=$(mktemp)
# shellcheck disable=SC2086  # lists of words
if ! { $apt update -q && $apt install -y -q --no-install-recommends $missing; } \
  >"$log" 2>&1; then
  cat "$log"
  echo "the packages could not be installed" >&2
  exit 1
fi
rm -f "$log"
