// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.

/** What is sent: text goes as UTF-8. */
export type Content = string | ArrayBuffer | ArrayBufferView;

/**
 * Says what sort of error it is:
 *
 * - `denied`: no grant or policy allows the request
 * - `not_found`: the named file, skill or other thing does not exist
 * - `invalid`: the request or input is malformed or contradicts itself; the same again cannot succeed
 * - `conflict`: the file or value exists already, or changed meanwhile
 * - `limit`: a size, count or quota was reached
 * - `io`: reading, writing or the network failed, or the host lacks what it takes
 * - `timeout`: the time allowed for the operation ran out
 * - `not_recorded`: the call is replayed or tested, and nothing says how the host would answer
 * - `failed`: anything else
 */
export type Kind = "denied" | "not_found" | "invalid" | "conflict" | "limit" | "io" | "timeout" | "not_recorded" | "failed";

/**
 * Says how much a log line matters:
 *
 * - `trace`: every step
 * - `debug`: what helps to find a mistake
 * - `info`: what happened
 * - `warn`: what should not happen, and did no harm
 * - `error`: what went wrong
 */
export type Level = "trace" | "debug" | "info" | "warn" | "error";

/**
 * Says how much a notification matters:
 *
 * - `info`: good to know
 * - `warning`: somebody should look at it
 * - `error`: somebody has to do something
 */
export type Severity = "info" | "warning" | "error";

/**
 * Says what a model is to answer with:
 *
 * - `text`: text, as it comes
 * - `json`: one JSON value and nothing around it
 */
export type Format = "text" | "json";

/** The kinds of errors, all of them. */
export const kinds: readonly Kind[];

/** What no setting of the host changes. */
export const limits: {
	/** The longest request data; what is long belongs in the body, in bytes. */
	readonly maxMeta: 262144;
	/** The most that one fs_read returns, in bytes. */
	readonly maxRead: 4194304;
	/** The most that one fs_list returns, in entries. */
	readonly maxList: 10000;
	/** The longest URL, in bytes. */
	readonly maxUrl: 8192;
	/** The most that one request follows, in redirects. */
	readonly maxRedirects: 5;
	/** The most that one request may set, in header fields. */
	readonly maxHeaders: 64;
	/** The longest header of a request, and of a response, in bytes. */
	readonly maxHeaderBytes: 65536;
	/** The longest key, in bytes. */
	readonly maxKey: 512;
	/** The longest value of a key, in bytes. */
	readonly maxValue: 262144;
	/** The most that one kv_list returns, in keys. */
	readonly maxKeys: 1000;
	/** The longest prompt, with what the model is told before it, in bytes. */
	readonly maxPrompt: 1048576;
	/** The longest answer of a model, in bytes. */
	readonly maxModelAnswer: 4194304;
};

/** A file or directory of a listing. */
export interface Entry {
	/** Last element of the path. */
	name: string;
	/** Absolute path. */
	path: string;
	/** Length of the file; 0 for a directory, in bytes. */
	size: number;
	/** Whether it is a directory. */
	dir: boolean;
	/** Time of the last change. */
	modified: string;
}

/** What {@link fsRead} takes. */
export interface FsReadRequest {
	/** Absolute path, or relative to the workspace where there is one. */
	path: string;
	/** Where to begin; behind the end there is nothing, in bytes. */
	offset?: number;
	/** How much; 0 for as much as one call returns, in bytes. */
	length?: number;
}

/** What {@link fsRead} answers. */
export interface FsReadResponse {
	/** Length of the whole file, in bytes. */
	size: number;
	/** Whether the file goes on behind what was read. */
	truncated: boolean;
	/** The content. */
	body: Uint8Array;
}

/**
 * Returns the content of a file, or a part of it. It needs the grant fs.read:{path}. Errors:
 * denied, not_found, invalid, limit.
 */
export function fsRead(ask: FsReadRequest): FsReadResponse;

/** What {@link fsWrite} takes. */
export interface FsWriteRequest {
	/** Absolute path, or relative to the workspace where there is one. */
	path: string;
	/** Writes behind what is there. */
	append?: boolean;
	/** Refuses to touch a file that exists. */
	createOnly?: boolean;
}

/** What {@link fsWrite} answers. */
export interface FsWriteResponse {
	/** Length of the file afterwards, in bytes. */
	size: number;
}

