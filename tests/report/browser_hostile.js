// browser_hostile.js FOLDER: writes a bundle whose names and lines try to leave the text they are quoted in.
"use strict";
const fs = require("fs"), path = require("path");
const folder = process.argv[2];
const evil = [
  "<script>window.hostile=1;alert(1)</script>", "\"><img src=x onerror=window.hostile=1>", "</title></svg></style><h1>",
  "]]>", "<!--", "-->", "&lt;&#0;&bogus;", "${jndi:ldap://x}", "`<b>`|x|", "[a](javascript:window.hostile=1)",
  "![x](http://127.0.0.1/x.png)", "| --- |", "\u202egnp.exe\u202c", "\u2066x\u2069", "\u0000nul\u0000", "\u001b[31mred",
  "\u009bm", "\u2028\u2029", "\ufffe\uffff", "'onload='window.hostile=1"];
const hosts = ["node-01", "node-02"];
fs.rmSync(folder, { recursive: true, force: true });
for (const host of hosts) {
  const dir = path.join(folder, host + " <b onclick=alert(1)>&\"'" + "\u202ex");
  fs.mkdirSync(dir, { recursive: true });
  const lines = evil.map((e, i) => `[rank0]: RuntimeError: CUDA error: ${e} (${i})`);
  const kernel = evil.map((e, i) =>
    `2026-03-04T05:06:${String(10 + i)}.000000+00:00 ${host} kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='${e}', GPU has fallen off the bus.`);
  fs.writeFileSync(path.join(dir, "train<script>.log"), [
    "[rank0]: Traceback (most recent call last):",
    ...evil.map((e, i) => `[rank0]:   File "/job/${e}.py", line ${i + 1}, in ${e}\n[rank0]:     ${e}`),
    `[rank0]: ValueError: ${evil.join(" ")}`, ...lines, ""].join("\n"));
  fs.writeFileSync(path.join(dir, "kern.log"), kernel.join("\n") + "\n");
}
fs.writeFileSync(path.join(folder, "long.log"),
  "RuntimeError: " + "<x>&\"'".repeat(1.5e6) + "\n" + "x".repeat(1e7) + "\n");
fs.writeFileSync(path.join(folder, "job.json"), JSON.stringify({ job: evil[0], hosts, gpus_per_node: 8 }));
