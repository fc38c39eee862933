// The review of a job from the first look to the end, in a real browser.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { fits, inSight, looks, sound, until, world } from "./world.mjs";

/** Plans twice, works, is done. What it writes is as hostile as it can be. */
const AGENT = String.raw`
answer() { printf '%s\n' "$1" > "$CHECKREIN_RESULT"; }
case $CHECKREIN_PHASE_NUMBER.$CHECKREIN_ROUND in
  1.1) cat > plan.md <<'PLAN'
# Plan

The cat sits on the mat, and **nobody** minds.

1. Read what is there
2. Write the letter

- [x] look around
- [ ] ask twice

| what | how long |
|---|--:|
| letter | 2 h |

See [the workspace](workspace.md), [this](javascript:alert(1)) and <script>alert(1)</script>
<img src=x onerror=alert(1)>

~~~js
const answer = "<b>42</b>"; // <script>alert(1)</script>
~~~
PLAN
       mkdir -p 'odd' && printf '\211PNG\000\001' > 'odd/0.png' && echo x > 'odd/<img src=x onerror=alert(1)>.txt'
       answer '{"summary": "planned <script>alert(1)</script>", "next_todos": ["write the letter <img src=x onerror=alert(1)>"], "confidence": 0.8, "warnings": ["the mat is old <script>alert(1)</script>"]}' ;;
  1.*) sed -i 's/The cat sits/The dog sits/' plan.md
       answer '{"summary": "planned again", "next_todos": ["write the letter"], "comment_replies": [{"id": "c1", "text": "It is a **dog** now <script>alert(1)</script>"}]}' ;;
  2.*) mkdir -p src
       cat > src/letter.rs <<'CODE'
//! A letter.

/// Says hello to \"everybody\".
pub fn letter(name: &str) -> String {
    let greeting = format!("Dear {name},"); // <script>alert(1)</script>
    greeting
}
CODE
       seq 1 620 | sed 's/^/line /' > long.txt
       printf '\000\001\002' > picture.bin
       ln -s letter.rs src/link
       echo '#!/bin/sh' > run.sh && chmod +x run.sh
       answer '{"summary": "wrote the letter"}' ;;
  *) answer '{"outcome": "job_complete", "summary": "all is done"}' ;;
esac`;

let here;
before(async () => { here = await world(AGENT); });
after(async () => { await here?.end(); });

const at = (review, query = "") => `${here.address}/reviews/${encodeURIComponent(review)}${query}`;

test("the workspace is searched beside its review, and on a page of its own", async () => {
  const page = await here.visitor("ann");
  const { review } = await here.job("Write a letter to be searched");
  await page.goto(at(review));
  await page.fill("#search-q", "cat script");
  await page.press("#search-q", "Enter");
  await page.waitForSelector("#search-found .hit mark");
  assert.equal(page.url(), at(review), "the review stays where it is");
  assert.equal(await page.locator("#search-found script, #search-found img").count(), 0);
  await looks(page, "review-search");
  await page.click("#search-found a:has-text('On a page of its own')");
  await page.waitForSelector("#found .hit:has-text('plan.md')");
  assert.equal(await page.inputValue("#q"), "cat script");
  await looks(page, "search");
  // A question without a word in common, and a link that leads to the line.
  await page.fill("#q", "an animal is resting");
  await page.press("#q", "Enter");
  await page.waitForSelector("#found .hit:has-text('The cat sits')");
  await page.click("#found .hit:has-text('The cat sits') a[data-open]");
  await page.waitForSelector("tr:target");
  await page.goto(at(review, "/search?q=zzzz&by=words"));
  await page.waitForSelector("#found .empty");
  await looks(page, "search-nothing");
  await sound(page);
});

