#!/usr/bin/env bash
# raygpu without a CI service: cron on two machines (or for two users) that share the folder $PLANS. One has credentials that may
# only read, and makes plans of each new commit; the other makes them again once someone has approved them, and applies its own if they are
# exactly what was approved, text and plans. Each has a clone of the repository. Anyone who may write to $PLANS can approve.
# usage: cron.sh plan | approve COMMIT | apply | drift
# The files plan-*.jq are in the same folder as this one. exit codes: those of raygpu; 9 if what was approved is not what would be applied
#
#   CLONE=/srv/clusters PLANS=/srv/plans RAYGPU_STATE=postgres://db.example.org/infra
#   */10 * * * *  cron.sh plan      # on the machine that reads; cron sends a mail only if there is something to report
#   17 3 * * *    cron.sh drift
#   */10 * * * *  cron.sh apply     # on the machine that applies
set -euo pipefail
: "${CLONE:?the clone of the repository with the folder clusters/}" "${PLANS:?the folder of the plans}"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

update() { git -C "$CLONE" pull --quiet --ff-only; }

# make_plans COMMIT FOLDER: the plans, the text that people read, and a log
make_plans() {
  raygpu -C "$CLONE" plan clusters --ref "$1" --out "$2/plans" --report markdown="$2/plan.md" --detailed-exitcode > "$2/log" 2>&1
}

# all_of FOLDER: all that its plans do and its text says, without what differs between plans that do the same; as in pull-request.sh
all_of() {
  local begins
  find "$1/plans" -name '*.json' -print0 | sort -z |
    xargs -0 --no-run-if-empty jq --compact-output --sort-keys --from-file "$here/plan-sum.jq"
  begins=$(find "$1/plans" -name '*.json' -print0 | xargs -0 --no-run-if-empty jq --from-file "$here/plan-begins.jq" | jq --slurp any)
  jq --raw-input --slurp --raw-output --argjson begins "$begins" --from-file "$here/plan-text.jq" "$1/plan.md"
}

plan() {
  local commit new code=0
  update
  commit=$(git -C "$CLONE" rev-parse HEAD)
  if [ -e "$PLANS/$commit" ]; then return; fi
  new=$(mktemp -d "$PLANS/.new.XXXXXX")
  make_plans "$commit" "$new" || code=$?
  case $code in
  0) touch "$new/done" ;;
  2) printf 'Read %s, then run: cron.sh approve %s\n' "$PLANS/$commit/plan.md" "$commit" ;;
  *)
    cat "$new/log"
    rm -rf "$new"
    return "$code"
    ;;
  esac
  chmod 755 "$new"
  mv -T "$new" "$PLANS/$commit"
}

# approves these bytes: what is changed afterwards is not applied
approve() { (cd "$PLANS/$1" && sha256sum plan.md plans/*.json > approved.new && mv approved.new approved); }

# apply_approved FOLDER: what the machine that reads says that its plans do is not trusted, so they are made again, of a commit that was merged
apply_approved() {
  local commit code=0
  commit=$(basename "$1")
  (cd "$1" && sha256sum --check --quiet --strict approved)
  if [[ ! $commit =~ ^[0-9a-f]{40,64}$ ]] || ! git -C "$CLONE" merge-base --is-ancestor "$commit" '@{upstream}'; then
    echo "commit $commit is not on the branch of $CLONE" >&2
    return 9
  fi
  make_plans "$commit" "$work/new" || code=$?
  case $code in
  0) return ;; # someone else was first
  2) ;;
  *)
    cat "$work/new/log" >&2
    return "$code"
    ;;
  esac
  all_of "$1" > "$work/approved"
  all_of "$work/new" > "$work/now"
  if ! diff "$work/approved" "$work/now" > "$work/differences"; then
    cut -c 1-200 "$work/differences" >&2
    echo "what was approved in $1 is not what would be applied, or the clusters, the state or prices have changed since" >&2
    return 9
  fi
  raygpu apply "$work/new/plans" --lock-timeout 600
}

apply() {
  local folder code
  update
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for folder in "$PLANS"/*/; do
    if [ ! -e "$folder/approved" ] || [ -e "$folder/done" ]; then continue; fi
    rm -rf "$work/new"
    mkdir "$work/new"
    # not after "||", where the shell would go on after an error
    set +e
    (set -e; apply_approved "$folder")
    code=$?
    set -e
    if [ "$code" = 0 ]; then
      touch "$folder/done"
    else # stale, or interrupted: the next run of "plan" plans what is left
      rm -rf "$folder"
      return "$code"
    fi
  done
}

drift() {
  local report code=0
  update
  report=$(raygpu -C "$CLONE" drift clusters 2>&1) || code=$?
  if [ "$code" != 0 ]; then echo "$report"; fi
  return "$code"
}

case ${1:-} in
plan | apply | drift)
  exec 9> "$PLANS/.lock.$1"
  flock --nonblock 9 || exit 0 # the previous one still runs
  "$1"
  ;;
approve) approve "${2:?COMMIT}" ;;
*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 4 ;;
esac
