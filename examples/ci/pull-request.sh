#!/usr/bin/env bash
# One comment per pull request with the plan of the clusters that it changes; after the merge, exactly that plan is applied, if the
# commit was approved. For GitHub Actions (gh) and GitLab CI (glab); README.md describes the flow and the tokens.
# usage: pull-request.sh plan [SPEC...]     in the job of a pull request, with credentials that may only read
#        pull-request.sh apply [SPEC...]    in the job of a push to the main branch
# exit codes: those of raygpu; 9 if what was merged may not be applied
# shellcheck disable=SC1091,SC2016,SC2154 # forge.sh sets what is not set here; filters of jq
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
MARKER='<!-- raygpu:pull-request '
# All of the first line of a comment: a marker that does not end there would hide the plan below it. The same as in comment.jq
MARKER_LINE='^<!-- raygpu:pull-request head=(?<head>[0-9a-f]+) plan=(?<plan>[0-9a-f]{64}|none) shown=(?<shown>[0-9TZ:.+-]*) lines=(?<n>[0-9]+)(,[0-9]+)* -->$'
specs=("${@:2}")
if [ ${#specs[@]} = 0 ]; then specs=(clusters); fi

event() { jq -er "$1" "$GITHUB_EVENT_PATH"; }

# The commit of a job is used in the text of comments.
commit() {
  if [[ ! $1 =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]] || [[ $1 =~ ^0+$ ]]; then fail "\"$1\" is not a commit" 4; fi
  echo "$1"
}

# make_plans BASE: $work/plans and $work/report; sets code, and sum, which is the same for plans that do the same
make_plans() {
  code=0
  rm -rf "$work/plans" "$work/report"
  mkdir "$work/plans"
  raygpu plan "${specs[@]}" --changed-since "$1" --out "$work/plans" --report "markdown=$work/report" --detailed-exitcode || code=$?
  sum=none
  if [ "$code" = 0 ] || [ "$code" = 2 ]; then
    sum=$(find "$work/plans" -name '*.json' -print0 | sort -z |
      xargs -0 --no-run-if-empty jq --compact-output --sort-keys --from-file "$here/plan-sum.jq" | sha256sum | cut -d ' ' -f 1)
  fi
  if [ ! -s "$work/report" ]; then
    printf '## raygpu plan\n\n**The plan ended with exit code %s.** The reason is in the log of the job.\n' "$code" > "$work/report"
  fi
  sed -i '1{/^<!-- raygpu:plan:.* -->$/d}' "$work/report"
}

# shown_report < COMMENT: the text of its plan
shown_report() {
  jq --raw-input --slurp --raw-output --arg marker "$MARKER_LINE" 'gsub("\r\n"; "\n") | split("\n")
    | (.[0] | capture($marker).n | tonumber) as $n | .[1:1 + $n] | join("\n")'
}

# shown_status < COMMENT: whether what follows its plan, up to the first fold, is what this script writes there
shown_status() {
  jq --raw-input --slurp --exit-status --arg marker "$MARKER_LINE" --arg head "${of_head:0:12}" 'gsub("\r\n"; "\n") | split("\n")
    | (.[0] | capture($marker).n | tonumber) as $n | .[1 + $n:] | join("\n") | split("\n<details>")[0]
    | test("^\nApprove commit `" + $head + "` and merge it: exactly this plan is then applied[.]\n\\[Log of the job\\]\\([^ \n()<>]+\\)\n*$")
      or test("^\n[*][*](Applied|Nothing to apply:|Not applied:|Not or partially applied:)[*][*] ")' > /dev/null
}

# The text that was approved must be that of the plan that is applied: the marker alone says nothing about it, and anyone who has a token
# of the same user can edit the comment. Only what a merge changes may differ.
check_text() {
  local begins
  begins=$(find "$work/plans" -name '*.json' -print0 | xargs -0 --no-run-if-empty jq --from-file "$here/plan-begins.jq" | jq --slurp any)
  jq -n -j --rawfile old /dev/null --rawfile report "$work/report" --rawfile status /dev/null --arg head 0 --arg plan none --arg shown "" \
    --argjson limit "$LIMIT" --from-file "$here/comment.jq" | shown_report |
    jq --raw-input --slurp --raw-output --argjson begins "$begins" --from-file "$here/plan-text.jq" > "$work/text.now"
  jq -j .body "$work/comment.json" | shown_report |
    jq --raw-input --slurp --raw-output --argjson begins "$begins" --from-file "$here/plan-text.jq" > "$work/text.shown"
  if ! jq -j .body "$work/comment.json" | shown_status; then
    refuse "the text between the plan above and what is folded was edited. Run the job of the pull request again, and approve what it shows."
  fi
  if ! diff "$work/text.shown" "$work/text.now" >&2; then
    refuse "the text above is not that of the plan: the comment was edited, or prices or warnings have changed since. The differences are in the log of the job. Run the job of the pull request again, and approve what it shows."
  fi
}

# The text of a file in a fence that it cannot end, at most 3000 bytes of its end
fenced() {
  tail -c 3000 "$1" | jq --raw-input --slurp --raw-output 'gsub("\r|\u001b\\[[0-9;]*m"; "") | rtrimstr("\n") as $text
    | ([$text | scan("`{3,}") | length] | max // 2 | . + 1) as $n | ("`" * ([$n, 3] | max)) | "\(.)\n\($text)\n\(.)"'
}

# Sets id, of_head, of_plan and of_shown (since when its plan is there to read) of our comment; all are empty if there is none
find_comment() {
  id="" of_head="" of_plan="" of_shown=""
  our_comment "$pull" "$MARKER" > "$work/comment.json"
  if [ -s "$work/comment.json" ]; then
    read -r id of_head of_plan of_shown < <(jq -r --arg marker "$MARKER_LINE" '"\(.id) " + (.updated_at as $updated | .body
      | split("\n")[0] | rtrimstr("\r") | capture($marker)
      | "\(.head) \(.plan) \(if .shown == "" then $updated else .shown end)")' "$work/comment.json") || true
    if [ -z "$of_shown" ]; then fail "the marker of the comment of pull request $pull was edited: delete the comment"; fi
  fi
}

# say HEAD SUM STATUS [SHOWN]: writes the comment of pull request $pull, with $work/report; STATUS is a file
say() {
  local id of_head of_plan of_shown shown
  for _ in 1 2 3; do # a comment that was written although the answer was lost is found again
    find_comment
    shown=${4:-}
    # a plan that was approved stays approved if a later run finds the same one
    if [ -z "$shown" ] && [ "$of_head $of_plan" = "$1 $2" ]; then shown=$of_shown; fi
    : > "$work/old"
    if [ -n "$id" ]; then jq -j .body "$work/comment.json" > "$work/old"; fi
    jq -n -j --rawfile old "$work/old" --rawfile report "$work/report" --rawfile status "$3" --arg head "$1" --arg plan "$2" \
      --arg shown "$shown" --argjson limit "$LIMIT" --from-file "$here/comment.jq" > "$work/body.md"
    if [ -n "$id" ] && cmp -s "$work/old" "$work/body.md"; then return; fi
    if write_comment "$pull" "$id" "$work/body.md"; then return; fi
    sleep "${RETRY_SECONDS:-4}"
  done
  fail "the comment of pull request $pull could not be written"
}

plan() {
  local head base
  if [ "$forge" = github ]; then
    pull=$(event .pull_request.number)
    head=$(commit "$(event .pull_request.head.sha)")
    base=refs/remotes/origin/$(event .pull_request.base.ref)
  else
    pull=$CI_MERGE_REQUEST_IID
    head=$(commit "${CI_MERGE_REQUEST_SOURCE_BRANCH_SHA:-$CI_COMMIT_SHA}")
    # not CI_MERGE_REQUEST_DIFF_BASE_SHA, which is as old as its author likes: what is trusted is what the target says now
    base=refs/remotes/origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME
    git -c safe.directory='*' fetch --quiet --no-tags origin "+refs/heads/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME:$base"
  fi
  find_bot
  make_plans "$base"
  {
    case $code in
    0) echo "Nothing is applied when commit \`${head:0:12}\` is merged." ;;
    2) echo "Approve commit \`${head:0:12}\` and merge it: exactly this plan is then applied." ;;
    *) echo "The plan of commit \`${head:0:12}\` failed with exit code $code." ;;
    esac
    echo "[Log of the job]($JOB)"
  } > "$work/status.md"
  # no comment for a pull request that concerns no cluster, unless there was one
  if [ "$code" = 0 ] && [ -z "$(find "$work/plans" -name '*.json')" ]; then
    find_comment
    if [ -z "$id" ]; then return; fi
  fi
  say "$head" "$sum" "$work/status.md"
  if [ "$code" != 0 ] && [ "$code" != 2 ]; then exit "$code"; fi
}

