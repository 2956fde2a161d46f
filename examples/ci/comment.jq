# The comment of a pull request: a marker, the newest plan, its status, and the plans before it, folded.
# jq -n -r --rawfile old F --rawfile report F --rawfile status F --arg head C --arg plan SUM --argjson limit BYTES
# The marker has the number of lines of each part, so that no text of a plan can end a part. An earlier plan is in a fence that it cannot
# end, so that nothing of it can be read outside its fold; parts of an old comment that are not like that are left out. With the report
# and the status of a comment, this makes the same comment again: pull-request.sh compares that before it applies a plan.

def marker: capture("^<!-- raygpu:pull-request head=(?<head>[0-9a-f]+) plan=(?<plan>[0-9a-f]{64}|none) "
  + "lines=(?<lines>[0-9]+(,[0-9]+)*) -->$");

def lost: "Of older plans, only the log of their jobs is left.";

def headline: first(split("\n")[] | select(startswith("**"))) // "a plan" | gsub("[*\\\\\\x00-\\x1f]"; "") | .[:200] | @html;

def fence: ([scan("`+") | length] | max // 0) as $n | "`" * ([$n + 1, 3] | max);

# an earlier plan as a fold of its own
def folded: (.report | fence) as $fence
  | "<details><summary>Commit \(.head[:12]): \(.report | headline)</summary>\n\n\($fence)\n\(.report)\n\($fence)\n\n</details>\n";

# whether a text is what folded makes
def is_folded: split("\n") as $lines | ($lines | length) >= 8
  and ($lines[0] | test("^<details><summary>Commit [0-9a-f]{1,12}: [^<>\\x00-\\x1f]*</summary>$"))
  and $lines[2] == ($lines[3:-4] | join("\n") | fence) and $lines[1] == "" and $lines[-4:] == [$lines[2], "", "</details>", ""];

# {head, plan, report, earlier: [text], lost} of a comment; earlier texts are at its end, one after the other
def parts: (gsub("\r\n"; "\n") | split("\n")) as $lines | (($lines[0] | marker) // null) as $found
  | if $found == null then null else
      ($found.lines | split(",") | map(tonumber)) as $sizes | ($sizes[1:] | add // 0) as $sum
      | ($lines | length - 1 - $sum) as $start # the last line ends the fold around them
      | $found + {report: ($lines[1:1 + $sizes[0]] | join("\n")), lost: ($start > 2 and $lines[$start - 2] == lost),
          earlier: [foreach $sizes[1:][] as $size ({at: $start, next: $start}; {at: .next, next: (.next + $size)};
            $lines[.at:.next] | join("\n") | select(is_folded))]}
    end;

# whether the report of raygpu has the whole plan: it is cut at 60,000 bytes
def whole: test("(^|\n)([0-9]+ more (lines|clusters|clusters' texts) are|The rest is) in the job's log[.](\n|$)") | not;

# nobody can approve what is not shown
def not_whole: sub("^Approve [^\n]*"; "It cannot be approved here, because it is not shown whole, and the merge does not apply it. "
  + "Split the change, or start the pipeline of the main branch by hand after the merge, and approve what that plans.");

def lines: split("\n") | length;

# as many of the earlier plans as there is space for
def comment($sum; $report; $status; $before; $limit):
  (if $before == null then []
   elif $before.head == $head and ($before.report == $report or $before.plan == $sum and $sum != "none") then $before.earlier
   else [$before | folded] + $before.earlier | .[:3] end) as $earlier
  | ($earlier | length) as $n
  | first(range($n; -1; -1) as $kept
      | ($earlier[:$kept]) as $some
      | ($kept < $n or ($before.lost? // false)) as $less
      | "<!-- raygpu:pull-request head=\($head) plan=\($sum) lines=\([($report, $some[]) | lines] | map(tostring) | join(",")) -->\n"
        + "\($report)\n\n\($status)"
        + if $n > 0 or $less then "\n<details><summary>Earlier plans</summary>\n\n" + (if $less then lost + "\n\n" else "" end)
            + ($some | map(. + "\n") | add // "") + "</details>"
          else "" end
      | select(utf8bytelength <= $limit or $kept == 0));

($old | if . == "" then null else parts end) as $before
| ($report | rtrimstr("\n")) as $new
| if $new | whole then comment($plan; $new; $status; $before; $limit) else comment("none"; $new; $status | not_whole; $before; $limit) end
| if utf8bytelength <= $limit then . else
    comment("none"; "**\($new | headline)**\n\nThe plan is too long for a comment: it is in the job's log."; $status | not_whole; $before; $limit) end