/**
 * Replaces a file, makes a new one, or writes behind the end of one. It needs the grant
 * fs.write:{path}. Errors: denied, not_found, invalid, conflict, limit. What is sent: the
 * content.
 */
export function fsWrite(ask: FsWriteRequest, content?: Content | null): FsWriteResponse;

/** What {@link fsList} takes. */
export interface FsListRequest {
	/** Absolute path, or relative to the workspace where there is one. */
	path: string;
	/** Lists what is below, too. */
	recursive?: boolean;
	/** The most entries to return; 0 for 1000, in entries. */
	limit?: number;
}

/** What {@link fsList} answers. */
export interface FsListResponse {
	/** Files and directories found. */
	entries: Entry[];
	/** Whether the limit cut the list. */
	truncated: boolean;
}

/**
 * Lists a directory, sorted by name, each directory before what is in it. It needs the grant
 * fs.read:{path}. Errors: denied, not_found, invalid, limit.
 */
export function fsList(ask: FsListRequest): FsListResponse;

/** What {@link fsStat} takes. */
export interface FsStatRequest {
	/** Absolute path, or relative to the workspace where there is one. */
	path: string;
}

/** What {@link fsStat} answers. */
export interface FsStatResponse {
	/** Length of the file; 0 for a directory, in bytes. */
	size: number;
	/** Whether it is a directory. */
	dir: boolean;
	/** Time of the last change. */
	modified: string | null;
	/** Whether there is anything. */
	exists: boolean;
}

/**
 * Describes a file or directory; that there is none is an answer and no error. It needs the
 * grant fs.read:{path}. Errors: denied, invalid.
 */
export function fsStat(ask: FsStatRequest): FsStatResponse;

/** What {@link httpRequest} takes. */
export interface HttpRequestRequest {
	/** HTTP method; GET when it is left out. */
	method?: string;
	/** Absolute URL with scheme http or https. */
	url: string;
	/** Header fields, each with all its values. */
	headers?: Record<string, string[]>;
	/** Bounds the exchange with all its redirects; 0 for the host's own limit, in milliseconds. */
	timeoutMs?: number;
	/** Bounds the body of the response; 0 for the host's own limit, in bytes. */
	maxBytes?: number;
}

/** What {@link httpRequest} answers. */
export interface HttpRequestResponse {
	/** HTTP status code. */
	status: number;
	/** Header fields of the response, without cookies and what concerns the connection. */
	headers: Record<string, string[]>;
	/** Where the response came from, after redirects. */
	url: string;
	/** Whether the body was longer than allowed, and was cut. */
	truncated: boolean;
	/** The content received. */
	body: Uint8Array;
}

/**
 * Sends an HTTP request and returns the response; every redirect needs the grant too; a status
 * of 400 or more is no error. It needs the grant http:{method} {url}. Errors: denied, invalid,
 * limit, io, timeout. What is sent: the content to send; empty for none.
 */
export function httpRequest(ask: HttpRequestRequest, content?: Content | null): HttpRequestResponse;

/** What {@link kvGet} takes. */
export interface KvGetRequest {
	/** Valid UTF-8 without control characters. */
	key: string;
}

/** What {@link kvGet} answers. */
export interface KvGetResponse {
	/** Whether the key has a value. */
	found: boolean;
	/** Grows with every change of the key; 0 when it has no value. */
	revision: number;
	/** The value. */
	body: Uint8Array;
}

/**
 * Returns a value of the skill's own state; that there is none is an answer and no error. It
 * needs the grant kv. Errors: denied, invalid, io.
 */
export function kvGet(ask: KvGetRequest): KvGetResponse;

/** What {@link kvPut} takes. */
export interface KvPutRequest {
	/** Valid UTF-8 without control characters. */
	key: string;
	/** How long the value lives; 0 until it is deleted, in seconds. */
	ttlSeconds?: number;
	/**
	 * Stores only if the key still has this revision, with 0 only if it has no value; left out, it
	 * stores in any case.
	 */
	revision?: number | null;
}

/** What {@link kvPut} answers. */
export interface KvPutResponse {
	/** The new revision. */
	revision: number;
}

/**
 * Stores a value. It needs the grant kv. Errors: denied, invalid, conflict, limit, io. What is
 * sent: the value.
 */
export function kvPut(ask: KvPutRequest, content?: Content | null): KvPutResponse;

