// Every page in a real browser: light and dark, wide and narrow, sound and safe, whatever others wrote.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { PATIENCE, looks, sound, until, world } from "./world.mjs";

const EVIL = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>";

const AGENT = String.raw`
answer() { printf '%s\n' "$1" > "$CHECKREIN_RESULT"; }
echo "reads the brief <script>alert(1)</script>"; echo "thinks" >&2
case $CHECKREIN_PHASE_NUMBER in
  1) printf '# Plan <img src=x onerror=alert(1)>\n\n- write it\n' > plan.md
     answer '{"summary": "planned <script>alert(1)</script>", "next_todos": ["write it <img src=x onerror=alert(1)>", "check it"], "confidence": 0.82, "warnings": [{"text": "the API key is deprecated <script>alert(1)</script>", "severity": "high"}], "usage": {"tokens": 18250, "cost": 0.21}}' ;;
  2) echo work > 'work <b>.txt'; answer '{"summary": "worked", "milestone": "draft", "usage": {"tokens": 40100, "cost": 0.5}}' ;;
  *) answer '{"outcome": "job_complete", "summary": "all is done"}' ;;
esac`;

const WORKFLOW = {
  id: "nightly-check",
  autonomy: { check_in_frequency: "per-phase", warning_tolerance: "high", error_tolerance: "high" },
  phases: {
    build: { steps: [{ id: "compile", run: respond({ status: "warning", message: "compiled", warnings: [
      { text: "function old_hash is deprecated <script>alert(1)</script>", severity: "medium", suggested_fix: { description: "use new_hash", command: "sed -i s/old_hash/new_hash/ src/lib.rs" } },
      "slow query in the report", "unused setting DEBUG_LEVEL",
    ], artifacts: ["target/app", EVIL] }) }] },
    evaluate: { steps: [{ id: "test", run: respond({ status: "failure", errors: [
      { text: "authentication bypass in login " + EVIL, severity: "high", suggested_fix: "check the session first" },
      { text: "validation of e-mail fails", severity: "low" },
    ] }) }] },
  },
};

function respond(response) {
  const text = JSON.stringify(response).replaceAll("'", "'\\''");
  return `echo working; printf '%s' '${text}' > "$CHECKREIN_RESPONSE"`;
}

/** @type {Awaited<ReturnType<typeof world>>} */
let here;
let ann, run, job;

before(async () => {
  here = await world(AGENT);
  job = await here.job(`Write the quarterly letter ${EVIL}\n\nIt goes to all customers.`, { datasources: { db: "postgres://reader:s3cr3t-word@db.example/main" } });
  run = (await here.api("ann", "/v1/runs", { workflow: WORKFLOW, target: `release 4.2 ${EVIL}` })).run_id;
  await until(async () => (await here.api("ann", `/v1/runs/${run}`)).checkpoint);
  for (const [id, worker, kind] of [["draft-1", "writer", "deliverable"], [EVIL, EVIL, "final_output"], ["schema", "planner", "phase_transition"]]) {
    await here.api("ann", "/v1/checkpoints", { id, worker, phase: "draft", type: kind, deliverable: `Dear customers, ${EVIL}\n\nthis year was good.\n${"It was long.\n".repeat(60)}` });
  }
  await here.api("ann", "/v1/webhooks", { url: "https://hooks.example/team", name: `team ${EVIL}` });
  for (const move of [
    { move: "push", goal: `Ship release 4.2 ${EVIL}` },
    { move: "push", goal: "Mend the login" },
    { move: "pop", status: "completed", summary: `The session is checked first ${EVIL}`, artifacts: ["src/login.rs"] },
    { move: "push", goal: "Write the notes" },
    { move: "plan", goal: "Tell the customers" },
  ]) await here.api("ann", "/v1/frames/release/moves", move);
  ann = await here.visitor("ann");
});
after(async () => { await here?.end(); });

/** Nothing others wrote became part of a page. */
async function harmless(page, name) {
  assert.equal(await page.locator("img[src=x], script:not([src]), [onerror]").count(), 0, `${name}: markup of others`);
  assert.ok(!(await page.content()).includes("s3cr3t-word"), `${name}: a secret`);
}

