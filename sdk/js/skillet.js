// The host's functions for skills in JavaScript: import { log, kv } from "skillet".
const call = globalThis.__skillet_call;

// A HostError is what the host answered instead of doing what was asked; kind is
// one of the kinds of docs/host-interface.md, such as "denied".
export class HostError extends Error {
	constructor(kind, message) {
		super(message);
		this.name = "HostError";
		this.kind = kind;
	}
}

const request = (name, meta, body = null) => {
	const answer = call(name, JSON.stringify(meta), body);
	const parsed = JSON.parse(answer.meta);
	if (parsed.error) throw new HostError(parsed.error.kind, parsed.error.message);
	return { meta: parsed, body: answer.body };
};

export const log = (message, level = "info", fields = undefined) => void request("log", { level, fields }, String(message));

export const files = {
	read: (path) => request("fs_read", { path }).body,
	readText: (path) => new TextDecoder().decode(request("fs_read", { path }).body),
	write: (path, content, options = {}) => request("fs_write", { ...options, path }, content).meta,
	list: (path, options = {}) => request("fs_list", { ...options, path }).meta.entries,
	stat: (path) => request("fs_stat", { path }).meta,
};

export const kv = {
	get: (key) => {
		const answer = request("kv_get", { key });
		return answer.meta.found ? answer.body : null;
	},
	put: (key, value, options = {}) => request("kv_put", { ...options, key }, value).meta,
	delete: (key) => request("kv_delete", { key }).meta.deleted,
	list: (prefix = "", options = {}) => request("kv_list", { ...options, prefix }).meta.keys,
};

export const secrets = { exists: (name) => request("secret_exists", { name }).meta.exists };
export const notify = (text, options = {}) => void request("notify", options, text);
export const callSkill = (skill, tool, input = {}) =>
	JSON.parse(new TextDecoder().decode(request("skill_call", { skill, tool }, JSON.stringify(input)).body) || "null");
export const askModel = (model, prompt, options = {}) => new TextDecoder().decode(request("model_call", { ...options, model }, prompt).body);
