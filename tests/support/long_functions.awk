# awk -f long_functions.awk -v most=80 FILE...: functions of C++ files longer than that, from the line of their name to
# the line of their last brace, as "FILE:LINE: NAME, N lines". Reads code as clang-format leaves it: what opens a brace
# stands in one statement before it. Lambdas and blocks count as part of the function that holds them.
function reset_statement() { statement = ""; started = 0 }
FNR == 1 { depth = 0; inside = 0; comment = 0; reset_statement() }
{
  line = $0
  if (line ~ /^[ \t]*#/ || continued) { continued = line ~ /\\$/; next }  # macros are checked where they are used
  if (raw) { at = index(line, raw_end); if (!at) next; line = substr(line, at + length(raw_end)); raw = 0 }
  gsub(/\\./, "", line)
  while (match(line, /R"[a-z_]*\(/)) {
    raw_end = ")" substr(line, RSTART + 2, RLENGTH - 3) "\""
    rest = substr(line, RSTART + RLENGTH); at = index(rest, raw_end)
    line = substr(line, 1, RSTART - 1)
    if (at) line = line substr(rest, at + length(raw_end)); else { raw = 1; break }
  }
  gsub(/"[^"]*"/, "", line)
  gsub(/'[^']*'/, "", line)
  if (comment) { at = index(line, "*/"); if (!at) next; line = substr(line, at + 2); comment = 0 }
  while (at = index(line, "/*")) {
    end = index(substr(line, at), "*/")
    if (!end) { line = substr(line, 1, at - 1); comment = 1; break }
    line = substr(line, 1, at - 1) substr(line, at + end + 1)
  }
  sub(/\/\/.*/, "", line)
  while (match(line, /[{};]/)) {
    statement = statement " " substr(line, 1, RSTART - 1)
    mark = substr(line, RSTART, 1)
    if (!started && statement ~ /[^ \t]/) { started = FNR }
    if (mark == "{") {
      ++depth
      type = statement ~ /(^|[ \t])(namespace|enum)([ \t]|$)/ || statement ~ /(^|[ \t])(class|struct|union)[ \t][^(]*$/
      if (type) kind[depth] = "scope"
      else if (inside || statement !~ /\(/ || statement ~ /=[^()]*$/) kind[depth] = "block"
      else {
        kind[depth] = "function"; inside = depth; begin = started ? started : FNR
        called = statement; sub(/[ \t]*\(.*/, "", called); sub(/.*[ \t*&]/, "", called)
      }
    } else if (mark == "}") {
      if (kind[depth] == "function" && inside == depth) {
        inside = 0
        if (FNR - begin + 1 > most) printf "%s:%d: %s, %d lines\n", FILENAME, begin, called, FNR - begin + 1
      }
      if (depth > 0) --depth
    }
    # An initialiser's braces belong to the statement that they stand in.
    if (mark == ";" || kind[mark == "}" ? depth + 1 : depth] != "block" || inside) reset_statement()
    line = substr(line, RSTART + 1)
  }
  statement = statement " " line
  if (!started && line ~ /[^ \t]/) started = FNR
}
