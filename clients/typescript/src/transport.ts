/** One request and its answer over HTTP, sent again where that is harmless. */

import { setTimeout as sleep } from "node:timers/promises";

import { CheckpointError, type Problem, ProblemError, UnreachableError } from "./errors.js";

export interface Sending {
  /** How long to go on trying, if it may be sent again. */
  retryForMs: number;
  /** How long one try may take. */
  answerWithinMs: number;
  signal?: AbortSignal | undefined;
}

/** Refusals that say: not now. */
const STATUSES_LATER = [429, 503];
const KIND_LATER = "idempotency-key-in-use";

const DELAY_FIRST_MS = 100;
const DELAY_MAX_MS = 5_000;

/** Speaks to one server. Redirects are not followed: the token goes to the server that was named. */
export class Transport {
  readonly #base: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    if (!/^https?:\/\/./.test(url) || !URL.canParse(url)) {
      throw new CheckpointError(`\`${url}\` is no address of a server\n  hint: such as http://127.0.0.1:7117`);
    }
    this.#base = url.replace(/\/+$/, "");
    this.#token = token;
  }

  request(method: string, path: string, asked: Asked = {}): Request {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    const search = query.size === 0 ? "" : `?${query}`;
    const headers = new Headers({ Authorization: `Bearer ${this.#token}`, Accept: "application/json", ...asked.headers });
    const init: RequestInit = { method, headers, redirect: "manual" };
    if (asked.body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(asked.body);
    }
    return new Request(this.#base + path + search, init);
  }

  /** Sends until there is an answer, for at most `retryForMs`; problems are thrown. */
  async send(request: Request, how: Sending): Promise<unknown> {
    const deadline = performance.now() + how.retryForMs;
    for (let tried = 1; ; tried++) {
      let failure: CheckpointError;
      let atLeastMs = 0;
      try {
        return await read(await this.open(request, signals(how.signal, AbortSignal.timeout(Math.ceil(how.answerWithinMs)))));
      } catch (error) {
        how.signal?.throwIfAborted();
        if (error instanceof ProblemError) {
          if (!STATUSES_LATER.includes(error.status) && error.kind !== KIND_LATER) throw error;
          failure = error;
          atLeastMs = error.retryAfterMs ?? 0;
        } else if (error instanceof CheckpointError) {
          throw error;
        } else {
          failure = new UnreachableError(`no answer from ${this.#base}: ${because(error)}`, { cause: error });
        }
      }
      const delayMs = Math.max(backoffMs(tried), atLeastMs);
      if (!repeatable(request) || performance.now() + delayMs > deadline) throw failure;
      await pause(delayMs, how.signal);
    }
  }

  /** Sends once and gives the response unread. */
  open(request: Request, signal: AbortSignal): Promise<Response> {
    return fetch(request.clone(), { signal });
  }
}

export interface Asked {
  body?: unknown;
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, string>;
}

/** The value of an answer; for what is not JSON, the text. */
export async function read(response: Response): Promise<unknown> {
  const mediaType = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim() ?? "";
  const text = await response.text();
  if (response.ok) return mediaType.endsWith("json") && text !== "" ? parsed(text) : text;
  const problem = mediaType === "application/problem+json" ? parsed(text) : {};
  const after = response.headers.get("retry-after") ?? "";
  const afterMs = /^\d+$/.test(after) ? Number(after) * 1000 : undefined;
  throw ProblemError.of(response.status, (problem ?? {}) as Problem, afterMs);
}

/** Twice as long each time, and never the same for two clients that were cut off together. */
export function backoffMs(tried: number): number {
  return (0.5 + Math.random() / 2) * Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** Math.min(tried - 1, 16));
}

export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** Either of two; what is absent never aborts. */
export function signals(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other]);
}

/** Only what changes nothing or has a key is sent again. */
function repeatable(request: Request): boolean {
  return request.method === "GET" || request.method === "HEAD" || request.headers.has("Idempotency-Key");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CheckpointError(`the server's answer cannot be read: ${because(error)}`, { cause: error });
  }
}

function because(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