test("a person reviews a job from its plan to its end", async () => {
  const page = await here.visitor("ann");
  const { id, review } = await here.job("Write a letter to everybody");
  await page.goto(at(review));
  // The plan is read as what it says, and nothing in it runs.
  await page.waitForSelector(".prose h3:text('Plan')");
  assert.equal(await page.locator(".file").first().getAttribute("data-file"), "plan.md");
  assert.equal(await page.locator(".prose a[href^='javascript']").count(), 0);
  assert.equal(await page.locator(".material script, .material img").count(), 0);
  assert.ok((await page.locator(".prose").first().innerText()).includes("<script>alert(1)</script>"));
  assert.ok((await page.locator(".overview").innerText()).includes("write the letter <img"));
  await looks(page, "review-plan");

  // A comment on a paragraph, by a click.
  await page.click(".prose p:has-text('The cat sits')");
  await page.fill(".inline-form textarea", "[FIX] no cats, please <script>alert(1)</script>");
  await page.click(".inline-form button:has-text('Comment')");
  await page.waitForSelector(".thread:has-text('no cats, please')");
  assert.equal(await page.locator(".prose p:has-text('The cat sits') + .thread").count(), 1, "below what it is about");
  await looks(page, "review-thread");

  // A draft survives a reload.
  await page.fill("#say", "half a thought");
  await page.reload();
  assert.equal(await page.inputValue("#say"), "half a thought");
  await page.fill("#say", "");

  // A file that needs changes keeps an approval from being given by accident (X13).
  await page.click(".file[data-file='plan.md'] button[data-mark='changes_requested']");
  await page.waitForSelector("#verdict:has-text('Approve all the same')");
  await page.click("[data-approve]");
  await page.waitForSelector(".notice.bad:has-text('Nothing was decided')");

  await page.click("#changes-wanted > summary");
  await page.fill("#reason-changes", "see the comment");
  await page.click("button[value=request_changes]");
  await page.waitForSelector(".notice.good:has-text('Changes are requested')");
  await page.waitForSelector("#verdict:has-text('changes requested')");

  const second = await here.held(id, review);
  await page.goto(at(second));
  await page.waitForSelector(".rounds:has-text('Round 2')");
  assert.ok((await page.locator(".comment.agent").innerText()).includes("It is a dog now"));
  await page.click(".toolbar a:has-text('Since round 1')");
  await page.waitForSelector(".prose del:text('cat')");
  assert.equal(await page.locator(".prose ins:text('dog')").count(), 1);
  await looks(page, "review-round-2");
  await page.click(".thread button:has-text('Settle')");
  await page.waitForSelector(".thread.settled");

  // An edit is a commit in one's name, and what is approved is that commit.
  await page.goto(at(second));
  await page.click(".file[data-file='plan.md'] [data-edit]");
  const text = await page.inputValue("#text");
  assert.ok(text.includes("The dog sits"));
  await page.fill("#text", text.replace("on the mat", "on the sofa"));
  await page.fill("#message", "a better place");
  await looks(page, "review-edit");
  await page.click("button:has-text('Save as a commit')");
  await page.waitForSelector(".notice.good:has-text('saved as a commit in your name')");
  assert.ok((await page.locator("#commits").innerText()).includes("a better place"));
  assert.ok((await page.locator(".prose").first().innerText()).includes("on the sofa"));
  await page.check("#verdict input[name=confirmed]");
  await page.click("[data-approve]");
  await page.waitForSelector(".notice.good:has-text('Approved')");

  // The result: the work first, the job's own files after it.
  const end = await here.held(id, review, second);
  await page.goto(at(end));
  const files = await page.locator(".file").evaluateAll((cards) => cards.map((card) => card.dataset.file));
  assert.ok(files.indexOf("src/letter.rs") < files.indexOf("plan.md"), files.join());
  assert.equal(await page.locator("h2.own").count(), 1);
  assert.equal(await page.locator(".file[data-file='src/letter.rs'] .hk:text('pub')").count(), 1);
  assert.ok(await page.locator(".file[data-file='picture.bin']:has-text('not text')").count());
  assert.ok(await page.locator(".file[data-file='src/link'] .badge:has-text('link to letter.rs')").count());
  assert.ok(await page.locator(".file[data-file='run.sh'] .badge:has-text('an executable')").count());
  await looks(page, "review-result");
  // A long file is folded, and comes where it is.
  const long = page.locator(".file[data-file='long.txt']");
  assert.equal(await long.locator("tr").count(), 0);
  await long.locator("[data-unfold]").click();
  await page.waitForSelector(".file[data-file='long.txt'] tr:has-text('line 620')");
  await page.click(".toolbar a:has-text('Side by side')");
  await page.waitForSelector("table.diff.split");
  await looks(page, "review-split");
  // What is not shown is approved by who says so (R17).
  await page.click("[data-approve]");
  await page.waitForSelector(".notice.bad:has-text('picture.bin: a file that is not text')");
  await page.check("#verdict input[name=confirmed]");
  await page.click("[data-approve]");
  await page.waitForSelector(".notice.good:has-text('Approved')");
  await until(async () => (await here.api("ann", `/v1/jobs/${id}`)).status.startsWith("completed"));
  await sound(page, "the end");
  await page.context().close();
});