/** What {@link kvDelete} takes. */
export interface KvDeleteRequest {
	/** Valid UTF-8 without control characters. */
	key: string;
}

/** What {@link kvDelete} answers. */
export interface KvDeleteResponse {
	/** Whether the key had a value. */
	deleted: boolean;
}

/** Removes a value. It needs the grant kv. Errors: denied, invalid, io. */
export function kvDelete(ask: KvDeleteRequest): KvDeleteResponse;

/** What {@link kvList} takes. */
export interface KvListRequest {
	/** What the keys begin with; empty for all keys. */
	prefix?: string;
	/** The most keys to return; 0 for as many as one call returns, in keys. */
	limit?: number;
}

/** What {@link kvList} answers. */
export interface KvListResponse {
	/** The keys. */
	keys: string[];
}

/**
 * Returns the keys that begin with a prefix, in order. It needs the grant kv. Errors: denied,
 * invalid, io.
 */
export function kvList(ask: KvListRequest): KvListResponse;

/** What {@link secretExists} takes. */
export interface SecretExistsRequest {
	/** Name of the secret. */
	name: string;
}

/** What {@link secretExists} answers. */
export interface SecretExistsResponse {
	/** Whether it is stored. */
	exists: boolean;
}

/**
 * Says whether a secret is stored; its value never reaches a skill: the host adds it to
 * requests where the manifest says so. It needs the grant secret:{name}. Errors: denied, io.
 */
export function secretExists(ask: SecretExistsRequest): SecretExistsResponse;

/** What {@link logLine} takes. */
export interface LogLineRequest {
	/** How much the line matters; info when it is left out. */
	level?: Level;
	/** Named values beside the message; at most 16. */
	fields?: Record<string, string>;
}

/**
 * Writes a line to the log of the call, which is for people who look into a call afterwards. It
 * needs no grant. Errors: invalid, limit. What is sent: the message.
 */
export function logLine(ask: LogLineRequest, content?: Content | null): void;

/** What {@link notify} takes. */
export interface NotifyRequest {
	/** How much it matters; info when it is left out. */
	severity?: Severity;
	/** One line of up to 200 bytes; not empty. */
	title: string;
}

/**
 * Sends a notification to the person who owns the host. It needs the grant notify. Errors:
 * denied, invalid, limit, io. What is sent: the text, up to 4096 bytes; it may be empty.
 */
export function notify(ask: NotifyRequest, content?: Content | null): void;

/** What {@link skillCall} takes. */
export interface SkillCallRequest {
	/** Name of the skill, without a version. */
	skill: string;
	/** Name of the tool; it may be left out when the skill has only one. */
	tool?: string;
	/** Name of the session to go on with, which takes the grant session:{skill}/{session} too. */
	session?: string;
}

/** What {@link skillCall} answers. */
export interface SkillCallResponse {
	/** The output of the tool. */
	body: Uint8Array;
}

/**
 * Calls a tool of another skill, which runs with its own grants and limits and within the time
 * that the caller has left. It needs the grant skill:{skill}. Errors: denied, not_found,
 * invalid, conflict, limit, timeout, failed. What is sent: the input of the tool.
 */
export function skillCall(ask: SkillCallRequest, content?: Content | null): SkillCallResponse;

/** What {@link modelCall} takes. */
export interface ModelCallRequest {
	/** Name of the model, as the host knows it. */
	model: string;
	/** What the model is told before the prompt. */
	system?: string;
	/** The longest answer; 0 for the host's own limit, in tokens. */
	maxTokens?: number;
	/** How freely the model chooses, from 0 to 2; left out, as the provider has it. */
	temperature?: number | null;
	/** What the answer is to be; text when it is left out. */
	format?: Format;
}

/** What {@link modelCall} answers. */
export interface ModelCallResponse {
	/** The model that answered. */
	model: string;
	/** Why the answer ends where it does. */
	finishReason: string;
	/** Length of what was asked, in tokens. */
	inputTokens: number;
	/** Length of the answer, in tokens. */
	outputTokens: number;
	/** The answer. */
	body: Uint8Array;
}

/**
 * Asks a language model; without a provider for the model it fails and says so. It needs the
 * grant model:{model}. Errors: denied, invalid, limit, failed. What is sent: the prompt.
 */
export function modelCall(ask: ModelCallRequest, content?: Content | null): ModelCallResponse;

