// A tool for each host function.
import { files, host, http, kv, log as logger, models, notify as send, secrets, skills } from "skillet";

const text = (bytes) => new TextDecoder().decode(bytes);

export function fs_read({ path, offset, length }) {
	const { size, truncated, body } = files.readPart(path, { offset, length });
	return { size, truncated, body: text(body) };
}

export const fs_write = ({ path, append, create_only, body = "" }) => ({ size: files.write(path, body, { append, createOnly: create_only }) });
export const fs_list = ({ path, recursive, limit }) => files.list(path, { recursive, limit });
export const fs_stat = ({ path }) => host.fsStat({ path });

export function http_request({ url, method, headers, timeout_ms, max_bytes, body }) {
	const r = http.request(url, { method, headers, timeoutMs: timeout_ms, maxBytes: max_bytes, body });
	return { status: r.status, headers: r.headers, url: r.url, truncated: r.truncated, body: r.text() };
}

export function kv_get({ key }) {
	const entry = kv.entry(key);
	return { found: entry !== null, revision: entry?.revision ?? 0, body: entry ? text(entry.value) : "" };
}

export const kv_put = ({ key, ttl_seconds, revision, body = "" }) => ({ revision: kv.put(key, body, { ttlSeconds: ttl_seconds, revision }) });
export const kv_delete = ({ key }) => ({ deleted: kv.delete(key) });
export const kv_list = ({ prefix, limit }) => ({ keys: kv.list(prefix, { limit }) });
export const secret_exists = ({ name }) => ({ exists: secrets.exists(name) });

export function log({ level = "info", fields, message }) {
	if (logger[level]) logger[level](message, fields);
	else host.logLine({ level, fields }, message);
	return {};
}

export function notify({ severity, title, text }) {
	send(title, text, { severity });
	return {};
}

export const skill_call = ({ skill, tool, session, body }) => ({ body: text(skills.callBytes(skill, body, { tool, session })) });

export function model_call({ model, system, max_tokens, temperature, format, prompt }) {
	const a = models.ask(model, prompt, { system, maxTokens: max_tokens, temperature, format });
	return { model: a.model, finish_reason: a.finishReason, input_tokens: a.inputTokens, output_tokens: a.outputTokens, body: a.text };
}