# The result, in the comment (if there is one) and in the log. finish CODE TEXT [OUTPUT [SUM]]: the file with what was printed, and
# what is left of the approved plan: then $work/report shows it.
finish() {
  local said=0
  {
    printf '%s\n\n' "$2"
    if [ -n "${3:-}" ]; then
      printf '<details><summary>Output</summary>\n\n'
      fenced "$3"
      printf '\n</details>\n\n'
    fi
    printf '[Log of the job](%s)\n' "$JOB"
  } > "$work/status.md"
  if [ -n "$id" ]; then
    if [ -z "${4:-}" ]; then
      # what was approved stays as it was shown, also if the plan is another one now
      jq -j .body "$work/comment.json" | shown_report > "$work/report"
    fi
    # in the log there is always a result, also if the service does not answer
    set +e
    (set -e; say "$of_head" "${4:-$of_plan}" "$work/status.md" "$of_shown")
    said=$?
    set -e
  fi
  echo "$2" >&2
  exit "${1/#0/$said}"
}

refuse() { finish 9 "**Not applied:** $1"; }

# Nobody but a person who may write, and not the author, approves; the newest word of each counts
check_approval() {
  local head=$1 author=$2
  reviews_of "$pull" "$head" > "$work/all-reviews"
  jq --arg author "$author" 'map(select(.user != $author))' "$work/all-reviews" > "$work/reviews"
  if jq -e 'any(.approved | not)' "$work/reviews" > /dev/null; then
    refuse "\`$(jq -r 'first(.[] | select(.approved | not)).user' "$work/reviews")\` has requested changes."
  fi
  jq --arg shown "$of_shown" "$TIME"'map(select((.at | time) > ($shown | time)))' "$work/reviews" > "$work/approvals"
  if [ "$(jq length "$work/approvals")" -lt "${APPROVALS:-1}" ]; then
    refuse "commit \`${head:0:12}\` has $(jq length "$work/approvals") of ${APPROVALS:-1} approvals by people who may write and are not its author, after its plan was shown."
  fi
}

