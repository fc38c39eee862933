/**
 * Checkpoints for workers written in TypeScript or JavaScript: how far a worker may go alone, and a durable place where its work
 * waits for a person. Everything is a thin face of a Checkrein server (`checkrein serve`).
 */

export { AutonomyConfig, AutonomyLevel, shouldCheckpoint } from "./levels.js";
export { type Checkpoint, CheckpointStatus, passes } from "./checkpoint.js";
export { CheckpointStore, type Filter, type Handed, type VerdictOptions, type WaitOptions } from "./store.js";
export { AutoApproveReviewer, type CheckpointHandler, PendingReviewer } from "./reviewer.js";
export { Client, type ClientOptions, type CheckreinEvent, type RequestOptions, type Subject } from "./client.js";
export * from "./errors.js";
