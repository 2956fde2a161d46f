#!/bin/bash
# A stand-in for docker on hosts of the tests: its container `ray` is a program that answers where Ray's agent answers.
# What it was started with is in /var/lib/stand-in/.
dir=/var/lib/stand-in
mkdir -p "$dir"
[ ! -e "$dir/down" ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
case $1 in
ps) # the user's own container, and that of raygpu
	case $* in
	*label=raygpu.io/node*) [ ! -e "$dir/pid" ] || echo 1 ;;
	*) cat "$dir"/{pid,own} 2>/dev/null ;;
	esac
	;;
info | pull | login) exit 0 ;;
version) echo 20.10.24+dfsg1 ;;
image) exit 0 ;;
stop | rm) # of a container whose process the kernel does not end: nothing happens
	[ ! -e "$dir/stuck" ] || { echo 'could not kill container: tried to kill container, but did not receive an exit event' >&2; exit 1; }
	rm -f "$dir/own"
	[ ! -e "$dir/pid" ] || { kill "$(cat "$dir/pid")" 2>/dev/null; rm -f "$dir/pid"; }
	;;
exec) exit 1 ;;
run)
	[[ " $* " != *" --entrypoint "* ]] || { echo 0; exit; }
	printf '%s\n' "$@" >"$dir/arguments"
	echo "$$" >"$dir/pid"
	exec python3 -c '
import http.server, threading
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"success")
    def log_message(self, *_):
        pass
servers = [http.server.ThreadingHTTPServer(("127.0.0.1", port), Healthy) for port in (52365, 8265)]
threading.Thread(target=servers[0].serve_forever, daemon=True).start()
servers[1].serve_forever()'
	;;
esac
