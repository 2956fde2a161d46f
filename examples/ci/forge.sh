# shellcheck shell=bash disable=SC2016 # filters of jq
# GitHub with gh, or GitLab with glab, for pull-request.sh and drift-issue.sh, which source this file. "Pull request" is also
# GitLab's merge request. Answers become one form for both services. Text goes to the services in files, never as arguments.
# Variables: LIMIT (bytes of a comment), BOT (the user that writes), JOB (the URL of this job), JOBS (how the URLs of all jobs of this
# repository begin), work (a folder of its own)

# Limits of a comment and of the text of an issue: 65,536 characters on GitHub, 1 MiB on GitLab; bytes are never fewer than characters.
if [ "${GITHUB_ACTIONS:-}" = true ]; then
  forge=github LIMIT=65000
  repository=repos/${GITHUB_REPOSITORY:?}
  JOB=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
  if [ "$GITHUB_SERVER_URL" != https://github.com ]; then # GitHub Enterprise Server
    export GH_HOST=${GITHUB_SERVER_URL#*://} GH_ENTERPRISE_TOKEN=${GH_TOKEN:?}
  fi
elif [ "${GITLAB_CI:-}" = true ]; then
  # shellcheck disable=SC2034 # for the scripts that source this file
  forge=gitlab LIMIT=1000000
  repository=projects/${CI_PROJECT_ID:?}
  # shellcheck disable=SC2034
  JOB=$CI_JOB_URL
else
  echo 'neither GitHub Actions nor GitLab CI runs this job' >&2
  exit 4
fi
# shellcheck disable=SC2034
JOBS=${JOB%/*}/
shopt -s inherit_errexit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$1" >&2
  exit "${2:-1}"
}

# api METHOD PATH [FIELD...]: prints the answer. A fault that may pass is tried again, but a POST is not: it may have been done.
api() {
  local method=$1 path=$2 pause=${RETRY_SECONDS:-4} try
  local command=(gh api --method "$method")
  if [ "$forge" = gitlab ]; then command=(glab api --method "$method" --hostname "${CI_SERVER_FQDN:-$CI_SERVER_HOST}"); fi
  if [ "$method" = GET ]; then command+=(--paginate); fi
  for try in 1 2 3 4; do
    if "${command[@]}" "$path" "${@:3}" > "$work/answer" 2> "$work/error"; then
      cat "$work/answer"
      return
    fi
    if [ "$try" = 4 ] || [ "$method" = POST ] || ! passing; then break; fi
    sleep "$pause"
    pause=$((pause * 2))
  done
  echo "${command[0]} could not $method $path: $(head -c 500 "$work/error")" >&2
  return 1
}

# 408 and 429 pass, all others of 4xx stay
passing() { ! grep -E 'HTTP 4[0-9][0-9]' "$work/error" | grep -qvE 'HTTP 4(08|29)'; }

# pages PATH FILTER [OPTION...]: what a filter of jq makes of the list of all pages, which come as one list or as several
pages() { api GET "$1" | jq --slurp "${@:3}" "flatten(1) | $2"; }

# The user of the token. GitHub does not say it to the token of a job.
find_bot() {
  if [ "$forge" = github ]; then
    BOT=${RAYGPU_BOT:-github-actions[bot]}
  else
    BOT=$(api GET user | jq -r .username)
  fi
}

# ---- comments of a pull request: {id, user, body, updated_at}
# Both services set updated_at with every edit, and no request of the API can set it: https://docs.github.com/en/rest/issues/comments and
# https://docs.gitlab.com/api/notes. But GitLab lets an owner or administrator name the time of a new comment (created_at), so BOT is neither.

# comments_of PULL FILTER [OPTION...]
comments_of() {
  if [ "$forge" = github ]; then
    pages "$repository/issues/$1/comments?per_page=100" "map({id, user: .user.login, body, updated_at}) | $2" "${@:3}"
  else
    pages "$repository/merge_requests/$1/notes?per_page=100&sort=asc&order_by=created_at" \
      "map(select(.system | not) | {id, user: .author.username, body, updated_at}) | $2" "${@:3}"
  fi
}

# our_comment PULL MARKER: the first comment of the bot that begins with the marker, or nothing
our_comment() {
  comments_of "$1" 'first(.[] | select(.user == $bot and (.body | startswith($marker)))) // empty' \
    --arg bot "$BOT" --arg marker "$2"
}

# write_comment PULL ID FILE: a new one if ID is empty
write_comment() {
  if [ "$forge" = github ] && [ -n "$2" ]; then
    api PATCH "$repository/issues/comments/$2" --field "body=@$3"
  elif [ "$forge" = github ]; then
    api POST "$repository/issues/$1/comments" --field "body=@$3"
  elif [ -n "$2" ]; then
    api PUT "$repository/merge_requests/$1/notes/$2" --field "body=@$3"
  else
    api POST "$repository/merge_requests/$1/notes" --field "body=@$3"
  fi > "$work/written" || return
  if [ "$(jq -r '.user.login // .author.username' "$work/written")" != "$BOT" ]; then
    fail "the comment is of another user than $BOT, so it would not be found again: set RAYGPU_BOT"
  fi
}

# ---- a merged pull request and its approvals

# merged_pull COMMIT BRANCH: [{number, head, author}] of the pull requests whose merge made the commit
merged_pull() {
  if [ "$forge" = github ]; then
    pages "$repository/commits/$1/pulls?per_page=100" \
      'map(select(.merged_at and .base.ref == $branch and .merge_commit_sha == $commit)
       | {number, head: .head.sha, author: .user.login})' --arg commit "$1" --arg branch "$2"
  else
    pages "$repository/repository/commits/$1/merge_requests?per_page=100" \
      'map(select(.state == "merged" and .target_branch == $branch and
         (.merge_commit_sha == $commit or .merge_commit_sha == null and (.squash_commit_sha // .sha) == $commit))
       | {number: .iid, head: .sha, author: .author.username})' --arg commit "$1" --arg branch "$2"
  fi
}

# reviews_of PULL HEAD: [{user, at, approved}], the last word of each person who may write, about that commit
reviews_of() {
  local user may
  if [ "$forge" = github ]; then
    # a comment does not withdraw an approval; an approval of an earlier commit does not count
    pages "$repository/pulls/$1/reviews?per_page=100" \
      'map(select(.user.type == "User" and (.state | IN("APPROVED", "CHANGES_REQUESTED", "DISMISSED")))) | group_by(.user.login)
       | map(max_by(.submitted_at)) | map(select(.state == "CHANGES_REQUESTED" or .state == "APPROVED" and .commit_id == $head))
       | map({user: .user.login, at: .submitted_at, approved: (.state == "APPROVED")})' --arg head "$2" > "$work/reviews"
    for user in $(jq -r '.[].user' "$work/reviews"); do
      may=$(api GET "$repository/collaborators/$user/permission" | jq -r .permission)
      if [ "$may" != write ] && [ "$may" != admin ]; then
        jq --arg user "$user" 'map(select(.user != $user))' "$work/reviews" > "$work/reviews.new"
        mv "$work/reviews.new" "$work/reviews"
      fi
    done
    cat "$work/reviews"
  else
    # GitLab does not name the commit: an approval is of the last version if it is later than that
    pages "$repository/merge_requests/$1/versions?per_page=100" . > "$work/versions"
    api GET "$repository/merge_requests/$1/approvals" | jq --arg head "$2" --slurpfile versions "$work/versions" --arg bot "$BOT" \
      "$TIME"'($versions[0] | max_by(.id)) as $last | if $last.head_commit_sha != $head then [] else
       [.approved_by[] | select(.user.username != $bot and (.approved_at | time) > ($last.created_at | time))
        | {user: .user.username, at: .approved_at, approved: true}] end'
  fi
}

# jq: seconds of 2026-11-23T18:13:48Z, 2026-11-23T18:13:48.123Z or 2026-11-23T20:13:48.123+02:00; 0 of nothing
# shellcheck disable=SC2034
TIME='def time: if . == null or . == "" then 0 else
  capture("^(?<day>[0-9-]{10})T(?<clock>[0-9:]{8})(?<part>[.][0-9]+)?(?<zone>Z|[+-][0-9:]{5})$")
  | (.day + "T" + .clock + "Z" | fromdateiso8601) + ("0" + (.part // ".0") | tonumber)
    - (if .zone == "Z" then 0 else (.zone[0:1] + "1" | tonumber) * ((.zone[1:3] | tonumber) * 3600 + (.zone[4:6] | tonumber) * 60) end)
  end; '

# ---- issues with a label: {number, title, body, open}

# issues_with LABEL FILTER [OPTION...]
issues_with() {
  if [ "$forge" = github ]; then
    # GitHub lists pull requests as issues too
    pages "$repository/issues?state=all&labels=$1&per_page=100" \
      'map(select(.user.login == $bot and (has("pull_request") | not))
       | {number, title, body: (.body // ""), open: (.state == "open")}) | '"$2" --arg bot "$BOT" "${@:3}"
  else
    pages "$repository/issues?state=all&labels=$1&per_page=100" \
      'map(select(.author.username == $bot)
       | {number: .iid, title, body: (.description // ""), open: (.state == "opened")}) | '"$2" --arg bot "$BOT" "${@:3}"
  fi
}

# new_issue TITLE FILE LABEL
new_issue() {
  if [ "$forge" = github ]; then
    api POST "$repository/issues" --raw-field "title=$1" --field "body=@$2" --raw-field "labels[]=$3"
  else
    api POST "$repository/issues" --raw-field "title=$1" --field "description=@$2" --raw-field "labels=$3"
  fi > "$work/written" || return
  if ! jq -e --arg bot "$BOT" --arg wanted "$3" '(.user // .author | .login // .username) == $bot and
      (.labels | map(.name? // .) | index($wanted))' "$work/written" > "$work/found"; then
    fail "the new issue has no label $3, or is of another user than $BOT, so it would not be found again: see README.md"
  fi
}

# edit_issue NUMBER FILE [reopen|close]
edit_issue() {
  local state=()
  if [ "$forge" = github ]; then
    case ${3:-} in
    reopen) state=(--raw-field state=open) ;;
    close) state=(--raw-field state=closed) ;;
    esac
    api PATCH "$repository/issues/$1" --field "body=@$2" "${state[@]}"
  else
    if [ -n "${3:-}" ]; then state=(--raw-field "state_event=$3"); fi
    api PUT "$repository/issues/$1" --field "description=@$2" "${state[@]}"
  fi > "$work/written"
}

comment_issue() {
  if [ "$forge" = github ]; then
    api POST "$repository/issues/$1/comments" --field "body=@$2"
  else
    api POST "$repository/issues/$1/notes" --field "body=@$2"
  fi > "$work/written"
}