test("every page is sound, safe and fits, light and dark, wide and narrow", { timeout: 600_000 }, async () => {
  const pages = [
    ["inbox", "/inbox"],
    ["checkpoint", "/checkpoints/draft-1"],
    ["checkpoint-evil", `/checkpoints/${encodeURIComponent(EVIL)}`],
    ["runs", "/runs"],
    ["run-job", `/runs/${job.id}`],
    ["run-workflow", `/runs/${run}`],
    ["run-output", `/runs/${run}/output`],
    ["run-report", `/runs/${run}/report`],
    ["run-audit", `/runs/${run}/audit`],
    ["run-audit-search", `/runs/${run}/audit?q=deprecated`],
    ["job-new", "/jobs/new"],
    ["chat-no-model", `/runs/${job.id}/chat`],
    ["policy", "/policy?scope=job"],
    ["policy-what-if", "/policy?scope=workflow&ask=1&kind=step&finding=auth+token+leaks&finding_kind=error"],
    ["people", "/people"],
    ["workers", "/workers"],
    ["webhooks", "/webhooks"],
    ["settings", "/settings"],
    ["frames", "/frames"],
    ["frame", "/frames/release"],
    // Where nothing is, what to do next is said.
    ["inbox-filtered", "/inbox?worker=nobody"],
    ["runs-filtered", "/runs?workflow=nothing"],
    ["audit-nothing", `/runs/${run}/audit?q=nothing-like-it`],
    ["nothing", "/nowhere"],
  ];
  for (const [name, path] of pages) {
    await ann.goto(here.address + path);
    await harmless(ann, name);
    await looks(ann, name);
    ann.faults = [];
  }
  await ann.goto(`${here.address}/webhooks`);
  await ann.click("[data-open]");
  await ann.waitForURL(/webhooks\/.+/);
  await looks(ann, "webhook");
  await ann.keyboard.press("?");
  await ann.waitForSelector("#keys[open]");
  await looks(ann, "keys");
});

test("whoever is not signed in is asked to, and led on", async () => {
  const context = await here.browser.newContext();
  const page = await context.newPage();
  page.faults = [];
  await page.goto(`${here.address}/checkpoints/draft-1`);
  page.faults = [];
  await looks(page, "sign-in");
  await page.fill("input[name=token]", here.tokens.bob);
  await page.click("button.primary");
  await page.waitForURL(/checkpoints\/draft-1$/);
  await context.close();
});

