// report.mjs - reports in a real browser: what can be clicked, typed and read in them.
//
// usage: node report.mjs PLAYWRIGHT_DIR CHROMIUM PAGES.json
// PAGES.json: [{"path", "name", "pictures", "classes", "vectors", "texts": [...]}, ...]
import { createRequire } from "module";
import { readFileSync, statSync } from "fs";

const [, , playwright, chromium, list] = process.argv;
const { chromium: browserType } = createRequire(playwright + "/")("playwright-core");

let failures = 0;

function check(ok, page, claim) {
  if (ok) return;
  failures++;
  console.log(`FAILED: ${page}: ${claim}`);
}

async function openPage(browser, page, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const tab = await context.newPage();
  tab.on("console", (m) => check(m.type() !== "error" && m.type() !== "warning", page.name, "console: " + m.text()));
  tab.on("pageerror", (e) => check(false, page.name, "script error: " + e.message));
  tab.on("dialog", (d) => { check(false, page.name, "a dialog of a hostile name"); d.dismiss(); });
  tab.on("request", (r) => check(/^(file|data):/.test(r.url()), page.name, "network request: " + r.url().slice(0, 80)));
  await tab.goto("file://" + encodeURI(page.path));
  return tab;
}

const order = (tab) => tab.$$eval(".head-part:not([hidden]) .row:not(.head):not([hidden])", (rows) => rows.map((r) => Number(r.id.split("c")[1])));
const isOpen = (tab) => tab.$eval("#detail", (d) => d.open);
const title = (tab) => tab.textContent("#detail-title");
const headData = (tab) => tab.evaluate(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = [...document.querySelectorAll(".head-part")].findIndex((s) => !s.hidden);
  const { k, size, purity, tight, near, random } = data.heads[at];
  const shown = data.names[random.find((list) => list.length)[0]]; // an image of this clustering
  return { at, k, size, purity, tight, near: near.map((n) => n[0]), shown };
});

function isSorted(values, down) {
  return values.every((v, i) => i === 0 || (down ? values[i - 1] >= v : values[i - 1] <= v));
}

async function testSort(tab, page) {
  const head = await headData(tab);
  check(isSorted((await order(tab)).map((c) => head.size[c]), true), page.name, "largest clusters come first");
  const large = head.k > 1000; // one of each will do
  for (const key of large ? ["tight"] : ["size", "purity", "tight"]) {
    const button = tab.locator(`.head-part:not([hidden]) [data-sort=${key}] button`);
    if ((await button.count()) === 0) {
      check(!head[key], page.name, `there is a column to sort by ${key}`);
      continue;
    }
    for (let i = 0; i < (large ? 1 : 2); i++) {
      await button.click();
      const down = (await tab.getAttribute(`.head-part:not([hidden]) [data-sort=${key}]`, "aria-sort")) === "descending";
      const values = (await order(tab)).map((c) => head[key][c]).filter((v) => v !== null);
      check(isSorted(values, down), page.name, `sorted by ${key}, ${down ? "down" : "up"}`);
    }
  }
  if (large) return;
  await tab.click(".head-part:not([hidden]) [data-sort=name] button");
  const names = await tab.$$eval(".head-part:not([hidden]) .row:not(.head) .name", (all) => all.map((n) => n.textContent.replace(/^\d+ /, "")));
  check(names.every((n, i) => i === 0 || names[i - 1].localeCompare(n) <= 0), page.name, "sorted by name");
}

async function testSearch(tab, page) {
  const head = await headData(tab), field = tab.locator(".head-part:not([hidden]) input[type=search]");
  await tab.locator("body").press("/");
  check(await field.evaluate((f) => f === document.activeElement), page.name, "'/' goes to the search");
  await field.fill("#1");
  check(String(await order(tab)) === "1", page.name, "'#1' finds cluster 1 alone");
  await field.press("Enter");
  check((await isOpen(tab)) && (await title(tab)).startsWith("cluster 1"), page.name, "Enter opens what was found");
  await tab.keyboard.press("Escape");
  await tab.waitForFunction(() => document.activeElement.classList.contains("row")); // the page hears of it later
  await tab.keyboard.press("/");
  await field.press("ArrowDown");
  check(await tab.evaluate(() => document.activeElement.id.endsWith("c1")), page.name, "down goes from the search to the rows");
  await tab.evaluate(() => scrollTo({ top: document.body.scrollHeight, behavior: "instant" }));
  await field.fill("no such thing anywhere");
  check(await field.evaluate((f) => f.getBoundingClientRect().top >= 0 && f.closest("section").querySelector(".row.head").getBoundingClientRect().top < innerHeight), page.name, "what is found is in sight");
  check((await order(tab)).length === 0, page.name, "nonsense finds nothing");
  check(/^0 of /.test(await tab.textContent(".head-part:not([hidden]) .tools output")), page.name, "the number found is told");
  await field.fill(head.shown);
  check((await order(tab)).length >= 1, page.name, "a file name finds its cluster: " + head.shown);
  await field.fill("");
  check((await order(tab)).length === head.k, page.name, "nothing to search for shows all");
}

