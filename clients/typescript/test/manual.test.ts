/** Every TypeScript block of the manuals runs, durable: against a server with the settings the manual shows. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { AutoApproveReviewer, type Checkpoint, CheckpointStatus, CheckpointStore, Client, ForbiddenError } from "checkrein";

import { Server } from "./server.js";

const PROGRAMS = fileURLToPath(new URL("../build/manual/", import.meta.url));
const MANUAL = readFileSync(new URL("../../../../../docs/clients.md", import.meta.url), "utf8");
const DECIDES = /^\s*await store\.(?:approve|reject|clear)\(|new AutoApproveReviewer\(/m;

const programs = readdirSync(PROGRAMS).filter((name) => name.endsWith(".js"));
const source = (name: string): string => readFileSync(join(PROGRAMS, name), "utf8");

function block(language: string): string {
  const found = [...MANUAL.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))];
  assert.equal(found.length, 1);
  return found[0]?.[1] ?? "";
}

function settings(t: TestContext): Promise<Server> {
  const server = Server.idle(t);
  writeFileSync(join(server.directory, "tenant.yaml"), block("yaml"));
  const variables = [...block("bash").matchAll(/^export (\w+)=(\w+)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  assert.deepEqual(variables, [["DWORKERS_DEFAULT_AUTONOMY", "semi_supervised"]]);
  return server.start(["--tenant", "tenant.yaml"], Object.fromEntries(variables));
}

async function run(name: string, url: string, token: string): Promise<void> {
  const env = { ...process.env, CHECKREIN_URL: url, CHECKREIN_TOKEN: token };
  await promisify(execFile)(process.execPath, [join(PROGRAMS, name)], { env, timeout: 120_000 });
}

async function all(list: AsyncIterable<Checkpoint>): Promise<Checkpoint[]> {
  const found = [];
  for await (const one of list) found.push(one);
  return found;
}

for (const name of programs.filter((name) => name.startsWith("manual"))) {
  test(`${name} runs`, async (t) => {
    const server = await settings(t);
    await run(name, server.url, server.token("reviewer", "reviewer"));
  });
}

const deciding = programs.filter((name) => DECIDES.test(source(name)));
test("some of the manual decides", () => assert(deciding.length >= 4, deciding.join()));

for (const name of deciding) {
  test(`${name} approves nothing with an agent's token`, async (t) => {
    const server = await settings(t);
    const token = server.token("agent", "agent");
    await assert.rejects(run(name, server.url, token), /ForbiddenError/);
    const left = await all(new CheckpointStore(new Client({ url: server.url, token })).list());
    assert.deepEqual(new Set(left.map((one) => one.status)), new Set([CheckpointStatus.PENDING]));
  });
}

test("what the store of the manual leaves behind", async (t) => {
  const server = await settings(t);
  const [name] = programs.filter((name) => source(name).includes("store.clear()"));
  assert(name !== undefined);
  await run(name, server.url, server.token("reviewer", "reviewer"));
  const left = (await all(server.person().list())).map((one) => one.status);
  assert.deepEqual(left, ["withdrawn", "approved", "rejected"]);
});

test("an automatic approval is recorded as one, and an agent's takes the server's word", async (t) => {
  const server = Server.idle(t);
  const tenant = "workers:\n  importer: { autonomy: manual, reviewer: auto-approve }\n";
  writeFileSync(join(server.directory, "tenant.yaml"), tenant);
  await server.start(["--tenant", "tenant.yaml"]);
  const [worker, person] = [server.worker(), server.person()];
  assert.equal(await new AutoApproveReviewer(person).onCheckpoint("analyst", "report", "draft"), true);
  assert.equal(await new AutoApproveReviewer(worker).onCheckpoint("importer", "report", "draft"), true);
  await assert.rejects(
    new AutoApproveReviewer(worker).onCheckpoint("analyst", "report", "draft"),
    (error) => error instanceof ForbiddenError && /hint: set `reviewer: auto-approve` for worker `analyst`/.test(error.message),
  );
  const left = (await all(person.list())).map((one) => [one.workerName, one.status, one.reason, one.resolvedBy]);
  assert.deepEqual(left, [
    ["analyst", "approved", "approved automatically", "ann"],
    ["importer", "approved", "approved automatically", "auto-approve"],
    ["analyst", "pending", "", null],
  ]);
});

test("the readme runs with an agent's token once somebody approved", async (t) => {
  const server = await settings(t);
  const running = run("readme-1.js", server.url, server.token("agent", "writer"));
  const person = server.person();
  let pending: Checkpoint[] = [];
  while (pending.length === 0) pending = await person.listPending();
  await person.approve("report-7");
  await running;
});
