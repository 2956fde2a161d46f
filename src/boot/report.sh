#!/bin/bash
# What a node reports: to people with `say`, to raygpu with `report`. Sourced by start-ray. README.md beside
# this file ("Reports") has the form of the lines.
# shellcheck disable=SC2034 # set for start-ray and what it sources

boot_log=/var/log/raygpu/boot.log
read -r boot_id </proc/sys/kernel/random/boot_id
boot_id=${boot_id%%-*}
step=start
why=
clues=() # KEY=VALUE of what failed

# Nobody else's output can pass for a report.
defuse() { sed -u 's/\x00//g; s/raygpu: v/raygpu; v/g'; }

write_boot_log() { { install -d -m 0755 "${boot_log%/*}" && printf '%s\n' "$1" >>"$boot_log"; } 2>/dev/null || true; }

say() {
	local text=${*//raygpu: v/raygpu; v}
	echo "raygpu: $text" >&2
	write_boot_log "raygpu: $text"
}

# report STATE KEY=VALUE...: one line of printable ASCII. Values contain neither quotes nor backslashes; one
# with spaces is quoted. The last word distinguishes a complete line from one that the console cut.
report() {
	local LC_ALL=C line="raygpu: v1 $1 boot=$boot_id step=$step" pair value
	shift
	for pair; do
		value=${pair#*=}
		value=${value//[^[:print:]]/ }
		value=${value//raygpu: v/raygpu; v}
		value=${value//[\"\\]/\'}
		value=${value:0:1000}
		case $value in
		'' | *[!A-Za-z0-9._:/@+,-]*) value="\"$value\"" ;;
		esac
		line+=" ${pair%%=*}=$value"
	done
	line+=" end"
	write_boot_log "$line"
	{ printf '%s\n' "$line" >>/dev/console; } 2>/dev/null || true
}

# begin STEP [STATE KEY=VALUE...]: the next step, so that a step that never ends has a name.
begin() {
	step=$1
	shift
	report "${@:-doing}"
}

# 78 is the exit status after which the unit is not started again.
give_up() {
	say "$*"
	why=$*
	exit 78
}

try_again() {
	say "$*; trying again"
	why=$*
	exit 1
}

# How start-ray ended, for whatever reason.
report_end() {
	local status=$?
	why=${why:-start-ray ended with status $status}
	report failed code="$status" reason="${why:0:300}" ${clues[@]+"${clues[@]}"}
}
