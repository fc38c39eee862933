/** Where checkpoints are kept. */

import { type Checkpoint, CheckpointStatus, passes, received, toWire } from "./checkpoint.js";
import { Client } from "./client.js";
import {
  CheckpointError,
  CheckpointPendingError,
  CheckpointRejectedError,
  ConflictError,
  NotFoundError,
} from "./errors.js";
import { backoffMs, pause } from "./transport.js";

/** What a worker hands in. */
export interface Handed {
  /** Text, bytes (`Uint8Array`) or any JSON but null, up to 16 MiB. */
  deliverable: unknown;
  workerName: string;
  phase?: string;
  /** `deliverable` unless it is said otherwise. */
  checkpointType?: string;
}

export interface Filter {
  status?: CheckpointStatus;
  workerName?: string;
  phase?: string;
  checkpointType?: string;
  run?: string;
}

export interface VerdictOptions {
  /** The verdict counts only for this content. */
  digest?: string;
  /** Also approves what no view shows, such as bytes. */
  confirmed?: boolean;
}

export interface WaitOptions {
  /** For ever unless it is given. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** So long the server is asked to wait at once; it would not wait longer than a minute. */
const POLL_MAX_MS = 50_000;

/**
 * Checkpoints that survive this process, the server's process and the machine.
 *
 * What it may do is up to the token: an agent's asks, waits and sees its own; a reviewer's sees everything and decides.
 */
export class CheckpointStore {
  constructor(readonly client: Client = new Client()) {}

  /** A new checkpoint, with an id made for it. It waits if the worker's policy on the server says so. */
  create(handed: Handed): Promise<Checkpoint> {
    return this.#ask({}, handed);
  }

  /**
   * The same under an id of the worker's own. Submitted again with the same content it is the checkpoint that is there, answer
   * included, so a restarted worker passes (C10); other content is a conflict (C6).
   */
  async submit(id: string, handed: Handed): Promise<Checkpoint> {
    path(id);
    return this.#ask({ id }, handed);
  }

  /** Undefined if nobody knows the id (C4). */
  async get(id: string): Promise<Checkpoint | undefined> {
    try {
      return await this.show(id);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** As `get`, but an id that nobody knows is a `NotFoundError`. */
  async show(id: string): Promise<Checkpoint> {
    return received(await this.client.request("GET", path(id)));
  }

  isPending(id: string): Promise<boolean> {
    return this.#is(id, CheckpointStatus.PENDING);
  }

  isApproved(id: string): Promise<boolean> {
    return this.#is(id, CheckpointStatus.APPROVED);
  }

  isRejected(id: string): Promise<boolean> {
    return this.#is(id, CheckpointStatus.REJECTED);
  }

  /**
   * Waits until somebody approves, for `timeoutMs` or for ever, also while the server is away.
   *
   * Everything else is an error: a rejection with its reason (C9), and no answer in time, which is never an approval.
   */
  async wait(id: string, { timeoutMs = Infinity, signal }: WaitOptions = {}): Promise<Checkpoint> {
    const deadline = performance.now() + timeoutMs;
    for (let early = 0; ; ) {
      const began = performance.now();
      const leftMs = Math.max(0, deadline - began);
      const pollMs = Math.min(leftMs, POLL_MAX_MS);
      const sent = await this.client.request("GET", path(id, "wait"), {
        query: { timeout: `${Math.floor(pollMs)}ms` },
        retryForMs: leftMs,
        answerWithinMs: pollMs + this.client.answerWithinMs,
        signal,
      });
      const checkpoint = received(sent);
      if (passes(checkpoint.status)) return checkpoint;
      if (checkpoint.status !== CheckpointStatus.PENDING) throw new CheckpointRejectedError(id, checkpoint.status, checkpoint.reason);
      if (performance.now() >= deadline) throw new CheckpointPendingError(id);
      // A server that is ending answers at once; it is given time to come back.
      early = performance.now() - began < pollMs / 2 ? early + 1 : 0;
      if (early > 0) await pause(Math.min(backoffMs(early), leftMs), signal);
    }
  }

  /** In creation order (C7), without deliverables; `show` gives one with it. */
  async *list(filter: Filter = {}): AsyncGenerator<Checkpoint> {
    const { status, workerName: worker, phase, checkpointType: type, run } = filter;
    for await (const sent of this.client.pages("/v1/checkpoints", { status, worker, phase, type, run })) yield received(sent);
  }

  /** What waits, in creation order (C7), with deliverables. */
  async listPending(): Promise<Checkpoint[]> {
    const waiting: Checkpoint[] = [];
    for await (const { id } of this.list({ status: CheckpointStatus.PENDING })) {
      const checkpoint = await this.get(id);
      // Between the list and the look somebody may have answered.
      if (checkpoint?.status === CheckpointStatus.PENDING) waiting.push(checkpoint);
    }
    return waiting;
  }

  /** Approves, or finds that it was approved before; a conflict if it was decided otherwise (C5). */
  approve(id: string, reason?: string, options?: VerdictOptions): Promise<Checkpoint> {
    return this.#decide(id, "approve", reason, options);
  }

  /** Rejects, or finds that it was rejected before; a conflict if it was decided otherwise (C5). */
  reject(id: string, reason: string, options?: VerdictOptions): Promise<Checkpoint> {
    return this.#decide(id, "reject", reason, options);
  }

  /** Asks for changes, and says which. */
  requestChanges(id: string, reason: string, options?: VerdictOptions): Promise<Checkpoint> {
    return this.#decide(id, "request_changes", reason, options);
  }

  /** Takes back a checkpoint you made; an admin may take back anybody's. The hold of a run is a conflict: cancel the run. */
  async withdraw(id: string, reason?: string): Promise<Checkpoint> {
    return received(await this.client.postOnce(path(id, "withdraw"), { reason }));
  }

  /** Withdraws what workers wait for. For tests: what others made takes an admin's token, and holds of runs stay. */
  async clear(): Promise<void> {
    for (const { id } of await this.listPending()) {
      try {
        await this.withdraw(id, "cleared");
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  }

  async #ask(key: { id?: string }, handed: Handed): Promise<Checkpoint> {
    const asked = { ...key, worker: handed.workerName, phase: handed.phase, type: handed.checkpointType };
    const made = await this.client.postOnce("/v1/checkpoints", { ...asked, ...toWire(handed.deliverable) });
    return received(made, handed.deliverable);
  }

  async #decide(id: string, verdict: string, reason?: string, options: VerdictOptions = {}): Promise<Checkpoint> {
    return received(await this.client.postOnce(path(id, "verdict"), { verdict, reason, digest: options.digest, confirmed: options.confirmed }));
  }

  async #is(id: string, status: CheckpointStatus): Promise<boolean> {
    return (await this.get(id))?.status === status;
  }
}

function path(id: string, ...rest: string[]): string {
  if (id === "" || id === "." || id === "..") throw new CheckpointError(`\`${id}\` cannot be part of an address; take another id`);
  return ["/v1/checkpoints", encodeURIComponent(id), ...rest].join("/");
}
