#!/bin/sh
# incidents_floor.sh FOLDER: each case has an answer; together they are no worse than FOLDER/floor.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
answered=$(cat answers/*.txt | sed '/ incidents: /d; s/ .*//' | sort)
[ "$answered" = "$(ls cases | sed 's/\.txt$//' | sort)" ] || {
  echo "cases and answers differ; CULPRIT_UPDATE_GOLDEN=1 sh tests/run.sh -R incidents mends it"
  exit 1
}
awk '
  FILENAME == "floor" { if (!/^#/) bound[$1] = $2; next }
  / incidents: / { next }
  { ++count[$2]; ++count["incidents"] }
  END {
    for (result in bound) {
      n = count[result] + 0
      least = result == "incidents" || result == "exact"
      printf "%s: %d, %s %d\n", result, n, least ? "at least" : "at most", bound[result]
      if (least ? n < bound[result] : n > bound[result]) failed = 1
    }
    exit failed
  }' floor answers/*.txt