test("two people at one review: each is told what the other did", async () => {
  const { review } = await here.job("Write for two");
  const [ann, bob] = [await here.visitor("ann"), await here.visitor("bob")];
  await ann.goto(at(review));
  await bob.goto(at(review));
  await ann.waitForSelector("#live[data-state=on]");
  await bob.waitForSelector("#live[data-state=on]");
  const top = await ann.locator(".file").first().boundingBox();

  // A comment.
  await bob.fill("#say", "I look, too");
  await bob.click("#talk button:has-text('Comment')");
  await ann.waitForSelector("#news:has-text('bob commented')");
  // A commit: what is on the screen stays, and cannot be approved any more.
  await bob.click(".file[data-file='plan.md'] [data-edit]");
  await bob.fill("#text", "# Bob's plan\n");
  await bob.click("button:has-text('Save as a commit')");
  await bob.waitForSelector(".notice.good");
  await ann.waitForSelector("#news:has-text('Somebody pushed')");
  assert.ok((await ann.locator(".prose").first().innerText()).includes("The cat sits"), "nothing jumps");
  await ann.click("[data-approve]");
  await ann.waitForSelector(".notice.bad:has-text('Nothing was decided')");
  await ann.waitForSelector(".notice.waits:has-text('has moved since you looked')");
  assert.ok((await ann.locator(".material").innerText()).includes("Bob's plan"));
  assert.equal((await here.api("ann", `/v1/checkpoints/${review}`)).status, "pending");
  await looks(ann, "review-stale");

  // An edit on an old commit is refused, and nothing of it is lost.
  await ann.goto(`${at(review)}/edit?path=plan.md`);
  await ann.fill("#text", "# Ann's plan\n");
  await bob.goto(`${at(review)}/edit?path=plan.md`);
  await bob.fill("#text", "# Bob's second plan\n");
  await bob.click("button:has-text('Save as a commit')");
  await bob.waitForSelector(".notice.good");
  await ann.click("button:has-text('Save as a commit')");
  await ann.waitForSelector(".notice.bad:has-text('It is not saved')");
  assert.equal(await ann.inputValue("#text"), "# Ann's plan\n");
  assert.ok((await ann.locator("details:has-text('as it is on the branch now')").innerText()).includes("Bob's second plan"));

  // A verdict.
  await ann.goto(at(review));
  await bob.goto(at(review));
  await ann.waitForSelector("#live[data-state=on]");
  await bob.click("#rejection > summary");
  await bob.fill("#reason-reject", "enough");
  await bob.click("button[value=reject]");
  await bob.waitForSelector(".notice.good:has-text('Rejected')");
  await ann.waitForSelector("#news:has-text('bob decided: rejected')");
  assert.ok(await ann.locator("[data-approve]").isDisabled());
  assert.ok(top);
  for (const page of [ann, bob]) {
    await sound(page, "two people");
    await page.context().close();
  }
});

