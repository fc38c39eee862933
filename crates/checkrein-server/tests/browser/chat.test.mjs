// The companion before a job, on its page and on that of its review, in a real browser, with a model that says what a script says.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { looks, until, world, settings } from "./world.mjs";

const AGENT = String.raw`
answer() { printf '%s\n' "$1" > "$CHECKREIN_RESULT"; }
case $CHECKREIN_PHASE_NUMBER in
  1) printf '# Plan\n\nThe cat sits on the mat.\n' > plan.md
     answer '{"summary": "planned", "next_todos": ["write it"]}' ;;
  *) answer '{"outcome": "job_complete", "summary": "all is done"}' ;;
esac`;

const SCRIPT = {
  answers: [
    { says: "Who sits", turns: [{ text: "I look.", calls: [{ tool: "read_workspace_file", input: { path: "plan.md" } }] },
      { text: "A **cat** sits there (`plan.md:3`). <script>alert(1)</script> <img src=x onerror=alert(1)>", delay_ms: 1500 }] },
    { says: "a dog", turns: [{ calls: [
      { tool: "edit_file", input: { path: "plan.md", old: "The cat sits", new: "The dog sits" } },
      { tool: "draft_comment", input: { text: "Why a mat? <script>alert(1)</script>", file: "plan.md", line: 3 } }] }, { text: "Proposed." }] },
    { says: "in short", turns: [{ text: "It is about a mat." }] },
    { says: "a letter", turns: [
      { text: "I write it down.", calls: [{ tool: "update_instructions", input: {
        description: "Write a letter to Zoe.\n\nOne page, in plain words.", expert: "writer", autonomy: "guided",
        config_override: { instructions: "Be brief." } } }] },
      { text: "To **whom** else? <img src=x onerror=alert(1)>", delay_ms: 1500 }] },
    { says: "shorter", turns: [
      { text: "I look at it.", delay_ms: 1500, calls: [{ tool: "update_instructions", input: { description: "Write three lines to Zoe." } }] },
      { text: "Shorter now." }] },
    { says: "thing else", turns: [{ text: "Say when it is done." }] },
    { says: "How is it going", turns: [{ calls: [{ tool: "get_job_progress", input: {} }] }, { text: "It waits for its review." }] },
  ],
};

let here;
let model;
let asked = "";
before(async () => {
  const place = await new Promise((done, failed) => {
    const script = join(process.env.TMPDIR ?? "/tmp", `checkrein-script-${process.pid}.json`);
    writeFileSync(script, JSON.stringify(SCRIPT));
    model = spawn(join(dirname(process.env.CHECKREIN_BIN), "scripted-model"), [script], { stdio: ["ignore", "pipe", "inherit"] });
    model.once("error", failed);
    model.stdout.once("data", (line) => done(String(line).split("\n")[0].trim()));
    model.stdout.on("data", (lines) => (asked += lines));
  });
  here = await world(AGENT, (directory) => {
    settings(directory, { companion: { model: { api: "anthropic", model: "scripted", url: place } } });
  });
});
after(async () => {
  await here?.end();
  model?.kill();
});

