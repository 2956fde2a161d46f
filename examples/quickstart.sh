#!/usr/bin/env bash
# A tour of raygpu on this machine, free of charge: installs missing Debian packages, builds, starts a
# simulated cloud on a free port, and runs plan, apply, drift, repair, shrink and destroy of
# examples/research.yaml against it. Leaves only the build folder behind.
#
# usage: examples/quickstart.sh [--cloud aws|gcp|kubernetes] [BUILD]
#        examples/quickstart.sh --real [BUILD]
#   BUILD: a build folder (default: build/ of this checkout)
#   --real: no simulation: four hosts on this machine, with a real Ray in real containers (real.sh)
#   kubernetes: a real API server, which tests/kube/build.sh builds first (tests/kube/README.md)
set -euo pipefail
if [ "${1:-}" = --real ]; then
  shift
  exec "$(dirname "${BASH_SOURCE[0]}")/real.sh" "$@"
fi
cloud=aws
if [ "${1:-}" = --cloud ]; then
  cloud=${2:-}
  shift 2 || true
fi
case $cloud in
aws | gcp | kubernetes) ;;
*)
  echo "usage: quickstart.sh [--cloud aws|gcp|kubernetes] [BUILD], or quickstart.sh --real [BUILD]" >&2
  exit 4
  ;;
esac
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${1:-$top/build}")
work=$(mktemp -d)
# shellcheck source=/dev/null
. "$top/examples/tour.sh"

start_sim() {
  start_server port "$build/cmd/raygpu-sim/raygpu-sim" --port 0 --port-file port
  endpoint=http://127.0.0.1:$(cat port)
}

# left_in_sim PROGRAM: prints what it counts in the simulated world
left_in_sim() {
  curl -sS --fail "$endpoint/_sim/world" | python3 -c "import json, sys; world = json.load(sys.stdin)$1"
}

# delete_node: someone terminates a node of the pool train
delete_node() {
  local victim
  victim=$(raygpu state show "$cloud.instance.train[1]" | sed -n 's/^ *id *= "\([a-z0-9/-]*\)".*/\1/p')
  step "6. Someone terminates a node outside raygpu" \
    "$cloud.instance.train[1] is $victim. It is terminated through ${api[$cloud]}'s API." \
    "drift reports it with exit code 2 and changes nothing."
  "${cloud}_delete" "$victim"
}

# What differs between the clouds: their server and settings, what someone changes behind raygpu, and what is left.
aws_connect() {
  export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_ACCESS_KEY_ID=AKIDEXAMPLE \
    AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY # the example pair of AWS's own pages
  start_sim
  AWS_ENDPOINT_URL=$endpoint
  export AWS_ENDPOINT_URL
  echo "AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL"
}

aws_delete() {
  curl -sS --fail --aws-sigv4 aws:amz:us-east-1:ec2 \
    --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -d Action=TerminateInstances \
    -d Version=2016-11-15 -d InstanceId.1="$1" "$AWS_ENDPOINT_URL/" >/dev/null
}

aws_change() { delete_node; }

aws_left() {
  left_in_sim '
world = world["regions"]["us-east-1"]
gone = ("shutting-down", "terminated")
print(sum(i["instanceState"]["name"] not in gone for i in world["instances"]),
      sum(i["status"] != "deleted" for i in world["network_interfaces"]),
      sum(g["groupName"] != "default" for g in world["security_groups"]))'
}

gcp_project=demo-project

