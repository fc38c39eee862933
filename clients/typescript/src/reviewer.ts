/** What is asked at a checkpoint: a reviewer that approves, one that leaves it to a person, or your own. */

import { createHash } from "node:crypto";

import { type Checkpoint, CheckpointStatus, passes } from "./checkpoint.js";
import { CheckpointRejectedError, ForbiddenError } from "./errors.js";
import { CheckpointStore } from "./store.js";

/**
 * `true`: the worker continues. `false`: it pauses. A reviewer that cannot do its work throws, and the worker pauses as well.
 */
export interface CheckpointHandler {
  onCheckpoint(workerName: string, phase: string, deliverable: unknown): Promise<boolean>;
}

/** As the server says it of its own automatic reviewer. */
const AUTOMATIC = "approved automatically";

/**
 * Approves everything, and has the server record what it approved and that nobody looked (C11).
 *
 * Where the server's settings say `reviewer: auto-approve` for the worker, or ask for no approval, any token will do. Otherwise the
 * verdict takes a reviewer's token: an agent's is refused with `ForbiddenError`, and the checkpoint waits for a person.
 */
export class AutoApproveReviewer implements CheckpointHandler {
  constructor(readonly store: CheckpointStore = new CheckpointStore()) {}

  async onCheckpoint(workerName: string, phase: string, deliverable: unknown): Promise<boolean> {
    const asked = await this.store.create({ deliverable, workerName, phase });
    if (asked.status !== CheckpointStatus.PENDING) return passed(asked);
    try {
      return passed(await this.store.approve(asked.id, AUTOMATIC, { digest: asked.digest }));
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      const hint = `set \`reviewer: auto-approve\` for worker \`${workerName}\` on the server`;
      throw new ForbiddenError(error.status, { ...error.problem, hint });
    }
  }
}

/**
 * Leaves the answer to a person: a checkpoint waits in the store, and the worker pauses.
 *
 * With a `key` for the piece of work, the same question asked again, after a restart too, is the same checkpoint (C10): `true` once
 * it was approved, `CheckpointRejectedError` if it was rejected (C9). Without one every call is a new question. It is `true` at
 * once only where the server's policy asks for no approval.
 */
export class PendingReviewer implements CheckpointHandler {
  readonly #key: string | undefined;

  constructor(
    readonly store: CheckpointStore = new CheckpointStore(),
    options: { key?: string } = {},
  ) {
    this.#key = options.key;
  }

  async onCheckpoint(workerName: string, phase: string, deliverable: unknown): Promise<boolean> {
    const handed = { deliverable, workerName, phase };
    if (this.#key === undefined) return passed(await this.store.create(handed));
    return passed(await this.store.submit(`${this.#key}-${digest([workerName, phase, deliverable])}`, handed));
  }
}

/** Pending and rejected are told apart: one pauses, the other throws. */
function passed(checkpoint: Checkpoint): boolean {
  if (passes(checkpoint.status)) return true;
  if (checkpoint.status === CheckpointStatus.PENDING) return false;
  throw new CheckpointRejectedError(checkpoint.id, checkpoint.status, checkpoint.reason);
}

function digest(parts: unknown): string {
  const text = JSON.stringify(parts, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("hex") };
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
