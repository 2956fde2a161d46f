#!/usr/bin/env bash
# One comment per pull request with the plan of the clusters that it changes; after the merge, exactly that plan is applied, if the
# commit was approved since that comment was last edited. The result is a second comment. For gh and glab; README.md describes the flow.
# usage: pull-request.sh plan [SPEC...]     in the job of a pull request, with credentials that may only read
#        pull-request.sh apply [SPEC...]    in the job of a push to the main branch
# exit codes: those of raygpu; 9 if what was merged may not be applied
# shellcheck disable=SC1091,SC2016,SC2154 # forge.sh sets what is not set here; filters of jq
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/forge.sh"
MARKER='<!-- raygpu:pull-request ' RESULT='<!-- raygpu:result -->'
# All of the first line of a comment: a marker that does not end there would hide the plan below it. The same as in comment.jq
MARKER_LINE='^<!-- raygpu:pull-request head=(?<head>[0-9a-f]+) plan=(?<plan>[0-9a-f]{64}|none) lines=(?<n>[0-9]+)(,[0-9]+)* -->$'
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

# status HEAD [URL]: what is below a plan that can be approved
status() {
  echo "Approve commit \`${1:0:12}\`: the job of its merge then applies exactly this plan."
  echo "[Log of the job](${2:-$JOB})"
}

# shown FILTER < COMMENT: what a filter of jq makes of its lines, where the $n lines of its plan follow the marker
shown() {
  jq --raw-input --slurp --raw-output --arg marker "$MARKER_LINE" --arg jobs "$JOBS" 'gsub("\r\n"; "\n") | split("\n")
    | (.[0] | capture($marker).n | tonumber) as $n | '"$1"
}

# write_body REPORT STATUS HEAD SUM: the text of the comment, in $work/body; $work/old is its text until now
write_body() {
  jq -n -j --rawfile old "$work/old" --rawfile report "$1" --rawfile status "$2" --arg head "$3" --arg plan "$4" --argjson limit "$LIMIT" \
    --from-file "$here/comment.jq" > "$work/body"
}

# plan_text < TEXT: without what differs between plans that do the same
plan_text() {
  local begins
  begins=$(find "$work/plans" -name '*.json' -print0 | xargs -0 --no-run-if-empty jq --from-file "$here/plan-begins.jq" | jq --slurp any)
  jq --raw-input --slurp --raw-output --argjson begins "$begins" --from-file "$here/plan-text.jq"
}

# The comment that was approved must be what this script writes, with the text of the plan that is applied: the marker alone says nothing
# about it, and anyone who has a token of the same user can edit the comment. So all of it is made again. Only what a merge changes may
# differ, and earlier plans may be any, in their folds.
check_text() {
  local url
  jq -j '.body | gsub("\r\n"; "\n")' "$work/comment.json" > "$work/old"
  shown '.[1:1 + $n] | join("\n")' < "$work/old" > "$work/shown"
  jq --raw-input --slurp --raw-output 'rtrimstr("\n")' "$work/report" > "$work/planned"
  # the log is that of a job of this repository
  url=$(shown '.[3 + $n] // "" | capture("^\\[Log of the job\\]\\((?<url>[^()]+)\\)$").url
    | select(startswith($jobs) and (ltrimstr($jobs) | test("^[0-9]+$")))' < "$work/old")
  status "$of_head" "$url" > "$work/status.md"
  write_body "$work/shown" "$work/status.md" "$of_head" "$of_plan"
  if ! diff "$work/old" "$work/body" >&2; then
    refuse "the text below the plan was edited: it is not what this job writes. The differences are in the log of the job. Run the job of the pull request again, and approve what it shows."
  fi
  plan_text < "$work/shown" > "$work/text.shown"
  plan_text < "$work/planned" > "$work/text.planned"
  if ! diff "$work/text.shown" "$work/text.planned" >&2; then
    refuse "the text of its comment is not that of the plan: the comment was edited, or prices or warnings have changed since. The differences are in the log of the job. Run the job of the pull request again, and approve what it shows."
  fi
}

# The text of a file in a fence that it cannot end, at most 3000 bytes of its end
fenced() {
  tail -c 3000 "$1" | jq --raw-input --slurp --raw-output 'gsub("\r|\u001b\\[[0-9;]*m"; "") | rtrimstr("\n") as $text
    | ([$text | scan("`{3,}") | length] | max // 2 | . + 1) as $n | ("`" * ([$n, 3] | max)) | "\(.)\n\($text)\n\(.)"'
}

# Sets id, of_head, of_plan and of_edited (when it was last edited) of our comment with a plan; all are empty if there is none
find_comment() {
  id="" of_head="" of_plan="" of_edited=""
  our_comment "$pull" "$MARKER" > "$work/comment.json"
  if [ -s "$work/comment.json" ]; then
    read -r id of_head of_plan of_edited < <(jq -r --arg marker "$MARKER_LINE" '"\(.id) " + (.updated_at as $edited | .body
      | split("\n")[0] | rtrimstr("\r") | capture($marker) | "\(.head) \(.plan) \($edited // "")")' "$work/comment.json") || true
    if [ -z "$of_edited" ]; then fail "the marker of the comment of pull request $pull was edited: delete the comment"; fi
  fi
}

# same < COMMENT: the same for each run that shows the same
same() {
  jq --raw-input --slurp --raw-output --arg jobs "[Log of the job]($JOBS" 'split("\n")
    | map(if startswith($jobs) and (ltrimstr($jobs) | test("^[0-9]+[)]$")) then "log" else . end) | join("\n")' | plan_text
}

# say HEAD SUM STATUS: writes the comment of pull request $pull, with $work/report; STATUS is a file. An edit ends all approvals, so there is
# none for the same plan.
say() {
  local id of_head of_plan of_edited
  for _ in 1 2 3; do # a comment that was written although the answer was lost is found again
    find_comment
    : > "$work/old"
    if [ -n "$id" ]; then jq -j .body "$work/comment.json" > "$work/old"; fi
    write_body "$work/report" "$3" "$1" "$2"
    if [ -n "$id" ] && [ "$(same < "$work/old")" = "$(same < "$work/body")" ]; then return; fi
    if write_comment "$pull" "$id" "$work/body"; then return; fi
    sleep "${RETRY_SECONDS:-4}"
  done
  fail "the comment of pull request $pull could not be written"
}

# say_result: writes the comment with the result, which is $work/result
say_result() {
  for _ in 1 2 3; do
    our_comment "$pull" "$RESULT" > "$work/result.json"
    if write_comment "$pull" "$(jq -r .id "$work/result.json")" "$work/result"; then return; fi
    sleep "${RETRY_SECONDS:-4}"
  done
  fail "the result could not be written to pull request $pull"
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
  case $code in
  0) status "$head" | sed "1s/.*/Nothing is applied when commit \`${head:0:12}\` is merged./" ;;
  2) status "$head" ;;
  *) status "$head" | sed "1s/.*/The plan of commit \`${head:0:12}\` failed with exit code $code./" ;;
  esac > "$work/status.md"
  # no comment for a pull request that concerns no cluster, unless there was one
  if [ "$code" = 0 ] && [ -z "$(find "$work/plans" -name '*.json')" ]; then
    find_comment
    if [ -z "$id" ]; then return; fi
  fi
  say "$head" "$sum" "$work/status.md"
  if [ "$code" != 0 ] && [ "$code" != 2 ]; then exit "$code"; fi
}

