# All of a saved plan that decides what its apply does, so that two plans that do the same are the same text: without the commit, which a merge
# changes, without the number of calls that were made, and without the rows of the state that raygpu compares itself. The end of a lease that begins with the apply (expires: 36h) depends on
# the time of the plan: it becomes that duration, also in what contains it, and in the names of blobs, which are their sums.
del(.raygpu.git, .raygpu.budget, .raygpu.serial, .raygpu.touched)
| [.raygpu.leases[]? | select(.after and (has("before") | not) and (.expires | test("^[0-9]{4}-") | not))] as $begin
| if $begin == [] then . else
    def fixed: reduce $begin[] as $lease (.; split($lease.after) | join($lease.expires));
    del(.raygpu.capacity.data)
    | (.raygpu.facts.leases | .. | select(type == "object" and has("began_s"))) |= del(.began_s, .ends_s)
    | ([.blobs // {} | to_entries[] | (.value | tojson) as $text | select($text != ($text | fixed)) | {key, value: ($text | fixed)}]
        | from_entries) as $renamed
    | .blobs |= with_entries(.key = ($renamed[.key] // .key))
    | walk(if type == "string" then $renamed[.] // fixed else . end)
  end
