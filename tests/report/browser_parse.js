// browser_parse.js PAGES XSD: reports of PAGES through parsers that others wrote.
"use strict";
const fs = require("fs"), path = require("path"), cp = require("child_process");
const { XMLValidator, XMLParser } = require("fast-xml-parser");
const { DOMParser } = require("@xmldom/xmldom");
const Ajv = require("ajv"), Ajv4 = require("ajv-draft-04"), formats = require("ajv-formats").default;
const markdown = require("markdown-it")({ html: true });

const wrong = [];
let looked = 0;

// The official schema, as a package of npm carries it; SARIF_SCHEMA names another file.
function sarifSchema() {
  const carried = path.join(path.dirname(require.resolve("@microsoft/jest-sarif/package.json")), "lib/schemas");
  const file = process.env.SARIF_SCHEMA || path.join(carried, fs.readdirSync(carried).find((f) => f.startsWith("sarif-2.1.0")));
  return JSON.parse(fs.readFileSync(file, "utf8"));
}

// Every text of a DOM-like tree, joined: what two parsers must agree on.
function textsOf(node) {
  let out = "";
  for (let c = node.firstChild; c; c = c.nextSibling) out += c.nodeType === 3 || c.nodeType === 4 ? c.data : textsOf(c);
  return out;
}
function textsOfTree(list) {
  return list.map((n) => ("#text" in n ? String(n["#text"])
    : Object.entries(n).filter(([k]) => k !== ":@" && !k.startsWith("?")).map(([, v]) => textsOfTree(v)).join(""))).join("");
}
const squeezed = (s) => s.replace(/\s+/g, " ").trim();

function junit(file, text, xsd) {
  const valid = XMLValidator.validate(text);
  if (valid !== true) wrong.push(`${file}: fast-xml-parser: ${JSON.stringify(valid.err)}`);
  const said = [];
  const dom = new DOMParser({ onError: (level, m) => said.push(level + " " + m) }).parseFromString(text, "text/xml");
  if (said.length > 0) wrong.push(`${file}: xmldom: ${said[0]}`);
  const tree = new XMLParser({ preserveOrder: true, ignoreAttributes: false, trimValues: false, parseTagValue: false,
    processEntities: true, htmlEntities: true }).parse(text);
  if (squeezed(textsOf(dom)) !== squeezed(textsOfTree(tree))) wrong.push(`${file}: two parsers read different texts`);
  const suite = dom.getElementsByTagName("testsuite")[0];
  if (!suite || Number(suite.getAttribute("tests")) !== dom.getElementsByTagName("testcase").length)
    wrong.push(`${file}: the suite's count of tests is not that of its cases`);
  for (const [count, tag] of [["failures", "failure"], ["errors", "error"], ["skipped", "skipped"]])
    if (suite && suite.hasAttribute(count) && Number(suite.getAttribute(count)) !== suite.getElementsByTagName(tag).length)
      wrong.push(`${file}: the suite's ${count} do not add up`);
  const lint = cp.spawnSync("xmllint", ["--noout", "--nonet", "--schema", xsd, "-"], { input: text, encoding: "utf8" });
  if (!lint.error && lint.status !== 0) wrong.push(`${file}: xmllint: ${lint.stderr.slice(0, 300)}`);
}

function inert(file, html) {
  for (const bad of [/<script[^>]*>[^<]*hostile/i, /<[a-z][^>]*\son[a-z]+\s*=/i, /(href|src)\s*=\s*["']?\s*javascript:/i,
    /<(img|iframe|object|embed|link)[\s>]/i])
    if (bad.test(html)) wrong.push(`${file}: ${bad} in what it becomes: ${bad.exec(html)[0].slice(0, 100)}`);
}

function main() {
  const [pages, xsd] = process.argv.slice(2);
  const schema = sarifSchema();
  const ajv = new (/draft-04/.test(schema.$schema) ? Ajv4 : Ajv)({ strict: false, allErrors: true, unicodeRegExp: false });
  formats(ajv);
  const check = ajv.compile(schema);
  for (const file of fs.readdirSync(pages).sort()) {
    const text = fs.readFileSync(path.join(pages, file), "utf8");
    ++looked;
    if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(text))
      wrong.push(`${file}: a control or bidi character stands in it as it is`);
    if (file.endsWith(".junit")) junit(file, text, xsd);
    else if (file.endsWith(".sarif")) {
      const sarif = JSON.parse(text);
      if (!check(sarif))
        wrong.push(`${file}: ${check.errors.slice(0, 3).map((e) => e.instancePath + " " + e.message).join("; ")}`);
    } else if (file.endsWith(".json")) JSON.parse(text);
    else if (file.endsWith(".md")) inert(file, markdown.render(text));
    else if (file.endsWith(".html") && file === "hostile.html") inert(file, text);
  }
  for (const w of wrong) console.log(w);
  console.log(`${looked} files parsed, ${wrong.length} with something to say`);
  process.exit(wrong.length > 0 ? 1 : 0);
}
main();
