#!/usr/bin/env bash
# A tour of raygpu on this machine, free of charge: installs missing Debian packages, builds, starts a
# simulated EC2 on a free port, and runs plan, apply, drift, repair, shrink and destroy of
# examples/research.yaml against it. Leaves only the build folder behind.
#
# usage: examples/quickstart.sh [BUILD]     BUILD: a build folder (default: build/ of this checkout)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${1:-$top/build}")
work=$(mktemp -d)
sim=
end() {
  [ -z "$sim" ] || kill "$sim" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi

# step TITLE SENTENCE...
step() {
  printf '\n%s== %s%s\n' "$bold" "$1" "$plain"
  shift
  printf '%s\n' "$*" | fold -s -w 79 | sed "s| *$||"
}

# expect CODE COMMAND...: shows the command, runs it, and requires its exit code
expect() {
  local want=$1 got=0
  shift
  printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
  "$@" || got=$?
  if [ "$got" != "$want" ]; then
    echo "quickstart: exit code $got, but $want was expected" >&2
    exit 1
  fi
  [ "$want" = 0 ] || echo "(exit code $want)"
}

# quietly COMMAND...: shows its output on a terminal, or if it fails
quietly() {
  if [ -t 1 ]; then
    "$@"
  else
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
  fi
}

step "1. Build" "Installs missing Debian packages and builds raygpu and the simulator." \
  "The first build takes a few minutes."
"$top/tests/install.sh" build
if [ ! -f "$build/build.ninja" ]; then
  meson setup "$build" "$top" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
fi
quietly ninja -C "$build" cmd/raygpu/raygpu cmd/raygpu-sim/raygpu-sim src/http/raygpu-http.so \
  src/git/raygpu-git.so man/raygpu.1 man/raygpu-spec.5
PATH=$build/cmd/raygpu:$PATH
cd "$work"
cp "$top/examples/research.yaml" .

step "2. A cloud to play with" "raygpu-sim answers EC2's API on a port of this machine." \
  "Only the endpoint differs from real EC2."
# no setting of the caller may lead to a real account; requests to 127.0.0.1 bypass any proxy
for name in "${!AWS_@}" "${!RAYGPU_@}"; do unset "$name"; done
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1 AWS_CONFIG_FILE=/dev/null \
  AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_ACCESS_KEY_ID=AKIDEXAMPLE \
  AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY # the example pair of AWS's own pages
# setpriv: the simulator ends when this script ends, however that happens
setpriv --pdeathsig TERM "$build/cmd/raygpu-sim/raygpu-sim" --port 0 --port-file port 2>sim.log &
sim=$!
for _ in $(seq 200); do
  if [ -s port ] || ! kill -0 "$sim" 2>/dev/null; then break; fi
  sleep 0.05
done
[ -s port ] || { cat sim.log >&2; exit 1; }
AWS_ENDPOINT_URL=http://127.0.0.1:$(cat port)
export AWS_ENDPOINT_URL
echo "AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL"

step "3. Plan" "research.yaml asks for a head and three pools, of A100, V100 and T4" \
  "nodes. The plan shows what would be created and what it costs; it creates nothing."
expect 0 raygpu validate research.yaml
expect 0 raygpu plan research.yaml --out plan.json

step "4. Apply" "Creates exactly what the saved plan shows."
expect 0 raygpu apply plan.json

step "5. Nothing to do" "A second plan finds nothing to change, and drift finds nothing changed."
expect 0 raygpu plan research.yaml --detailed-exitcode
expect 0 raygpu drift research.yaml

victim=$(raygpu state show 'aws.instance.train[1]' | sed -n 's/^ *id *= "\(i-[0-9a-f]*\)".*/\1/p')
step "6. Someone terminates a node outside raygpu" \
  "aws.instance.train[1] is $victim. It is terminated through EC2's API." \
  "drift reports it with exit code 2 and changes nothing."
curl -sS --fail --aws-sigv4 aws:amz:us-east-1:ec2 \
  --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -d Action=TerminateInstances \
  -d Version=2016-11-15 -d InstanceId.1="$victim" "$AWS_ENDPOINT_URL/" >/dev/null
expect 2 raygpu drift research.yaml

step "7. Repair" "Apply recreates only what is missing."
expect 0 raygpu apply research.yaml --auto-approve
expect 0 raygpu drift research.yaml

step "8. A smaller pool" "With 1 node instead of 3 for \"serve\" in research.yaml, the nodes" \
  "with the highest indexes are destroyed."
sed -i '/^  serve:/,/nodes:/s/nodes: .*/nodes: 1/' research.yaml
expect 0 raygpu apply research.yaml --auto-approve

step "9. Destroy" "Destroys everything, then asks the simulator what is left."
expect 0 raygpu destroy research.yaml --auto-approve
left=$(curl -sS --fail "$AWS_ENDPOINT_URL/_sim/world" | python3 -c '
import json, sys
world = json.load(sys.stdin)["regions"]["us-east-1"]
gone = ("shutting-down", "terminated")
print(sum(i["instanceState"]["name"] not in gone for i in world["instances"]),
      sum(i["status"] != "deleted" for i in world["network_interfaces"]),
      sum(g["groupName"] != "default" for g in world["security_groups"]))')
echo
echo "instances, interfaces, groups left in the cloud: $left"
[ "$left" = "0 0 0" ]

step "Done" "Next, with a spec of your own:"
cat <<END
  PATH=$build/cmd/raygpu:\$PATH
  raygpu init                  # writes a starter cluster.yaml
  raygpu validate
  man $build/man/raygpu.1
  man $build/man/raygpu-spec.5
END
