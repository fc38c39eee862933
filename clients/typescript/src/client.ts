/** A server, and what can be asked of it beside checkpoints: policies, events, and anything else by `request`. */

import { randomUUID } from "node:crypto";

import { CheckpointError } from "./errors.js";
import { listen } from "./events.js";
import { type Sending, Transport } from "./transport.js";

export interface ClientOptions {
  /** `CHECKREIN_URL` if it is not given, else `http://127.0.0.1:7117`. */
  url?: string;
  /** `CHECKREIN_TOKEN` if it is not given. */
  token?: string;
  /** How long to go on trying to reach the server with what can be said twice; 30 seconds. */
  retryForMs?: number;
  /** How long one try may take; 30 seconds. */
  answerWithinMs?: number;
}

export interface RequestOptions extends Partial<Sending> {
  body?: unknown;
  query?: Record<string, unknown>;
  /** With one, a POST is done once, however often it has to be sent. */
  idempotencyKey?: string;
  ifMatch?: string;
}

/** Whose policy is meant. */
export interface Subject {
  scope?: "workflow" | "worker" | "job";
  worker?: string;
  expert?: string;
}

/** Something that happened; what else it says depends on `event`. */
export interface CheckreinEvent {
  position: number;
  event: string;
  at: string;
  [more: string]: unknown;
}

type Json = Record<string, unknown>;

const URL_DEFAULT = "http://127.0.0.1:7117";

/** One server, as one principal. */
export class Client {
  readonly url: string;
  readonly retryForMs: number;
  readonly answerWithinMs: number;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    const token = (options.token ?? process.env["CHECKREIN_TOKEN"] ?? "").trim();
    if (token === "") {
      const hint = "make one with `checkrein token create --role agent` and set CHECKREIN_TOKEN";
      throw new CheckpointError(`there is no token to ask with\n  hint: ${hint}`);
    }
    this.url = options.url ?? (process.env["CHECKREIN_URL"] || URL_DEFAULT);
    this.retryForMs = options.retryForMs ?? 30_000;
    this.answerWithinMs = options.answerWithinMs ?? 30_000;
    this.#transport = new Transport(this.url, token);
  }

  /**
   * Any route of docs/http.md, such as `request("GET", "/v1/runs")`. A POST is sent again only with an `idempotencyKey`.
   * The answer is JSON, or a text.
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
    const headers: Record<string, string> = {};
    if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
    if (options.ifMatch !== undefined) headers["If-Match"] = options.ifMatch;
    const request = this.#transport.request(method, path, { body: options.body, query: options.query, headers });
    return this.#transport.send(request, {
      retryForMs: options.retryForMs ?? this.retryForMs,
      answerWithinMs: options.answerWithinMs ?? this.answerWithinMs,
      signal: options.signal,
    });
  }

  /** A POST that is done once, however often it has to be sent. */
  postOnce(path: string, body: unknown): Promise<unknown> {
    return this.request("POST", path, { body, idempotencyKey: randomUUID() });
  }

  /** Every item of a list, page by page as they are needed. */
  async *pages(path: string, query: Record<string, unknown>, cursor: "after" | "before" = "after"): AsyncGenerator<Json> {
    let next: unknown = undefined;
    do {
      const asked = next === undefined ? query : { ...query, [cursor]: next };
      const page = (await this.request("GET", path, { query: asked })) as { items: Json[]; next?: number | null };
      yield* page.items;
      next = page.next ?? undefined;
    } while (next !== undefined);
  }

  /** The policy in force. */
  policy(subject: Subject = {}): Promise<Json> {
    return this.request("GET", "/v1/policies", { query: { ...subject } }) as Promise<Json>;
  }

  /** The policy in force, and where each value comes from. */
  explain(subject: Subject = {}): Promise<Json> {
    return this.request("GET", "/v1/policies/explain", { query: { ...subject } }) as Promise<Json>;
  }

  /** What would be decided, with its reasons; the request of `checkrein policy decide`. */
  decide(situation: Json): Promise<Json> {
    // It changes nothing, so the key is there only to say that it may be sent again.
    return this.postOnce("/v1/policies/decide", situation) as Promise<Json>;
  }

  /**
   * What happens, from now on or after a position, without end and without a gap; of one run from its beginning. A connection that
   * is lost is made again where it was.
   */
  events(from: { after?: number; run?: string; signal?: AbortSignal } = {}): AsyncGenerator<CheckreinEvent> {
    const path = from.run === undefined ? "/v1/events" : `/v1/runs/${encodeURIComponent(from.run)}/events`;
    return listen(this.#transport, path, from.after, from.signal);
  }
}
