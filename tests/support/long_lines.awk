# LC_ALL=C awk -f long_lines.awk -v most=100 FILE...: lines of C++ files with more characters than that. Raw strings
# (patterns, style sheets) stand as they are, and so does a text alone on its line that clang-format leaves whole.
FNR == 1 { raw = 0 }
{
  line = $0
  if (raw) { if (index(line, raw_end)) raw = 0; next }
  if (match(line, /R"[a-z_]*\(/)) {
    raw_end = ")" substr(line, RSTART + 2, RLENGTH - 3) "\""
    if (!index(substr(line, RSTART + RLENGTH), raw_end)) raw = 1
    next
  }
  if (line ~ /^ *"[^"]*"[,);]*$/) next
  gsub(/[\200-\277]/, "", line)  # of UTF-8 all but the first byte of a character
  if (length(line) > most) printf "%s:%d: %d columns\n", FILENAME, FNR, length(line)
}
