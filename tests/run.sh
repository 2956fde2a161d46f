#!/usr/bin/env bash
# Builds raygpu and runs all its tests; the last line is "N passed, N failed, N skipped".
# usage: tests/run.sh [--quick] [--long]
#   --quick  only the default build: lints, unit tests, no sanitizers
#   --long   also the runs that take many minutes (their last figures: tests/bench/README.md)
# Build folders: $RAYGPU_TEST_DIR or /tmp/raygpu-test-$UID.
set -u
cd "$(dirname "$0")/.." || exit 1
quick="" long=""
for word in "$@"; do
  case $word in
  --quick) quick=1 ;;
  --long) long=1 ;;
  *) echo "usage: tests/run.sh [--quick] [--long]" >&2; exit 4 ;;
  esac
done
export RAYGPU_LONG=$long
work=${RAYGPU_TEST_DIR:-/tmp/raygpu-test-$(id -u)}
results=$work/results
mkdir -p "$results" && rm -f "$results"/*.xml "$results"/*.json
tests/install.sh test || exit 1
failed=0

say() { printf '\n== %s\n' "$*"; }

# build NAME [MESON OPTIONS...]
build() {
  local name=$1
  shift
  if [ ! -f "$work/$name/build.ninja" ]; then
    meson setup "$work/$name" "$@" >"$work/$name.log" 2>&1 || { tail -30 "$work/$name.log"; return 1; }
  fi
  ninja -C "$work/$name" >"$work/$name.log" 2>&1 || { grep -A12 -m3 FAILED "$work/$name.log"; return 1; }
}

# unit NAME: the C tests of a build
unit() {
  meson test -C "$work/$1" --no-rebuild --print-errorlogs --timeout-multiplier 4 >"$work/$1.tests" 2>&1 ||
    { failed=1; cat "$work/$1.tests"; }
  grep -E '^(Ok|Fail|Skipped|Timeout)' "$work/$1.tests"
  cp "$work/$1/meson-logs/testlog.junit.xml" "$results/unit-$1.xml"
  cp "$work/$1/meson-logs/testlog.json" "$results/unit-$1.json"
}

# py NAME BUILD PATHS...: whole-program tests against a build
py() {
  local name=$1 against=$2
  shift 2
  RAYGPU_BUILD=$work/$against /usr/bin/python3 -m pytest -q -p no:cacheprovider \
    --junitxml="$results/py-$name.xml" "$@" || failed=1
}

say "lint"
py lint gcc tests/lint
say "gcc, warnings are errors"
build gcc || exit 1
unit gcc
if [ -z "$quick" ]; then
  say "cppcheck and clang-tidy"
  py analysis gcc tests/analysis
  say "clang, warnings are errors"
  CC=clang build clang || failed=1
  say "ASan and UBSan: unit tests"
  build asan -Db_sanitize=address,undefined -Db_lundef=false || exit 1
  export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  unit asan
  say "ASan and UBSan: the whole program"
  py asan asan -n "$(nproc)" --dist loadfile tests/cli # each waits more than it works
  say "TSan: apply, http, provider"
  CC=clang build tsan -Db_sanitize=thread -Db_lundef=false && {
    meson test -C "$work/tsan" --no-rebuild --print-errorlogs --suite threads --timeout-multiplier 4 ||
      failed=1
    cp "$work/tsan/meson-logs/testlog.junit.xml" "$results/unit-tsan.xml"
  }
fi
if [ -n "$long" ]; then
  say "the recipes of src/HACKING.md, each done in a copy of the tree"
  py recipes gcc tests/recipes
  say "valgrind: unit tests, and raygpu from validate to destroy"
  py valgrind gcc tests/valgrind
fi
say "kill -9 and scale, the default build"
py crash gcc -n "$(nproc)" --dist loadfile tests/crash # they wait for clouds, too
say "the README's first command"
py quickstart gcc tests/quickstart
if [ -n "$long" ]; then
  say "figures: a release build beside curl and Terraform"
  build release --buildtype=release && tests/bench/run "$work/release" --long | tee "$results/bench.md"
  [ "${PIPESTATUS[0]}" = 0 ] || failed=1
fi
/usr/bin/python3 tests/count.py "$results"/*.xml "$results"/*.json || failed=1
exit $failed
