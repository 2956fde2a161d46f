#!/usr/bin/env bash
# A host of the tests, from power on to power off: processes and a view of this machine's files of its own. Its disk and network are
# those of its chassis; its console is DIR/console. Runs in a new mount, process, IPC and UTS namespace (hosts.py).
# usage: enter.sh DIR INIT GROUP [FOLDER...]   (INIT: tini or systemd, whose cgroup is GROUP; folders of the machine that it shows as they are, at the same path)
set -euo pipefail
dir=$1 init=$2 group=$3
shift 3
touch "$dir/console"
tries=0
# the host of before the reboot lets go of its disk a moment after its end
until mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/disk/upper,workdir=$dir/disk/work" "$dir/disk/root"; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || exit 1
  sleep 0.1
done
cd "$dir/disk/root"
mkdir -p var/lib/docker var/lib/cloud/data .old
mount --bind "$dir/disk/docker" var/lib/docker # an engine's own layers cannot lie on an overlay
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
if [ "$init" = systemd ]; then
  # it creates and removes files there
  mount -t tmpfs -o mode=755 tmpfs dev
  mkdir dev/shm dev/pts
  for node in null zero full random urandom tty; do
    touch "dev/$node"
    mount --bind "/dev/$node" "dev/$node"
  done
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do ln -s "${link#*:}" "dev/${link%%:*}"; done
  touch dev/console
else
  mount --rbind /dev dev
fi
mount -t tmpfs -o mode=1777,size=4g tmpfs dev/shm
[ -e dev/console ] || mknod dev/console c 5 1
mount --bind "$dir/console" dev/console
mount --rbind /sys sys
mount -t proc proc proc
cat /proc/sys/kernel/random/uuid >"$dir/boot_id"
mount --bind "$dir/boot_id" proc/sys/kernel/random/boot_id
for folder in "$@"; do
  mkdir -p ".$folder"
  mount --bind "$folder" ".$folder"
done
hostname "${dir##*/}"
# as an installer writes it; no server answers questions about other names, and none keeps a program waiting
rm -f etc/hosts etc/resolv.conf
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "${dir##*/}" >etc/hosts
echo 'nameserver 127.0.0.1' >etc/resolv.conf
if [ "$init" = systemd ]; then
  groups=/sys/fs/cgroup
  [ ! -d "$groups/unified" ] || groups=$groups/unified
  mkdir -p "$groups/$group"
  echo 0 >"$groups/$group/cgroup.procs"
fi
pivot_root . .old
umount -l /.old
if [ "$init" = systemd ]; then
  exec unshare --cgroup bash -c '
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    exec env -i container=raygpu-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system'
fi
[ ! -x /etc/rc.local ] || /etc/rc.local
echo ready >/run/host
exec tini -- sleep infinity
