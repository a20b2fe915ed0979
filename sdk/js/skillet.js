// The host's functions for skills in JavaScript and TypeScript: import { files, kv, log } from "skillet". What each of
// them does is in skillet.d.ts.
import * as host from "./host.js";
import { fail, SkilletError } from "./request.js";
import { shape } from "./shape.js";

export { fail, host, shape, SkilletError };

const text = (bytes) => new TextDecoder().decode(bytes);

// parsed reads JSON that somebody else wrote.
const parsed = (bytes, what) => {
	try {
		return bytes.length === 0 ? null : JSON.parse(text(bytes));
	} catch (cause) {
		throw new SkilletError("failed", `${what}: not valid JSON: ${cause.message}`, { cause });
	}
};

const logAt = (level) => (message, fields = {}) =>
	host.logLine({ level, fields: Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, String(v)])) }, String(message));

export const log = Object.assign(logAt("info"), {
	trace: logAt("trace"), debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error"),
});

const readFile = (path) => {
	let part = host.fsRead({ path });
	if (!part.truncated) return part.body;
	const parts = [];
	let length = 0;
	while (part.body.length > 0) {
		parts.push(part.body);
		length += part.body.length;
		if (!part.truncated) return joined(parts, length);
		part = host.fsRead({ path, offset: length });
	}
	return fail("limit", `read ${path}: the host stopped after ${length} of ${part.size} bytes`);
};

const joined = (parts, length) => {
	const all = new Uint8Array(length);
	let at = 0;
	for (const p of parts) {
		all.set(p, at);
		at += p.length;
	}
	return all;
};

export const files = Object.freeze({
	read: readFile,
	readText: (path) => text(readFile(path)),
	readPart: (path, { offset, length } = {}) => host.fsRead({ path, offset, length }),
	write: (path, content, { append, createOnly } = {}) => host.fsWrite({ path, append, createOnly }, content).size,
	list: (path, { recursive, limit } = {}) => host.fsList({ path, recursive, limit }),
	stat(path) {
		const { exists, ...info } = host.fsStat({ path });
		return exists ? info : null;
	},
});

class Response {
	constructor(answer) {
		Object.assign(this, answer);
	}
	get ok() { return this.status >= 200 && this.status < 300; }
	header(name) {
		const found = Object.entries(this.headers).find(([k]) => k.toLowerCase() === name.toLowerCase());
		return found ? found[1].join(", ") : null;
	}
	text() { return text(this.body); }
	json() { return parsed(this.body, `response of ${this.url}`); }
}

export const http = Object.freeze({
	request(url, { method, headers = {}, body, timeoutMs, maxBytes } = {}) {
		const listed = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, Array.isArray(v) ? v : [v]]));
		return new Response(host.httpRequest({ url, method, headers: listed, timeoutMs, maxBytes }, body));
	},
	get: (url, options = {}) => http.request(url, { ...options, method: "GET" }),
	post: (url, body, options = {}) => http.request(url, { ...options, method: "POST", body }),
});

const value = (key) => {
	const { found, revision, body } = host.kvGet({ key });
	return found ? { value: body, revision } : null;
};

export const kv = Object.freeze({
	get: (key) => value(key)?.value ?? null,
	getText(key) {
		const bytes = kv.get(key);
		return bytes && text(bytes);
	},
	getJSON(key) {
		const bytes = kv.get(key);
		return bytes && parsed(bytes, `value of key ${key}`);
	},
	entry: value,
	put: (key, content, { ttlSeconds, revision } = {}) => host.kvPut({ key, ttlSeconds, revision }, content).revision,
	putJSON: (key, content, options) => kv.put(key, JSON.stringify(content), options),
	delete: (key) => host.kvDelete({ key }).deleted,
	list: (prefix = "", { limit } = {}) => host.kvList({ prefix, limit }).keys,
});

export const secrets = Object.freeze({ exists: (name) => host.secretExists({ name }).exists });

export const notify = (title, body = "", { severity } = {}) => host.notify({ title, severity }, body);

export const skills = Object.freeze({
	call: (skill, input = {}, options = {}) => parsed(skills.callBytes(skill, JSON.stringify(input), options), `output of skill ${skill}`),
	callBytes: (skill, input, { tool, session } = {}) => host.skillCall({ skill, tool, session }, input).body,
});

export const models = Object.freeze({
	ask(model, prompt, options = {}) {
		const { system, maxTokens, temperature, format } = options;
		const { body, ...answer } = host.modelCall({ model, system, maxTokens, temperature, format }, prompt);
		return { text: text(body), ...answer };
	},
	askJSON(model, prompt, options = {}) {
		const answer = host.modelCall({ ...options, model, format: "json" }, prompt);
		return parsed(answer.body, `answer of model ${model}`);
	},
});