test("a conflict is settled in the browser", async () => {
  const { id, review } = await here.job("Write what others write, too");
  const page = await here.visitor("ann");
  // Somebody brings another plan to the main branch meanwhile.
  const bare = JSON.parse(here.checkrein("review", review, "--json")).repository;
  const other = join(here.place, "other");
  const git = (...args) => {
    const done = spawnSync("git", args, { encoding: "utf8" });
    assert.equal(done.status, 0, `${args.join(" ")}: ${done.stderr}`);
  };
  git("clone", "--quiet", "--branch", "main", bare, other);
  writeFileSync(join(other, "plan.md"), "# Another plan\n");
  git("-C", other, "add", "--all");
  git("-C", other, "-c", "user.name=carla", "-c", "user.email=c@example.com", "commit", "--quiet", "--message", "another");
  git("-C", other, "push", "--quiet", "origin", "main");
  await page.goto(at(review));
  await page.check("#verdict input[name=confirmed]");
  await page.click("[data-approve]");
  const held = await here.held(id, review);
  await page.goto(at(held));
  await page.waitForSelector("#conflict");
  assert.equal(await page.locator("[data-approve]").count(), 0);
  await looks(page, "review-conflict");
  const text = await page.inputValue("#text-0");
  assert.ok(text.includes("<<<<<<<") && text.includes("# Another plan"), text);
  await page.fill("#text-0", "# Both plans\n");
  await page.click("button:has-text('Settle with one commit')");
  await page.waitForSelector(".notice.good:has-text('settled')");
  assert.equal(await page.locator("#conflict").count(), 0);
  await page.check("#verdict input[name=confirmed]");
  await page.click("[data-approve]");
  await page.waitForSelector(".notice.good:has-text('Approved')");
  await here.held(id, review, held);
  const plan = spawnSync("git", ["-C", bare, "show", "main:plan.md"], { encoding: "utf8" }).stdout;
  assert.equal(plan, "# Both plans\n");
  await sound(page, "conflict");
  await page.context().close();
});

test("with the keyboard alone", async () => {
  const { review } = await here.job("Write without a mouse");
  const page = await here.visitor("bob");
  await page.goto(at(review, "?prose=source"));
  await page.waitForSelector("table.diff");
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await press("n", "j", "j", "j", "c");
  await page.keyboard.type("by the keyboard");
  await press("Control+Enter");
  await page.waitForSelector("tr.below .thread:has-text('by the keyboard')");
  await press("m");
  await page.waitForSelector(".file[data-file='plan.md'] button[data-mark='approved'][aria-pressed='true']");
  await press("?");
  await page.waitForSelector("#keys[open]:has-text('Comment on the line')");
  await press("Escape", "v");
  await page.waitForSelector("table.diff.split");
  await press("v");
  await page.waitForSelector("table.diff.unified");
  await press("r");
  await page.keyboard.type("once more");
  await press("Control+Enter");
  await page.waitForSelector(".notice.good:has-text('Changes are requested')");
  await sound(page, "keyboard");
  await page.context().close();
});

test("keys stay at the file one is at, and what is done there is told in sight", async () => {
  const { review } = await here.job("Write with many files");
  const page = await here.visitor("ann");
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  const files = () => page.locator("section.file").evaluateAll((cards) => cards.map((card) => card.dataset.file));
  const file = () => page.evaluate(() => (document.querySelector("[data-line].cur")?.closest("section.file") ?? document.querySelector("section.file.here"))?.dataset.file);
  const marked = (path) => page.waitForSelector(`.file[data-file="${path}"] button[data-mark=approved][aria-pressed=true]`);
  const visibleLines = () => page.locator("section.file [data-line]").evaluateAll((lines) => {
    const seen = lines.filter((line) => line.getClientRects().length > 0);
    return seen.findIndex((line) => line.classList.contains("cur"));
  });
  // A fresh page: the first line, then the next.
  await page.goto(at(review));
  await page.waitForSelector("section.file");
  await press("j");
  assert.equal(await visibleLines(), 0);
  await press("j", "j");
  assert.equal(await visibleLines(), 2);

  await page.goto(at(review));
  await page.waitForSelector("section.file");
  const all = await files();
  await press("n", "m");
  await marked(all[0]);
  await page.waitForSelector("#said .notice:has-text('Kept')");
  await press("n");
  assert.equal(await file(), all[1], "after the file that was marked comes the next");
  await press("m");
  await marked(all[1]);
  await inSight(page, "#said .notice");
  assert.equal(await page.locator(".file button[data-mark=approved][aria-pressed=true]").count(), 2, "the first keeps its mark");

  // From an image, to the file after it.
  while ((await file()) !== "odd/0.png") await press("n");
  assert.equal(await page.locator(".file[data-file='odd/0.png'] [data-edit]").count(), 0, "an image is not edited on a page");
  assert.equal(await page.locator(`.file[data-file="${all[0]}"] [data-edit]`).count(), 1);
  await press("j");
  assert.equal(await file(), all[all.indexOf("odd/0.png") + 1]);
  await page.setViewportSize({ width: 390, height: 844 });
  await press("m");
  await page.waitForSelector("#said .notice:has-text('Kept')");
  await inSight(page, "#said .notice");
  await page.click("#said .dismiss");
  assert.equal(await page.locator("#said .notice").count(), 0);
  await page.setViewportSize({ width: 1280, height: 900 });

  // A mark belongs to what the file was.
  await page.goto(`${at(review)}/edit?path=${encodeURIComponent(all[0])}`);
  await page.fill("#text", "# Another plan\n");
  await page.click("button:has-text('Save as a commit')");
  await page.waitForSelector(`.file[data-file="${all[0]}"] .badge:has-text('no longer approved')`);
  assert.equal(await page.locator(`.file[data-file="${all[0]}"] button[aria-pressed=true]`).count(), 0);
  await marked(all[1]);
  await looks(page, "review-lapsed");
  await page.context().close();
});

