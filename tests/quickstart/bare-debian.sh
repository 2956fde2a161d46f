#!/usr/bin/env bash
# Runs a command as root in a bare Debian 12, in a clone of this checkout (a new machine). Exits with 77 and the
# reason if that is not possible.
# usage: tests/quickstart/bare-debian.sh COMMAND...
#
# The base (350 MB), the downloaded packages and a compiler cache stay in $RAYGPU_TEST_DIR/bare-debian (default:
# /tmp/raygpu-test-$UID/bare-debian). Nothing else stays: processes and mounts are in separate namespaces and
# end with this script, however it ends; a later run removes the files of a killed one. Runs wait for each
# other.
set -euo pipefail
release=bookworm
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${RAYGPU_TEST_DIR:-/tmp/raygpu-test-$(id -u)}/bare-debian

skip() { echo "a bare Debian 12 needs $*" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "root"
command -v debootstrap >/dev/null || skip "debootstrap"
unshare --mount --pid --fork --kill-child true 2>/dev/null || skip "the right to make namespaces"

cache=${CCACHE_DIR:-$work/ccache}
mkdir -p "$work/archives" "$cache"
exec 9>"$work/lock"
flock 9 # also held by everything that runs in the namespaces
rm -rf --one-file-system "$work"/run.* "$work"/new

# ccache: what tests/run.sh has compiled is not compiled again, but its headers must be there
if [ ! -e "$work/base/usr/bin/ccache" ]; then
  rm -rf --one-file-system "$work/base"
  # the mirror that this machine uses; if it uses none for this release, debootstrap's own default
  # shellcheck disable=SC2016  # apt-get's own words
  mirror=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' |
    sed -n "s/^$release main //p" | head -n 1)
  debootstrap --variant=minbase --include=git,ca-certificates,ccache "$release" "$work/new" \
    ${mirror:+"$mirror"} >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log" >&2; exit 1; }
  mv "$work/new" "$work/base"
fi

root=$(mktemp -d "$work/run.XXXXXX") child=
end() {
  local init=
  # the first process of the namespace is awaited until all others in it have ended
  init=$(cat "/proc/$child/task/$child/children" 2>/dev/null) || true
  # shellcheck disable=SC2086  # a number and a blank
  [ -z "$init" ] || kill -KILL $init || true
  wait
  rm -rf --one-file-system "$root"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

cp -a "$work/base/." "$root/"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/no-sync" # this machine need not survive a power cut
git clone -q "$top" "$root/root/project"
# including uncommitted files
git -C "$top" ls-files -z --modified --others --exclude-standard |
  tar -C "$top" --null --no-recursion --ignore-failed-read -cf - -T - 2>/dev/null |
  tar -C "$root/root/project" -xf -

# inside COMMAND...: the first process of the namespaces
inside() {
  set -e
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
  ln -sf pts/ptmx "$root/dev/ptmx"
  mount --bind "$work/archives" "$root/var/cache/apt/archives"
  mkdir "$root/ccache"
  mount --bind "$cache" "$root/ccache"
  # shellcheck disable=SC2016  # expanded by the shell in there
  exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TERM=dumb \
    CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_DEPEND=1 \
    CCACHE_SLOPPINESS=locale \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    bash -c 'cd /root/project && exec "$@"' bash "$@"
}
export -f inside
export root work cache
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -c 'inside "$@"' bash "$@" &
child=$!
wait "$child"
