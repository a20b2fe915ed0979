// A tool for each host function.
import * as host from "./skillet";
import { bytesOf, fail, Failure, formatOf, Kind, levelOf, Reader, severityOf, textOf, tool, Writer } from "./skillet";

export function fs_read(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.FsReadRequest(input.text("path"));
    ask.offset = input.int("offset");
    ask.length = input.int("length");
    const answer = host.fsRead(ask);
    if (!answer.ok) return answer.failure;
    output.int("size", answer.value.size);
    output.flag("truncated", answer.value.truncated);
    output.text("body", textOf(answer.value.body));
    return null;
  });
}

export function fs_write(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.FsWriteRequest(input.text("path"));
    ask.append = input.flag("append");
    ask.createOnly = input.flag("create_only");
    const answer = host.fsWrite(ask, bytesOf(input.text("body")));
    if (!answer.ok) return answer.failure;
    output.int("size", answer.value.size);
    return null;
  });
}

export function fs_list(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.FsListRequest(input.text("path"));
    ask.recursive = input.flag("recursive");
    ask.limit = input.int("limit");
    const answer = host.fsList(ask);
    if (!answer.ok) return answer.failure;
    output.beginList("entries");
    for (let i = 0; i < answer.value.entries.length; i++) {
      const e = answer.value.entries[i];
      output.beginObject("");
      output.text("name", e.name);
      output.text("path", e.path);
      output.int("size", e.size);
      output.flag("dir", e.dir);
      output.text("modified", e.modified);
      output.endObject();
    }
    output.endList();
    output.flag("truncated", answer.value.truncated);
    return null;
  });
}

export function fs_stat(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const answer = host.fsStat(new host.FsStatRequest(input.text("path")));
    if (!answer.ok) return answer.failure;
    output.int("size", answer.value.size);
    output.flag("dir", answer.value.dir);
    output.maybeText("modified", answer.value.modified);
    output.flag("exists", answer.value.exists);
    return null;
  });
}

export function http_request(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.HttpRequestRequest(input.text("url"));
    ask.method = input.text("method");
    ask.headers = input.lists("headers");
    ask.timeoutMs = input.int("timeout_ms");
    ask.maxBytes = input.int("max_bytes");
    const answer = host.httpRequest(ask, bytesOf(input.text("body")));
    if (!answer.ok) return answer.failure;
    output.int("status", answer.value.status);
    output.lists("headers", answer.value.headers);
    output.text("url", answer.value.url);
    output.flag("truncated", answer.value.truncated);
    output.text("body", textOf(answer.value.body));
    return null;
  });
}

export function kv_get(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const answer = host.kvGet(new host.KvGetRequest(input.text("key")));
    if (!answer.ok) return answer.failure;
    output.flag("found", answer.value.found);
    output.uint("revision", answer.value.revision);
    output.text("body", textOf(answer.value.body));
    return null;
  });
}

export function kv_put(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.KvPutRequest(input.text("key"));
    ask.ttlSeconds = input.int("ttl_seconds");
    ask.revision = input.maybeUint("revision");
    const answer = host.kvPut(ask, bytesOf(input.text("body")));
    if (!answer.ok) return answer.failure;
    output.uint("revision", answer.value.revision);
    return null;
  });
}

export function kv_delete(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const answer = host.kvDelete(new host.KvDeleteRequest(input.text("key")));
    if (!answer.ok) return answer.failure;
    output.flag("deleted", answer.value.deleted);
    return null;
  });
}

export function kv_list(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.KvListRequest();
    ask.prefix = input.text("prefix");
    ask.limit = input.int("limit");
    const answer = host.kvList(ask);
    if (!answer.ok) return answer.failure;
    output.texts("keys", answer.value.keys);
    return null;
  });
}

export function secret_exists(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const answer = host.secretExists(new host.SecretExistsRequest(input.text("name")));
    if (!answer.ok) return answer.failure;
    output.flag("exists", answer.value.exists);
    return null;
  });
}

export function log(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.LogLineRequest(), level = levelOf(input.text("level", "info"));
    if (level < 0) return fail(Kind.Invalid, "level: there is no such level");
    ask.level = <host.Level>level;
    ask.fields = input.map("fields");
    return host.logLine(ask, bytesOf(input.text("message")));
  });
}

export function notify(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.NotifyRequest(input.text("title")), severity = severityOf(input.text("severity", "info"));
    if (severity < 0) return fail(Kind.Invalid, "severity: there is no such severity");
    ask.severity = <host.Severity>severity;
    return host.notify(ask, bytesOf(input.text("text")));
  });
}

export function skill_call(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.SkillCallRequest(input.text("skill"));
    ask.tool = input.text("tool");
    ask.session = input.text("session");
    const answer = host.skillCall(ask, bytesOf(input.text("body")));
    if (!answer.ok) return answer.failure;
    output.text("body", textOf(answer.value.body));
    return null;
  });
}

export function model_call(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const ask = new host.ModelCallRequest(input.text("model")), format = formatOf(input.text("format", "text"));
    if (format < 0) return fail(Kind.Invalid, "format: there is no such format");
    ask.system = input.text("system");
    ask.maxTokens = input.int("max_tokens");
    ask.temperature = input.maybeFloat("temperature");
    ask.format = <host.Format>format;
    const answer = host.modelCall(ask, bytesOf(input.text("prompt")));
    if (!answer.ok) return answer.failure;
    output.text("model", answer.value.model);
    output.text("finish_reason", answer.value.finishReason);
    output.int("input_tokens", answer.value.inputTokens);
    output.int("output_tokens", answer.value.outputTokens);
    output.text("body", textOf(answer.value.body));
    return null;
  });
}
