// What can go wrong, as a value: AssemblyScript has no exceptions.
import { Kind, kindName } from "./host";

/** An error with a kind. */
export class Failure {
  /** The message is for a person: one line, in lower case, without a period. */
  constructor(public readonly kind: Kind, public readonly message: string) {}

  toString(): string {
    return kindName(this.kind) + ": " + this.message;
  }
}

/** Makes the error that a tool returns. */
export function fail(kind: Kind, message: string): Failure {
  return new Failure(kind, message);
}

/** A value, or the failure that stands for it. Look at `failure` before `value`. */
export class Result<T> {
  constructor(private readonly held: T, public readonly failure: Failure | null) {}

  /** Whether there is a value. */
  get ok(): bool {
    return this.failure === null;
  }

  /** The value. To ask for one that is not there ends the call. */
  get value(): T {
    const failure = this.failure;
    if (failure !== null) throw new Error(failure.toString());
    return this.held;
  }

  /** The value, or another where there is none. */
  or(fallback: T): T {
    return this.failure === null ? this.held : fallback;
  }
}

/** A result with a value. */
export function done<T>(value: T): Result<T> {
  return new Result<T>(value, null);
}

/** A result without one. */
export function failed<T>(failure: Failure): Result<T> {
  if (isReference<T>()) return new Result<T>(changetype<T>(0), failure);
  return new Result<T>(<T>0, failure);
}

/** A value of a field that may be left out: `new Some<f64>(0.5)`, or null. */
export class Some<T> {
  constructor(public readonly value: T) {}
}
