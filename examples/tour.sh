# shellcheck shell=bash
# What the tours of this folder share; sourced by them. They set `top`, `build` and `work`, a folder that goes with them.
# shellcheck disable=SC2034,SC2154 # what they set, and what they use

export PYTHONDONTWRITEBYTECODE=1
sim= # the process id of the server
end() {
  [ -z "$sim" ] || { kill "$sim" && wait "$sim"; } 2>/dev/null || true
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

# start_server FILE COMMAND...: it has started when it has written FILE, which it may take $patience seconds for
start_server() {
  local file=$1 i longest=${patience:-60}
  shift
  # setpriv: the server ends when this script ends, however that happens
  setpriv --pdeathsig TERM "$@" 2>server.log &
  sim=$!
  for ((i = 1; i <= 20 * longest; i++)); do
    if [ -s "$file" ] || ! kill -0 "$sim" 2>/dev/null; then break; fi
    sleep 0.05
    ((i % 600)) || echo "Still starting... ($((i / 20)) s)"
  done
  [ -s "$file" ] && return
  cat server.log >&2
  echo "the server did not start within $longest s" >&2
  exit 1
}

# build_raygpu TARGET...: the program, and what else the tour needs
build_raygpu() {
  if [ ! -f "$build/build.ninja" ]; then
    # not optimized: compiles in a third of the time, and the tour waits for the cloud, not for the program
    meson setup -Doptimization=0 -Ddebug=false "$build" "$top" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  fi
  quietly ninja -C "$build" cmd/raygpu/raygpu src/http/raygpu-http.so src/git/raygpu-git.so "$@"
}
