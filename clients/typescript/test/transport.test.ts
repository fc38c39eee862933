/** What is sent again, and what is not: against a server that fails on purpose. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";

import { CheckpointStore, Client, InvalidError, ProblemError, ServerError, UnavailableError, UnreachableError } from "checkrein";

const HANDED = { deliverable: "draft", workerName: "w" };
const CHECKPOINT = {
  id: "c",
  status: "pending",
  worker: "w",
  worker_name: "w",
  phase: "",
  type: "deliverable",
  digest: "d",
  created_at: "2026-03-01T12:00:00.123456789Z",
  rejection_reason: "",
};

/** Answers with what is in `script`, then well; 0 is a connection that is closed without an answer. */
async function failing(t: TestContext, script: number[], retryForMs = 20_000) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    keys.push(request.headers["idempotency-key"] as string | undefined);
    const status = script.shift() ?? 200;
    if (status === 0) return void request.socket.destroy();
    const problem = status === 409 ? { type: "urn:checkrein:problem:idempotency-key-in-use" } : {};
    const type = status === 200 ? "application/json" : "application/problem+json";
    response.writeHead(status, {
      "Content-Type": type,
      ...(status === 503 ? { "Retry-After": "0" } : {}),
      ...(status === 302 ? { Location: "/elsewhere" } : {}),
    });
    response.end(JSON.stringify(status === 200 ? CHECKPOINT : problem));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client({ url, token: "chk_x", retryForMs });
  return { keys, client, store: new CheckpointStore(client) };
}

test("a question is sent again under the same key", async (t) => {
  const { keys, store } = await failing(t, [0, 503, 409, 429]);
  const made = await store.create(HANDED);
  assert.equal(made.createdAt.toISOString(), "2026-03-01T12:00:00.123Z");
  assert.equal(keys.length, 5);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
  await store.create(HANDED);
  assert.equal(new Set(keys).size, 2);
});

test("reading is sent again", async (t) => {
  const { keys, store } = await failing(t, [0, 503]);
  await store.show("c");
  assert.equal(keys.length, 3);
});

test("a change without a key is sent once", async (t) => {
  const { keys, client } = await failing(t, [0, 503]);
  await assert.rejects(client.request("POST", "/v1/tokens", { body: {} }), UnreachableError);
  await assert.rejects(client.request("POST", "/v1/tokens", { body: {} }), UnavailableError);
  assert.equal(keys.length, 2);
});

test("a refusal is final", async (t) => {
  const { keys, store } = await failing(t, [400, 500]);
  await assert.rejects(store.create(HANDED), InvalidError);
  await assert.rejects(store.create(HANDED), (error) => error instanceof ServerError && error.message === "the server answered 500");
  assert.equal(keys.length, 2);
});

test("trying again has an end", async (t) => {
  const { keys, client } = await failing(t, Array<number>(50).fill(503), 300);
  await assert.rejects(client.request("GET", "/readyz"), UnavailableError);
  assert(keys.length > 1 && keys.length < 50);
});

test("a redirect is not followed with the token", async (t) => {
  const { keys, client } = await failing(t, [302]);
  await assert.rejects(client.request("GET", "/v1/runs"), (error) => error instanceof ProblemError && error.status === 302);
  assert.equal(keys.length, 1);
});

test("an answer that is no checkpoint lets nobody pass", async () => {
  for (const answer of [null, "<html>", [], {}, { status: "approved" }, { ...CHECKPOINT, status: "blessed" }]) {
    class Odd extends Client {
      override request = (): Promise<unknown> => Promise.resolve(answer);
    }
    const store = new CheckpointStore(new Odd({ url: "http://127.0.0.1:1", token: "chk_x" }));
    for (const call of [() => store.wait("c"), () => store.show("c"), () => store.isApproved("c")]) {
      await assert.rejects(call, /no checkpoint this package knows/);
    }
  }
});

test("an event that was cut off comes again", async (t) => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers["last-event-id"] as string | undefined);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (asked.length > 1) return void response.end('id: 2\r\ndata: {"position":\r\ndata: 2}\r\n\r\n');
    response.write('retry: 1000\nid: 1\n\n: alive\n\nid: 2\ndata: {"pos', () => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for await (const event of new Client({ url, token: "chk_x" }).events()) {
    assert.deepEqual(event, { position: 2 });
    break;
  }
  assert.deepEqual(asked, [undefined, "1"]);
});
