/** A checkpoint, and how it stands. */

import { createHash } from "node:crypto";

import { CheckpointError } from "./errors.js";

export const CheckpointStatus = {
  PENDING: "pending",
  APPROVED: "approved",
  REJECTED: "rejected",
  CHANGES_REQUESTED: "changes_requested",
  /** What it belonged to was cancelled. */
  WITHDRAWN: "withdrawn",
  /** The policy asked for none; recorded all the same. */
  NOT_REQUIRED: "not_required",
} as const;
export type CheckpointStatus = (typeof CheckpointStatus)[keyof typeof CheckpointStatus];

/** Whether a worker may go on. Everything that is not known to be a yes is a no. */
export function passes(status: CheckpointStatus): boolean {
  return status === CheckpointStatus.APPROVED || status === CheckpointStatus.NOT_REQUIRED;
}

/** A point where a person may have to look. */
export interface Checkpoint {
  readonly id: string;
  readonly workerName: string;
  readonly phase: string;
  /** What to look at: text, bytes or any JSON; null once retention has removed it. */
  readonly deliverable: unknown;
  readonly status: CheckpointStatus;
  /** Empty unless it was rejected. */
  readonly rejectionReason: string;
  readonly createdAt: Date;
  readonly resolvedAt: Date | null;
  /** What kind of point it is, such as `deliverable`. */
  readonly type: string;
  /** The SHA-256 of the deliverable; a verdict may be bound to it. */
  readonly digest: string;
  /** What was said with the verdict, whichever it was. */
  readonly reason: string;
  readonly resolvedBy: string | null;
}

/** As the server sends it. */
export interface SentCheckpoint {
  id: string;
  status: CheckpointStatus;
  worker_name: string;
  phase: string;
  type: string;
  digest: string;
  created_at: string;
  resolved_at?: string | null;
  reason?: string | null;
  rejection_reason: string;
  resolved_by?: string | null;
  deliverable?: unknown;
}

/** Of what the server sent; `deliverable` where the answer leaves it out and the caller knows it. */
export function received(sent: unknown, deliverable: unknown = null): Checkpoint {
  // Whatever stands between may answer; nothing but a checkpoint lets a worker pass.
  if (!isCheckpoint(sent)) throw new CheckpointError("the server's answer is no checkpoint this package knows");
  return {
    id: sent.id,
    workerName: sent.worker_name,
    phase: sent.phase,
    deliverable: "deliverable" in sent ? fromWire(sent.deliverable, sent.digest) : deliverable,
    status: sent.status,
    rejectionReason: sent.rejection_reason,
    createdAt: new Date(sent.created_at),
    resolvedAt: sent.resolved_at ? new Date(sent.resolved_at) : null,
    type: sent.type,
    digest: sent.digest,
    reason: sent.reason ?? "",
    resolvedBy: sent.resolved_by ?? null,
  };
}

export function toWire(deliverable: unknown): { deliverable: unknown } | { deliverable_base64: string } {
  if (deliverable instanceof Uint8Array) return { deliverable_base64: Buffer.from(deliverable).toString("base64") };
  return { deliverable };
}

/** Bytes are sent as `{"base64": …}`; the digest tells them from a JSON that only looks so. */
function fromWire(deliverable: unknown, digest: string): unknown {
  if (typeof deliverable !== "object" || deliverable === null || Object.keys(deliverable).join() !== "base64") return deliverable;
  const { base64 } = deliverable as { base64: unknown };
  const bytes = Buffer.from(String(base64), "base64");
  return createHash("sha256").update(bytes).digest("hex") === digest ? new Uint8Array(bytes) : deliverable;
}

const STATUSES: readonly unknown[] = Object.values(CheckpointStatus);
const TEXTS = ["id", "worker_name", "phase", "type", "digest", "created_at", "rejection_reason"] as const;

function isCheckpoint(sent: unknown): sent is SentCheckpoint {
  if (typeof sent !== "object" || sent === null) return false;
  const fields = sent as Record<string, unknown>;
  return STATUSES.includes(fields["status"]) && TEXTS.every((name) => typeof fields[name] === "string");
}