test("the link that a new server prints signs in once", async () => {
  const place = mkdtempSync(join(tmpdir(), "checkrein-link-"));
  const env = { ...process.env, HOME: place, CHECKREIN_STORE: join(place, "store.db") };
  const server = spawn(process.env.CHECKREIN_BIN, ["serve", "--listen", "127.0.0.1:0"], { cwd: place, env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  server.stderr.on("data", (piece) => (log += piece));
  try {
    const link = await until(() => /http:\S+#sign-in=\S+/.exec(log)?.[0], () => log);
    const context = await here.browser.newContext();
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    await page.goto(link);
    await page.waitForURL(/\/inbox$/);
    await page.waitForSelector("text=Nothing waits for you");
    page.faults = [];
    await looks(page, "inbox-empty");
    await page.goto(new URL("/runs", page.url()).href);
    await looks(page, "runs-empty");
    // What was behind # is nowhere any more, and good for nothing.
    assert.ok(!page.url().includes("sign-in"));
    const other = await (await here.browser.newContext()).newPage();
    await other.goto(link);
    await other.waitForSelector("text=it works once");
    await other.context().close();
    await context.close();
  } finally {
    server.kill("SIGTERM");
    await new Promise((done) => server.once("exit", done));
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("a job is given by the form, with everything it takes, and followed to its hold", async () => {
  await ann.goto(`${here.address}/jobs/new`);
  await ann.fill("#description", "Collect the numbers");
  await ann.check("#job-level-guided");
  await ann.setInputFiles("#documents", { name: "numbers.md", mimeType: "text/markdown", buffer: Buffer.from("# Numbers\n") });
  await ann.click("details.more > summary");
  await ann.fill("#datasources", "sales=https://u:p4ssw0rd-x@sales.example/");
  await ann.fill("#config_override", "not json");
  await ann.click("text=Give the job");
  // What is wrong is told, and nothing that was written is lost.
  await ann.waitForSelector(".problem");
  await looks(ann, "job-new-wrong");
  assert.equal(await ann.inputValue("#description"), "Collect the numbers");
  await ann.fill("#datasources", "sales=https://u:p4ssw0rd-x@sales.example/");
  await ann.setInputFiles("#documents", { name: "numbers.md", mimeType: "text/markdown", buffer: Buffer.from("# Numbers\n") });
  await ann.fill("#config_override", "");
  await ann.click("text=Give the job");
  await ann.waitForURL(/\/runs\/[^/]+$/);
  // Live: the page says by itself that it waits.
  await ann.waitForSelector("#waits .notice.waits");
  await ann.waitForSelector("#status >> text=pending review");
  assert.match(await ann.textContent("#facts"), /guided/);
  assert.match(await ann.textContent("#artefacts"), /numbers\.md/);
  assert.match(await ann.textContent("#facts"), /18250 tokens/);
  await ann.click("#level > summary");
  await ann.check("#level-choice-dependent");
  await ann.click("#level button");
  await ann.waitForSelector("text=the level is dependent");
  await ann.click("#cancel > summary");
  await ann.fill("#cancel input[name=reason]", "changed my mind");
  await ann.click("text=Cancel the run");
  await ann.waitForSelector("#status >> text=cancelled");
  assert.match(await ann.textContent("#timeline"), /changed my mind/);
  await ann.click("text=Run again");
  await ann.waitForSelector("text=This is the new run.");
  await sound(ann, "new run");
});

test("without a model the companion beside the form says so, and the form is not in its way", async () => {
  await ann.goto(`${here.address}/jobs/new`);
  await ann.waitForSelector("#chat .notice:has-text('no model is set up')");
  await ann.fill("#description", "Collect the numbers");
  await ann.click(".openings button:has-text('Help me describe')");
  await ann.waitForSelector(".message.companion[data-status=done]:has-text('Nobody can answer')");
  assert.equal(await ann.inputValue("#description"), "Collect the numbers");
  await looks(ann, "job-new-no-model");
  // What stood in the form is kept with the conversation.
  await ann.reload();
  assert.equal(await ann.inputValue("#description"), "Collect the numbers");
});

test("what a policy would decide is shown with its reasons", async () => {
  await ann.goto(`${here.address}/policy?scope=job`);
  await ann.selectOption("#kind", "phase");
  await ann.selectOption("#phase_kind", "strategic");
  await ann.fill("#phase_number", "1");
  await ann.click("#what-if >> text=Ask");
  await ann.waitForSelector("#decision >> text=Hold");
  await ann.fill("#confidence", "much");
  await ann.click("#what-if >> text=Ask");
  await ann.waitForSelector("text=is not a number");
});

test("tokens are made and revoked, webhooks added, tried and removed", async () => {
  await ann.goto(`${here.address}/people`);
  await ann.fill("#name", "carl");
  await ann.click("text=Make a token");
  assert.match(await ann.textContent("#secret"), /^chk_/);
  await looks(ann, "people-secret");
  await ann.goto(`${here.address}/people`);
  assert.ok(!(await ann.content()).includes("chk_"));
  // Nothing is revoked by one click, and a thought can be changed.
  const carl = ann.locator("#tokens li:has-text('carl')");
  await carl.locator("summary").click();
  await carl.locator("text=It cannot be taken back").waitFor();
  await looks(ann, "people-revoke");
  await carl.locator("summary").click();
  assert.equal(await carl.locator("button").isVisible(), false);
  assert.ok(!(await carl.innerText()).includes("revoked"));
  await carl.locator("summary").click();
  await carl.locator("button:has-text('Revoke the token of carl')").click();
  await ann.waitForSelector("text=is worthless now");
  await ann.goto(`${here.address}/webhooks`);
  await ann.fill("#url", "http://127.0.0.1:9/hook");
  await ann.click("button:has-text('Add')");
  await ann.waitForSelector(".problem");
  await ann.goBack();
  await ann.fill("#url", "http://127.0.0.1:9/hook");
  await ann.fill("#name", "deaf");
  await ann.check("[name=allow_private]");
  await ann.click("button:has-text('Add')");
  assert.match(await ann.textContent("#secret"), /^whsec_/);
  await ann.click("text=Go to the webhook");
  await ann.click("text=Send a test");
  await ann.waitForSelector("text=The test did not arrive");
  await ann.click("summary:has-text('Remove…')");
  await ann.click("text=Remove the webhook");
  await ann.waitForSelector("text=The webhook is removed.");
});

test("output shows up while it is written", async () => {
  const go = (word) => join(here.place, word);
  const wait = (word) => `until [ -e '${go(word)}' ]; do sleep 0.1; done`;
  const script = `echo first; ${wait("one")}; seq 1 200; echo second; ${wait("two")}`;
  const workflow = { id: "slow", phases: { build: { steps: [{ id: "print", run: script }] } } };
  const { run_id: id } = await here.api("ann", "/v1/runs", { workflow });
  await ann.goto(`${here.address}/runs/${id}/output`);
  await ann.waitForSelector("#outputs pre:has-text('first')");
  assert.ok(!(await ann.innerText("#outputs")).includes("second"));
  writeFileSync(go("one"), "");
  await ann.waitForSelector("#outputs pre:has-text('second')");
  assert.equal((await here.api("ann", `/v1/runs/${id}`)).status, "running", "it is shown before the step ends");
  // Who reads the end goes on reading the end; who reads elsewhere stays there.
  const pre = ann.locator("#outputs pre");
  assert.ok(await pre.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 8));
  await sound(ann, "output under way");
  writeFileSync(go("two"), "");
  await ann.waitForSelector("#works:not(:has([data-works]))", { state: "attached" });
});

test("the audit is searched and kept", async () => {
  await ann.goto(`${here.address}/runs/${run}/audit`);
  const before = await ann.locator("#events > [data-key]").count();
  await ann.keyboard.press("/");
  await ann.keyboard.type("DEPRECATED");
  await ann.keyboard.press("Enter");
  await ann.waitForURL(/q=DEPRECATED/);
  const found = await ann.locator("#events > [data-key]").count();
  assert.ok(found > 0 && found < before, `${found} of ${before}`);
  const [file] = await Promise.all([ann.waitForEvent("download"), ann.click("text=Download all")]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, before);
  assert.equal(lines[0].event, "run_created");
});

test("pages are light without what they show", async () => {
  const context = await here.browser.newContext();
  const page = await context.newPage();
  const bodies = [];
  page.on("response", (answer) => bodies.push(answer.body().then((body) => body.length, () => 0)));
  await page.goto(here.address);
  await page.waitForLoadState("networkidle");
  const bytes = (await Promise.all(bodies)).reduce((sum, length) => sum + length, 0);
  assert.ok(bytes > 5_000 && bytes <= 100_000, `${bytes} bytes`);
  await context.close();
});