test("a login that ended loses nothing that was written", async () => {
  const { review } = await here.job("Write for a long day");
  const page = await here.visitor("ann");
  await page.goto(at(review, "?prose=source"));
  await page.waitForSelector("table.diff");
  const signedOut = async () => {
    await page.waitForSelector("#sign-in");
    await page.waitForSelector(".notice:has-text('what you wrote is kept')");
    await here.signIn(page, "ann");
    await page.waitForSelector(".notice:has-text('signed in again')");
    assert.equal(page.url(), at(review, "?prose=source"));
  };
  // A comment at a line, which is sent without leaving the page.
  await page.keyboard.press("n");
  for (const key of ["j", "j", "c"]) await page.keyboard.press(key);
  await page.keyboard.type("kept through the night");
  await page.context().clearCookies();
  await page.keyboard.press("Control+Enter");
  await signedOut();
  const form = page.locator(".file[data-file='plan.md'] .say form");
  assert.equal(await form.locator("textarea").inputValue(), "kept through the night");
  assert.match(await form.locator("[name=line]").inputValue(), /^\d+$/);
  await looks(page, "review-signed-in-again");
  await form.locator("button").click();
  await page.waitForSelector(".thread:has-text('kept through the night')");

  // A verdict.
  await page.click("#changes-wanted > summary");
  await page.fill("#reason-changes", "shorter, please");
  await page.check("[name=start_over]");
  await page.context().clearCookies();
  await page.click("button[value=request_changes]");
  await signedOut();
  assert.equal(await page.inputValue("#reason-changes"), "shorter, please");
  assert.ok(await page.isChecked("[name=start_over]"));
  assert.equal((await here.api("ann", `/v1/checkpoints/${review}`)).status, "pending");
  await page.click("button[value=request_changes]");
  await page.waitForSelector(".notice.good:has-text('Changes are requested')");
  await sound(page, "signed in again");
  await page.context().close();
});

test("files on the branch, on a phone", async () => {
  const { review } = await here.job("Write for a phone");
  const page = await here.visitor("vic", { viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(at(review));
  await fits(page, "review");
  assert.equal(await page.locator("[data-approve], [data-edit], .marks, textarea").count(), 0, "a viewer looks");
  await page.click(".toolbar a:has-text('All files')");
  await page.click(".tree a:has-text('odd/')");
  await page.click(".tree a:has-text('<img src=x')");
  await page.waitForSelector("table.source");
  await fits(page, "file");
  assert.equal(await page.locator("main img").count(), 0);
  await page.goto(`${at(review)}/files?path=plan.md`);
  await page.waitForSelector(".prose h3:text('Plan')");
  await looks(page, "review-file");
  await page.click(".prose a:has-text('the workspace')");
  await page.waitForSelector("h1:text('workspace.md')");
  await page.goto(`${at(review)}/files`);
  await looks(page, "review-files");
  await page.context().close();
});
