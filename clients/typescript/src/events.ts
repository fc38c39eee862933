/** Server-sent events, and how a reader comes back without missing one. */

import type { CheckreinEvent } from "./client.js";
import { ProblemError } from "./errors.js";
import { backoffMs, pause, read, signals, type Transport } from "./transport.js";

/** The server gives a sign of life every 15 seconds; who is silent for so long is gone. */
const SILENCE_MAX_MS = 45_000;

/** Ends only with a refusal that will not pass by itself, such as a token that was revoked, or when `signal` says so. */
export async function* listen(
  transport: Transport,
  path: string,
  after: number | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<CheckreinEvent> {
  let lastId = after === undefined ? undefined : String(after);
  for (let tried = 1; ; tried++) {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastId !== undefined) headers["Last-Event-ID"] = lastId;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
    // INVARIANT: what the caller throws into the generator never comes here, since nothing is caught around a yield.
    const lines = linesOf(transport, transport.request("GET", path, { headers }), signals(signal, silence.signal));
    const parser = new Parser();
    try {
      for (;;) {
        const line = await next(lines);
        if (line === undefined) break;
        timer = (clearTimeout(timer), setTimeout(() => silence.abort(), SILENCE_MAX_MS));
        const event = parser.feed(line);
        lastId = parser.lastId ?? lastId;
        tried = 0;
        if (event !== undefined) yield event;
      }
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
    await pause(backoffMs(Math.max(tried, 1)), signal);
    signal?.throwIfAborted();
  }

  /** Undefined where the connection was lost or ended. */
  async function next(lines: AsyncGenerator<string>): Promise<string | undefined> {
    try {
      const { value, done } = await lines.next();
      return done ? undefined : value;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ProblemError && error.status !== 429 && error.status !== 503) throw error;
      return undefined;
    }
  }
}

async function* linesOf(transport: Transport, request: Request, signal: AbortSignal): AsyncGenerator<string> {
  const response = await transport.open(request, signal);
  if (!response.ok) await read(response);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of response.body ?? []) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Lines in, events out. */
export class Parser {
  /** Of the last event that arrived as a whole: one that was cut off is to come again. */
  lastId: string | undefined;
  #id: string | undefined;
  #data: string[] = [];

  feed(raw: string): CheckreinEvent | undefined {
    const line = raw.replace(/\r$/, "");
    if (line === "") {
      const data = this.#data;
      this.#data = [];
      this.lastId = this.#id;
      return data.length === 0 ? undefined : (JSON.parse(data.join("\n")) as CheckreinEvent);
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    return undefined;
  }
}
