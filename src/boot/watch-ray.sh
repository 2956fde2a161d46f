#!/bin/bash
# Runs beside the container, as part of raygpu-ray.service. Sourced by start-ray.
# shellcheck disable=SC2154 # set by node.conf and start-ray

ended=/run/raygpu/ended           # why Ray was ended here
taken_back=/run/raygpu/taken-back # why no Ray starts in this boot
patience=60

# The dashboard agent answers "success" once the GCS lists this node as alive, but also when the GCS does not answer
# within 0.1 s (Ray's dashboard/modules/reporter/healthz_agent.py); it needs no token. The head also asks its GCS.
probes=(http://127.0.0.1:52365/api/local_raylet_healthz)
[ "$role" != head ] || probes+=(http://127.0.0.1:8265/api/gcs_healthz)

# 0: healthy; 7: nothing listens at `silent`.
ask_ray() {
	local url answer status
	silent=
	for url in "${probes[@]}"; do
		status=0
		answer=$(curl --silent --noproxy '*' --max-time 5 "$url") || status=$?
		if [ "$status" -eq 7 ]; then
			silent=$url
			return 7
		fi
		[ "$answer" = success ] || return 1
	done
}

# Before Ray 2.54 the agent runs the jobs of anyone who reaches it, token or not. Nobody but this node asks it anything, so
# other hosts are refused until it has refused a question without the token.
agent_rule=(INPUT --protocol tcp --dport 52365 ! --in-interface lo --jump REJECT --reject-with tcp-reset)
open_agent() { iptables --wait --delete "${agent_rule[@]}" 2>/dev/null || true; }
close_agent() {
	[ "$auth" = token ] && command -v iptables >/dev/null || return 0
	open_agent
	iptables --wait --insert "${agent_rule[@]}" 2>/dev/null || say "iptables can't close port 52365 to other hosts"
}
open_agent_that_refuses() {
	local status
	[ "$auth" = token ] || return 0
	status=$(curl --silent --noproxy '*' --max-time 5 --output /dev/null --write-out '%{http_code}' \
		http://127.0.0.1:52365/api/job_agent/jobs/none/logs) || return 0
	[[ $status != 40[13] ]] || open_agent
}

# `ray start --block` keeps running after a raylet exits with 0, 15, -15 or 143. The service then starts Ray
# again.
end_ray() {
	why="$1; starting Ray again"
	say "$why"
	printf '%s' "$why" >"$ended"
	docker stop -t 45 ray >/dev/null 2>&1 || true
}

# As patient as KubeRay's liveness probe (120 times, every 5 s), because a busy node answers late. A closed port
# counts ten times: the agent, which listens there, and the raylet end each other.
ray_is_dead() {
	local status=0
	ask_ray || status=$?
	case $status in
	0) fails=0 ;;
	7) fails=$((fails + 10)) ;;
	*) fails=$((fails + 1)) ;;
	esac
	[ "$fails" -ge 120 ]
}

# If the cloud announces that it takes the node back, its fragment defines `read_notice`, which sets `notice` to
# the time, and `risk` if the end is only likely: that is reported, and Ray keeps running.
notice='' risk=''
may_be_taken_back() { [ "${market:-}" = spot ] && declare -F read_notice >/dev/null; }
look_for_notice() {
	may_be_taken_back || return 1
	read_notice
	if [ -n "$risk" ] && [ -z "$risk_reported" ]; then
		risk_reported=1
		report at-risk since="$risk"
	fi
	[ -n "$notice" ]
}