# attempt COMMAND...: sets attempted to its exit code; the job goes on
attempt() {
  set +e
  (set -e; "$@")
  attempted=$?
  set -e
}

# The result, in a comment (if there is one with a plan) and in the log. finish CODE TEXT [OUTPUT]: the file with what was printed. The
# comment with the plan stays as it is, because approvals are of its text.
finish() {
  local attempted=0
  {
    printf '%s\n%s\n\n' "$RESULT" "$2"
    if [ -n "${3:-}" ]; then
      printf '<details><summary>Output</summary>\n\n'
      fenced "$3"
      printf '\n</details>\n\n'
    fi
    printf '[Log of the job](%s)\n' "$JOB"
  } > "$work/result"
  # in the log there is always a result, also if the service does not answer
  if [ -n "$id" ]; then attempt say_result; fi
  echo "$2" >&2
  exit "${1/#0/$attempted}"
}

refuse() { finish 9 "**Not applied:** $1"; }

# Nobody but a person who may write, and not the author, approves; the newest word of each counts. An approval is of the text that the
# comment has now only if it is later than the last edit, by the service's clock.
check_approval() {
  local head=$1 author=$2
  jq --arg author "$author" 'map(select(.user != $author))' "$work/all-reviews" > "$work/reviews"
  if jq -e 'any(.approved | not)' "$work/reviews" > /dev/null; then
    refuse "\`$(jq -r 'first(.[] | select(.approved | not)).user' "$work/reviews")\` has requested changes."
  fi
  jq --arg edited "$of_edited" "$TIME"'map(select((.at | time) > ($edited | time)))' "$work/reviews" > "$work/approvals"
  if [ "$(jq length "$work/approvals")" -lt "${APPROVALS:-1}" ]; then
    refuse "commit \`${head:0:12}\` has $(jq length "$work/approvals") of ${APPROVALS:-1} approvals by people who may write and are not its author, after the comment with its plan was last edited."
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
    if [ "$of_plan" = none ]; then
      refuse "no whole plan was shown that could be approved. Start the pipeline of the main branch by hand, and approve what it plans."
    fi
    if [ "$sum" != "$of_plan" ]; then
      refuse "the plan is no longer the one that was approved, because the clusters, the state or other specs have changed since. Its new form is in the log of the job."
    fi
    check_text
    run_apply
    if [ "$result" != 6 ]; then return; fi
  done
}

apply() {
  local branch pulls head author who merged before base attempted result=0 id=""
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
  # before the comment is read: an edit in between is later than all of these
  if [ "$code" = 2 ]; then reviews_of "$pull" "$head" > "$work/all-reviews"; fi
  find_comment
  if [ -z "$id" ]; then
    if [ "$code" = 0 ]; then return; fi
    refuse "pull request $pull has no comment with a plan."
  fi
  if [ "$code" = 2 ]; then
    if [ "$of_head" != "$head" ]; then refuse "the plan that was shown is of another commit than \`${head:0:12}\`, which was merged."; fi
    check_approval "$head" "$author"
  fi
  apply_plans
  who=$(jq -r 'map("`" + .user + "`") | join(", ")' "$work/approvals")
  if [ "$result" = 0 ]; then finish 0 "**Applied** as commit \`${merged:0:12}\`, approved by $who." "$work/output"; fi
  # what is left of the plan is shown, and approved like any other plan
  make_plans "$base" > "$work/again" 2>&1
  if [ "$code" = 2 ]; then
    status "$head" > "$work/status.md"
    attempt say "$head" "$sum" "$work/status.md"
  fi
  finish "$result" "**Not or partially applied:** exit code $result (commit \`${merged:0:12}\`). What is left of the plan is in its comment. If that has changed, approve commit \`${head:0:12}\` again. Then run this job again." \
    "$work/output"
}

case ${1:-} in
plan | apply) "$1" ;;
*) sed -n '4,5s/^# //p' "$0" >&2; exit 4 ;;
esac
