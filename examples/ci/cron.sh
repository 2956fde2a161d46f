#!/usr/bin/env bash
# raygpu without a CI service: cron on two machines (or for two users) that share the folder $PLANS. One has credentials that may
# only read, and makes plans of each new commit; the other applies exactly the plans that someone approved.
# usage: cron.sh plan | approve COMMIT | apply | drift
#
#   CLONE=/srv/clusters PLANS=/srv/plans RAYGPU_STATE=postgres://db.example.org/infra
#   */10 * * * *  cron.sh plan      # on the machine that reads; cron sends a mail only if there is something to report
#   17 3 * * *    cron.sh drift
#   */10 * * * *  cron.sh apply     # on the machine that applies
set -euo pipefail
: "${CLONE:?the clone of the repository with the folder clusters/}" "${PLANS:?the folder of the plans}"

update() { git -C "$CLONE" pull --quiet --ff-only; }

plan() {
  local commit new code=0
  update
  commit=$(git -C "$CLONE" rev-parse HEAD)
  if [ -e "$PLANS/$commit" ]; then return; fi
  new=$(mktemp -d "$PLANS/.new.XXXXXX")
  raygpu -C "$CLONE" plan clusters --out "$new/plans" --report markdown="$new/plan.md" --detailed-exitcode > "$new/log" 2>&1 || code=$?
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

# approves these bytes: plans that are changed afterwards are not applied
approve() { (cd "$PLANS/$1" && sha256sum plans/*.json > approved.new && mv approved.new approved); }

apply() {
  local folder code
  for folder in "$PLANS"/*/; do
    if [ ! -e "$folder/approved" ] || [ -e "$folder/done" ]; then continue; fi
    code=0
    (cd "$folder" && sha256sum --check --quiet --strict approved && raygpu apply plans --lock-timeout 600) || code=$?
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
*) sed -n '4s/^# //p' "$0" >&2; exit 4 ;;
esac