# Passes on the signal of a cancelled job, which the first process of a step gets, and waits until raygpu has ended in order.
run_apply() {
  local child writer
  rm -f "$work/pipe"
  mkfifo "$work/pipe"
  tee "$work/output" < "$work/pipe" &
  writer=$!
  raygpu apply "$work/plans" --lock-timeout "${LOCK_TIMEOUT:-600}" > "$work/pipe" 2>&1 &
  child=$!
  trap 'kill -TERM "$child"' INT TERM
  result=0
  wait "$child" || result=$?
  while kill -0 "$child" 2> /dev/null; do
    result=0
    wait "$child" || result=$?
  done
  trap - INT TERM
  wait "$writer"
}

# Applies what was approved. Another run may change the state between plan and apply: then raygpu refuses the plans as stale, and
# the new plan must again be what was approved.
apply_plans() {
  local try
  for try in 1 2 3; do
    if [ "$try" != 1 ]; then make_plans "$base"; fi
    case $code in
    0) finish 0 "**Nothing to apply:** the clusters are as commit \`${merged:0:12}\` describes them." ;;
    2) ;;
    *) finish "$code" "**Not applied:** the plan of commit \`${merged:0:12}\` failed with exit code $code." ;;
    esac
    if [ "$sum" != "$approved" ]; then
      refuse "the plan is no longer the one that was approved, because the clusters, the state or other specs have changed since. Its new form is in the log of the job."
    fi
    check_text
    run_apply
    if [ "$result" != 6 ]; then return; fi
  done
}

apply() {
  local branch pulls head author who merged before base approved result=0 id=""
  if [ "$forge" = github ]; then
    merged=$(commit "$(event .after)") before=$(commit "$(event .before)")
    branch=$(event .repository.default_branch)
    if [ "$(event .ref)" != "refs/heads/$branch" ]; then fail 'only pushes to the default branch are applied' 9; fi
  else
    merged=$(commit "$CI_COMMIT_SHA") before=$(commit "$CI_COMMIT_BEFORE_SHA")
    branch=$CI_DEFAULT_BRANCH
    if [ "${CI_COMMIT_BRANCH:-}" != "$branch" ]; then fail 'only pushes to the default branch are applied' 9; fi
  fi
  if [ "$(git -c safe.directory='*' rev-parse HEAD)" != "$merged" ]; then fail "the checkout is not commit $merged" 4; fi
  # The commit before the merge gets the name that it had in the pull request: warnings of the plan that was approved contain that name.
  base=refs/remotes/origin/$branch
  git -c safe.directory='*' update-ref "$base" "$before" || fail "commit $before is not in this clone: the main branch was rewritten" 4
  find_bot
  merged_pull "$merged" "$branch" > "$work/pull.json"
  make_plans "$base"
  read -r pulls pull head author < <(jq -r '"\(length) \(.[0].number) \(.[0].head) \(.[0].author)"' "$work/pull.json")
  if [ "$pulls" != 1 ]; then
    if [ "$code" = 0 ]; then return; fi
    refuse "commit ${merged:0:12} is not the merge of one pull request."
  fi
  head=$(commit "$head")
  find_comment
  if [ -z "$id" ]; then
    if [ "$code" = 0 ]; then return; fi
    refuse "pull request $pull has no comment with a plan."
  fi
  if [ "$code" = 2 ]; then
    if [ "$of_head" != "$head" ]; then refuse "the plan above is of another commit than \`${head:0:12}\`, which was merged."; fi
    check_approval "$head" "$author"
  fi
  approved=$of_plan
  apply_plans
  who=$(jq -r 'map("`" + .user + "`") | join(", ")' "$work/approvals")
  if [ "$result" = 0 ]; then finish 0 "**Applied** as commit \`${merged:0:12}\`, approved by $who." "$work/output"; fi
  # what is left of the approved plan is what the next run of this job applies
  make_plans "$base" > "$work/again" 2>&1
  if [ "$code" != 2 ]; then sum=""; fi
  finish "$result" "**Not or partially applied:** exit code $result (commit \`${merged:0:12}\`). Run the job again: it applies what is left of the plan." \
    "$work/output" "$sum"
}

case ${1:-} in
plan | apply) "$1" ;;
*) sed -n '4,5s/^# //p' "$0" >&2; exit 4 ;;
esac
