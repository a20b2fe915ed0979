// How a script asks the host. The engine gives every script __skillet_call.
const call = globalThis.__skillet_call;

export class SkilletError extends Error {
	constructor(kind, message, options) {
		super(message, options);
		this.kind = kind;
	}
}
Object.defineProperty(SkilletError.prototype, "name", { value: "SkilletError", writable: true, configurable: true });

export const fail = (kind, message) => {
	throw new SkilletError(kind, message);
};

// request passes one request to the host. Every error begins with subject: the operation and what it is about.
export const request = (name, subject, ask, body) => {
	let answer, meta;
	try {
		answer = call(name, JSON.stringify(ask), body ?? null);
		meta = JSON.parse(answer.meta);
	} catch (cause) {
		throw new SkilletError(cause.kind ?? "failed", `${subject}: ${cause.message}`, { cause });
	}
	if (meta.error) throw new SkilletError(meta.error.kind, `${subject}: ${meta.error.message}`);
	return { meta, body: answer.body };
};
