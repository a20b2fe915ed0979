// Runs a script as a command line would: with arguments and standard input, and
// what it writes as the answer.
class Exit {}

const text = (v) => {
  if (typeof v === "string") return v;
  if (v instanceof Error) return v.stack ? `${v}\n${v.stack}` : String(v);
  if (typeof v !== "object" || v === null) return String(v);
  return JSON.stringify(v, null, 2);
};

export async function TOOL(input) {
  const out = [], err = [];
  const line = (to) => (...parts) => { to.push(parts.map(text).join(" ") + "\n"); };
  const stream = (to) => ({ isTTY: false, write(t) { to.push(String(t)); return true; } });
  const stdin = input.stdin ?? "";
  let code; // what it exited with: also in a promise that nobody waits for
  globalThis.console = { log: line(out), info: line(out), debug: line(out), warn: line(err), error: line(err), trace: line(err) };
  globalThis.process = {
    argv: ["node", PATH, ...(input.args ?? [])], env: {}, exitCode: 0,
    exit(c) { code ??= c ?? globalThis.process.exitCode; throw new Exit(); },
    cwd: () => ".", stdout: stream(out), stderr: stream(err),
    stdin: { setEncoding() {}, async *[Symbol.asyncIterator]() { if (stdin !== "") yield stdin; } },
  };
  try {
    await import(IMPORT);
    for (let i = 0; i < 10; i++) await new Promise((done) => setTimeout(done, 0)); // what it started goes on
  } catch (e) {
    if (!(e instanceof Exit)) throw e;
  }
  code ??= globalThis.process.exitCode;
  return { stdout: out.join(""), stderr: err.join(""), exit_code: Number(code) || 0 };
}
