# The comment of a pull request: a marker, the newest plan, its status, and the plans before it, folded.
# jq -n -r --rawfile old F --rawfile report F --rawfile status F --arg head C --arg plan SUM --arg shown T --argjson limit BYTES
# The marker has the number of lines of each part, so that no text of a plan can end a part.

def marker: capture("^<!-- raygpu:pull-request head=(?<head>[0-9a-f]+) plan=(?<plan>[0-9a-f]{64}|none) shown=(?<shown>[0-9TZ:.+-]*) "
  + "lines=(?<lines>[0-9]+(,[0-9]+)*) -->$");

# {head, plan, shown, report, earlier: [text]} of a comment; earlier texts are at its end, one after the other
def parts: (gsub("\r\n"; "\n") | split("\n")) as $lines | (($lines[0] | marker) // null) as $found
  | if $found == null then null else
      ($found.lines | split(",") | map(tonumber)) as $sizes | ($sizes[1:] | add // 0) as $sum
      | ($lines | length - 1 - $sum) as $start # the last line ends the fold around them
      | $found + {report: ($lines[1:1 + $sizes[0]] | join("\n")),
          earlier: [foreach $sizes[1:][] as $size ({at: $start, next: $start}; {at: .next, next: (.next + $size)};
            $lines[.at:.next] | join("\n"))]}
    end;

def headline: first(split("\n")[] | select(startswith("**"))) // "a plan" | gsub("[*\\\\]"; "") | .[:200] | @html;

# an earlier plan as a fold of its own
def folded: "<details><summary>Commit \(.head[:12]): \(.report | headline)</summary>\n\n\(.report)\n\n</details>\n";

def lines: split("\n") | length;

# as many of the earlier plans as there is space for
def comment($report; $earlier; $status; $limit):
  ($earlier | length) as $n
  | first(range($n; -1; -1) as $kept
      | ($earlier[:$kept]) as $some
      | "<!-- raygpu:pull-request head=\($head) plan=\($plan) shown=\($shown) lines=\([($report, $some[]) | lines] | map(tostring) | join(",")) -->\n"
        + "\($report)\n\n\($status)"
        + if $n > 0 then "\n<details><summary>Earlier plans</summary>\n\n"
            + (if $kept < $n then "Of older plans, only the log of their jobs is left.\n\n" else "" end)
            + ($some | map(. + "\n") | add // "") + "</details>"
          else "" end
      | select(utf8bytelength <= $limit or $kept == 0));

($old | if . == "" then null else parts end) as $before
| ($report | rtrimstr("\n")) as $new
| (if $before == null then [] elif $before.head == $head and ($before.report == $new or $before.plan == $plan and $plan != "none") then $before.earlier
   else [$before | folded] + $before.earlier | .[:3] end) as $earlier
| comment($new; $earlier; $status; $limit)
| if utf8bytelength <= $limit then . else
    comment("**\($new | headline)**\n\nThe plan is too long for a comment: it is in the job's log."; $earlier; $status; $limit) end