gcp_connect() {
  start_sim
  export GOOGLE_CLOUD_PROJECT=$gcp_project GCE_METADATA_HOST=${endpoint#http://} CLOUDSDK_CONFIG=$work/none \
    CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$endpoint/compute/v1/
  echo "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
}

gcp_delete() {
  local zone=${1%/*} number=${1#*/}
  curl -sS --fail -X DELETE -H 'Authorization: Bearer ya29.raygpu-sim' \
    "${CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE}projects/$gcp_project/zones/$zone/instances/$number" >/dev/null
  # the simulated machine takes a moment to stop
  for _ in $(seq 100); do
    curl -sS --fail -o /dev/null -H 'Authorization: Bearer ya29.raygpu-sim' \
      "${CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE}projects/$gcp_project/zones/$zone/instances/$number" 2>/dev/null || return 0
    sleep 0.05
  done
}

gcp_change() { delete_node; }

gcp_left() {
  left_in_sim '
tables = world["projects"]["demo-project"]
def rows(name):
    found = tables.get(name, [])
    return list(found.values()) if isinstance(found, dict) else found
print(len(rows("instances")), len(rows("addresses")),
      sum(f["name"].startswith("raygpu-") for f in rows("firewalls")))'
}

# research.yaml with the other cloud's names
gcp_translate() {
  sed -i -e 's/name: aws/name: gcp/; s/us-east-1\([ab]\)/us-central1-\1/g; s/us-east-1/us-central1/' \
    -e 's/m5.2xlarge/n2-standard-8/; s/gp3/pd-balanced/; s/V100-32GB:8/L4:8/' \
    -e 's/ # \(eight\|resolves\|AWS\).*//' research.yaml
}

kubernetes_connect() {
  export KUBECONFIG=$work/kubeconfig KUBECACHEDIR=$work/kubectl
  start_server "$KUBECONFIG" env TMPDIR="$work" python3 "$top/tests/kube/serve.py" "$KUBECONFIG" ml
  kubectl=$(python3 -c "import sys; sys.path.insert(0, '$top/tests/kube'); import apiserver; print(apiserver.folder())")/kubectl
  echo "KUBECONFIG=$KUBECONFIG"
}

kubernetes_change() {
  step "6. Someone scales a worker group outside raygpu" \
    "kubectl sets the replicas of the group train, the first one, from 2 to 1." \
    "drift reports it with exit code 2 and changes nothing."
  "$kubectl" patch raycluster research --type=json \
    -p '[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1}]'
}

kubernetes_left() {
  local kind
  # pods end after their cluster
  for _ in $(seq 100); do [ -n "$("$kubectl" get pods -o name)" ] || break; sleep 0.05; done
  for kind in rayclusters secrets pods; do "$kubectl" get "$kind" -o name | wc -l; done | xargs
}

# research.yaml with pods: what only machines have is left out
kubernetes_translate() {
  sed -i -e 's/name: aws/name: kubernetes/; s/region: us-east-1/namespace: ml/; s/m5.2xlarge/cpu/' \
    -e '/public_ip:/d; /disk:/d; /zones:/d; s/ # \(eight\|resolves\|AWS\).*//' research.yaml
}

if [ "$cloud" = kubernetes ] && ! python3 -c "import sys; sys.path.insert(0, '$top/tests/kube'); import apiserver; sys.exit(not apiserver.folder())"; then
  echo "The tour of Kubernetes requires a real API server, which is not built: run tests/kube/build.sh first (7 minutes)."
  exit 0
fi

step "1. Build" "Installs missing Debian packages and builds raygpu and the simulator." \
  "The first build takes a few minutes."
"$top/tests/install.sh" build
build_raygpu cmd/raygpu-sim/raygpu-sim "providers/$cloud.so" man/raygpu.1 man/raygpu-spec.5
PATH=$build/cmd/raygpu:$PATH
cd "$work"
cp "$top/examples/research.yaml" .
[ "$cloud" = aws ] || "${cloud}_translate"

declare -A old=([aws]=V100 [gcp]=L4 [kubernetes]=V100)
declare -A api=([aws]=EC2 [gcp]="Compute Engine" [kubernetes]=Kubernetes)
if [ "$cloud" = kubernetes ]; then
  step "2. A cluster to play with" "The API server of custom resources on a port of this machine, with nodes and KubeRay" \
    "as far as a client sees them. Only the kubeconfig differs from a real cluster."
else
  step "2. A cloud to play with" "raygpu-sim answers ${api[$cloud]}'s API on a port of this machine." \
    "Only the endpoint differs from real ${api[$cloud]}."
fi
# no setting of the caller may lead to a real account; requests to 127.0.0.1 bypass any proxy
for name in "${!AWS_@}" "${!GOOGLE_@}" "${!CLOUDSDK_@}" "${!GCE_@}" "${!RAYGPU_@}" "${!KUBE@}"; do unset "$name"; done
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
"${cloud}_connect"

step "3. Plan" "research.yaml asks for a head and three pools, of A100, ${old[$cloud]} and T4" \
  "nodes. The plan shows what would be created and what it costs; it creates nothing."
expect 0 raygpu validate research.yaml
expect 0 raygpu plan research.yaml --out plan.json

step "4. Apply" "Creates exactly what the saved plan shows."
expect 0 raygpu apply plan.json

step "5. Nothing to do" "A second plan finds nothing to change, and drift finds nothing changed."
expect 0 raygpu plan research.yaml --detailed-exitcode
expect 0 raygpu drift research.yaml

"${cloud}_change"
expect 2 raygpu drift research.yaml

step "7. Repair" "Apply recreates only what is missing."
expect 0 raygpu apply research.yaml --auto-approve
expect 0 raygpu drift research.yaml

step "8. A smaller pool" "With 1 node instead of 3 for \"serve\" in research.yaml, the nodes" \
  "with the highest indexes are destroyed."
sed -i '/^  serve:/,/nodes:/s/nodes: .*/nodes: 1/' research.yaml
expect 0 raygpu apply research.yaml --auto-approve

step "9. Destroy" "Destroys everything, then asks the cloud what is left."
expect 0 raygpu destroy research.yaml --auto-approve
left=$("${cloud}_left")
echo
declare -A things=([aws]="instances, interfaces, groups" [gcp]="instances, addresses, firewall rules" [kubernetes]="clusters, secrets, pods")
echo "${things[$cloud]} left in the cloud: $left"
[ "$left" = "0 0 0" ]

step "Done" "Next, with a spec of your own:"
cat <<END
  PATH=$build/cmd/raygpu:\$PATH
  raygpu init                  # writes a starter cluster.yaml
  raygpu validate
  man $build/man/raygpu.1
  man $build/man/raygpu-spec.5
END
