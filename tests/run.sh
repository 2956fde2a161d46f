#!/usr/bin/env bash
# Builds raygpu and runs its tests; the last line is "N passed, N failed, N skipped".
# usage: tests/run.sh [--quick] [--long]
#   --quick  what a change is likely to break, in two minutes: lint, one build, unit tests, and
#            analysis and whole-program tests of the changed files (tests/touched.py)
#   --long   also the runs that take many minutes (their last figures: tests/bench/README.md)
# RAYGPU_KUBE=1, or --long: builds Kubernetes' API server first if it is not built yet (tests/kube/README.md; 4 to 11 minutes). Otherwise
# tests that need it are skipped by name unless an earlier run built it.
# Build folders: $RAYGPU_TEST_DIR or /tmp/raygpu-test-$UID. The map of the tests: tests/README.md.
# shellcheck disable=SC2317  # functions are run by `stage`
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
mkdir -p "$results" && rm -f "$results"/*
tests/install.sh test || exit 1
failed=0
times=$results/times
jobs_beside=()
waiting=$((2 * $(nproc)))  # tests at a time: each waits more than it works
patient=$((4 * $(nproc))) # the same at the end, when little runs beside them
# Copies of the tree with the flags of the first build (recipes, quick start) take its objects from this cache.
export CCACHE_DIR=${CCACHE_DIR:-$work/ccache} CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_DEPEND=1 CCACHE_SLOPPINESS=locale
# What shells, official clients, servers in Python and kill -9 make of raygpu: ASan would only slow these down.
plain="tests/cli/aws/test_moto.py tests/cli/boot tests/cli/ci tests/cli/command/test_completion.py tests/cli/command/test_hardening.py
  tests/cli/command/test_startup.py
  tests/cli/gcp/test_gcloud.py tests/cli/gcp/test_gcp_client.py tests/cli/gcp/test_gcp_described.py tests/cli/kube/test_kube_kill.py
  tests/cli/sim/test_aws_cli.py
  tests/cli/sim/test_gce_gcloud.py tests/cli/state/test_gcs_clients.py"
# Many processes of code that other files run under ASan, too: without it in every run, with it by --long.
often="tests/cli/adopt/test_foreign_tags.py tests/cli/adopt/test_import.py tests/cli/adopt/test_imports_in_spec.py
  tests/cli/adopt/test_other_account.py tests/cli/adopt/test_removed_in_spec.py tests/cli/adopt/test_renamed.py
  tests/cli/apply/test_apply_many.py tests/cli/apply/test_enabled.py tests/cli/apply/test_failover.py
  tests/cli/apply/test_rolling.py tests/cli/aws/test_aws_head_address.py tests/cli/aws/test_aws_placement.py
  tests/cli/aws/test_aws_reservation.py tests/cli/aws/test_aws_spot.py tests/cli/command/test_connect.py
  tests/cli/fit/test_fit_properties.py tests/cli/fit/test_offers_csv.py tests/cli/gcp/test_gcp_as_on_aws.py
  tests/cli/gcp/test_gcp_capacity.py tests/cli/gcp/test_gcp_preempted.py tests/cli/kube/test_kube_calls.py
  tests/cli/kube/test_kube_copies.py tests/cli/kube/test_kube_gitops.py tests/cli/kube/test_kube_kubectl.py
  tests/cli/kube/test_kube_old_kueue.py tests/cli/kube/test_kube_queues.py tests/cli/kube/test_kube_race.py
  tests/cli/kube/test_kube_rolling.py tests/cli/module/test_boot_by.py tests/cli/module/test_mesh.py
  tests/cli/module/test_providers_check.py tests/cli/ready/test_hardware.py tests/cli/ready/test_unhealthy.py
  tests/cli/ready/test_waiting.py tests/cli/ssh/test_ssh_calls.py tests/cli/ssh/test_ssh_check.py
  tests/cli/ssh/test_ssh_cuts.py tests/cli/ssh/test_ssh_faults.py tests/cli/ssh/test_ssh_story.py tests/cli/report/test_many.py tests/cli/report/test_runner_commands.py
  tests/cli/state/test_every_store.py tests/cli/state/test_gcs.py tests/cli/state/test_migrate.py
  tests/cli/state/test_name_taken.py tests/cli/state/test_s3.py tests/cli/state/test_state_damage.py
  tests/cli/state/test_state_move.py tests/cli/state/test_state_place.py tests/cli/state/test_state_pull.py"
[ -n "$long" ] || plain="$plain $often"
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

finish() {
  printf '\n== times, and of them processor time\n'
  cat "$times"
  /usr/bin/python3 tests/count.py "$results"/*.xml "$results"/*.json || failed=1
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

# build NAME [MESON OPTIONS...]
build() {
  local name=$1 log=$work/$1.log
  configure "$@" || return 1
  ninja -C "$work/$name" >"$log" 2>&1 || { grep -A12 -m3 FAILED "$log"; broken "build-$name" "$log"; return 1; }
}

# unit NAME [MESON OPTIONS...]: the C tests of a build; builds what they need if it is not built yet
unit() {
  local name=$1 code=0
  shift
  meson test -C "$work/$name" --print-errorlogs --timeout-multiplier 4 \
    --num-processes "$waiting" "$@" >"$work/$name.tests" 2>&1 || code=$?
  case $code in
  0) ;;
  125) grep -A12 -m3 FAILED "$work/$name.tests"; broken "build-$name" "$work/$name.tests"; return 1 ;; # not built
  *) cat "$work/$name.tests" ;;
  esac
  grep -E '^(Ok|Fail|Skipped|Timeout)' "$work/$name.tests"
  cp "$work/$name/meson-logs/testlog.junit.xml" "$results/unit-$name.xml"
  cp "$work/$name/meson-logs/testlog.json" "$results/unit-$name.json"
  return "$code"
}

# py NAME BUILD PATHS...: pytest against a build
py() {
  local name=$1 against=$2 code=0
  shift 2
  RAYGPU_BUILD=$work/$against /usr/bin/python3 -m pytest -q -p no:cacheprovider \
    --junitxml="$results/py-$name.xml" "$@" >"$results/$name.said" 2>&1 || code=$?
  cat "$results/$name.said"
  [ "$code" -lt 2 ] || broken "py-$name" "$results/$name.said" # it did not run to its end
  return "$code"
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

kube_server() {
  tests/kube/build.sh >"$work/kube.log" 2>&1 || { tail -20 "$work/kube.log"; broken build-kube "$work/kube.log"; return 1; }
}

bench() {
  tests/bench/run "$work/release" --long | tee "$results/bench.md"
  return "${PIPESTATUS[0]}"
}

# ---- what always runs: fast stages first

[ -z "${RAYGPU_KUBE:-$long}" ] || stage "Kubernetes' API server: build it unless an earlier run did" kube_server

stage "lint" py lint gcc tests/lint
stage "gcc, warnings are errors" build gcc || give_up
stage "unit tests" unit gcc

if [ -n "$quick" ]; then
  files=$(touched c) tests=$(touched cli)
  [ -z "$files" ] || RAYGPU_FILES=$files stage "cppcheck and clang-tidy: $files" py analysis gcc tests/analysis
  # shellcheck disable=SC2086  # a list of words
  stage "whole program: $tests" py cli gcc -n "$waiting" --dist loadfile $tests
fi

# ---- what must pass before a change lands: stages that wait run in parallel with stages that compute

if [ -z "$quick" ]; then
  # three rows of stages beside those below: more at a time would only make each wait for the others
  beside hosts "real hosts and a real Ray: the start scripts under Docker Engine, and over ssh" first py hosts gcc -n 2 --dist loadfile tests/hosts
  behind kube "Kubernetes: schemas, and the API server where it is built" py kube gcc tests/kube
  behind quickstart "the README's first command" py quickstart gcc tests/quickstart
  behind mutator "the tool of the mutation tests" py mutator gcc tests/mutation
  beside crash "kill -9 and scale" py crash gcc -n "$waiting" tests/crash
  # shellcheck disable=SC2086  # a list of words
  behind plain "whole program: shells, official clients, kill -9" py plain gcc -n "$waiting" --dist loadfile $plain
  beside analysis "cppcheck and clang-tidy" low py analysis gcc tests/analysis
  behind recipes "the recipes of src/HACKING.md, each done in a copy of the tree" py recipes gcc tests/recipes
  stage "build with ASan and UBSan" build asan -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
    "-Dc_args=$asan_args" || give_up
  stage "ASan and UBSan: unit tests" sanitized unit asan
  # shellcheck disable=SC2046,SC2086  # lists of words
  stage "ASan and UBSan: the simulator" sanitized py asan-sim asan -n "$waiting" --dist loadfile \
    $(printf -- '--ignore=%s ' $plain) tests/cli/sim
  # shellcheck disable=SC2046,SC2086
  stage "ASan and UBSan: the whole program" plain_sim sanitized py asan asan -n "$patient" --dist loadfile \
    $(printf -- '--ignore=%s ' $plain tests/cli/sim) tests/cli
  CC="ccache clang" configure tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Dc_args=-g1 &&
    stage "clang and TSan: build and run what has threads" unit tsan --suite threads
  join
fi

# ---- what takes many minutes, one after the other: their figures need an idle machine

if [ -n "$long" ]; then
  stage "valgrind: unit tests, and raygpu from validate to destroy" py valgrind gcc tests/valgrind
  stage "mutants: one token changed, and a test that fails (tests/mutation/README.md)" \
    nice tests/mutation/run --survivors "$results/survivors.txt"
  stage "a release build" build release --buildtype=release &&
    stage "figures: a release build beside curl and Terraform" bench
fi
finish
