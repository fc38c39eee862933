// A server of its own with a scripted agent, and a real browser in front of it.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const modules = process.env.BROWSER_MODULES;
const binary = process.env.CHECKREIN_BIN;
assert.ok(modules && binary, "BROWSER_MODULES and CHECKREIN_BIN say where things are; scripts/browser sets them");
const require = createRequire(join(modules, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Where pictures are left, if anybody wants them. */
const pictures = process.env.BROWSER_PICTURES;

/** A machine may be busy; what is waited for comes. */
export const PATIENCE = 60_000;

/** Writes the settings of the person the server runs as: the agent, and whatever else a test needs. */
export function settings(place, more) {
  const own = join(place, "config", "checkrein");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "checkrein.yaml"), JSON.stringify({ agent: `cmd:${join(place, "agent.sh")}`, ...more }));
}

/** A server with its store in a directory of its own. `agent` is a shell script; its phase is in $CHECKREIN_PHASE_NUMBER. `prepare` gets
 * the directory before anything starts. */
export async function world(agent, prepare = () => {}) {
  const place = mkdtempSync(join(tmpdir(), "checkrein-browser-"));
  writeFileSync(join(place, "agent.sh"), `#!/bin/sh\ncat > /dev/null\n${agent}\n`);
  chmodSync(join(place, "agent.sh"), 0o755);
  settings(place, {});
  prepare(place);
  const env = { ...process.env, CHECKREIN_STORE: join(place, "store.db"), HOME: place, XDG_CONFIG_HOME: join(place, "config") };
  delete env.CHECKREIN_TOKEN;
  const tokens = {};
  const checkrein = (...args) => {
    const asAnn = tokens.ann ? { ...env, CHECKREIN_TOKEN: tokens.ann } : env;
    const done = spawnSync(binary, args, { cwd: place, env: asAnn, encoding: "utf8" });
    assert.equal(done.status, 0, `checkrein ${args.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  };
  for (const [name, role] of [["ann", "admin"], ["bob", "reviewer"], ["vic", "viewer"]]) {
    tokens[name] = checkrein("token", "create", "--name", name, "--role", role);
  }
  const server = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--rate", "0"], { cwd: place, env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  server.stderr.on("data", (piece) => (log += piece));
  const address = await until(() => /listens on (http:\S+)/.exec(log)?.[1], () => log);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
  const api = async (name, path, body) => {
    const answer = await fetch(address + path, {
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${tokens[name]}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
    return answer.json();
  };
  return {
    place, address, tokens, browser, api, checkrein,
    log: () => log,
    /** Gives a job by the interface; its id once it waits. */
    async job(description, more = {}) {
      const { run_id: id } = await api("ann", "/v1/jobs", { description, ...more });
      return { id, review: await this.held(id) };
    },
    /** The checkpoint a job waits at, other than those that are known. */
    async held(id, ...known) {
      return until(async () => {
        const { checkpoint } = await api("ann", `/v1/jobs/${id}`);
        return checkpoint && !known.includes(checkpoint) ? checkpoint : undefined;
      });
    },
    /** Somebody at a browser, signed in. */
    async visitor(name, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
      context.setDefaultTimeout(PATIENCE);
      const page = await context.newPage();
      page.faults = [];
      page.on("console", (message) => {
        // What a form is refused with is an answer, not a mistake of the page.
        if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) page.faults.push(message.text());
      });
      page.on("pageerror", (error) => page.faults.push(String(error)));
      page.on("dialog", (dialog) => {
        page.faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.goto(address);
      await this.signIn(page, name);
      return page;
    },
    /** Fills in the sign-in page that is shown. */
    async signIn(page, name) {
      await page.fill("input[name=token]", tokens[name]);
      await page.keyboard.press("Enter");
      await page.waitForSelector("nav.places");
    },
    async end() {
      await browser.close();
      server.kill("SIGTERM");
      await new Promise((done) => server.once("exit", done));
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Waits until something is there. */
export async function until(look, why = () => "it never came") {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, why());
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** No rule of axe is broken, no script failed and nothing was blocked. */
export async function sound(page, name) {
  await page.evaluate(axe);
  const broken = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
    return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200)}`).join(" | ")}`);
  });
  assert.deepEqual(broken, [], `${name}: accessibility`);
  assert.deepEqual(page.faults, [], `${name}: the console`);
}

/** Something can be seen without scrolling, and nothing covers it. */
export async function inSight(page, selector) {
  const covered = await page.locator(selector).first().evaluate((element) => {
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const top = document.elementFromPoint(x, y);
    return box.top < 0 || box.bottom > innerHeight || !top || !(element.contains(top) || top.contains(element));
  });
  assert.ok(!covered, `${selector} is not in sight`);
}

/** Nothing is wider than the window. */
export async function fits(page, name) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= window, `${name} is ${wide} wide in a window of ${window}`);
}

/** The page in light and dark, wide and narrow; each is checked, and kept where pictures are wanted. */
export async function looks(page, name) {
  const size = page.viewportSize();
  for (const [form, width, height] of [["wide", 1280, 900], ["narrow", 390, 844]]) {
    await page.setViewportSize({ width, height });
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await fits(page, `${name} ${form} ${scheme}`);
      await sound(page, `${name} ${form} ${scheme}`);
      if (pictures) {
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: join(pictures, `${name}-${form}-${scheme}.png`), fullPage: true });
      }
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(size);
}
