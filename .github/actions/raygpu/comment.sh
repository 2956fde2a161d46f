#!/usr/bin/env bash
# Writes a Markdown file as a comment of a pull request, or replaces our own comment that begins with the same line: the author of another
# one could change it later.
# usage: GITHUB_TOKEN=... GITHUB_REPOSITORY=OWNER/NAME NUMBER=N [RAYGPU_BOT=USER] comment.sh FILE
set -euo pipefail
file=$1
bot=${RAYGPU_BOT:-github-actions[bot]} # the user of the token: GitHub does not say it to the token of a job
[ -s "$file" ] || exit 0 # raygpu stopped before it had a report
url=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues

# api METHOD URL: the token is not an argument, because other users of the machine can see those
api() {
  curl --silent --show-error --fail-with-body --retry 3 --header @- --header 'Accept: application/vnd.github+json' \
    --request "$1" "$2" "${@:3}" <<< "Authorization: Bearer $GITHUB_TOKEN"
}

id="" page=1 marker=$(head -n 1 "$file")
while [ -z "$id" ]; do
  comments=$(api GET "$url/$NUMBER/comments?per_page=100&page=$page")
  id=$(jq -r --arg marker "$marker" --arg bot "$bot" \
    'first(.[] | select(.user.login == $bot and (.body | startswith($marker))) | .id) // empty' <<< "$comments")
  [ "$(jq length <<< "$comments")" -eq 100 ] || break
  page=$((page + 1))
done
body=$(mktemp)
trap 'rm -f "$body"' EXIT
jq --raw-input --slurp '{body: .}' "$file" > "$body"
if [ -n "$id" ]; then
  written=$(api PATCH "$url/comments/$id" --data "@$body")
else
  written=$(api POST "$url/$NUMBER/comments" --data "@$body")
fi
if [ "$(jq -r .user.login <<< "$written")" != "$bot" ]; then
  echo "the comment is of another user than $bot, so it would not be found again: set the input \"bot\" of the action" >&2
  exit 1
fi
