#!/usr/bin/env bash
# Checks every cluster for drift and keeps one issue per cluster: opens it, updates it if the drift has changed, closes it when the
# drift is gone, and opens the same issue again when there is new drift. For GitHub Actions (gh) and GitLab CI (glab), every night.
# usage: drift-issue.sh [SPEC...]
# exit codes: 0 no drift, 2 drift, anything else failed; the issue of a cluster that could not be checked stays as it is
# shellcheck disable=SC1091,SC2016,SC2154 # forge.sh sets what is not set here; filters of jq
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
LABEL=${DRIFT_LABEL:-raygpu-drift}
if [[ ! $LABEL =~ ^[A-Za-z0-9_-]+$ ]]; then fail 'DRIFT_LABEL consists of letters, digits, "_" and "-"' 4; fi
if [ $# = 0 ]; then set -- clusters; fi

# text SUM: the text of an issue, in $work/text
text() {
  {
    printf '<!-- raygpu:drift cluster=%s sum=%s -->\n' "$cluster" "$1"
    sed '1{/^<!-- raygpu:drift:.* -->$/d}' "$work/report"
    printf '\n[Log of the job](%s)\n' "$JOB"
  } > "$work/text"
}

say() {
  printf '%s\n\n[Log of the job](%s)\n' "$2" "$JOB" > "$work/comment.md"
  comment_issue "$1" "$work/comment.md"
}

# The issue of this cluster, in $work/issue.json: the oldest open one, otherwise the newest. All other open ones are closed.
find_issue() {
  local other
  issues_with "$LABEL" 'map(select(.body | startswith($marker))
    | .sum = (.body | ltrimstr($marker) | capture("^(?<sum>[0-9a-f]{64}|none) -->").sum)) | sort_by(.number)' \
    --arg marker "<!-- raygpu:drift cluster=$cluster sum=" > "$work/issues.json"
  jq 'map(select(.open))[0] // .[-1] // empty' "$work/issues.json" > "$work/issue.json"
  for other in $(jq -r 'map(select(.open))[1:][].number' "$work/issues.json"); do
    jq -r --argjson other "$other" '.[] | select(.number == $other).body' "$work/issues.json" > "$work/old.md"
    edit_issue "$other" "$work/old.md" close
    say "$other" "Duplicate of #$(jq -r .number "$work/issue.json")."
  done
}

# An issue that was made although the answer was lost is found again.
open_issue() {
  for _ in 1 2 3; do
    if new_issue "Drift in cluster $cluster" "$work/text" "$LABEL"; then return; fi
    sleep "${RETRY_SECONDS:-4}"
    find_issue
    if [ "$(of_issue .open)" = true ]; then return; fi
  done
  fail "no issue for cluster $cluster could be opened"
}

of_issue() { jq -r "$1" "$work/issue.json"; }

# The drift of $work/report; SUM identifies it
drifted() {
  local number sum=$1 headline
  headline=$(grep -m 1 '^\*\*' "$work/report")
  text "$sum"
  number=$(of_issue .number)
  if [ -z "$number" ]; then
    open_issue
  elif [ "$(of_issue .sum)" = "$sum" ]; then
    return # known, or accepted by someone who closed the issue
  elif [ "$(of_issue .open)" = true ]; then
    edit_issue "$number" "$work/text"
    say "$number" "The drift has changed. $headline"
  else
    edit_issue "$number" "$work/text" reopen
    say "$number" "There is drift again. $headline"
  fi
}

no_drift() {
  local number
  number=$(of_issue .number)
  if [ -z "$number" ] || [ "$(of_issue .sum)" = none ]; then return; fi
  text none
  if [ "$(of_issue .open)" = true ]; then
    edit_issue "$number" "$work/text" close
    say "$number" 'The drift is gone.'
  else
    edit_issue "$number" "$work/text"
  fi
}

check() {
  local spec=$1 code=0
  raygpu drift "$spec" --report "markdown=$work/report" || code=$?
  case $code in
  0)
    find_issue
    no_drift
    ;;
  2)
    find_issue
    drifted "$(sha256sum "$work/report" | cut -d ' ' -f 1)"
    worst=${worst/#0/2}
    ;;
  *)
    # a cluster that was never applied has no drift, and no issue
    if [ "$code" = 4 ] && grep -qF '[state.no-such-cluster]' "$work/report"; then return; fi
    echo "$spec could not be checked: its issue stays as it is" >&2
    failed=$code
    ;;
  esac
}

find_bot
worst=0 failed=0
raygpu validate "$@" --json > "$work/specs.json" || failed=$?
jq -e .specs "$work/specs.json" > "$work/found" || fail 'the specs could not be read' "${failed/#0/1}"
if [ "$failed" != 0 ]; then
  jq -r '.diagnostics[] | select(.severity == "error") | "\(.range.filename // "?"): \(.summary)"' "$work/specs.json" >&2
fi
for ((i = 0; i < $(jq '.specs | length' "$work/specs.json"); i++)); do
  cluster=$(jq -r --argjson i "$i" '.specs | to_entries[$i].value.cluster' "$work/specs.json")
  check "$(jq -r --argjson i "$i" '.specs | to_entries[$i].key' "$work/specs.json")"
done
if [ "$failed" != 0 ]; then exit "$failed"; fi
exit "$worst"
