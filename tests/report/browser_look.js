// browser_look.js OUT: opens OUT/pages/*.html and says what a reader would stumble over. Screenshots: OUT/shots.
"use strict";
const fs = require("fs"), path = require("path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// What cannot be seen from outside: boxes of the DOM.
function probe() {
  const out = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    out.push(`overflow: ${root.scrollWidth} > ${root.clientWidth}`);
    for (const e of document.querySelectorAll("body *")) {
      if (e.closest(".scroll")) continue;
      if (e.getBoundingClientRect().right > root.clientWidth + 1) {
        out.push(`  by <${e.tagName} class=${e.getAttribute("class")}> ${e.textContent.slice(0, 40)}`);
        break;
      }
    }
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent.slice(0, 40), e.getBoundingClientRect()]);
    const id = svg.getAttribute("aria-labelledby");
    texts.forEach(([a, p], i) => {
      if (p.left < frame.left - 1 || p.right > frame.right + 1 || p.top < frame.top - 2 || p.bottom > frame.bottom + 2)
        out.push(`outside of its picture (${id}): ${a}`);
      for (const [b, q] of texts.slice(i + 1))
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)
          out.push(`labels overlap (${id}): ${a} | ${b}`);
    });
  }
  for (const a of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(a.getAttribute("href").slice(1))) out.push(`dead link ${a.getAttribute("href")}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) out.push("an id stands twice");
  if (window.hostile) out.push("hostile text was executed");
  return [...new Set(out)].slice(0, 12);
}

async function main() {
  const out = process.argv[2], pages = path.join(out, "pages"), shots = path.join(out, "shots");
  fs.mkdirSync(shots, { recursive: true });
  const browser = await chromium.launch({ executablePath: process.env.CULPRIT_BROWSER, args: ["--no-sandbox"] });
  let looked = 0, wrong = 0;
  for (const file of fs.readdirSync(pages).filter((f) => f.endsWith(".html")).sort())
    for (const width of [1280, 390])
      for (const colorScheme of ["light", "dark"])
        for (const javaScriptEnabled of [true, false]) {
          const said = [];
          const context = await browser.newContext({
            viewport: { width, height: 900 }, colorScheme, javaScriptEnabled, bypassCSP: false });
          const page = await context.newPage();
          page.on("console", (m) => said.push(`console: ${m.text()}`));
          page.on("pageerror", (e) => said.push(`error: ${e.message}`));
          page.on("dialog", (d) => { said.push(`dialog: ${d.message()}`); d.dismiss(); });
          const url = "file://" + path.resolve(pages, file);
          page.on("request", (r) => { if (r.url() !== url) said.push(`request: ${r.url().slice(0, 80)}`); });
          await page.goto(url, { waitUntil: "load" });
          const name = `${file.slice(0, -5)}-${width}-${colorScheme}`;
          if (javaScriptEnabled) {
            await page.screenshot({ path: path.join(shots, name + ".png"), fullPage: true });
            said.push(...(await page.evaluate(probe)));
            await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
            said.push(...(await page.evaluate(probe)).map((s) => "opened: " + s));
            await page.evaluate(axe);
            const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
            for (const v of result.violations)
              if (v.impact === "serious" || v.impact === "critical")
                said.push(`axe ${v.impact} ${v.id}: ${v.nodes[0].html.slice(0, 140)} ${v.nodes[0].failureSummary.slice(0, 160)}`);
            if (width === 1280 && colorScheme === "light") {
              const pdf = await page.pdf({ format: "A4" });
              if (pdf.length < 1000) said.push("it does not print");
            }
          } else if ((await page.innerText("h1")).trim() === "") said.push("nothing to read without script");
          ++looked;
          if (said.length > 0) {
            ++wrong;
            console.log(`${name}${javaScriptEnabled ? "" : " without script"}:`);
            for (const s of said) console.log("  " + s.replace(/\n/g, " "));
          }
          await context.close();
        }
  await browser.close();
  console.log(`${looked} views looked at, ${wrong} with something to say`);
  process.exit(wrong > 0 || looked === 0 ? 1 : 0);
}
main().catch((e) => { console.error(e); process.exit(1); });
