#!/bin/sh
# sh tests/cli/manual_test.sh CULPRIT MAN-FOLDER: the manual against the program. Every command has a page and every page
# a command; a page holds each option of its command and no other, and has a subsection for each of its subcommands with
# the options of that one (those told outside of the subsections are for all); pages lint clean. Exit 77: skipped.
set -eu
[ $# = 2 ] || { echo "usage: $0 CULPRIT MAN-FOLDER" >&2; exit 2; }
culprit=$1
man=$2
[ -x "$culprit" ] || { echo "skipped: no program at $culprit"; exit 77; }
[ -d "$man" ] || { echo "skipped: no folder $man"; exit 77; }

failed=0
complain() { echo "manual: $*"; failed=1; }
# "--format FORMAT" or "-o, --out DIR" at the beginning of a line of help -> format, out
options_of_help() { sed -n '/^options:/,$s/^ *\(-[a-zA-Z0-9], \)\{0,1\}--\([a-z0-9-]*\).*/\2/p'; }
# ".It Fl o , Fl Fl out Ar DIR" -> out
options_of_page() { sed -n 's/^\.It \(Fl [a-zA-Z0-9] , \)\{0,1\}Fl Fl \([a-z0-9-]*\).*/\2/p' "$1"; }
# The subsection of one subcommand, and what stands in none.
subsection() { awk -v name="$2" '/^\.S[sh]/ { on = ($1 == ".Ss" && $2 == name) } on' "$1"; }
outside() { awk '/^\.S[sh]/ { on = ($1 == ".Sh") } on' "$1"; }

commands=$("$culprit" help | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
[ -n "$commands" ] || complain "\`culprit help\` lists no commands"

for command in $commands; do
  page=$man/culprit-$command.1
  [ -f "$page" ] || { complain "there is no page culprit-$command.1"; continue; }
  grep -q "^\.It Xr culprit-$command 1" "$man/culprit.1" || complain "culprit.1 does not list culprit-$command"
  help=$("$culprit" help "$command")
  wanted=$(printf '%s\n' "$help" | options_of_help)
  subcommands=$(printf '%s\n' "$help" | sed -n '/^subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
  common=$(outside "$page" | options_of_page /dev/stdin)
  for sub in $subcommands; do
    section=$(subsection "$page" "$sub" | options_of_page /dev/stdin)
    its=$("$culprit" help "$command" "$sub" | options_of_help)
    for option in $its; do
      printf '%s\n' "$section" "$common" | grep -qx -- "$option" || complain "culprit-$command.1 does not tell of --$option of $sub"
    done
    for option in $section; do
      printf '%s\n' "$its" | grep -qx -- "$option" || complain "culprit-$command.1 tells of --$option of $sub, which it does not have"
    done
    wanted="$wanted
$its"
  done
  [ -n "$wanted" ] || complain "\`culprit help $command\` shows no options"
  told=$(options_of_page "$page")
  for option in $wanted; do
    printf '%s\n' "$told" | grep -qx -- "$option" || complain "culprit-$command.1 does not tell of --$option"
  done
  for option in $told; do
    printf '%s\n' "$wanted" | grep -qx -- "$option" || complain "culprit-$command.1 tells of --$option, which the command does not have"
  done
  # The short letters, too.
  for letter in $(printf '%s\n' "$help" | sed -n '/^options:/,$s/^ *-\([a-zA-Z0-9]\), --.*/\1/p'); do
    grep -q "^\.It Fl $letter , Fl Fl " "$page" || complain "culprit-$command.1 does not tell of -$letter"
  done
done

for page in "$man"/culprit-*.1; do
  name=${page##*/culprit-}
  name=${name%.1}
  printf '%s\n' "$commands" | grep -qx -- "$name" || complain "culprit-$name.1 is about no command"
done

# The kinds of cause are listed with the names that the program has for them.
kinds=$("$culprit" rules causes | sed -n 's/^\([a-z_][a-z_]*\)  *[+-][0-9]*  \(.*\)/.It \1 Ta \2/p')
[ -n "$kinds" ] || complain "\`culprit rules causes\` lists no kinds"
listed=$(grep '^\.It [a-z_]* Ta ' "$man/culprit-diagnose.1")
[ "$kinds" = "$listed" ] || complain "culprit-diagnose.1 lists other kinds of cause than \`culprit rules causes\`"

# From within the folder: mandoc looks there for the pages that .Xr names.
if command -v mandoc >/dev/null; then
  for page in "$man"/*.1; do
    said=$(cd "$man" && mandoc -T lint -W style "${page##*/}" 2>&1) || complain "$said"
  done
else
  echo "no mandoc: the pages are not linted"
fi
exit $failed
