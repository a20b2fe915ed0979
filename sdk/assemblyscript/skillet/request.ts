// How a request is answered.
import { Kind, kindOf, response_read } from "./host";
import { read, Reader } from "./json";
import { Failure } from "./result";

/** What a host function answered: its data and its body, or a failure. */
export class Answer {
  constructor(public readonly meta: Reader | null, public readonly body: Uint8Array, public readonly failure: Failure | null) {}
}

/** Takes over the response to what was just called. Every error begins with subject: the operation and what it is about. */
export function answerTo(subject: string, both: i64): Answer {
  const json = new Uint8Array(<i32>(both >>> 32)), body = new Uint8Array(<i32>both);
  response_read(json.dataStart, body.dataStart);
  const meta = read(json);
  if (meta === null) return new Answer(null, body, malformed(subject, "it is no object"));
  if (!meta.has("error")) return new Answer(meta, body, null);
  const failure = meta.child("error");
  return new Answer(null, body, new Failure(kindOf(failure.text("kind")), subject + ": " + failure.text("message")));
}

/** The failure for a response that is not as it should be. */
export function malformed(subject: string, why: string): Failure {
  return new Failure(Kind.Io, subject + ": the host sent a malformed response: " + why);
}
