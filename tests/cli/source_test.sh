#!/bin/sh
# source_test.sh ROOT: rules of the house that no compiler checks, for lib/ and cli/.
#  * No line over 100 columns, raw strings excepted.
#  * No function over 80 lines.
#  * No word of a closed set (lib/model/terms.hpp) is compared with as a text: what a finding, a step or a verdict says
#    is asked by its enum. Reports read documents, hence texts: they are let be (tests/support/spelt_terms.txt).
#  * No class of a rule stands where lines are judged: what a rule says is asked by its traits (lib/model/trait.hpp), so
#    that a rule can be renamed, split or written by a user without a change of code.
#  * Each trait stands in the schema of rules and in the manual for those who write them.
#  * What each unit would compile anew for a second or more, the parser of the JSON library, is called by parse_json.
set -eu
[ $# = 1 ] || { echo "usage: $0 ROOT" >&2; exit 2; }
cd "$1"
failed=0
complain() { echo "source: $*"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
find lib cli \( -name '*.cpp' -o -name '*.hpp' \) -print | sort >"$work/files"

xargs awk -f tests/support/long_lines.awk -v most=100 <"$work/files" >"$work/lines"
[ ! -s "$work/lines" ] || complain "lines over 100 columns:
$(cat "$work/lines")"

xargs awk -f tests/support/long_functions.awk -v most=80 <"$work/files" >"$work/functions"
[ ! -s "$work/functions" ] || complain "functions over 80 lines:
$(cat "$work/functions")"

# The words of terms.hpp and terms.cpp, but for those that mean other things elsewhere, too.
words=$({ sed -n '/^constexpr std::string_view k/,/;$/p' lib/model/terms.cpp | grep -o '"[^"]*"' | tr -d '"'
  sed -nE '/^enum class (Action|Precision|StepOutcome|NextKind) /,/\};/p' lib/model/terms.hpp |
    sed 's/^enum class[^{]*{//; s/[};]//g' | tr ',' '\n' | tr -d ' '
  grep -oE '(STEP|ANALYSIS)\([a-z_]+\)' lib/model/terms.hpp | sed 's/.*(//; s/)//'; } |
  grep -vxE '|none|code|config|gpu|group|host|job|link|nic|rank|storage|switch|network|recorder|watchdog|barrier|ras|nccl-init|nccl-call|stacks|collectives|leads|slow|plan|command|collect|history|resources|exact|metrics|times|scheduler|manifest' |
  paste -sd'|' -)
[ -n "$words" ] || complain "terms.cpp has no words"
xargs grep -nE "(==|!=) *\"($words)\"" <"$work/files" | sed 's/:[0-9]*:.*//' | sort -u | grep -v '^lib/model/' >"$work/spelt" || :
grep -v '^#' tests/support/spelt_terms.txt | sort -u >"$work/allowed"
comm -23 "$work/spelt" "$work/allowed" >"$work/more"
[ ! -s "$work/more" ] || complain "compare with a word of lib/model/terms.cpp as a text; name(Term::word) or term_named say it:
$(cat "$work/more")"
comm -13 "$work/spelt" "$work/allowed" >"$work/fewer"
[ ! -s "$work/fewer" ] || complain "spell no term any more, to be taken out of tests/support/spelt_terms.txt:
$(cat "$work/fewer")"

# Classes of rules, up to a capture, and the beginnings that families of them share.
sed -n 's/^ *"class": "\([a-z0-9_/-]*\)[{"].*/\1/p' rules/*.json | sort -u >"$work/classes"
[ -s "$work/classes" ] || complain "rules have no classes"
families=$(sed -n 's/^\([a-z0-9]*_\).*/\1/p' "$work/classes" | sort -u)
grep -n '"' /dev/null $(find lib/decide lib/analyze lib/diagnose -name '*.[ch]pp') | grep -v '#include' >"$work/texts"
for class in $(cat "$work/classes") $families; do
  case $class in
    */*) echo "\"${class%%/*}/" ;;
    *) echo "\"$class\"" ;;
  esac
done | sort -u >"$work/literals"
# An exception that no rule knows is given the class of those that rules know.
grep -F -f "$work/literals" "$work/texts" | grep -v '^lib/analyze/facts/signal\.cpp:[0-9]*:constexpr std::string_view kUnknownException = ' >"$work/judged" || :
[ ! -s "$work/judged" ] || complain "spell the class of a rule; give the rule a trait and ask for it:
$(cat "$work/judged")"
xargs grep -nE '#include <(nlohmann/json\.hpp|regex)>|[Jj]son::parse\(' <"$work/files" |
  grep -vE '^lib/(model/json(_library\.hpp|\.cpp)|schema/schema\.cpp):|^lib/model/json\.hpp:[0-9]*://' >"$work/costly" || :
[ ! -s "$work/costly" ] || complain "compile for seconds in each unit; model/json.hpp has parse_json and json_text:
$(cat "$work/costly")"
for trait in $(sed -n 's/^  TRAIT(\([a-z_]*\)).*/\1/p' lib/model/trait.hpp); do
  grep -q "\"$trait\"" schemas/rule-v1.json || complain "schemas/rule-v1.json does not take the trait $trait"
  grep -qx "\.It Cm $trait" man/culprit-rules.1 || complain "culprit-rules.1 does not tell of the trait $trait"
done
exit $failed
