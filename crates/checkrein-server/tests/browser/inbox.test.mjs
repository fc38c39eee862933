// The inbox in a real browser: live in many tabs, by keyboard, several at once, and nothing jumps.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PATIENCE, sound, until, world } from "./world.mjs";

/** @type {Awaited<ReturnType<typeof world>>} */
let here;
let ann;

before(async () => {
  here = await world("exit 0");
  ann = await here.visitor("ann");
});
after(async () => { await here?.end(); });

const ask = (id, text = "a draft") => here.api("ann", "/v1/checkpoints", { id, worker: "writer", phase: "draft", type: "deliverable", deliverable: text });
const row = (page, id) => page.locator(`[data-key="${id}"]`);
const status = async (id) => (await here.api("ann", `/v1/checkpoints/${id}`)).status;

test("it updates live in ten tabs over one line, and goes on when the tab that listens is closed", { timeout: 180_000 }, async () => {
  const context = ann.context();
  const tabs = [ann];
  let lines = 0;
  context.on("request", (request) => { if (request.url().includes("/v1/events")) lines += 1; });
  await ann.goto(`${here.address}/inbox`);
  for (let tab = 1; tab < 10; tab += 1) {
    const page = await context.newPage();
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(String(error)));
    await page.goto(`${here.address}/inbox`);
    tabs.push(page);
  }
  for (const page of tabs) await page.waitForSelector("#live[data-state=on]");
  await ask("first");
  for (const page of tabs) await row(page, "first").waitFor();
  assert.equal(lines, 1, "each browser listens once");
  // The first tab holds the line. Without it another one does.
  const [leader, ...others] = tabs;
  await leader.goto("about:blank");
  await until(() => lines === 2);
  await ask("second");
  for (const page of others) await row(page, "second").waitFor();
  // Decided in one tab, told in all.
  await row(others[0], "second").locator("[data-approve]").click();
  for (const page of others) await page.waitForSelector('[data-key="second"][data-gone]');
  assert.equal(await status("second"), "approved");
  for (const page of others) assert.deepEqual(page.faults, []);
  for (const page of others.slice(1)) await page.close();
  await ann.goto(`${here.address}/inbox`);
});

test("nothing jumps, and nothing that is being written is lost", async () => {
  for (const id of ["a1", "a2", "a3"]) await ask(id);
  await ann.goto(`${here.address}/inbox`);
  await ann.waitForSelector("#live[data-state=on]");
  await row(ann, "a2").locator("[data-otherwise]").click();
  const why = row(ann, "a2").locator("textarea");
  await why.fill("the second paragraph");
  const before = await row(ann, "a3").boundingBox();
  await ask("a4");
  await row(ann, "a4").waitFor();
  await here.api("ann", "/v1/checkpoints/a1/verdict", { verdict: "approve", digest: (await here.api("ann", "/v1/checkpoints/a1")).digest });
  await ann.waitForSelector('[data-key="a1"][data-gone]');
  assert.equal(await why.inputValue(), "the second paragraph");
  assert.equal(await row(ann, "a2").evaluate((one) => one.contains(document.activeElement)), true);
  const keys = await ann.locator("#waiting > [data-key]").evaluateAll((rows) => rows.map((one) => one.dataset.key));
  assert.deepEqual(keys.filter((key) => key.startsWith("a")), ["a1", "a2", "a3", "a4"]);
  const now = await row(ann, "a3").boundingBox();
  assert.ok(Math.abs(now.y - before.y) < 200, `${before.y} to ${now.y}`);
  await row(ann, "a2").locator("button[value=request_changes]").click();
  await ann.waitForSelector('[data-key="a2"][data-gone]');
  assert.equal(await status("a2"), "changes_requested");
});

test("several are decided at once", async () => {
  for (const id of ["s1", "s2", "s3"]) await ask(id);
  await ann.goto(`${here.address}/inbox`);
  for (const id of ["s1", "s3"]) await row(ann, id).locator("[data-select]").check();
  await ann.waitForSelector("text=(2 selected)");
  await ann.fill(".several input[name=reason]", "not now");
  await ann.click(".several >> text=Reject selected");
  await ann.waitForSelector("text=2 checkpoints rejected.");
  assert.deepEqual([await status("s1"), await status("s2"), await status("s3")], ["rejected", "pending", "rejected"]);
});

test("two people: one is told that the other decided", async () => {
  await ask("both");
  const bob = await here.visitor("bob");
  await bob.goto(`${here.address}/checkpoints/both`);
  await ann.goto(`${here.address}/checkpoints/both`);
  await bob.waitForSelector("#live[data-state=on]");
  await ann.click("[data-approve]");
  await bob.waitForSelector("#state >> text=approved");
  assert.match(await bob.textContent("#state"), /ann/);
  assert.equal(await bob.locator("[data-approve]").count(), 0);
  // And whoever decides on an old page is told so.
  await ask("late");
  const late = await here.visitor("bob", { javaScriptEnabled: true });
  await late.goto(`${here.address}/inbox`);
  await late.evaluate(() => { window.stop(); });
  await late.route("**/inbox", (route) => route.abort());
  await here.api("ann", "/v1/checkpoints/late/verdict", { verdict: "reject", reason: "no", digest: (await here.api("ann", "/v1/checkpoints/late")).digest });
  await row(late, "late").locator("[data-approve]").click();
  await late.waitForSelector("#said >> text=Somebody was faster");
  await late.context().close();
  await bob.context().close();
});

