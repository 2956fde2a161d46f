#!/usr/bin/env bash
# Builds the Kubernetes API server that the tests use: the real k8s.io/apiextensions-apiserver (the part of the API server
# that serves CustomResourceDefinitions), with etcd and kubectl, from the packages of Debian unstable. It installs nothing.
# usage: tests/kube/build.sh [--update]
#   Prints the folder with apiextensions-apiserver, etcd, kubectl and VERSIONS. A finished folder is used again;
#   --update builds another one if Debian's packages are newer.
# Folders: ${XDG_CACHE_HOME:-~/.cache}/raygpu-kube/VERSIONS. Needs 1 GB of disk while it works; 200 MB stay.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/raygpu-kube
case ${1:-} in
"" | --update) ;;
*) echo "usage: tests/kube/build.sh [--update]" >&2; exit 4 ;;
esac
mkdir -p "$cache"
built() { find "$cache" -mindepth 2 -maxdepth 2 -name VERSIONS -printf '%T@ %h\n' 2>/dev/null | sort -rn | head -1 | cut -d' ' -f2-; }
if [ -z "${1:-}" ] && [ -n "$(built)" ]; then built; exit 0; fi
if [ "$(uname -m)" != x86_64 ] && [ "$(uname -m)" != aarch64 ]; then echo "no build for $(uname -m)" >&2; exit 1; fi

exec 9>"$cache/lock" # one build at a time
flock 9
if [ -z "${1:-}" ] && [ -n "$(built)" ]; then built; exit 0; fi
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# ---- packages of unstable, without installing them: apt with its own lists and sources
mkdir -p "$work"/apt/{lists/partial,cache/archives/partial,sources.d,preferences.d} "$work/debs" "$work/root"
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' | grep -i debian | grep -v security | head -1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] ${mirror:-http://deb.debian.org/debian} sid main" >"$work/apt/sources.list"
cat >"$work/apt/apt.conf" <<END
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "$work/apt/sources.d";
Dir::Etc::preferencesparts "$work/apt/preferences.d";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
END
export APT_CONFIG=$work/apt/apt.conf
apt-get -qq update >&2
candidate() { apt-cache madison "$1" | grep ' sid/' | head -1 | awk '{print $3}'; }
names="apiextensions-apiserver-$(candidate golang-k8s-apiextensions-apiserver-dev)"
names="$names,etcd-$(candidate etcd-server),kubectl-$(candidate kubectl)"
target=$cache/$names
if [ -f "$target/VERSIONS" ]; then echo "$target"; exit 0; fi
go=$(apt-cache search --names-only '^golang-1\.[0-9]+-go$' | sed -E 's/^golang-(1\.[0-9]+)-go.*/\1/' | sort -V | tail -1)
mapfile -t sources < <(grep -v '^#' "$here/packages.txt")
cd "$work/debs"
apt-get -qq download "golang-$go-go" "golang-$go-src" etcd-server/sid kubectl/sid "${sources[@]}" >&2
for package in *.deb; do dpkg-deb -x "$package" "$work/root"; done

# ---- the server
export GOROOT=$work/root/usr/lib/go-$go GOPATH=$work/root/usr/share/gocode GOCACHE=$work/go-cache
export GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS='' GOTELEMETRY=off
cd "$GOPATH/src/k8s.io/apiextensions-apiserver"
mkdir "$work/done"
"$GOROOT/bin/go" build -trimpath ${RAYGPU_GCFLAGS:+-gcflags="$RAYGPU_GCFLAGS"} -ldflags '-s -w' -o "$work/done/apiextensions-apiserver" . >&2
cp "$work/root/usr/bin/etcd" "$work/root/usr/bin/kubectl" "$work/done/"
tr , '\n' <<<"$names" >"$work/done/VERSIONS"
rm -rf "$target"
mv "$work/done" "$target"
echo "$target"
