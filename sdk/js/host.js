// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers. host.d.ts explains it.
import { request } from "./request.js";

export const kinds = Object.freeze(["denied", "not_found", "invalid", "conflict", "limit", "io", "timeout", "not_recorded", "failed"]);
export const limits = Object.freeze({
	maxMeta: 262144,
	maxRead: 4194304,
	maxList: 10000,
	maxUrl: 8192,
	maxRedirects: 5,
	maxHeaders: 64,
	maxHeaderBytes: 65536,
	maxKey: 512,
	maxValue: 262144,
	maxKeys: 1000,
	maxPrompt: 1048576,
	maxModelAnswer: 4194304,
});

const entry = (meta) => ({
	name: meta.name ?? "",
	path: meta.path ?? "",
	size: meta.size ?? 0,
	dir: meta.dir ?? false,
	modified: meta.modified ?? null,
});

export function fsRead(ask) {
	const { meta, body } = request("fs_read", `read ${ask.path}`, {
		path: ask.path,
		offset: ask.offset,
		length: ask.length,
	});
	return {
		size: meta.size ?? 0,
		truncated: meta.truncated ?? false,
		body,
	};
}

export function fsWrite(ask, content) {
	const { meta } = request("fs_write", `write ${ask.path}`, {
		path: ask.path,
		append: ask.append,
		create_only: ask.createOnly,
	}, content);
	return {
		size: meta.size ?? 0,
	};
}

export function fsList(ask) {
	const { meta } = request("fs_list", `list ${ask.path}`, {
		path: ask.path,
		recursive: ask.recursive,
		limit: ask.limit,
	});
	return {
		entries: (meta.entries ?? []).map(entry),
		truncated: meta.truncated ?? false,
	};
}

export function fsStat(ask) {
	const { meta } = request("fs_stat", `stat ${ask.path}`, {
		path: ask.path,
	});
	return {
		size: meta.size ?? 0,
		dir: meta.dir ?? false,
		modified: meta.modified ?? null,
		exists: meta.exists ?? false,
	};
}

export function httpRequest(ask, content) {
	const method = ask.method || "GET";
	const { meta, body } = request("http_request", `${method} ${ask.url}`, {
		method: method,
		url: ask.url,
		headers: ask.headers,
		timeout_ms: ask.timeoutMs,
		max_bytes: ask.maxBytes,
	}, content);
	return {
		status: meta.status ?? 0,
		headers: meta.headers ?? {},
		url: meta.url ?? "",
		truncated: meta.truncated ?? false,
		body,
	};
}

export function kvGet(ask) {
	const { meta, body } = request("kv_get", `get key ${ask.key}`, {
		key: ask.key,
	});
	return {
		found: meta.found ?? false,
		revision: meta.revision ?? 0,
		body,
	};
}

export function kvPut(ask, content) {
	const { meta } = request("kv_put", `put key ${ask.key}`, {
		key: ask.key,
		ttl_seconds: ask.ttlSeconds,
		revision: ask.revision,
	}, content);
	return {
		revision: meta.revision ?? 0,
	};
}

export function kvDelete(ask) {
	const { meta } = request("kv_delete", `delete key ${ask.key}`, {
		key: ask.key,
	});
	return {
		deleted: meta.deleted ?? false,
	};
}

export function kvList(ask) {
	const { meta } = request("kv_list", `list keys ${ask.prefix ?? ""}`, {
		prefix: ask.prefix,
		limit: ask.limit,
	});
	return {
		keys: meta.keys ?? [],
	};
}

export function secretExists(ask) {
	const { meta } = request("secret_exists", `look for secret ${ask.name}`, {
		name: ask.name,
	});
	return {
		exists: meta.exists ?? false,
	};
}

export function logLine(ask, content) {
	request("log", `log`, {
		level: ask.level,
		fields: ask.fields,
	}, content);
}

export function notify(ask, content) {
	request("notify", `notify`, {
		severity: ask.severity,
		title: ask.title,
	}, content);
}

export function skillCall(ask, content) {
	const { body } = request("skill_call", `call skill ${ask.skill}`, {
		skill: ask.skill,
		tool: ask.tool,
		session: ask.session,
	}, content);
	return {
		body,
	};
}

export function modelCall(ask, content) {
	const { meta, body } = request("model_call", `ask model ${ask.model}`, {
		model: ask.model,
		system: ask.system,
		max_tokens: ask.maxTokens,
		temperature: ask.temperature,
		format: ask.format,
	}, content);
	return {
		model: meta.model ?? "",
		finishReason: meta.finish_reason ?? "",
		inputTokens: meta.input_tokens ?? 0,
		outputTokens: meta.output_tokens ?? 0,
		body,
	};
}

