// The companion on the page of a review, in a real browser, with a model that says what a script says.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { looks, until, world } from "./world.mjs";

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
  ],
};

let here;
let model;
before(async () => {
  const place = await new Promise((done, failed) => {
    const script = join(process.env.TMPDIR ?? "/tmp", `checkrein-script-${process.pid}.json`);
    writeFileSync(script, JSON.stringify(SCRIPT));
    model = spawn(join(dirname(process.env.CHECKREIN_BIN), "scripted-model"), [script], { stdio: ["ignore", "pipe", "inherit"] });
    model.once("error", failed);
    model.stdout.once("data", (line) => done(String(line).split("\n")[0].trim()));
  });
  here = await world(AGENT, (directory) => {
    mkdirSync(join(directory, "config", "checkrein"), { recursive: true });
    const companion = { model: { api: "anthropic", model: "scripted", url: place } };
    writeFileSync(join(directory, "config", "checkrein", "checkrein.yaml"), JSON.stringify({ companion }));
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
