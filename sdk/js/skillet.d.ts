// Types of the module "skillet", which skills in JavaScript and TypeScript import. Every function that asks the host
// throws a SkilletError when the host refuses or fails. Nothing has to be awaited: a call ends when it is done.

import type * as hostFunctions from "./host.js";
import type { Content, Entry, Format, Kind, ModelCallResponse, Severity } from "./host.js";

export type { Content, Entry, Format, Kind, Level, Severity } from "./host.js";
export { shape } from "./shape.js";
export type { Infer, Members, Shape } from "./shape.js";

/** The functions of the host as they are, one for each, of which everything else here is made. */
export * as host from "./host.js";

/** An error with a kind. What a tool throws so is its error, with kind and message as they are. */
export declare class SkilletError extends Error {
	constructor(kind: Kind, message: string, options?: { cause?: unknown });
	/** What sort of error it is. */
	readonly kind: Kind;
}

/** Throws a {@link SkilletError}. The message is for a person: one line, in lower case, without a period. */
export declare function fail(kind: Kind, message: string): never;

/** Writes a line to the log of the call, with named values beside it. */
export type LogLine = (message: string, fields?: Record<string, string | number | boolean>) => void;

/** The log of the call, which is for people who look into a call afterwards. It needs no grant. */
export declare const log: LogLine & {
	trace: LogLine;
	debug: LogLine;
	info: LogLine;
	warn: LogLine;
	error: LogLine;
};

/** Files, as far as the grants fs.read and fs.write go. A path is absolute, or relative to the workspace. */
export declare const files: {
	/** Returns the whole content of a file, of any length. */
	read(path: string): Uint8Array;
	/** Returns the whole content of a file as text, which is UTF-8. */
	readText(path: string): string;
	/** Returns a part of a file, in bytes; without a length as much as one call returns. */
	readPart(path: string, options?: { offset?: number; length?: number }): hostFunctions.FsReadResponse;
	/** Writes a file and returns its length in bytes. `append` writes behind the end, `createOnly` refuses a file that is there. */
	write(path: string, content: Content, options?: { append?: boolean; createOnly?: boolean }): number;
	/** Lists a directory, sorted by name. `limit` is the most entries; 1000 without one. */
	list(path: string, options?: { recursive?: boolean; limit?: number }): { entries: Entry[]; truncated: boolean };
	/** Describes a file or directory; null when there is none. */
	stat(path: string): { size: number; dir: boolean; modified: string | null } | null;
};

/** How an HTTP request is sent. */
export interface HttpOptions {
	/** GET when it is left out. */
	method?: string;
	/** Header fields, each with its value or all its values. */
	headers?: Record<string, string | string[]>;
	/** What is sent. */
	body?: Content | null;
	/** Bounds the exchange with all its redirects, in milliseconds. */
	timeoutMs?: number;
	/** Bounds the body of the response, in bytes; what is longer is cut. */
	maxBytes?: number;
}

/** What an HTTP server answered. */
export interface HttpResponse {
	readonly status: number;
	/** Whether the status is 200 to 299. */
	readonly ok: boolean;
	/** All header fields, each with all its values. */
	readonly headers: Record<string, string[]>;
	/** Where it came from, after redirects. */
	readonly url: string;
	/** Whether the body was longer than allowed, and was cut. */
	readonly truncated: boolean;
	readonly body: Uint8Array;
	/** A header field by its name in any case, or null. */
	header(name: string): string | null;
	/** The body as text, which is UTF-8. */
	text(): string;
	/** The body as JSON. */
	json(): any;
}

/** HTTP, as far as the grant http goes. A status of 400 or more is no error. `fetch` is there too. */
export declare const http: {
	request(url: string, options?: HttpOptions): HttpResponse;
	get(url: string, options?: Omit<HttpOptions, "method" | "body">): HttpResponse;
	post(url: string, body?: Content | null, options?: Omit<HttpOptions, "method" | "body">): HttpResponse;
};

/** The skill's own state, which stays between calls. It needs the grant kv. */
export declare const kv: {
	/** Returns a value, or null. */
	get(key: string): Uint8Array | null;
	/** Returns a value as text, or null. */
	getText(key: string): string | null;
	/** Returns what was stored with {@link kv.putJSON}, or null. */
	getJSON(key: string): any;
	/** Returns a value with its revision, or null. */
	entry(key: string): { value: Uint8Array; revision: number } | null;
	/**
	 * Stores a value and returns its revision. With `revision` it only stores when the key still has that one, or no
	 * value for 0; otherwise the error is of kind `conflict`. The value lives `ttlSeconds`, or until it is deleted.
	 */
	put(key: string, value: Content, options?: { ttlSeconds?: number; revision?: number | null }): number;
	/** Stores a value as JSON. */
	putJSON(key: string, value: unknown, options?: { ttlSeconds?: number; revision?: number | null }): number;
	/** Removes a value, and says whether there was one. */
	delete(key: string): boolean;
	/** Returns the keys that begin with a prefix, in order. */
	list(prefix?: string, options?: { limit?: number }): string[];
};

/** Secrets, whose values never reach a skill: the host adds them to requests where the manifest says so. */
export declare const secrets: {
	/** Says whether a secret is stored. */
	exists(name: string): boolean;
};

/** Sends a notification to the person who owns the host. It needs the grant notify. */
export declare function notify(title: string, text?: string, options?: { severity?: Severity }): void;

/** Which tool of a skill is called, and in which session. A tool may be left out when the skill has only one. */
export interface SkillOptions {
	tool?: string;
	session?: string;
}

/** Other skills, which run with their own grants. It needs the grant skill, and for a session the grant session. */
export declare const skills: {
	/** Calls a tool with an input as JSON, and returns its output, which is JSON. */
	call(skill: string, input?: unknown, options?: SkillOptions): any;
	/** Calls a tool with any bytes, and returns any. */
	callBytes(skill: string, input: Content, options?: SkillOptions): Uint8Array;
};

/** What a model is told beside the prompt. */
export interface ModelOptions {
	/** What it is told before the prompt. */
	system?: string;
	/** The longest answer, in tokens. */
	maxTokens?: number;
	/** How freely it chooses, from 0 to 2. */
	temperature?: number | null;
	format?: Format;
}

/** Language models. It needs the grant model, and a provider that the host is configured with. */
export declare const models: {
	/** Asks a model. */
	ask(model: string, prompt: string, options?: ModelOptions): Omit<ModelCallResponse, "body"> & { text: string };
	/** Asks a model for JSON, and returns the value. */
	askJSON(model: string, prompt: string, options?: Omit<ModelOptions, "format">): any;
};