test("by keyboard alone", async () => {
  for (const id of ["k1", "k2"]) await ask(id);
  await ann.goto(`${here.address}/runs`);
  await ann.keyboard.press("?");
  await ann.waitForSelector("dialog[open]");
  await sound(ann, "keys");
  await ann.keyboard.press("Escape");
  await ann.keyboard.press("g");
  await ann.keyboard.press("i");
  await ann.waitForURL(/\/inbox$/);
  await until(async () => {
    await ann.keyboard.press("j");
    return ann.locator('[data-key="k1"][data-here]').count();
  });
  await ann.keyboard.press("a");
  assert.equal(await ann.evaluate(() => document.activeElement?.hasAttribute("data-approve")), true);
  await ann.keyboard.press("Enter");
  await until(async () => (await status("k1")) === "approved");
  await until(async () => {
    await ann.keyboard.press("j");
    return ann.locator('[data-key="k2"][data-here]').count();
  });
  await ann.keyboard.press("r");
  await ann.keyboard.type("too short");
  await ann.keyboard.press("Tab");
  await ann.keyboard.press("Tab");
  await ann.keyboard.press("Enter");
  await until(async () => (await status("k2")) === "rejected");
  // The whole page is reached by Tab, and what is reached is seen.
  await ann.goto(`${here.address}/inbox`);
  await ann.keyboard.press("Tab");
  assert.equal(await ann.evaluate(() => document.activeElement?.textContent), "Skip to the content");
  const outline = await ann.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none");
});

test("whoever has to sign in again comes back to what they wrote", async () => {
  await ask("again");
  const page = await here.visitor("bob");
  await page.goto(`${here.address}/checkpoints/again`);
  await page.click("[data-otherwise]");
  await page.fill("textarea[name=reason]", "the third paragraph\nis missing");
  await page.context().clearCookies();
  await page.click("button[value=reject]");
  await page.waitForSelector("#sign-in");
  await page.waitForSelector(".notice:has-text('what you wrote is kept')");
  await sound(page, "signed out");
  await here.signIn(page, "bob");
  await page.waitForURL(/\/checkpoints\/again$/);
  await page.waitForSelector(".notice:has-text('signed in again')");
  assert.equal(await page.inputValue("textarea[name=reason]"), "the third paragraph\nis missing");
  assert.equal(await status("again"), "pending", "nothing is decided by signing in");
  await page.click("button[value=reject]");
  await until(async () => (await status("again")) === "rejected");
  // What was sent is not offered again, nor to somebody else.
  await page.goto(`${here.address}/checkpoints/again`);
  assert.equal(await page.locator(".notice:has-text('signed in again')").count(), 0);

  // A form that stays on its page.
  await ask("in-place");
  await page.goto(`${here.address}/inbox`);
  await page.context().clearCookies();
  await row(page, "in-place").locator("[data-approve]").click();
  await page.waitForSelector("#sign-in");
  await here.signIn(page, "bob");
  await page.waitForURL(/\/inbox$/);
  await row(page, "in-place").locator("[data-approve]").click();
  await until(async () => (await status("in-place")) === "approved");
  await page.context().close();
});

test("without a script a person looks, and decides with the token", async () => {
  await ask("plain");
  const context = await here.browser.newContext({ javaScriptEnabled: false });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await page.goto(`${here.address}/checkpoints/plain`);
  await page.fill("input[name=token]", here.tokens.bob);
  await page.click("button.primary");
  await page.click("text=Continue");
  await page.fill(".decide input[name=token]", here.tokens.bob);
  await page.click("[data-approve]");
  await page.waitForSelector("text=plain is approved.");
  assert.equal(await status("plain"), "approved");
  await context.close();
});

test("a cookie alone decides nothing", async () => {
  const asked = await ask("stolen");
  const cookies = await ann.context().cookies();
  const cookie = cookies.map((one) => `${one.name}=${one.value}`).join("; ");
  const page = await fetch(`${here.address}/checkpoints/stolen`, { headers: { Cookie: cookie } });
  assert.equal(page.status, 200);
  const body = new URLSearchParams({ verdict: "approve", digest: asked.digest, proof: "" });
  const answer = await fetch(`${here.address}/checkpoints/stolen/verdict`, {
    method: "POST", body, headers: { Cookie: cookie, "Sec-Fetch-Site": "same-origin" }, redirect: "manual",
  });
  assert.equal(answer.status, 403);
  assert.equal(await status("stolen"), "pending");
});
