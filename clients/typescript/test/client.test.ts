/** Policies and events against a real server. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import {
  AutonomyConfig,
  AutonomyLevel,
  CheckpointStatus,
  type CheckreinEvent,
  Client,
  PendingReviewer,
  UnauthenticatedError,
} from "checkrein";

import { Server } from "./server.js";

const HANDED = { deliverable: "draft", workerName: "analyst", phase: "report" };

test("the policy and what it would decide", async (t) => {
  const { client } = (await Server.started(t)).worker();
  assert.equal((await client.policy({ worker: "analyst" }))["level"], "semi_supervised");
  const explained = (await client.explain({ worker: "analyst" })) as { policy: { scope: string } };
  assert.equal(explained.policy.scope, "worker");
  const decision = await client.decide({ scope: "worker", autonomy: "manual", boundary: { kind: "intermediate" } });
  assert.deepEqual([decision["outcome"], decision["rule"]], ["hold", "trigger"]);
});

test("a level is one of three, and its types are a set", () => {
  const config = new AutonomyConfig({ checkpointTypes: ["invoice"] });
  assert.equal(config.level, AutonomyLevel.SEMI_SUPERVISED);
  assert.deepEqual(["invoice", "Invoice", "deliverable"].map((type) => config.shouldCheckpoint(type)), [true, false, false]);
  assert.throws(() => new AutonomyConfig({ level: "manuel" as AutonomyLevel }), /`manual`, `semi_supervised`, `autonomous`/);
  assert.throws(() => new AutonomyConfig({ checkpointTypes: "invoice" }), /takes a set/);
});

for (const [variable, level] of [
  ["manual", "manual"],
  [{ level: "semi_supervised", checkpoint_types: ["invoice"] }, "semi_supervised"],
  [{ level: "autonomous", hold_at: [{ on: "deliverable" }] }, undefined],
  [{ level: "custom", hold_at: [{ on: "deliverable" }] }, undefined],
  [{ level: "autonomous", require_approval_for: ["release"] }, undefined],
] as const) {
  test(`a policy that says more than a level is not cut down: ${JSON.stringify(variable)}`, async (t) => {
    const text = typeof variable === "string" ? variable : JSON.stringify(variable);
    const server = await Server.idle(t).start([], { CHECKREIN_WORKER_AUTONOMY: text });
    const config = AutonomyConfig.ofWorker("w", server.client("agent", "writer"));
    if (level === undefined) {
      await assert.rejects(config, /says more than an autonomy level can/);
    } else {
      assert.equal((await config).level, level);
      assert((await config).shouldCheckpoint("invoice"));
      assert.equal((await config).shouldCheckpoint("deliverable"), level === "manual");
    }
  });
}

test("where nothing is asked for, a worker passes and it is on record", async (t) => {
  const server = Server.idle(t);
  writeFileSync(join(server.directory, "tenant.yaml"), "workers:\n  manager: { autonomy: manual }\n");
  await server.start(["--tenant", "tenant.yaml"], { DWORKERS_DEFAULT_AUTONOMY: "autonomous" });
  const store = server.worker();
  assert.equal((await AutonomyConfig.ofWorker("manager", store.client)).level, "manual");
  assert.equal((await AutonomyConfig.ofWorker("somebody else", store.client)).level, "autonomous");
  const { id, status } = await store.create({ deliverable: "draft", workerName: "somebody else" });
  assert.equal(status, CheckpointStatus.NOT_REQUIRED);
  assert.deepEqual(await store.wait(id, { timeoutMs: 0 }), await store.show(id));
  const reviewer = new PendingReviewer(store);
  assert.equal(await reviewer.onCheckpoint("somebody else", "report", "draft"), true);
  assert.equal(await reviewer.onCheckpoint("manager", "report", "draft"), false);
  assert.equal(await store.isApproved(id), false);
});

async function next(events: AsyncGenerator<CheckreinEvent>): Promise<CheckreinEvent> {
  const { value, done } = await events.next();
  assert(!done);
  return value;
}

test("any route can be asked", async (t) => {
  const admin = (await Server.started(t)).client("admin", "root");
  const workflow = { id: "ship-it", phases: { build: { steps: [{ id: "compile", run: "true" }] } } };
  const { run_id: run } = (await admin.postOnce("/v1/runs", { workflow })) as { run_id: string };
  const listed = [];
  for await (const item of admin.pages("/v1/runs", { limit: 1 }, "before")) listed.push(item["run_id"]);
  assert.deepEqual(listed, [run]);
  const events = admin.events({ run });
  assert((await next(events)).position >= 1);
  await events.return(undefined);
});

test("events go on where they were when the server comes back", async (t) => {
  const server = await Server.started(t);
  const [worker, person] = [server.worker(), server.person()];
  await worker.submit("c1", HANDED);
  const events = person.client.events({ after: 0 });
  const seen = [await next(events)];
  await server.kill();
  await server.again();
  await worker.submit("c2", HANDED);
  await person.approve("c1");
  seen.push(await next(events), await next(events));
  await events.return(undefined);
  assert.deepEqual(
    seen.map((one) => [one.event, one["checkpoint_id"]]),
    [
      ["checkpoint_created", "c1"],
      ["checkpoint_created", "c2"],
      ["checkpoint_resolved", "c1"],
    ],
  );
  const positions = seen.map((one) => one.position);
  assert.deepEqual(positions, [...new Set(positions)].sort((one, other) => one - other));
});

test("a stream ends when its reader says so, and for a token that is worth nothing", async (t) => {
  const server = await Server.started(t);
  const stop = new AbortController();
  const waiting = assert.rejects(next(server.person().client.events({ signal: stop.signal })), { name: "AbortError" });
  stop.abort();
  await waiting;
  await assert.rejects(next(new Client({ url: server.url, token: "chk_wrong" }).events()), UnauthenticatedError);
});
