#!/usr/bin/env bash
# raygpu's whole story on simulated EC2, on this machine, free of charge: installs what is missing
# (Debian packages), builds, starts raygpu-sim on a free port and runs plan, apply, drift, repair,
# shrink and destroy of examples/research.yaml.
#
# usage: examples/quickstart.sh [BUILD]     BUILD: a build folder (default: build/ of this checkout)
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build}
work=$(mktemp -d)
sim_pid=
trap '[ -z "$sim_pid" ] || kill "$sim_pid" 2>/dev/null || true; rm -rf "$work"' EXIT

step() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
show() { printf '$ %s\n' "$*"; }

# expect CODE COMMAND...: runs it, shows it, and insists on its exit code
expect() {
  local want=$1 got=0
  shift
  show "$@"
  "$@" || got=$?
  if [ "$got" != "$want" ]; then
    echo "exit code $got, but $want was expected" >&2
    exit 1
  fi
  [ "$want" = 0 ] || echo "(exit code $want)"
}

step "1. what is missing, and the build"
"$top/tests/install.sh" build
command -v curl >/dev/null || { apt-get install -y -q curl >/dev/null; }
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" >"$work/build.log" 2>&1 ||
  { cat "$work/build.log"; exit 1; }
ninja -C "$build" cmd/raygpu/raygpu cmd/raygpu-sim/raygpu-sim >"$work/build.log" 2>&1 ||
  { cat "$work/build.log"; exit 1; }
# the modules that raygpu loads when it needs them
ninja -C "$build" >"$work/build.log" 2>&1 || { tail -40 "$work/build.log"; exit 1; }
raygpu=$build/cmd/raygpu/raygpu
"$raygpu" version

step "2. simulated EC2 on a free port of this machine"
"$build/cmd/raygpu-sim/raygpu-sim" --port 0 --port-file "$work/port" --world "$work/world.json" &
sim_pid=$!
for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
endpoint=http://127.0.0.1:$(cat "$work/port")
# nothing below knows that the cloud is simulated: only the endpoint differs
export AWS_ENDPOINT_URL=$endpoint AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
unset AWS_PROFILE AWS_SESSION_TOKEN RAYGPU_STATE 2>/dev/null || true
cp "$top/examples/research.yaml" "$work/research.yaml"
cd "$work"
PATH=$build/cmd/raygpu:$PATH
echo "AWS_ENDPOINT_URL=$endpoint"

step "3. the plan: a head and pools of A100, V100 and T4 nodes, and what they cost"
expect 0 raygpu validate research.yaml
expect 2 raygpu plan research.yaml --detailed-exitcode

step "4. apply"
expect 0 raygpu apply research.yaml --auto-approve

step "5. nothing to do: the second plan"
expect 0 raygpu plan research.yaml --detailed-exitcode
expect 0 raygpu drift research.yaml

step "6. somebody terminates a node by hand"
victim=$(raygpu state show 'aws.instance.train[1]' | sed -n 's/^ *id *= "\(i-[0-9a-f]*\)".*/\1/p')
curl -sS --fail --aws-sigv4 aws:amz:us-east-1:ec2 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
  -d Action=TerminateInstances -d Version=2016-11-15 -d InstanceId.1="$victim" "$endpoint/" >/dev/null
echo "terminated $victim behind raygpu's back"
sleep 1
expect 2 raygpu drift research.yaml

step "7. the repair"
expect 0 raygpu apply research.yaml --auto-approve
expect 0 raygpu plan research.yaml --detailed-exitcode

step "8. a smaller pool: the highest indexes go"
sed '/^  serve:/,/nodes:/s/nodes: .*/nodes: 1/' research.yaml >smaller.yaml && mv smaller.yaml research.yaml
expect 0 raygpu apply research.yaml --auto-approve

step "9. destroy, and look that nothing is left"
expect 0 raygpu destroy research.yaml --auto-approve
left=$(curl -sS --fail "$endpoint/_sim/world" | python3 -c '
import json, sys
world = json.load(sys.stdin)["regions"]["us-east-1"]
live = [i for i in world["instances"] if i["instanceState"]["name"] not in ("shutting-down", "terminated")]
groups = [g for g in world["security_groups"] if g["groupName"] != "default"]
print(len(live), len(world["network_interfaces"]), len(groups))')
echo "instances, interfaces, groups left in the cloud: $left"
[ "${left%% *}" = 0 ] && [ "${left##* }" = 0 ]

step "Done. Try it on your own spec: raygpu init, man raygpu, man raygpu-spec"
