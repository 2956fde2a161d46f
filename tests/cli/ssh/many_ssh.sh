#!/bin/bash
# A stand-in for ssh whose hosts are files in $RACK: for inventories that are larger than a rack of tests.
# shellcheck disable=SC2154 # what eval sets
for word; do [ "$word" = 'exec bash -s' ] || host=$word; done
mapfile -t lines # two lines for root, the variables, host.sh, the function, exit
eval "${lines[2]}" # mark=
echo "$host" >>"$RACK/connections"
echo "${lines[-2]}" >>"$RACK.functions"
claim=$RACK/$host
[ ! -e "$RACK/../$host.silent" ] || exit 255
case ${lines[-2]} in
create)
	for line in "${lines[@]:3:7}"; do eval "$line"; done
	printf '%s\n' "${lines[@]}" >>"$RACK/../scripts"
	printf 'raygpu: claim.%s %s\n' token "$token" lineage "$lineage" cluster "$cluster" pool "$pool" address "$address" id "$id" >"$claim"
	[ ! -e "$RACK/../$host.kills" ] || kill -9 "$PPID"
	ok='raygpu: ok'
	;;
change) ok='raygpu: ok' ;;
remove)
	rm -f "$claim"
	ok='raygpu: ok'
	;;
esac
answer() {
	echo "${ok-}"
	printf 'raygpu: clock %(%s)T\n' -1
	printf 'raygpu: %s\n' 'runtime docker' 'docker_version 26.1.5' 'disk_kib 99999999' 'address 10.0.0.1' 'files 12' 'service active'
	case $host in gpu*) printf 'raygpu: gpu %s\n' 1 2 3 4 5 6 7 8 ;; old*) printf 'raygpu: gpu %s\n' 1 2 3 4 ;; esac
	[ ! -e "$RACK/../$host.says" ] || cat "$RACK/../$host.says" # instead of the same above
	[ ! -e "$claim" ] || printf 'raygpu: claim %s\n%s\n' "$claim" "$(<"$claim")"
	echo 'raygpu: end'
}
text=$(answer)
echo "${text//raygpu: /raygpu-$mark: }"
