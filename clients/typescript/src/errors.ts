/** Why a worker does not go on. Everything this package throws for a reason of its own is a `CheckpointError`. */

/** Any trouble with a checkpoint, or with asking about one. */
export class CheckpointError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** What a waiting worker gets instead of an approval, with the reason (C9). */
export class CheckpointRejectedError extends CheckpointError {
  constructor(
    readonly id: string,
    /** `rejected`, `changes_requested` or `withdrawn`. */
    readonly status: string,
    readonly reason: string,
  ) {
    super(`checkpoint \`${id}\` is ${status}${reason && `: ${reason}`}`);
  }
}

/** Nobody has answered in time. That is not an answer: wait longer, or leave it for now. */
export class CheckpointPendingError extends CheckpointError {
  constructor(readonly id: string) {
    super(`checkpoint \`${id}\` still waits for a verdict`);
  }
}

/** The server did not answer; a request that may be sent again has been. */
export class UnreachableError extends CheckpointError {}

/** One mistake in a request. */
export interface Fault {
  path: string;
  message: string;
  hint?: string;
}

/** A problem as it is sent. */
export interface Problem {
  type?: string;
  title?: string;
  detail?: string;
  hint?: string;
  errors?: Fault[];
}

const TYPE_PREFIX = "urn:checkrein:problem:";

/** The server refused. `type` never changes, `detail` names the value, `hint` says what to do next. */
export class ProblemError extends CheckpointError {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly hint: string | undefined;
  readonly errors: readonly Fault[];

  constructor(
    readonly status: number,
    readonly problem: Problem,
    /** When it is worth trying again, if the server says so. */
    readonly retryAfterMs?: number,
  ) {
    const detail = problem.detail || problem.title || `the server answered ${status}`;
    const errors = problem.errors ?? [];
    const hints = [problem.hint, ...errors.map((error) => error.hint)].filter((hint) => hint !== undefined);
    super([detail, ...hints].join("\n  hint: "));
    this.type = problem.type ?? "about:blank";
    this.title = problem.title ?? "";
    this.detail = detail;
    this.hint = problem.hint;
    this.errors = errors;
  }

  /** The type without its prefix, such as `already-decided`. */
  get kind(): string {
    return this.type.startsWith(TYPE_PREFIX) ? this.type.slice(TYPE_PREFIX.length) : this.type;
  }

  /** The class for the type; for a type that is newer than this package, the one for the status. */
  static of(status: number, problem: Problem, retryAfterMs?: number): ProblemError {
    const byStatus = BY_STATUS[status] ?? (status >= 500 ? ServerError : ProblemError);
    const kind = BY_KIND[problem.type ?? ""] ?? byStatus;
    return new kind(status, problem, retryAfterMs);
  }
}

/** The request cannot be read, or asks for what cannot be. */
export class InvalidError extends ProblemError {}

/** It takes a valid token. */
export class UnauthenticatedError extends ProblemError {}

/** The role of the token does not allow it; an agent's token gives no verdict, for one. */
export class ForbiddenError extends ProblemError {}

/** There is no such thing, or it is not for this token to see (C4). */
export class NotFoundError extends ProblemError {}

/** What is there says otherwise. */
export class ConflictError extends ProblemError {}

/** The id stands for other content (C6). */
export class OtherContentError extends ConflictError {}

/** It was decided otherwise (C5). */
export class AlreadyDecidedError extends ConflictError {}

/** The verdict is about something else than what waits now. */
export class StaleDigestError extends ConflictError {}

/** Somebody else was there meanwhile. */
export class PreconditionFailedError extends ProblemError {}

/** Too many requests. */
export class RateLimitedError extends ProblemError {}

/** The server failed. */
export class ServerError extends ProblemError {}

/** The server cannot use its store now. */
export class UnavailableError extends ServerError {}

type Kind = new (status: number, problem: Problem, retryAfterMs?: number) => ProblemError;

const BY_KIND: Record<string, Kind> = {
  [`${TYPE_PREFIX}other-content`]: OtherContentError,
  [`${TYPE_PREFIX}already-decided`]: AlreadyDecidedError,
  [`${TYPE_PREFIX}stale-digest`]: StaleDigestError,
};

const BY_STATUS: Record<number, Kind> = {
  400: InvalidError,
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  413: InvalidError,
  415: InvalidError,
  422: InvalidError,
  429: RateLimitedError,
  503: UnavailableError,
};