test("a person asks, reads the answer as it comes, and applies what is proposed", async () => {
  const page = await here.visitor("ann");
  const { id, review } = await here.job("Write about a mat");
  await page.goto(`${here.address}/reviews/${encodeURIComponent(review)}`);
  await page.waitForSelector("#chat");
  assert.ok((await page.locator(".openings button").count()) >= 3, "questions to begin with");
  await looks(page, "chat-empty");

  // Somebody else looks at the same time.
  const other = await here.visitor("vic");
  await other.goto(`${here.address}/runs/${id}/chat`);
  await other.waitForSelector("#chat:has-text('your role reads')");
  assert.equal(await other.locator("form[data-ask]").count(), 0);

  // The words come while the rest is still being written.
  await page.fill("#ask", "Who sits there?");
  await page.click("form[data-ask] button.primary");
  await page.waitForSelector(".message.companion:has-text('I look.') .badge.busy");
  await page.waitForSelector(".message.companion[data-status=done]:has-text('A cat sits there')");
  assert.equal(await page.locator(".message.companion strong:text('cat')").count(), 1, "as what it says");
  assert.equal(await page.locator("#chat script, #chat img").count(), 0, "nothing in it runs");
  assert.equal(await page.inputValue("#ask"), "");
  await other.waitForSelector(".message:has-text('Who sits there?')");
  await other.waitForSelector(".message.companion[data-status=done]:has-text('A cat sits there')");

  // A proposal is a difference until somebody applies it; then it is a commit in their name.
  await page.fill("#ask", "I would rather have a dog");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#proposal-p1[data-status=proposed] .plus:has-text('The dog sits')");
  await looks(page, "chat-proposal");
  const before = (await here.api("ann", `/v1/checkpoints/${encodeURIComponent(review)}/review`)).head;
  await page.click("#proposal-p1 button[value=apply]");
  await page.waitForSelector(".notice.good:has-text('p1 is done, in your name')");
  await page.waitForSelector("#proposal-p1[data-status=applied]");
  const shown = await here.api("ann", `/v1/checkpoints/${encodeURIComponent(review)}/review`);
  const commit = shown.commits.at(-1);
  assert.notEqual(shown.head, before);
  assert.deepEqual([commit.author, commit.human, commit.message.split("\n")[0]], ["ann", true, "edit plan.md"]);
  assert.ok((await page.locator("#commits").innerText()).includes("edit plan.md"));
  assert.ok((await page.locator(".prose").first().innerText()).includes("The dog sits"));

  // A comment is posted by whoever says so.
  await page.click("#proposal-p2 button[value=apply]");
  await page.waitForSelector(".thread:has-text('Why a mat?')");
  await other.waitForSelector("#proposal-p2[data-status=applied]");
  await looks(other, "chat-page");

  // One of the questions that are there.
  await page.click(".openings button:has-text('in short')");
  await page.waitForSelector(".message.companion[data-status=done]:has-text('It is about a mat.')");
  assert.equal((await here.api("ann", `/v1/jobs/${id}`)).status, "pending_review", "nothing was decided");
  assert.deepEqual([page.faults, other.faults], [[], []]);
});

test("a job that is over is asked about on its own page", async () => {
  const page = await here.visitor("bob");
  const { id, review } = await here.job("Write about a mat");
  const { digest } = await here.api("ann", `/v1/checkpoints/${encodeURIComponent(review)}`);
  await here.api("ann", `/v1/checkpoints/${encodeURIComponent(review)}/verdict`, { verdict: "reject", reason: "no", digest });
  await until(async () => (await here.api("ann", `/v1/jobs/${id}`)).status === "cancelled");
  await page.goto(`${here.address}/runs/${id}`);
  await page.click("nav.tabs a:has-text('Companion')");
  await page.waitForSelector(".openings button:has-text('How did it end')");
  await page.fill("#ask", "Tell me in short");
  await page.click("form[data-ask] button.primary");
  await page.waitForSelector(".message.companion[data-status=done]:has-text('It is about a mat.')");
});

