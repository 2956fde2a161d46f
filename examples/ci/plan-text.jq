# The text of a plan without what is different when the same plan is made after the merge: the commit and, if a lease begins with the apply
# ($begins), times and the sums of texts with times. plan-sum.jq compares all of these, except the commit.
gsub("(?<before>\\bat\\s+commit\\s+)[0-9a-f]{12}\\b"; "\(.before)COMMIT")
| if $begins then gsub("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z| UTC)"; "TIME") | gsub("digest [0-9a-f]+"; "digest SUM") else . end
