// The conformance skill in AssemblyScript.
import { fail as failure, Failure, input, kindName, kindOf, output, Reader, readFile, tool, Writer } from "./skillet";

export * from "./functions";

export function echo(): i32 {
  const all = input();
  for (let at = 0; at < all.length; at += 100000) output(all.subarray(at, min(at + 100000, all.length)));
  return 0;
}

export function values(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    output.text("text", input.text("text"));
    output.int("int", input.int("int"));
    output.float("float", input.float("float"));
    output.flag("flag", input.flag("flag"));
    output.ints("list", input.ints("list"));
    output.map("map", input.map("map"));
    output.maybeText("maybe", input.maybeText("maybe"));
    output.beginObject("inner");
    output.int("depth", input.child("inner").int("depth"));
    output.endObject();
    return input.failure;
  });
}

export function fail(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => failure(kindOf(input.text("kind")), input.text("message")));
}

export function caught(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const wrong = readFile(input.text("path")).failure;
    output.text("kind", wrong === null ? "" : kindName(wrong.kind));
    output.text("message", wrong === null ? "" : wrong.message);
    return null;
  });
}

export function read_file(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const content = readFile(input.text("path"));
    if (content.failure !== null) return content.failure;
    const bytes = content.value;
    let sum: u32 = 0;
    for (let i = 0; i < bytes.length; i++) sum += bytes[i];
    output.int("bytes", bytes.length);
    output.uint("sum", sum);
    return null;
  });
}
