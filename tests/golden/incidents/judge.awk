# judge.awk truth.tsv FS=, summary.csv: what the program answered for each incident, and whether that is right:
#   exact    a right action, and the machines to blame and no other; where none is, none
#   open     another answer that accuses nobody
#   FALSE    an innocent machine is isolated, or named for repair
#   wrong    anything else
function has(list, word,    i, n, one) {
  n = split(list, one, ",")
  for (i = 1; i <= n; ++i) if (one[i] == word) return 1
  return 0
}
BEGIN { FS = "\t" }
/^#/ { next }
FNR == NR { kind[$1] = $2; actions[$1] = $3; guilty[$1] = $4; innocent[$1] = $5; order[++cases] = $1; next }
FNR == 1 { next }
{
  name = $1; action = $3; targets = $5; precision = $6
  gsub(/"/, "", targets)
  false_one = named = missing = 0
  n = split(targets, part, "; ")
  hosts = ""
  for (i = 1; i <= n; ++i) {
    split(part[i], word, " ")
    host = word[2]
    sub(/[\/:].*/, "", host)
    sub(/\..*/, "", host)
    if (word[1] !~ /^(host|gpu|nic|config)$/) continue
    if (has(innocent[name], host)) false_one = 1
    if (has(guilty[name], host)) named = 1
    else if (word[1] == "host" && guilty[name] != "-") missing = 1
  }
  accuses = action == "isolate" || action == "repair"
  if (accuses && false_one) result = "FALSE"
  else if (has(actions[name], action) && (guilty[name] == "-" || (named && !missing))) result = "exact"
  else if (!accuses) result = "open"
  else result = "wrong"
  answer[name] = sprintf("%-6s %-12s %s", result, action, targets)
  ++count[result]
}
END {
  for (i = 1; i <= cases; ++i) printf "%-40s %s\n", order[i], answer[order[i]]
  printf "%d incidents: %d exact, %d open, %d wrong, %d with an innocent machine accused\n", cases, count["exact"], count["open"], count["wrong"], count["FALSE"]
}
