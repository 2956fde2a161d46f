#!/usr/bin/env bash
# Builds raygpu and runs its tests; the last line is "N passed, N failed, N skipped".
# usage: tests/run.sh [--quick] [--long [PART]]
#   --quick  what a change is likely to break, in two minutes: lint, one build, unit tests, and
#            analysis and whole-program tests of the changed files (tests/touched.py)
#   --long   also the runs that take many minutes (their last figures: tests/bench/README.md). Whole, it takes hours; its parts are
#            plain (what needs no sanitizer), asan (what needs one) and slow (seeds, valgrind, mutants, benchmarks)
# RAYGPU_KUBE=1, or --long: builds Kubernetes' API server first if it is not built yet (tests/kube/README.md; 4 to 11 minutes). Otherwise
# tests that need it are skipped by name; --quick uses it where an earlier run built it.
# Build folders: $RAYGPU_TEST_DIR or /tmp/raygpu-test-$UID. The map of the tests: tests/README.md.
# shellcheck disable=SC2317  # functions are run by `stage`
set -u
cd "$(dirname "$0")/.." || exit 1
usage() { echo "usage: tests/run.sh [--quick] [--long [plain|asan|slow]]" >&2; exit 4; }
quick="" long="" part=""
for word in "$@"; do
  case $word in
  --quick) quick=1 ;;
  --long) long=1 ;;
  plain | asan | slow) part=$word ;;
  *) usage ;;
  esac
done
[ -z "$part" ] || [ -n "$long" ] || usage
export RAYGPU_LONG=$long
work=${RAYGPU_TEST_DIR:-/tmp/raygpu-test-$(id -u)}
results=$work/results
mkdir -p "$work"
exec 9>"$work/lock" # of this process alone: those that it starts do not inherit it
flock -n 9 || { echo "tests/run.sh: another run uses $work; name another folder in RAYGPU_TEST_DIR" >&2; exit 1; }
rm -rf "$results" && mkdir "$results"
tests/install.sh test || exit 1
failed=0
times=$results/times
jobs_beside=()
waiting=$((2 * $(nproc)))  # tests at a time: each waits more than it works
patient=$((3 * $(nproc)))  # of the whole program: each waits five times as long as it works
# Copies of the tree with the flags of the first build (recipes, quick start) take its objects from this cache.
export CCACHE_DIR=${CCACHE_DIR:-$work/ccache} CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_DEPEND=1 CCACHE_SLOPPINESS=locale
# -O1 runs as fast as -O2 under ASan, and with lines only (-g1) compiles in half the time. The checks of null pointers, where the
# program would crash anyway, and of alignment cost a third of it.
asan_args=-g1
[ -n "$long" ] || asan_args="-g1 -fno-sanitize=null -fno-sanitize=alignment"

# ---- stages

# report TITLE SECONDS PROCESSOR_SECONDS [HOW]: a stage's times, now and in the table at the end
report() {
  printf -- '-- %s: %d s, %d s of processor time%s\n' "$1" "$2" "$3" "${4:-}"
  printf '%5d s %5d s  %s%s\n' "$2" "$3" "$1" "${4:-}" >>"$times"
}

