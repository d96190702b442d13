// Opens pages of triton perf report in headless Chromium and checks them:
//   node check.mjs SCREENSHOT_FOLDER|- PAGE...
// It prints what is wrong and exits with 1, or prints one line for each way a page was opened.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const [folder, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wrong = [];
const browser = await puppeteer.launch({ executablePath: await chromium.executablePath(), args: chromium.args, headless: "shell", env: { ...process.env, LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8" } });
try {
  for (const page of pages) {
    for (const scheme of ["light", "dark"]) for (const width of [1280, 768, 360]) await check(page, scheme, width);
    await checkWithoutScript(page);
  }
} catch (e) {
  wrong.push(String(e.stack));
} finally {
  await browser.close();
}
if (wrong.length) {
  console.log(wrong.join("\n"));
  process.exit(1);
}

async function open(page, scheme, width, script = true) {
  const tab = await browser.newPage();
  const say = (text) => wrong.push(`${basename(page)}, ${scheme}, ${width} px: ${text}`);
  tab.on("console", (m) => ["error", "warn"].includes(m.type()) && say("console: " + m.text()));
  tab.on("pageerror", (e) => say("script: " + e.message));
  tab.on("request", (r) => r.url() !== pathToFileURL(page).href && say("request to " + r.url()));
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.setViewport({ width, height: 900 });
  await tab.setJavaScriptEnabled(script);
  await tab.goto(pathToFileURL(page).href, { waitUntil: "load" });
  return { tab, say };
}

async function check(page, scheme, width) {
  const { tab, say } = await open(page, scheme, width);
  const charts = await tab.$$eval("figure", (all) => all.map((f) => {
    const canvas = f.querySelector("canvas");
    if (!canvas) return { id: f.id, colors: 0 };
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return { id: f.id, colors: colors.size, label: canvas.getAttribute("aria-label") };
  }));
  if (charts.length !== 4) say(`there are ${charts.length} charts`);
  for (const c of charts) if (c.colors < 3 || !c.label) say(`the chart ${c.id} is empty or has no name: ${JSON.stringify(c)}`);
  for (const c of charts) {
    await tab.focus(`#${c.id} .plot`);
    const told = [];
    for (const key of ["Home", "ArrowRight", "End"]) {
      await tab.keyboard.press(key);
      told.push(await tab.$eval(`#${c.id} .values`, (e) => e.textContent));
    }
    if (new Set(told).size !== 3 || told.includes("")) say(`the keys do not move in the chart ${c.id}: ${told.join(" | ")}`);
  }
  await tab.hover("#by-load .u-over");
  const before = await tab.$eval("#by-load canvas", (c) => c.toDataURL());
  await tab.select("#metric", "p50");
  if (before === (await tab.$eval("#by-load canvas", (c) => c.toDataURL()))) say("another percentile draws the same chart");
  const boxes = await tab.$$("#shown input");
  if (boxes.length > 1) {
    await boxes[0].click();
    const lines = await tab.$eval("#by-load canvas", (c) => c.getAttribute("aria-label"));
    if (/before.json, batch size 1[;.]/.test(lines)) say("a run that is not shown is still drawn");
    await boxes[0].click();
  }
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) say(`the page is ${wide} pixels wider than the window`);
  await tab.$$eval("details", (all) => all.forEach((d) => (d.open = true)));
  // The page's policy forbids scripts of others, so axe runs in the world of the debugger.
  await tab.evaluate(axe);
  const { violations, passes } = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of violations) say(`axe: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(" ")}`);
  if (folder !== "-") await tab.screenshot({ path: join(folder, `perf-${basename(page, ".html")}-${scheme}-${width}.png`), fullPage: true });
  console.log(`${basename(page)}, ${scheme}, ${width} px: ${charts.length} charts, axe: ${passes.length} rules passed, ${violations.length} violated`);
  await tab.close();
}

async function checkWithoutScript(page) {
  const { tab, say } = await open(page, "light", 1281, false);
  const text = await tab.$eval("main", (m) => m.innerText);
  if (!text.includes("The charts need JavaScript") || !text.includes("Throughput and latency")) say("without scripts there are no tables");
  await tab.close();
}
