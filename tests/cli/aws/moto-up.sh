#!/usr/bin/env bash
# Starts moto's server, an independent EC2, on 127.0.0.1:PORT and waits until it answers.
# usage: moto-up.sh PORT PIDFILE [NAME=VALUE ...]     (log: PIDFILE.log)
# $MOTO_SERVER: its program. Exit code 77: moto is not installed.
set -eu
port=$1 pid_file=$2
shift 2
server=
for path in "$(command -v moto_server || true)" "$HOME"/.pyenv/versions/*/bin/moto_server "${MOTO_SERVER:-}"; do
  [ ! -x "$path" ] || server=$path
done
[ -n "$server" ] || { echo "moto is not installed"; exit 77; }
env "$@" "$server" -H 127.0.0.1 -p "$port" </dev/null >"$pid_file.log" 2>&1 &
echo $! >"$pid_file"
for _ in $(seq 1200); do
  curl -fsS -o /dev/null "http://127.0.0.1:$port/moto-api/" 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.05
done
cat "$pid_file.log"
kill $! 2>/dev/null || true
exit 1
