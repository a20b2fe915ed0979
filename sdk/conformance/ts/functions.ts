// A tool for each host function.
import { host, type Format, type Level, type Severity } from "skillet";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

export function fs_read({ path, offset, length }: { path: string; offset?: number; length?: number }) {
	const { body, ...rest } = host.fsRead({ path, offset, length });
	return { ...rest, body: text(body) };
}

export const fs_write = (in_: { path: string; append?: boolean; create_only?: boolean; body?: string }) =>
	host.fsWrite({ path: in_.path, append: in_.append, createOnly: in_.create_only }, in_.body);

export const fs_list = (ask: host.FsListRequest): host.FsListResponse => host.fsList(ask);
export const fs_stat = (ask: host.FsStatRequest): host.FsStatResponse => host.fsStat(ask);

interface Request {
	method?: string;
	url: string;
	headers?: Record<string, string[]>;
	timeout_ms?: number;
	max_bytes?: number;
	body?: string;
}

export function http_request({ url, method, headers, timeout_ms, max_bytes, body }: Request) {
	const r = host.httpRequest({ url, method, headers, timeoutMs: timeout_ms, maxBytes: max_bytes }, body);
	return { ...r, body: text(r.body) };
}

export function kv_get({ key }: { key: string }) {
	const { body, ...rest } = host.kvGet({ key });
	return { ...rest, body: text(body) };
}

export const kv_put = (in_: { key: string; ttl_seconds?: number; revision?: number; body?: string }) =>
	host.kvPut({ key: in_.key, ttlSeconds: in_.ttl_seconds, revision: in_.revision }, in_.body);

export const kv_delete = (ask: host.KvDeleteRequest): host.KvDeleteResponse => host.kvDelete(ask);
export const kv_list = (ask: host.KvListRequest): host.KvListResponse => host.kvList(ask);
export const secret_exists = (ask: host.SecretExistsRequest): host.SecretExistsResponse => host.secretExists(ask);

export function log({ level, fields, message }: { level?: Level; fields?: Record<string, string>; message: string }) {
	host.logLine({ level, fields }, message);
	return {};
}

export function notify({ severity, title, text }: { severity?: Severity; title: string; text?: string }) {
	host.notify({ severity, title }, text);
	return {};
}

export const skill_call = ({ body, ...ask }: host.SkillCallRequest & { body: string }) => ({ body: text(host.skillCall(ask, body).body) });

interface Prompt {
	model: string;
	system?: string;
	max_tokens?: number;
	temperature?: number;
	format?: Format;
	prompt: string;
}

export function model_call({ model, system, max_tokens, temperature, format, prompt }: Prompt) {
	const a = host.modelCall({ model, system, maxTokens: max_tokens, temperature, format }, prompt);
	return { model: a.model, finish_reason: a.finishReason, input_tokens: a.inputTokens, output_tokens: a.outputTokens, body: text(a.body) };
}