# Sets `ray_node`: the id that Ray gave this node. Its raylet has it among its arguments, as Ray's find_node_ids knows; an older
# Ray is asked, which takes seconds.
find_ray_node() {
	ray_node=$(timeout "$patience" docker exec ray bash -c \
		'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" "\n" | sed -n "s/^--node_id=//p" | head -n 1' 2>/dev/null) || true
	[ -z "$ray_node" ] || return 0
	ray_node=$(timeout "$patience" docker exec ray python3 -c 'import ray
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
print(ray.get_runtime_context().get_node_id())' 2>/dev/null) || true
	ray_node=${ray_node##*$'\n'}
}

# drain_ray SECONDS WHY: Ray gives this node no new work, and what runs there learns when it ends. Ray's documentation
# recommends `ray drain-node` for self-managed clusters.
drain_ray() {
	local ray_node head=127.0.0.1
	[ "$role" = head ] || head=$(cat /etc/raygpu/head)
	find_ray_node
	if [ -n "$ray_node" ] &&
		timeout "$patience" docker exec ray ray drain-node --address "$head:$gcs_port" --node-id "$ray_node" \
			--reason DRAIN_NODE_REASON_PREEMPTION --reason-message "$2" \
			--deadline-remaining-seconds "$1" 2>&1 | defuse >&2; then
		report drained deadline="$1"
	else
		say "this node could not be drained"
		return 1
	fi
}

# leave_ray WHEN WHY: the raylet ends once nothing runs there. But a drain moves no actor: each works until its raylet has
# said goodbye, which a head would miss for long when the machine is cut off. So Ray ends at the deadline, the raylet first, and
# its actors start again elsewhere while the node is still there.
leave_ray() {
	local left=$(($1 - $(date +%s)))
	[ "$left" -le 0 ] ||
		timeout "$left" docker exec ray bash -c 'while grep -qsx raylet /proc/[0-9]*/comm; do sleep 1; done' 2>/dev/null || true
	printf '%s' "$2" >"$ended"
	say "$2; ending Ray"
	timeout 10 docker exec ray ray stop --grace-period 6 2>&1 | defuse >&2 || true
	docker stop -t 2 ray >/dev/null 2>&1 || true
}

# The deadline is before the node's own end.
leave_on_notice() {
	local now seconds why="the cloud takes this node back at $notice"
	printf '%s' "$why" >"$taken_back"
	report reclaimed at="$notice"
	say "$why; draining it"
	now=$(date +%s)
	seconds=$(($(date -d "$notice" +%s 2>/dev/null || echo 0) - now - 15))
	[ "$seconds" -gt 10 ] || seconds=10
	drain_ray "$seconds" "$why" || true
	leave_ray $((now + seconds)) "$why"
}

# report_lines LINES: the first word of each is its state.
report_lines() {
	local at words
	printf -v at '%(%s)T' -1
	while read -r -a words; do report "${words[0]}" at="$at" "${words[@]:1}"; done <<<"$1"
}

# The head repeats what its Ray sees of the cluster: when it changes, and every 15 minutes, because the console
# keeps only the latest output. What Ray waits for changes often: every two minutes at most.
report_nodes() {
	local shown nodes demand
	shown=$(timeout 60 docker exec --interactive ray python3 - <"$lib/report-nodes.py" 2>/dev/null) || return 0
	nodes=$(grep '^nodes ' <<<"$shown") || return 0
	demand=$(grep '^demand' <<<"$shown") || return 0
	if [ "$nodes" != "$nodes_reported" ] || [ "$SECONDS" -ge "$nodes_due" ]; then
		report_lines "$nodes"
		nodes_reported=$nodes
		nodes_due=$((SECONDS + 900))
		demand_reported=
	fi
	if [ "$demand" != "$demand_reported" ] && [ "$SECONDS" -ge "$demand_due" ]; then
		report_lines "$demand"
		demand_reported=$demand
		demand_due=$((SECONDS + 120))
	fi
}

watch_ray() {
	local nodes_reported='' nodes_due=0 demand_reported='' demand_due=0 risk_reported='' fails=0 tries=0 silent headless=0
	until ask_ray; do
		sleep 5
		tries=$((tries + 1))
		# `ray start` starts the agent after it has waited for the dashboard, and goes on without one that failed.
		if [[ $silent = *:8265/* ]]; then headless=$((headless + 1)); else headless=0; fi
		if [ "$headless" -ge 60 ]; then
			end_ray "Ray's dashboard did not start within 5 minutes"
			return
		fi
		if [ "$tries" -ge 360 ]; then
			end_ray "Ray did not join its cluster within 30 minutes"
			return
		fi
	done
	report joined instance="$instance_id" gpus="${slices:-$gpus}" driver="$driver"
	end_try ray
	open_agent_that_refuses
	for ((tries = 1; ; tries++)); do
		sleep 5
		if look_for_notice; then
			leave_on_notice
			return
		fi
		if ray_is_dead; then
			end_ray "Ray is dead on this node"
			return
		fi
		[ "$role" != head ] || [ $((tries % 3)) -ne 0 ] || report_nodes
	done
}