# processor_s FILE: the seconds that the children of a shell took, of which FILE is what `times` said
processor_s() {
  local word ms=0 part
  for word in $(tail -n 1 "$1"); do # "2m3.456s"
    part=${word#*m}
    part=${part//[.,s]/}
    ms=$((ms + 60000 * ${word%m*} + 10#$part))
  done
  echo $(((ms + 500) / 1000))
}

# stage TITLE COMMAND...
stage() {
  local title=$1 begun=$SECONDS code=0
  shift
  printf '\n== %s\n' "$title"
  (
    exec 9>&-
    "$@" || code=$?
    times >"$results/stage.times"
    exit "$code"
  ) || code=$?
  [ "$code" = 0 ] || failed=1
  report "$title" $((SECONDS - begun)) "$(processor_s "$results/stage.times")"
  return "$code"
}

# beside NAME TITLE COMMAND...: a stage in parallel with those that follow; `join` prints it
beside() {
  local name=$1 title=$2
  shift 2
  set -m # a process group of its own, so that all of it can be ended
  {
    exec 9>&-
    begun=$SECONDS code=0
    "$@" >"$results/$name.out" 2>&1 || code=$?
    times >"$results/$name.times"
    echo "$code $((SECONDS - begun)) $(processor_s "$results/$name.times") $title" >"$results/$name.end"
  } &
  set +m
  jobs_beside+=("$! $name")
}

# behind NAME TITLE COMMAND...: `beside`, when the stage begun before it has ended: more at a time would only make each wait for the others
behind() {
  local name=$1 title=$2 before=${jobs_beside[-1]% *}
  shift 2
  beside "$name" "$title" when_ended "$before" "$@"
}

# when_ended PID COMMAND...
when_ended() {
  tail --pid="$1" -f /dev/null
  shift
  begun=$SECONDS # of `beside`
  "$@"
}

# If it ends early, for instance on Ctrl-C, it stops them.
end_jobs() {
  local job
  for job in "${jobs_beside[@]}"; do kill -- "-${job% *}" 2>/dev/null; done
}
trap end_jobs EXIT

join() {
  local job code seconds processor title
  for job in "${jobs_beside[@]}"; do
    wait "${job% *}"
    read -r code seconds processor title <"$results/${job#* }.end"
    printf '\n== %s\n' "$title"
    cat "$results/${job#* }.out"
    [ "$code" = 0 ] || failed=1
    report "$title" "$seconds" "$processor" " (beside others)"
  done
  jobs_beside=()
}

# broken NAME FILE: a stage that failed and has no results of its own counts as one failure
broken() {
  /usr/bin/python3 - "$1" "$2" >"$results/broken-$1.json" <<'END'
import json, sys
said = open(sys.argv[2], errors='replace').read()
print(json.dumps({'name': sys.argv[1], 'result': 'ERROR', 'returncode': 1, 'stdout': said, 'stderr': ''}))
END
}

# once_more NAME SCRIPT: what repeats the failures of a stage, alone; tests/count.py decides whether it does. Not with --long, where a test
# that fails now and then has failed.
once_more() {
  [ -z "$long" ] || return 0
  { export -p | grep -E '^declare -x (RAYGPU_\w+|[A-Z]+SAN_OPTIONS)='; echo "$2"; } >"$results/$1.again"
}

second_look() {
  local name words
  while read -r name words; do
    # shellcheck disable=SC2086  # a list of words
    stage "a second look at $name${words:+: $words}" bash "$results/$name.again" $words
  done < <(/usr/bin/python3 tests/count.py --again "$results")
}

finish() {
  second_look
  printf '\n== times, and of them processor time\n'
  cat "$times"
  /usr/bin/python3 tests/count.py "$results" || failed=1
  exit "$failed"
}

# Without this build there is nothing more to test.
give_up() {
  join
  finish
}

# ---- the stages' commands

# configure NAME [MESON OPTIONS...]
configure() {
  local name=$1 log=$work/$1.log
  # a folder from another checkout would build that one
  local made="$PWD ${CC:-} ${*:2}"
  shift
  # In the checkout: the compiler cache's keys contain the path from a build folder to its sources.
  [ -L "$work/$name" ] || rm -rf "${work:?}/$name"
  ln -sfn "$PWD/build-$name" "$work/$name"
  [ "$(cat "$work/$name/made" 2>/dev/null)" = "$made" ] || rm -rf "$(realpath -m "$work/$name")"
  mkdir -p "$(realpath -m "$work/$name")"
  [ -f "$work/$name/build.ninja" ] || meson setup "$work/$name" "$@" >"$log" 2>&1 ||
    { tail -30 "$log"; broken "build-$name" "$log"; return 1; }
  echo "$made" >"$work/$name/made"
}

# compile NAME TARGET...: all targets if none is named
compile() {
  local name=$1 log=$work/$1.log
  shift
  ninja -C "$work/$name" "$@" >"$log" 2>&1 || { grep -A12 -m3 FAILED "$log"; broken "build-$name" "$log"; return 1; }
}

# build NAME [MESON OPTIONS...]
build() { configure "$@" && compile "$1"; }

# build_programs NAME [MESON OPTIONS...]: all but the unit tests
build_programs() {
  configure "$@" || return 1
  local targets
  mapfile -t targets < <(meson introspect --targets "$work/$1" | /usr/bin/python3 -c '
import json, os, sys
top = os.path.realpath(sys.argv[1])
for one in json.load(sys.stdin):
    if one["build_by_default"] and not one["name"].startswith(("test_", "corpus_")):
        print(*(os.path.relpath(path, top) for path in one["filename"]), sep="\n")' "$work/$1")
  compile "$1" "${targets[@]}"
}

# The results of both are judged by tests/count.py at the end.

# unit NAME [MESON OPTIONS...]: the C tests of a build; builds what they need if it is not built yet
unit() {
  local name=$1 code=0 logs=$work/$1/meson-logs
  shift
  MALLOC_PERTURB_=165 meson test -C "$work/$name" --print-errorlogs --timeout-multiplier 4 \
    --num-processes "$waiting" "$@" >"$work/$name.tests" 2>&1 || code=$?
  case $code in
  0) ;;
  125) grep -A12 -m3 FAILED "$work/$name.tests"; broken "build-$name" "$work/$name.tests"; return 1 ;; # not built
  *) cat "$work/$name.tests" ;;
  esac
  grep -E '^(Ok|Fail|Skipped|Timeout)' "$work/$name.tests"
  cp "$logs/testlog.junit.xml" "$results/unit-$name.xml"
  cp "$logs/testlog.json" "$results/unit-$name.json"
  once_more "unit-$name" "MALLOC_PERTURB_=165 meson test -C '$work/$name' --no-rebuild --print-errorlogs --timeout-multiplier 8 --num-processes 1 --logbase again \"\$@\"
cp '$logs/again.junit.xml' '$results/again-unit-$name.xml'; cp '$logs/again.json' '$results/again-unit-$name.json'"
}

# py NAME BUILD PATHS...: pytest against a build
py() {
  local name=$1 code=0
  export RAYGPU_BUILD=$work/$2
  shift 2
  local words=(/usr/bin/python3 -m pytest -q -o "cache_dir=$results/cache-$name" "$@")
  "${words[@]}" --junitxml="$results/py-$name.xml" >"$results/$name.said" 2>&1 || code=$?
  cat "$results/$name.said"
  # it did not run to its end
  if [ "$code" -ge 2 ] || [ ! -s "$results/py-$name.xml" ]; then broken "py-$name" "$results/$name.said"; return 1; fi
  # a failure of what is random is a finding
  [ "$name" = crash ] || once_more "py-$name" \
    "$(printf '%q ' "${words[@]}" -n 0 --last-failed --last-failed-no-failures none --junitxml="$results/again-py-$name.xml")"
}

# intercept_tls_get_addr=0: up to GCC 13 that interceptor takes some blocks of thread-local memory for older ones of glibc, and
# LeakSanitizer then crashes when it reads them ("Tracer caught signal 11")
sanitized() {
  LSAN_OPTIONS=suppressions=$PWD/tests/leaks.txt:print_suppressions=0 \
    ASAN_OPTIONS=intercept_tls_get_addr=0:detect_leaks=1:abort_on_error=0:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$@"
}

# plain_sim COMMAND...: with the simulator of the first build. Most tests start one, and under ASan that takes three times as long.
plain_sim() { RAYGPU_SIM=$work/gcc/cmd/raygpu-sim/raygpu-sim "$@"; }

# touched KIND: the files or tests that tests/touched.py names, one per word
touched() { /usr/bin/python3 tests/touched.py "$1"; }

# low COMMAND...: with the processor time that the other stages leave; only for what ends long before them
low() {
  renice -n 10 -p "$BASHPID" >/dev/null
  "$@"
}

# first COMMAND...: before the others; for what has deadlines of its own, as Ray does. Root may do this.
first() {
  renice -n -10 -p "$BASHPID" >/dev/null 2>&1
  "$@"
}

with_seed() {
  export RAYGPU_SEED=$1
  shift
  "$@"
}

kube_server() {
  tests/kube/build.sh >"$work/kube.log" 2>&1 || { tail -20 "$work/kube.log"; broken build-kube "$work/kube.log"; return 1; }
}

bench() {
  tests/bench/run "$work/release" --long | tee "$results/bench.md"
  return "${PIPESTATUS[0]}"
}

# in_part NAME: of what was asked for
in_part() { [ -z "$part" ] || [ "$part" = "$1" ]; }

# ignore FILE...: pytest's options
ignore() { [ $# = 0 ] || printf -- '--ignore=%s ' "$@"; }

# due PATH...: with --long, or if a file changed whose path begins like one of these
due() { [ -n "$long" ] || /usr/bin/python3 tests/touched.py changed "$@"; }

# ---- what always runs: fast stages first

[ -n "$quick$long" ] || export RAYGPU_KUBE=${RAYGPU_KUBE:-0}
[ "${RAYGPU_KUBE:-${long:-0}}" = 0 ] || stage "Kubernetes' API server: build it unless an earlier run did" kube_server

stage "lint" py lint gcc tests/lint
if [ -n "$quick$long" ]; then
  stage "gcc, warnings are errors" build gcc || give_up
  stage "unit tests" unit gcc
else # unit tests run under ASan only
  stage "gcc, warnings are errors" build_programs gcc || give_up
fi

if [ -n "$quick" ]; then
  files=$(touched c) tests=$(touched cli)
  [ -z "$files" ] || RAYGPU_FILES=$files stage "cppcheck and clang-tidy: $files" py analysis gcc tests/analysis
  # shellcheck disable=SC2086  # a list of words
  stage "whole program: $tests" py cli gcc -n "$waiting" --dist loadfile $tests
fi

# ---- what must pass before a change lands: stages that wait run in parallel with stages that compute

if [ -z "$quick" ] && in_part plain; then
  # two rows of stages beside those below: more at a time would only make each wait for the others
  # shellcheck disable=SC2046  # lists of words, also below
  beside hosts "real hosts and a real Ray: the start scripts under Docker Engine, and over ssh" first py hosts gcc -n 2 --dist loadfile \
    $(ignore $(touched rest)) tests/hosts
  behind kube "Kubernetes: schemas, and the API server where it is built" py kube gcc tests/kube
  ! due tests/install.sh examples/quickstart.sh tests/quickstart || export RAYGPU_BARE=1
  behind quickstart "the README's first command" py quickstart gcc tests/quickstart
  ! due tests/mutation || behind mutator "the tool of the mutation tests" py mutator gcc tests/mutation
  ! due src/HACKING.md tests/recipes || export RAYGPU_RECIPES=1
  seed=${RAYGPU_SEED:-$(git rev-list --count HEAD 2>/dev/null || echo 1)} # other instants for each commit
  behind recipes "the recipes of src/HACKING.md" py recipes gcc tests/recipes
  behind crash "kill -9 and scale (RAYGPU_SEED=$seed)" with_seed "$seed" py crash gcc -n "$waiting" tests/crash
  # what waits longest first
  # shellcheck disable=SC2046
  beside plain "whole program" py plain gcc -n "$patient" --dist loadfile $(ignore $(touched rest)) \
    tests/cli/module/test_providers_check.py tests/cli/state tests/cli/gcp tests/cli/ssh tests/cli
fi
if [ -z "$quick" ] && in_part asan; then
  stage "build with ASan and UBSan" build asan -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
    "-Dc_args=$asan_args" || give_up
  beside analysis "cppcheck and clang-tidy" low py analysis asan tests/analysis # of a build with the unit tests
  stage "ASan and UBSan: unit tests" sanitized unit asan
  # shellcheck disable=SC2046
  stage "ASan and UBSan: the simulator" sanitized py asan-sim asan -n "$waiting" --dist loadfile $(touched sim)
  # shellcheck disable=SC2046
  stage "ASan and UBSan: the whole program" plain_sim sanitized py asan asan -n "$waiting" --dist loadfile $(touched asan)
  [ -z "$long" ] || stage "ASan and UBSan: signals" plain_sim sanitized py signals asan tests/crash/test_signals.py
  # if something changed that they are built from
  if due meson.build src/ providers/common/ providers/gcp/ tests/unit/; then
    CC="ccache clang" configure tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Dc_args=-g1 &&
      stage "clang and TSan: build and run what has threads" unit tsan --suite threads
  fi
fi
join

# ---- what takes many minutes, one after the other: their figures need an idle machine

other_seeds() {
  local code=0
  for _ in $(seq 20); do
    meson test -C "$work/gcc" --no-rebuild --print-errorlogs --logbase seeds --test-args="--seed=R02S$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')" \
      catalog_own fit_offers fit_offers_reasons fit_whole >"$results/seeds.said" || { code=1; broken seeds "$results/seeds.said"; }
  done
  return "$code"
}

if [ -n "$long" ] && in_part slow; then
  stage "unit tests that choose at random: 20 other seeds" other_seeds
  stage "valgrind: unit tests, and raygpu from validate to destroy" py valgrind gcc tests/valgrind
  stage "mutants: one token changed, and a test that fails (tests/mutation/README.md)" \
    nice tests/mutation/run --survivors "$results/survivors.txt"
  if stage "a release build" build release --buildtype=release; then
    stage "what hardens it" py hardening release tests/cli/command/test_hardening.py
    stage "figures: a release build beside curl and Terraform" bench
  fi
fi
finish