test("a job is prepared beside its form, by two people, and the conversation goes on in it", async () => {
  const bob = await here.visitor("bob");
  await bob.goto(`${here.address}/runs`);
  await bob.click("a[href='/jobs/new']");
  await bob.waitForSelector(".openings button:has-text('Help me describe')");
  await looks(bob, "job-new-chat-empty");
  // By keyboard: from the form to the conversation and back.
  await bob.focus("a[href='#chat']");
  await bob.keyboard.press("Enter");
  await bob.waitForURL(/#chat$/);

  // What stands in the form is known to whoever answers; what is written down fills it in.
  await bob.fill("#description", "Something about a zebra");
  await bob.fill("#ask", "I want a letter");
  await bob.focus("#ask");
  await bob.keyboard.press("Control+Enter");
  await bob.waitForSelector(".message.companion:has-text('I write it down.') .badge.busy");
  await bob.waitForFunction(() => /** @type {any} */ (document.getElementById("description")).value.startsWith("Write a letter to Zoe."));
  await bob.waitForSelector(".message.companion[data-status=done] strong:text('whom')");
  assert.ok(asked.includes("Something about a zebra"), "the model was told what the form said");
  assert.equal(await bob.locator("#chat img, #chat script").count(), 0, "nothing in it runs");
  assert.ok(await bob.isChecked("#job-level-guided"));
  assert.equal(await bob.inputValue("#expert"), "writer");
  assert.deepEqual(JSON.parse(await bob.inputValue("#config_override")), { instructions: "Be brief." });
  assert.ok(await bob.isVisible("#config_override"), "what was filled in is seen");
  await bob.waitForSelector("#filled-in:has-text('The companion filled in the description, the expert, the level')");
  assert.match(bob.url(), /\/jobs\/new\?chat=[0-9a-f]+$/);
  await bob.evaluate(() => scrollTo(0, 0));
  await looks(bob, "job-new-chat-filled");
  const address = bob.url();
  await bob.click("#filled-in button:has-text('Put back what was there')");
  assert.equal(await bob.inputValue("#description"), "Something about a zebra");
  assert.equal(await bob.evaluate(() => document.activeElement?.id), "description");

  // It is there again after the page was left, and is found from the empty form.
  await bob.goto(`${here.address}/jobs/new`);
  await bob.waitForSelector("section:has(> #open-chats)");
  await looks(bob, "job-new-open-chats");
  await bob.click("section:has(> #open-chats) a");
  await bob.waitForURL(address);
  assert.ok((await bob.inputValue("#description")).startsWith("Write a letter to Zoe."));
  await bob.waitForSelector(".message:has-text('I want a letter')");

  // Somebody else helps; who writes in a field meanwhile keeps what they wrote.
  const ann = await here.visitor("ann");
  await ann.goto(address);
  await ann.waitForSelector(".message.companion:has-text('To whom else?')");
  await ann.fill("#ask", "Make it shorter");
  await ann.click("form[data-ask] button.primary");
  await ann.waitForSelector(".message.companion .badge.busy");
  await bob.fill("#description", "Mine");
  await ann.waitForFunction(() => /** @type {any} */ (document.getElementById("description")).value === "Write three lines to Zoe.");
  await bob.waitForSelector("#filled-in:has-text('which you have changed meanwhile')");
  await bob.waitForSelector(".message:has-text('Make it shorter') >> text=ann");
  assert.equal(await bob.inputValue("#description"), "Mine");
  await bob.evaluate(() => scrollTo(0, 0));
  await looks(bob, "job-new-chat-offered");
  await bob.click("#filled-in button:has-text('Take what it wrote')");
  assert.equal(await bob.inputValue("#description"), "Write three lines to Zoe.");
  await bob.fill("#ask", "Anything else?");
  await bob.click("form[data-ask] button.primary");
  await bob.waitForSelector(".message.companion[data-status=done]:has-text('Say when it is done.')");

  // Nothing was given by all that. A person gives it, and the conversation goes on in the job.
  assert.ok(!(await here.api("ann", "/v1/jobs")).items.some((job) => JSON.stringify(job).includes("Zoe")));
  await bob.selectOption("#expert", "");
  await bob.fill("#config_override", "");
  await bob.click("text=Give the job");
  await bob.waitForURL(/\/runs\/[^/]+$/);
  const id = bob.url().split("/").at(-1);
  await ann.waitForSelector("#chat .notice.good:has-text('The job was given')");
  await bob.waitForSelector("#chat .message:has-text('I want a letter')");
  await here.held(id);
  // The questions are those of the stage, without the page being loaded again.
  await bob.waitForSelector("#chat-openings button:has-text('What does the plan say')");
  await bob.evaluate(() => scrollTo(0, 0));
  await looks(bob, "run-job-chat");
  await bob.fill("#ask", "How is it going?");
  await bob.click("form[data-ask] button.primary");
  await bob.waitForSelector("#chat .message.companion[data-status=done]:has-text('It waits for its review.')");
  await ann.click("#chat .notice.good a");
  await ann.waitForURL(new RegExp(`/runs/${id}/chat$`));
  await ann.waitForSelector(".message:has-text('How is it going?')");
  assert.match((await here.api("ann", `/v1/jobs/${id}`)).description, /three lines/);
  assert.equal((await here.api("ann", `/v1/jobs/${id}`)).level, "guided");
  // An address of before leads there as well.
  await ann.goto(address);
  await ann.waitForURL(new RegExp(`/runs/${id}/chat$`));
  assert.deepEqual([bob.faults, ann.faults], [[], []]);
});

test("whoever does not look holds no line to the server", async () => {
  const page = await here.visitor("ann");
  const { review } = await here.job("Write about a mat");
  await page.addInitScript(() => {
    const Line = window.EventSource;
    window.lines = [];
    window.EventSource = class extends Line {
      constructor(...all) { super(...all); window.lines.push(this); }
    };
  });
  await page.goto(`${here.address}/reviews/${encodeURIComponent(review)}`);
  await page.waitForSelector("#chat");
  const open = () => page.evaluate(() => window.lines.filter((one) => one.url.includes("/chat") && one.readyState !== 2).length);
  await until(async () => (await open()) === 1);
  const turn = (state) => page.evaluate((state) => {
    Object.defineProperty(document, "hidden", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
  await turn(true);
  assert.equal(await open(), 0);
  await turn(false);
  assert.equal(await open(), 1);
});
