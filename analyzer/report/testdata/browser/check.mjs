// Opens pages of triton analyze in headless Chromium and checks them:
//   node check.mjs SCREENSHOT_FOLDER|- PAGE...
// It prints what is wrong and exits with 1, or prints one line for each way a page was opened.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const [folder, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wrong = [];
const browser = await puppeteer.launch({ executablePath: await chromium.executablePath(), args: chromium.args, headless: "shell", env: { ...process.env, LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8" } });
try {
  for (const page of pages) for (const scheme of ["light", "dark"]) for (const width of [1280, 768, 360]) await check(page, scheme, width);
} catch (e) {
  wrong.push(String(e.stack));
} finally {
  await browser.close();
}
if (wrong.length) {
  console.log(wrong.join("\n"));
  process.exit(1);
}

async function check(page, scheme, width) {
  const name = `${basename(dirname(page))}/${basename(page)}, ${scheme}, ${width} px`;
  const say = (text) => wrong.push(`${name}: ${text}`);
  const tab = await browser.newPage();
  const url = pathToFileURL(page).href;
  tab.on("console", (m) => ["error", "warn"].includes(m.type()) && say("console: " + m.text()));
  tab.on("request", (r) => r.url() !== url && say("request to " + r.url()));
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.setViewport({ width, height: 900 });
  await tab.goto(url, { waitUntil: "load" });
  const { charts, texts, low } = await tab.evaluate(look);
  if (charts.length === 0) say("there are no charts");
  for (const c of charts) {
    if (!c.title || !c.description || c.shapes < 5) say(`a chart is empty or has no name: ${JSON.stringify(c)}`);
    if (c.width < 400 || Math.abs(c.width / c.height - c.ratio) > 0.02) say(`a chart has no readable size: ${JSON.stringify(c)}`);
  }
  if (texts < 20) say(`the charts have only ${texts} texts`);
  for (const l of low) say(`contrast of ${l.contrast.toFixed(1)}: ${l.what}`);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) say(`the page is ${wide} pixels wider than the window`);
  // The page's policy forbids scripts, so axe runs in the world of the debugger.
  await tab.evaluate(axe);
  const { violations, passes } = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of violations) say(`axe: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(" ")}`);
  if (folder !== "-") await tab.screenshot({ path: join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png`), fullPage: true });
  console.log(`${name}: ${charts.length} charts, axe: ${passes.length} rules passed, ${violations.length} violated`);
  await tab.close();
}

// look runs in the page. axe leaves the contrast inside of drawings out, so it is measured here:
// 4.5 for texts, 3 for lines and markers.
function look() {
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  let texts = 0;
  const charts = [...document.querySelectorAll("figure svg")].map((svg) => {
    const ground = luminance(getComputedStyle(svg.querySelector("rect")).fill);
    const compare = (what, color, least) => {
      const [a, b] = [luminance(color), ground].sort((x, y) => y - x);
      const contrast = (a + 0.05) / (b + 0.05);
      if (contrast < least) low.push({ what, contrast });
    };
    for (const t of svg.querySelectorAll("text")) texts++, compare(t.textContent, getComputedStyle(t).fill, 4.5);
    for (const l of svg.querySelectorAll("[class^=line-series], .line-ink, .line-soft")) compare(l.getAttribute("class"), getComputedStyle(l).stroke, 3);
    for (const m of svg.querySelectorAll("[class^=fill-series]")) compare(m.getAttribute("class"), getComputedStyle(m).fill, 3);
    const { width, height } = svg.getBoundingClientRect();
    const box = svg.viewBox.baseVal;
    return {
      title: svg.querySelector("title")?.textContent, description: svg.querySelector("desc")?.textContent,
      shapes: svg.querySelectorAll("polyline, polygon").length, width, height, ratio: box.width / box.height,
    };
  });
  return { charts, texts, low };
}