async function testDetail(tab, page) {
  const head = await headData(tab), all = await order(tab), id = `#h${head.at}c`;
  const shown = all.slice(all.findIndex((c) => head.size[c] > 0)); // short trainings leave empty ones
  await tab.click(id + shown[0]);
  check((await isOpen(tab)) && (await title(tab)).startsWith("cluster " + shown[0]), page.name, "a click opens the cluster");
  check((await tab.evaluate(() => location.hash)) === id + shown[0], page.name, "the address names the cluster");
  const parts = await tab.$$eval("#detail h3", (all) => all.map((h) => h.textContent.split(" ")[0]));
  if (page.vectors)
    for (const part of ["Nearest", "Borderline", "Random"]) check(parts.includes(part), page.name, `detail shows ${part}`);
  await tab.keyboard.press("ArrowRight");
  check((await title(tab)).startsWith("cluster " + shown[1]), page.name, "the right arrow goes to the next cluster");
  await tab.keyboard.press("ArrowLeft");
  await tab.click("#detail .near button");
  check((await title(tab)).startsWith("cluster " + head.near[shown[0]]), page.name, "a near cluster can be gone to");
  await tab.keyboard.press("Escape");
  check(!(await isOpen(tab)), page.name, "Escape closes it");
  await tab.focus(id + shown[0]);
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  check((await isOpen(tab)) && (await title(tab)).startsWith("cluster " + shown[1]), page.name, "rows are for the keyboard, too");
  await tab.click("#close");
  check(!(await isOpen(tab)), page.name, "the cross closes it");
}

async function testCharts(tab, page) {
  const chart = tab.locator(".chart svg[tabindex]").first();
  if ((await chart.count()) === 0) return;
  await chart.scrollIntoViewIfNeeded();
  await chart.hover();
  check(/(epoch|clusters) .*: .*\d/s.test(await tab.textContent("#tip")), page.name, "a chart tells its values");
  const before = await tab.textContent("#tip");
  await tab.mouse.move(2, 2);
  check(await tab.$eval("#tip", (t) => t.hidden), page.name, "the tip goes when the pointer does");
  await chart.focus();
  await tab.keyboard.press("ArrowRight");
  check(/epoch|clusters/.test(await tab.textContent("#tip")) && before.length > 0, page.name, "arrows walk along a chart");
}

async function testMap(tab, page) {
  const map = tab.locator(".head-part:not([hidden]) .map svg"), view = () => map.getAttribute("viewBox");
  await map.scrollIntoViewIfNeeded();
  const whole = await view();
  await map.focus();
  await tab.keyboard.press("+");
  check((await view()) !== whole, page.name, "+ zooms the map");
  await tab.keyboard.press("0");
  await tab.keyboard.press("ArrowLeft");
  await tab.keyboard.press("0");
  check(Math.abs(Number((await view()).split(" ")[2]) - Number(whole.split(" ")[2])) < 1e-6, page.name, "0 resets the map");
  await map.locator("circle").first().dispatchEvent("click");
  check(await isOpen(tab), page.name, "a center of the map opens its cluster");
  await tab.keyboard.press("Escape");
}

