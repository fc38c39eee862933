/** Asking, waiting and deciding against a real server. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AlreadyDecidedError,
  type Checkpoint,
  CheckpointError,
  CheckpointPendingError,
  CheckpointRejectedError,
  CheckpointStatus,
  CheckpointStore,
  Client,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  OtherContentError,
  StaleDigestError,
  UnauthenticatedError,
} from "checkrein";

import { Server } from "./server.js";

const HANDED = { deliverable: "draft", workerName: "analyst", phase: "report" };

async function all(list: AsyncIterable<Checkpoint>): Promise<string[]> {
  const ids = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

test("any deliverable comes back as it was", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  const bytes = new Uint8Array([0x50, 0x4b, 0xff, 0]);
  const handed = ["a text", "", "äöü 🦄", { pages: 12, draft: true }, [1, null], bytes, { base64: "AAAA" }];
  for (const deliverable of handed) {
    const asked = await worker.create({ ...HANDED, deliverable });
    assert.deepEqual(asked.deliverable, deliverable);
    assert.deepEqual((await person.show(asked.id)).deliverable, deliverable);
  }
  assert.deepEqual((await person.listPending()).map((one) => one.deliverable), handed);
});

test("the same content is read the same way, whoever handed it in", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  for (const [deliverable, read] of [
    [0, "0"],
    [false, "false"],
    [new TextEncoder().encode("text"), "text"],
    ['{"a":1}', { a: 1 }],
    ['{"a": 1}', '{"a": 1}'],
  ]) {
    const { id } = await worker.create({ ...HANDED, deliverable });
    assert.deepEqual((await person.show(id)).deliverable, read);
  }
});

test("a waiter is told every answer but an approval as an error", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  await worker.submit("approved", HANDED);
  const approved = worker.wait("approved", { timeoutMs: 60_000 });
  await person.approve("approved", "as agreed");
  assert.equal((await approved).reason, "as agreed");
  for (const [name, decide] of [
    ["rejected", () => person.reject("rejected", "too short")],
    ["changes_requested", () => person.requestChanges("changes_requested", "too short")],
    ["withdrawn", () => worker.withdraw("withdrawn", "too short")],
  ] as const) {
    await worker.submit(name, HANDED);
    const told = assert.rejects(worker.wait(name, { timeoutMs: 60_000 }), (error) => {
      assert(error instanceof CheckpointRejectedError && error instanceof CheckpointError);
      assert.equal(error.message, `checkpoint \`${name}\` is ${name}: too short`);
      assert.deepEqual([error.name, error.id, error.status], ["CheckpointRejectedError", name, name]);
      return true;
    });
    await decide();
    await told;
  }
});

test("no answer in time is not an approval", async (t) => {
  const worker = (await Server.started(t)).worker();
  const { id } = await worker.create(HANDED);
  for (const timeoutMs of [0, 50]) await assert.rejects(worker.wait(id, { timeoutMs }), CheckpointPendingError);
  const stop = new AbortController();
  const waiting = assert.rejects(worker.wait(id, { signal: stop.signal }), { name: "AbortError" });
  stop.abort();
  await waiting;
  assert(await worker.isPending(id));
});

test("a checkpoint is decided once", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  await worker.submit("once", HANDED);
  const first = await person.reject("once", "too short");
  assert.deepEqual(await person.reject("once", "other words"), first);
  assert.deepEqual([first.rejectionReason, first.resolvedBy], ["too short", "ann"]);
  await assert.rejects(person.approve("once"), (error) => {
    assert(error instanceof AlreadyDecidedError);
    assert.deepEqual([error.status, error.type], [409, "urn:checkrein:problem:already-decided"]);
    assert.equal(error.message, "checkpoint `once` is already rejected by ann");
    return true;
  });
  assert.deepEqual((await worker.show("once")).resolvedAt, first.resolvedAt);
});

test("an id stands for one content", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  await worker.submit("draft-7", HANDED);
  await person.approve("draft-7");
  assert.equal((await worker.submit("draft-7", HANDED)).status, CheckpointStatus.APPROVED);
  await assert.rejects(worker.submit("draft-7", { ...HANDED, deliverable: "another draft" }), OtherContentError);
});

test("an id nobody knows", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  assert.equal(await worker.get("nobody/knows?"), undefined);
  const is = [worker.isPending("nobody"), worker.isApproved("nobody"), worker.isRejected("nobody")];
  assert.deepEqual(await Promise.all(is), [false, false, false]);
  for (const call of [() => worker.show("nobody"), () => worker.wait("nobody"), () => person.approve("nobody")]) {
    await assert.rejects(call, (error) => error instanceof NotFoundError && /there is no checkpoint `nobody`/.test(error.message));
  }
});

test("an odd id is an id, unless no address can name it", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  for (const id of ["a/b", "x?y=1#z", "100%", "ä b", "..."]) {
    await worker.submit(id, HANDED);
    assert.equal((await person.approve(id)).id, id);
    assert.equal((await worker.wait(id)).id, id);
  }
  for (const id of ["..", "."]) await assert.rejects(worker.submit(id, HANDED), CheckpointError);
  assert.equal((await all(person.list())).length, 5);
});

test("an agent gives no verdict", async (t) => {
  const worker = (await Server.started(t)).worker();
  const { id } = await worker.create(HANDED);
  for (const verdict of [
    () => worker.approve(id),
    () => worker.reject(id, "no"),
    () => worker.requestChanges(id, "no"),
  ]) {
    await assert.rejects(verdict, ForbiddenError);
  }
  assert(await worker.isPending(id));
});

test("an agent sees only its own", async (t) => {
  const server = await Server.started(t);
  const { id } = await server.worker().create(HANDED);
  const other = new CheckpointStore(server.client("agent", "somebody-else"));
  assert.equal(await other.get(id), undefined);
  assert.deepEqual(await all(other.list()), []);
});

test("a verdict may be bound to what was looked at", async (t) => {
  const server = await Server.started(t);
  const person = server.person();
  const { id, digest } = await server.worker().create(HANDED);
  await assert.rejects(person.approve(id, undefined, { digest: "0".repeat(64) }), StaleDigestError);
  assert.equal((await person.approve(id, undefined, { digest })).status, CheckpointStatus.APPROVED);
});

test("of racing reviewers exactly one wins", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  for (let round = 0; round < 10; round++) {
    const { id } = await worker.create(HANDED);
    const racing = await Promise.allSettled([person.approve(id), person.reject(id, "no")]);
    assert.equal(racing.filter(({ status }) => status === "fulfilled").length, 1);
  }
});

test("lists are in creation order across pages", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  const ids = Array.from({ length: 105 }, (_, number) => `c${104 - number}`);
  for (const id of ids) await worker.submit(id, HANDED);
  await person.approve("c50");
  assert.deepEqual(await all(person.list({ workerName: "analyst" })), ids);
  assert.deepEqual(await all(person.list({ status: CheckpointStatus.APPROVED })), ["c50"]);
  assert.deepEqual(await all(person.list({ phase: "elsewhere" })), []);
});

test("what no view shows is approved when that is confirmed", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  const { id } = await worker.create({ ...HANDED, deliverable: new Uint8Array([0xff, 0]) });
  await assert.rejects(person.approve(id), /2 bytes that are not text/);
  assert.equal((await person.approve(id, undefined, { confirmed: true })).status, CheckpointStatus.APPROVED);
});

test("mistakes are told with their hint", async (t) => {
  const server = await Server.started(t);
  const worker = server.worker();
  const misspelt = worker.client.request("POST", "/v1/checkpoints", { body: { worker: "analyst", delivrable: "x" } });
  await assert.rejects(misspelt, (error) => {
    assert(error instanceof InvalidError);
    assert.deepEqual([error.status, error.kind], [422, "invalid"]);
    assert.equal(error.message, "unknown key `delivrable`\n  hint: did you mean `deliverable`?");
    return true;
  });
  await assert.rejects(worker.create({ ...HANDED, deliverable: undefined }), /nothing to approve/);
  const wrong = new CheckpointStore(new Client({ url: server.url, token: "chk_wrong" }));
  await assert.rejects(wrong.create(HANDED), UnauthenticatedError);
});

test("without a token nothing is asked", () => {
  const kept = process.env["CHECKREIN_TOKEN"];
  delete process.env["CHECKREIN_TOKEN"];
  try {
    assert.throws(() => new CheckpointStore(), /CHECKREIN_TOKEN/);
  } finally {
    if (kept !== undefined) process.env["CHECKREIN_TOKEN"] = kept;
  }
});
