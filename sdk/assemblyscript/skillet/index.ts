/**
 * The guest side of a Skillet skill in AssemblyScript: it reads the input of a tool call, writes its output or error,
 * and calls the functions the host offers (files, HTTP, key-value state, secrets, log, notifications, other skills,
 * models). Nothing but the compiler's own library is used.
 *
 *     import { fail, Failure, Kind, Reader, tool, Writer } from "./skillet";
 *
 *     function hello(input: Reader, output: Writer): Failure | null {
 *       const name = input.text("name");
 *       if (input.failure !== null) return input.failure;
 *       if (name == "") return fail(Kind.Invalid, "name: must not be empty");
 *       output.text("greeting", "Hello, " + name);
 *       return null;
 *     }
 *
 *     export function greet(): i32 {
 *       return tool(hello);
 *     }
 *
 * Each exported function is a tool. A module imports only the host functions it uses, so its imports say what it can
 * ask for. In asconfig.json, "use": ["abort=skillet/index/onAbort"] keeps it free of other imports.
 */
import * as host from "./host";
import { Kind, kindName, Level } from "./host";
import { parse, read, Reader, Type, Value, Writer } from "./json";
import { done, fail, failed, Failure, Result, Some } from "./result";

export * from "./host";
export { done, fail, failed, Failure, Kind, Level, parse, read, Reader, Result, Some, Type, Value, Writer };

/**
 * Runs a tool: it is given the input, decoded, and writes the members of its output. What it returns is the error of
 * the call, or null. A member of the input that was read with another type than it has is an error, too.
 */
export function tool(run: (input: Reader, output: Writer) => Failure | null): i32 {
  const given = input();
  const reader = read(given);
  if (reader === null) {
    const other = parse(given);
    return report(fail(Kind.Invalid, other === null ? "input: not valid JSON" : "input: must be an object, not " + other.called()));
  }
  const writer = new Writer();
  let failure = run(reader, writer);
  if (failure === null) failure = reader.failure;
  if (failure !== null) return report(failure);
  output(writer.finish());
  return 0;
}

/** Tells the host of an error, and returns what an exported function has to return. */
export function report(failure: Failure): i32 {
  const kind = bytesOf(kindName(failure.kind)), message = bytesOf(failure.message);
  host.error_write(kind.dataStart, kind.length, message.dataStart, message.length);
  return 1;
}

/** Returns the whole input of the call as it is. */
export function input(): Uint8Array {
  const all = new Uint8Array(<i32>host.input_length());
  host.input_read(all.dataStart, 0, all.length);
  return all;
}

/** Appends to the output of the call. The host ends the call when it grows past its limit. */
export function output(bytes: Uint8Array): void {
  host.output_write(bytes.dataStart, bytes.length);
}

const FAILED = memory.data<u8>([0x66, 0x61, 0x69, 0x6c, 0x65, 0x64]); // "failed"
const WHY_BYTES = 256;
const WHY = memory.data(WHY_BYTES);
let aborting = false;

/** Ends the call when the program gave up, such as with `throw` or for want of memory, and says why. */
export function onAbort(message: string | null, file: string | null, line: u32, column: u32): void {
  if (!aborting) { // Writing numbers takes memory, of which there may be none.
    aborting = true;
    let n = why(0, message === null || message.length == 0 ? "the program gave up" : message);
    if (file !== null) {
      n = why(n, " at ");
      n = why(n, file);
      n = why(n, ":" + line.toString() + ":" + column.toString());
    }
    host.error_write(FAILED, 6, WHY, n);
  }
  unreachable();
}

// why adds a text to what is said, as far as there is room; of letters that are not ASCII a question mark.
function why(n: i32, text: string): i32 {
  for (let i = 0; i < text.length && n < WHY_BYTES; i++, n++) {
    const c = text.charCodeAt(i);
    store<u8>(WHY + n, c < 0x80 ? <u8>c : 0x3f);
  }
  return n;
}

/** The text that bytes are in UTF-8. */
export function textOf(bytes: Uint8Array): string {
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}

/** A text in UTF-8. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
}

/** Returns the whole content of a file, of any length. It needs the grant fs.read for the path. */
export function readFile(path: string): Result<Uint8Array> {
  const ask = new host.FsReadRequest(path);
  let part = host.fsRead(ask);
  if (!part.ok || !part.value.truncated) return part.ok ? done<Uint8Array>(part.value.body) : failed<Uint8Array>(part.failure!);
  const all = new Uint8Array(<i32>part.value.size);
  let length = 0;
  while (part.value.body.length > 0) {
    const body = part.value.body, fits = min(body.length, all.length - length);
    memory.copy(all.dataStart + length, body.dataStart, fits);
    length += fits;
    if (!part.value.truncated || fits < body.length) return done<Uint8Array>(all.subarray(0, length));
    ask.offset = length;
    part = host.fsRead(ask);
    if (!part.ok) return failed<Uint8Array>(part.failure!);
  }
  return failed<Uint8Array>(fail(Kind.Limit, "read " + path + ": the host stopped after " + length.toString() + " of " + part.value.size.toString() + " bytes"));
}

/** Returns the whole content of a file as text, which is UTF-8. */
export function readText(path: string): Result<string> {
  const content = readFile(path);
  return content.ok ? done<string>(textOf(content.value)) : failed<string>(content.failure!);
}

/** Replaces a file, or makes a new one. It needs the grant fs.write for the path. */
export function writeFile(path: string, content: Uint8Array): Failure | null {
  return host.fsWrite(new host.FsWriteRequest(path), content).failure;
}

/** Writes a line without fields to the log of the call. */
export function log(message: string, level: Level = Level.Info): void {
  const ask = new host.LogLineRequest();
  ask.level = level;
  host.logLine(ask, bytesOf(message));
}

/** Returns what a URL has, with GET. It needs the grant http. A status of 400 or more is no failure. */
export function get(url: string): Result<host.HttpRequestResponse> {
  return host.httpRequest(new host.HttpRequestRequest(url), new Uint8Array(0));
}

/** Returns a value of the skill's own state as text; null is for none. It needs the grant kv. */
export function kvText(key: string): Result<string | null> {
  const answer = host.kvGet(new host.KvGetRequest(key));
  if (!answer.ok) return failed<string | null>(answer.failure!);
  return done<string | null>(answer.value.found ? textOf(answer.value.body) : null);
}

/** Calls a tool of another skill, whose name may be empty when it has only one, and reads the object it answers. */
export function callSkill(skill: string, tool: string, input: Writer, session: string = ""): Result<Reader> {
  const ask = new host.SkillCallRequest(skill);
  ask.tool = tool;
  ask.session = session;
  const answer = host.skillCall(ask, input.finish());
  if (!answer.ok) return failed<Reader>(answer.failure!);
  const object = read(answer.value.body);
  return object === null ? failed<Reader>(fail(Kind.Failed, "call skill " + skill + ": its answer is no object")) : done<Reader>(object);
}

/** Asks a language model, and returns its answer. It needs the grant model. */
export function askModel(model: string, prompt: string): Result<string> {
  const answer = host.modelCall(new host.ModelCallRequest(model), bytesOf(prompt));
  return answer.ok ? done<string>(textOf(answer.value.body)) : failed<string>(answer.failure!);
}
