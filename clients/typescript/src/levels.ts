/** Levels, and the checkpoint types at which a worker holds. */

import { Client } from "./client.js";
import { CheckpointError } from "./errors.js";

/** How far a worker may go without a person. */
export const AutonomyLevel = {
  MANUAL: "manual",
  SEMI_SUPERVISED: "semi_supervised",
  AUTONOMOUS: "autonomous",
} as const;
export type AutonomyLevel = (typeof AutonomyLevel)[keyof typeof AutonomyLevel];

const LEVELS: readonly string[] = Object.values(AutonomyLevel);
const CHECKPOINT_TYPES_DEFAULT: readonly string[] = ["phase_transition", "deliverable", "final_output"];

/**
 * A level, and the types at which a semi-supervised worker holds. A set replaces the default; types are case-sensitive, and any
 * string is one (C1).
 */
export class AutonomyConfig {
  readonly level: AutonomyLevel;
  readonly checkpointTypes: ReadonlySet<string>;

  constructor(settings: { level?: AutonomyLevel; checkpointTypes?: Iterable<string> } = {}) {
    const level: string = settings.level ?? AutonomyLevel.SEMI_SUPERVISED;
    if (!isLevel(level)) {
      const words = LEVELS.map((word) => `\`${word}\``).join(", ");
      throw new CheckpointError(`unknown AutonomyLevel \`${level}\`, expected one of ${words}`);
    }
    if (typeof settings.checkpointTypes === "string") {
      throw new CheckpointError(`\`checkpointTypes\` takes a set, not the text \`${settings.checkpointTypes}\``);
    }
    this.level = level;
    this.checkpointTypes = new Set(settings.checkpointTypes ?? CHECKPOINT_TYPES_DEFAULT);
  }

  /**
   * What the server's settings say about a worker: its entry, else the default of all (C2).
   *
   * A policy that says more than a level can is refused rather than cut down to one; ask the server at every point then, with
   * `CheckpointStore.create`.
   */
  static async ofWorker(worker: string, client: Client = new Client()): Promise<AutonomyConfig> {
    const { policy } = (await client.explain({ scope: "worker", worker })) as unknown as { policy: WorkerPolicy };
    const { level, checkpoint_types: types } = policy;
    const levels: Record<string, string[]> = { manual: ["*"], autonomous: [], semi_supervised: types };
    const holds = JSON.stringify((levels[level ?? ""] ?? []).map((on) => ({ on })));
    const more = Object.keys(policy.overrides).length > 0 || policy.require_approval_for.length > 0;
    if (level === null || !isLevel(level) || JSON.stringify(policy.hold_at) !== holds || more) {
      throw new CheckpointError(`the policy of worker \`${worker}\` says more than an autonomy level can`);
    }
    return new AutonomyConfig({ level, checkpointTypes: types });
  }

  /** Whether a worker with these settings holds at a checkpoint of this type. */
  shouldCheckpoint(checkpointType: string): boolean {
    if (this.level === AutonomyLevel.SEMI_SUPERVISED) return this.checkpointTypes.has(checkpointType);
    return this.level === AutonomyLevel.MANUAL;
  }
}

/** The same with the default types. The server is asked nothing: it decides again when work is handed in. */
export function shouldCheckpoint(level: AutonomyLevel, checkpointType: string): boolean {
  return new AutonomyConfig({ level }).shouldCheckpoint(checkpointType);
}

interface WorkerPolicy {
  level: string | null;
  checkpoint_types: string[];
  hold_at: { on: string }[];
  overrides: object;
  require_approval_for: string[];
}

function isLevel(word: string): word is AutonomyLevel {
  return LEVELS.includes(word);
}