async function testPictures(tab, page) {
  const tiles = await tab.locator(".head-part:not([hidden]) .row .t").count();
  check(page.pictures ? tiles > 0 : tiles === 0, page.name, `${tiles} pictures in the rows`);
  if (!page.pictures) return;
  const bad = await tab.evaluate(async () => {
    const sheets = new Map([...document.querySelectorAll(".t")].map((t) => [t.className, t]));
    let missing = 0;
    for (const tile of sheets.values()) {
      const image = new Image();
      image.src = getComputedStyle(tile).backgroundImage.slice(5, -2);
      await image.decode().catch(() => missing++);
    }
    return missing;
  });
  check(bad === 0, page.name, `${bad} sheets of pictures cannot be shown`);
  const named = await tab.$$eval(".row .t", (all) => all.every((t) => t.title && t.getAttribute("role") === "img"));
  check(named, page.name, "every picture has its name");
}

async function testTheme(tab, page) {
  const paper = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await tab.click("#theme");
  await tab.click("#theme");
  check((await paper()) !== light, page.name, "the switch makes it dark");
  await tab.click("#theme");
  check((await paper()) === light, page.name, "and light again");
}

async function testTabs(tab, page) {
  const tabs = tab.locator("[role=tab]"), n = await tabs.count();
  const heads = await tab.locator(".head-part").count();
  check(heads === 1 ? n === 0 : n === heads, page.name, "a tab for each of several clusterings");
  if (n < 2) return;
  await tabs.nth(n - 1).click();
  check(await tab.locator(".head-part").nth(n - 1).isVisible(), page.name, "a tab shows its clustering");
  check((await tab.locator(".head-part:visible").count()) === 1, page.name, "and no other");
  await testSearch(tab, page);
  await tabs.nth(n - 1).focus();
  await tab.keyboard.press("ArrowRight");
  check(await tab.locator(".head-part").first().isVisible(), page.name, "arrows walk along the tabs");
}

async function testTexts(tab, page) {
  const text = await tab.evaluate(() => document.body.innerText + [...document.querySelectorAll("[title]")].map((e) => e.title).join("\n") + [...document.querySelectorAll("svg text, svg title")].map((e) => e.textContent).join("\n"));
  for (const wanted of page.texts || []) check(text.includes(wanted), page.name, "the page shows " + JSON.stringify(wanted));
  check((await tab.evaluate(() => window.bad)) === undefined, page.name, "no script of a name was run");
  check((await tab.locator("img, iframe, object, link[href^=http], script[src]").count()) === 0, page.name, "no element of a name is there");
}

async function testWithoutScript(browser, page) {
  const tab = await openPage(browser, page, { javaScriptEnabled: false });
  check((await tab.locator(".row:not(.head)").count()) > 0 && (await tab.locator(".row:not(.head)").first().isVisible()), page.name, "rows are there without a script");
  check(await tab.locator(".map svg circle").first().isVisible(), page.name, "the map is there without a script");
  check((await tab.locator(".js:visible").count()) === 0, page.name, "what needs a script is not shown without");
  await tab.context().close();
}

async function testDark(browser, page) {
  const tab = await openPage(browser, page, { colorScheme: "dark", viewport: { width: 400, height: 800 } });
  const sum = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number).reduce((a, b) => a + b));
  check(sum < 150, page.name, "dark where the system is");
  check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), page.name, "a narrow window needs no sideways scrolling");
  await tab.context().close();
}

async function testPage(browser, page) {
  const start = Date.now(), tab = await openPage(browser, page, {});
  await tab.waitForSelector("html[data-ready]", { state: "attached" });
  const clusters = await tab.locator(".row:not(.head)").count();
  console.log(`${page.name}: ${(statSync(page.path).size / 1e6).toFixed(1)} MB, ${clusters} clusters, loaded in ${Date.now() - start} ms`);
  const all = [testTexts, testPictures, testSort, testSearch, testDetail, testCharts, testMap, testTheme, testTabs];
  for (const test of clusters < 1000 ? all : [testPictures, testSort, testSearch, testDetail, testMap]) await test(tab, page);
  await tab.goto("about:blank");
  await tab.context().close();
  await testWithoutScript(browser, page);
  if (clusters < 1000) await testDark(browser, page);
}

const browser = await browserType.launch({ executablePath: chromium, args: ["--no-sandbox"] });
for (const page of JSON.parse(readFileSync(list, "utf8"))) {
  const start = Date.now();
  await testPage(browser, page).catch((e) => check(false, page.name, e.message.split("\n").slice(0, 4).join(" ")));
  console.log(`${page.name}: tested in ${((Date.now() - start) / 1000).toFixed(1)} s`);
}
await browser.close();
process.exit(failures ? 1 : 0);
