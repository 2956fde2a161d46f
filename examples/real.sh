#!/usr/bin/env bash
# A tour on real hosts: four namespaces of this machine, each with an address, a ssh server and a Docker Engine. raygpu starts a
# real Ray on them, which runs a job on an A100, a V100 and a T4; only the GPUs are not real. Requires root, and the first time 5 minutes.
#
# usage: examples/quickstart.sh --real [BUILD]
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${1:-$top/build}")
if [ "$(id -u)" != 0 ]; then
  echo "quickstart: hosts with networks of their own require root" >&2
  exit 1
fi
work=$(mktemp -d)
# shellcheck source=/dev/null
. "$top/examples/tour.sh"

# on_host HOST COMMAND: as its administrator
on_host() { ssh -F hosts/ssh_config "$1" "$2"; }

step "1. Build" "Installs missing Debian packages and builds raygpu. The first build takes a few minutes."
"$top/tests/install.sh" hosts
build_raygpu providers/ssh.so
PATH=$build/cmd/raygpu:$PATH
cd "$work"

step "2. Hosts" "h1 has no GPU, h2 eight A100, h3 four V100, and h4 a T4." \
  "The first time, an image with Ray is made: about 3 minutes."
patience=1200 start_server "$work/hosts.yaml" /usr/bin/python3 "$top/tests/hosts/rack.py" "$work"
for name in "${!RAYGPU_@}"; do unset "$name"; done
unset XDG_RUNTIME_DIR
export RAYGPU_ALLOW_PROFILES=$work/hosts/ssh_config
version=$(cat ray_version)
cat >cluster.yaml <<END
cluster: real
extends: hosts.yaml
ray: {version: $version, image: "rayproject/ray:$version-py311-cu121"}
head: {instance_type: cpu}
pools:
  train: {accelerators: "A100-40GB:8", nodes: 1}
  legacy: {accelerators: "V100-16GB:4", nodes: 1}
  serve: {accelerators: "T4:1", nodes: 1}
END
cat hosts.yaml cluster.yaml

step "3. Plan" "The plan shows which hosts are free, and changes nothing."
expect 0 raygpu plan cluster.yaml --out plan.json

step "4. Apply" "Claims a host for each node, starts Ray there, and waits until all nodes have joined."
expect 0 raygpu apply plan.json
expect 0 raygpu plan cluster.yaml --detailed-exitcode

step "5. A job" "A task for each kind of GPU prints where Ray placed it."
cat >job.py <<'END'
import ray
ray.init()
def where():
    return ray.get_runtime_context().get_node_id()[:8], ray.util.get_node_ip_address()
for model, gpus in (('A100', 8), ('V100', 4), ('T4', 1)):
    task = ray.remote(where).options(num_gpus=gpus, label_selector={'ray.io/accelerator-type': model})
    print(model, 'on node %s at %s' % ray.get(task.remote()))
END
cat job.py
expect 0 raygpu connect cluster.yaml -- "$(cat ray_environment)/bin/ray" job submit --working-dir . -- python3 job.py

step "6. Someone ends a node" "Ray and its service on h3 are killed. drift reports it with exit code 2 and changes nothing."
on_host h3 'pkill -KILL -f raygpu/supervis[e]; pkill -KILL -f raygpu/start-ra[y]; docker rm --force ray' >/dev/null
expect 2 raygpu drift cluster.yaml

step "7. Repair" "Apply starts it again. The job finds it where it was."
expect 0 raygpu apply cluster.yaml --auto-approve
expect 0 raygpu drift cluster.yaml
expect 0 raygpu connect cluster.yaml -- "$(cat ray_environment)/bin/ray" job submit --working-dir . -- python3 job.py

step "8. Destroy" "Destroys everything, then looks at the hosts."
expect 0 raygpu destroy cluster.yaml --auto-approve
left=0
for host in h1 h2 h3 h4; do
  found=$(on_host "$host" 'ls -d /etc/raygpu /usr/local/lib/raygpu /var/lib/raygpu 2>/dev/null; docker ps --all --quiet; pgrep -f raygp[u]/' || true)
  left=$((left + $(grep -c . <<<"$found" || true)))
done
echo
echo "files, containers and processes left on the hosts: $left"
[ "$left" = 0 ]

step "Done" "raygpu-ssh(7) says how to do this with hosts of your own."
