#!/bin/bash
# Powers this node off when its lease ends. Run by raygpu-lease.service, the same with a lease and without: the
# lease is in the cloud's metadata, where raygpu changes it. What it cannot read never ends a node.
set -uo pipefail

lib=/usr/local/lib/raygpu
# shellcheck source=/dev/null
. "$lib/report"

# Once: the next look comes in a minute.
# shellcheck disable=SC2317 # for the fragment
metadata() { curl --silent --show-error --fail --noproxy '*' --max-time 5 "$@"; }
find_lease() { return 1; }
# shellcheck source=/dev/null
. "$lib/cloud"

# Sets `lease`, empty if there is none, and `date`, the service's Date header. Fails if the service does not answer
# one of the two.
read_lease() {
	local answer lease_request=() status='^HTTP/[0-9.]+ ([0-9]{3})' clock=$'\n[Dd]ate: *([^\r\n]+)'
	find_lease || return 1
	# the full stop keeps the empty line of an answer without a body
	answer=$(curl --silent --include --noproxy '*' --max-time 5 "${lease_request[@]}" && printf .) || return 1
	answer=${answer%.}
	[[ $answer =~ $status ]] || return 1
	case ${BASH_REMATCH[1]} in
	200) lease=${answer#*$'\r\n\r\n'} lease=${lease%$'\n'} ;;
	404) lease='' ;;
	*) return 1 ;;
	esac
	date=
	[[ ! ${answer%%$'\r\n\r\n'*} =~ $clock ]] || date=${BASH_REMATCH[1]}
}

# Sets `now`: what the metadata service says and this node's own clock, the earlier of the two. The latter counts
# once it is synchronized.
read_clocks() {
	local own
	now=$(date --date "${date:-none}" +%s 2>/dev/null) || now=
	[ "$(timedatectl show --property NTPSynchronized --value 2>/dev/null)" = yes ] || return 0
	printf -v own '%(%s)T' -1
	[ -n "$now" ] && [ "$now" -le "$own" ] || now=$own
}

# Sets `ends`; fails for what is not a time as raygpu writes it.
read_end() {
	local form='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$'
	[[ $lease =~ $form ]] && ends=$(date --utc --date "$lease" +%s 2>/dev/null)
}

# announce TEXT: once for each lease and text, on the console, in the log and to who is logged in.
announce() {
	[ "$announced" != "$lease $1" ] || return 0
	announced="$lease $1"
	say "$1"
	wall "raygpu: $1" 2>/dev/null || true
}

# The unit of Ray stops its container on the way.
end_node() {
	announce "the lease of this node ended at $lease; it powers off"
	report expired at="$lease"
	systemctl poweroff || systemctl poweroff --force
}

look_at_lease() {
	local lease='' date='' now='' ends=''
	read_lease && [ -n "$lease" ] || return 0
	if ! read_end; then
		announce "the lease \"${lease:0:60}\" is not a time; this node stays"
		return
	fi
	read_clocks
	[ -n "$now" ] || return 0
	if [ "$now" -ge "$ends" ]; then
		end_node
	elif [ $((ends - now)) -le 600 ]; then
		announce "the lease of this node ends at $lease; then it powers off, unless the lease is extended before"
	fi
}

# All nodes start at once: each looks at times of its own.
announced=
while sleep $((50 + RANDOM % 20)); do look_at_lease; done
