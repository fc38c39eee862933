/** What is held stays held: the server is killed, clients come back. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { CheckpointRejectedError, CheckpointStatus, CheckpointStore, Client, PendingReviewer, UnreachableError } from "checkrein";

import { Server } from "./server.js";

const HANDED = { deliverable: "draft", workerName: "analyst", phase: "report" };

test("a checkpoint survives the client and the server", async (t) => {
  const server = await Server.started(t);
  const [agent, reviewer] = [server.token("agent", "writer"), server.token("reviewer", "ann")];
  const store = (token: string, retryForMs?: number): CheckpointStore =>
    new CheckpointStore(new Client({ url: server.url, token, ...(retryForMs === undefined ? {} : { retryForMs }) }));

  await store(agent).submit("report-7", HANDED);
  await server.kill("SIGKILL");
  await assert.rejects(store(agent, 0).show("report-7"), UnreachableError);
  await server.again();
  await store(reviewer).approve("report-7", "as agreed");
  await server.kill("SIGKILL");
  await server.again();
  // Nothing but the id is known to this client.
  assert.equal((await store(agent).submit("report-7", HANDED)).status, CheckpointStatus.APPROVED);
  assert.equal((await store(agent).wait("report-7", { timeoutMs: 0 })).reason, "as agreed");
});

for (const how of ["SIGKILL", "SIGTERM"] as const) {
  test(`a waiter gets the verdict of a server that came back after ${how}`, async (t) => {
    const server = await Server.started(t);
    const [worker, person] = [server.worker(), server.person()];
    await worker.submit("report-7", HANDED);
    let waits = true;
    const told = assert.rejects(
      worker.wait("report-7").finally(() => (waits = false)),
      (error) => error instanceof CheckpointRejectedError && error.reason === "too short",
    );
    await server.kill(how);
    await server.again();
    assert(waits);
    await person.reject("report-7", "too short");
    await told;
  });
}

test("a worker that paused and was started again passes", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  const ask = (deliverable: unknown): Promise<boolean> =>
    new PendingReviewer(worker, { key: "july" }).onCheckpoint("analyst", "report", deliverable);

  assert.equal(await ask({ a: 1, b: 2 }), false);
  await server.kill();
  await server.again();
  assert.equal(await ask({ b: 2, a: 1 }), false);
  const [waiting, ...more] = await person.listPending();
  assert(waiting !== undefined && more.length === 0);
  await person.approve(waiting.id);
  assert.equal(await ask({ a: 1, b: 2 }), true);
  // Other content is another question.
  const bytes = new Uint8Array([0xff]);
  assert.equal(await ask(bytes), false);
  for (const { id } of await person.listPending()) await person.reject(id, "too short");
  await assert.rejects(ask(bytes), CheckpointRejectedError);
});
