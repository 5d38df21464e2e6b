#!/bin/sh
# browser.sh CULPRIT SAMPLES [CORPUS [OUT]]: every HTML report in a browser, at two widths, light and dark, script on and
# off; and SARIF, JUnit, Markdown and HTML of hostile text through parsers of others. Tools come from npm into a cache
# folder (CULPRIT_WEB_CACHE); without npm or Chromium it says "skipped" and ends with 77. OUT keeps pages and screenshots.
set -u
culprit=${1:?usage: browser.sh CULPRIT SAMPLES [CORPUS [OUT]]} samples=${2:?} corpus=${3-} out=${4-}
here=$(cd "$(dirname "$0")" && pwd -P)

browser=
for name in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v $name)
done
[ -n "$browser" ] || { echo "skipped: there is no Chromium"; exit 77; }
command -v npm >/dev/null && command -v node >/dev/null || { echo "skipped: there is no npm"; exit 77; }

cache=${CULPRIT_WEB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/culprit-web}
if ! [ -d "$cache/node_modules/axe-core" ] || ! [ -d "$cache/node_modules/@microsoft/jest-sarif" ]; then
  mkdir -p "$cache" || exit 1
  (cd "$cache" && { [ -e package.json ] || npm init -y; } &&
    npm install --no-audit --no-fund playwright-core axe-core ajv ajv-draft-04 ajv-formats fast-xml-parser \
      @xmldom/xmldom markdown-it @microsoft/jest-sarif) >"$cache/npm.log" 2>&1 ||
    { echo "skipped: npm cannot install (see $cache/npm.log)"; exit 77; }
fi

[ -n "$out" ] || { out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT; }
mkdir -p "$out/pages" || exit 1
bundles=$(ls -d "$samples"/*/ ${corpus:+"$corpus"/bundles/*-*/} 2>/dev/null)
for bundle in $bundles; do
  name=$(basename "$bundle")
  for format in html junit sarif md json; do
    "$culprit" diagnose "$bundle" --format $format >"$out/pages/$name.$format" 2>/dev/null || exit 1
  done
done
node "$here/browser_hostile.js" "$out/hostile" &&
  for format in html junit sarif md json; do
    "$culprit" diagnose "$out/hostile" --format $format >"$out/pages/hostile.$format" 2>/dev/null || exit 1
  done
"$culprit" batch "$samples"/* "$out/hostile" -o "$out/batch" >/dev/null 2>&1
cp "$out/batch/index.html" "$out/pages/batch-index.html" &&
  "$culprit" fleet -d "$out/batch/fleet.db" --format html >"$out/pages/fleet.html" || exit 1
export NODE_PATH="$cache/node_modules" CULPRIT_BROWSER="$browser"
status=0
node "$here/browser_parse.js" "$out/pages" "$here/junit.xsd" || status=1
node "$here/browser_look.js" "$out" || status=1
exit $status
