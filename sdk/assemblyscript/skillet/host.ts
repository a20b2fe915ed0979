// Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.
import { Reader, Writer } from "./json";
import { answerTo, malformed } from "./request";
import { done, failed, Failure, Result, Some } from "./result";

/** Returns the length of the input of the call in bytes. */
// @ts-ignore: decorator
@external("skillet:host/v1", "input_length")
export declare function input_length(): i64;

/** Copies up to length bytes of the input from offset on to memory, and returns how many. */
// @ts-ignore: decorator
@external("skillet:host/v1", "input_read")
export declare function input_read(to: usize, offset: i64, length: i32): i32;

/** Appends length bytes of memory to the output of the call; past the output limit the call ends. */
// @ts-ignore: decorator
@external("skillet:host/v1", "output_write")
export declare function output_write(from: usize, length: i32): void;

/**
 * Sets the error of the call, of which the last one counts; it is reported when the export
 * returns another number than 0.
 */
// @ts-ignore: decorator
@external("skillet:host/v1", "error_write")
export declare function error_write(kind: usize, kindLength: i32, message: usize, messageLength: i32): void;

/** Copies the waiting response to memory, once; the function that was called has returned both lengths. */
// @ts-ignore: decorator
@external("skillet:host/v1", "response_read")
export declare function response_read(meta: usize, body: usize): void;

// @ts-ignore: decorator
@external("skillet:host/v1", "fs_read")
declare function host_fs_read(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "fs_write")
declare function host_fs_write(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "fs_list")
declare function host_fs_list(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "fs_stat")
declare function host_fs_stat(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "http_request")
declare function host_http_request(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "kv_get")
declare function host_kv_get(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "kv_put")
declare function host_kv_put(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "kv_delete")
declare function host_kv_delete(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "kv_list")
declare function host_kv_list(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "secret_exists")
declare function host_secret_exists(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "log")
declare function host_log(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "notify")
declare function host_notify(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "skill_call")
declare function host_skill_call(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

// @ts-ignore: decorator
@external("skillet:host/v1", "model_call")
declare function host_model_call(meta: usize, metaLength: i32, body: usize, bodyLength: i32): i64;

/** Says what sort of error it is. */
export enum Kind {
  /** No grant or policy allows the request. */
  Denied,
  /** The named file, skill or other thing does not exist. */
  NotFound,
  /** The request or input is malformed or contradicts itself; the same again cannot succeed. */
  Invalid,
  /** The file or value exists already, or changed meanwhile. */
  Conflict,
  /** A size, count or quota was reached. */
  Limit,
  /** Reading, writing or the network failed, or the host lacks what it takes. */
  Io,
  /** The time allowed for the operation ran out. */
  Timeout,
  /** The call is replayed or tested, and nothing says how the host would answer. */
  NotRecorded,
  /** Anything else. */
  Failed,
}

/** The name of a kind. */
export function kindName(value: Kind): string {
  switch (value) {
    case Kind.Denied: return "denied";
    case Kind.NotFound: return "not_found";
    case Kind.Invalid: return "invalid";
    case Kind.Conflict: return "conflict";
    case Kind.Limit: return "limit";
    case Kind.Io: return "io";
    case Kind.Timeout: return "timeout";
    case Kind.NotRecorded: return "not_recorded";
    default: return "failed";
  }
}

/** The kind with a name; for one that is unknown Kind.Failed. */
export function kindOf(name: string): Kind {
  if (name == "denied") return Kind.Denied;
  if (name == "not_found") return Kind.NotFound;
  if (name == "invalid") return Kind.Invalid;
  if (name == "conflict") return Kind.Conflict;
  if (name == "limit") return Kind.Limit;
  if (name == "io") return Kind.Io;
  if (name == "timeout") return Kind.Timeout;
  if (name == "not_recorded") return Kind.NotRecorded;
  return Kind.Failed;
}

/** Says how much a log line matters. */
export enum Level {
  /** Every step. */
  Trace,
  /** What helps to find a mistake. */
  Debug,
  /** What happened. */
  Info,
  /** What should not happen, and did no harm. */
  Warn,
  /** What went wrong. */
  Error,
}

/** The name of a level. */
export function levelName(value: Level): string {
  switch (value) {
    case Level.Trace: return "trace";
    case Level.Debug: return "debug";
    case Level.Info: return "info";
    case Level.Warn: return "warn";
    default: return "error";
  }
}

/** The level with a name; for one that is unknown -1. */
export function levelOf(name: string): i32 {
  if (name == "trace") return Level.Trace;
  if (name == "debug") return Level.Debug;
  if (name == "info") return Level.Info;
  if (name == "warn") return Level.Warn;
  if (name == "error") return Level.Error;
  return -1;
}

/** Says how much a notification matters. */
export enum Severity {
  /** Good to know. */
  Info,
  /** Somebody should look at it. */
  Warning,
  /** Somebody has to do something. */
  Error,
}

/** The name of a severity. */
export function severityName(value: Severity): string {
  switch (value) {
    case Severity.Info: return "info";
    case Severity.Warning: return "warning";
    default: return "error";
  }
}

/** The severity with a name; for one that is unknown -1. */
export function severityOf(name: string): i32 {
  if (name == "info") return Severity.Info;
  if (name == "warning") return Severity.Warning;
  if (name == "error") return Severity.Error;
  return -1;
}

/** Says what a model is to answer with. */
export enum Format {
  /** Text, as it comes. */
  Text,
  /** One JSON value and nothing around it. */
  Json,
}

/** The name of a format. */
export function formatName(value: Format): string {
  switch (value) {
    case Format.Text: return "text";
    default: return "json";
  }
}

/** The format with a name; for one that is unknown -1. */
export function formatOf(name: string): i32 {
  if (name == "text") return Format.Text;
  if (name == "json") return Format.Json;
  return -1;
}

/** The longest request data; what is long belongs in the body, in bytes. */
export const MAX_META: i32 = 262144;
/** The most that one fs_read returns, in bytes. */
export const MAX_READ: i32 = 4194304;
/** The most that one fs_list returns, in entries. */
export const MAX_LIST: i32 = 10000;
/** The longest URL, in bytes. */
export const MAX_URL: i32 = 8192;
/** The most that one request follows, in redirects. */
export const MAX_REDIRECTS: i32 = 5;
/** The most that one request may set, in header fields. */
export const MAX_HEADERS: i32 = 64;
/** The longest header of a request, and of a response, in bytes. */
export const MAX_HEADER_BYTES: i32 = 65536;
/** The longest key, in bytes. */
export const MAX_KEY: i32 = 512;
/** The longest value of a key, in bytes. */
export const MAX_VALUE: i32 = 262144;
/** The most that one kv_list returns, in keys. */
export const MAX_KEYS: i32 = 1000;
/** The longest prompt, with what the model is told before it, in bytes. */
export const MAX_PROMPT: i32 = 1048576;
/** The longest answer of a model, in bytes. */
export const MAX_MODEL_ANSWER: i32 = 4194304;

/** A file or directory of a listing. */
export class Entry {
  /** Last element of the path. */
  name: string = "";
  /** Absolute path. */
  path: string = "";
  /** Length of the file; 0 for a directory, in bytes. */
  size: i64 = 0;
  /** Whether it is a directory. */
  dir: bool = false;
  /** Time of the last change. */
  modified: string = "";
}

function readEntry(from: Reader): Entry {
  const to = new Entry();
  to.name = from.text("name");
  to.path = from.text("path");
  to.size = from.int("size");
  to.dir = from.flag("dir");
  to.modified = from.text("modified");
  return to;
}

/** What {@link fsRead} takes. */
export class FsReadRequest {
  /** Where to begin; behind the end there is nothing, in bytes. */
  offset: i64 = 0;
  /** How much; 0 for as much as one call returns, in bytes. */
  length: i64 = 0;
  /** path: Absolute path, or relative to the workspace where there is one. */
  constructor(public path: string) {}
}

/** What {@link fsRead} answers. */
export class FsReadResponse {
  /** Length of the whole file, in bytes. */
  size: i64 = 0;
  /** Whether the file goes on behind what was read. */
  truncated: bool = false;
  /** The content. */
  body: Uint8Array = new Uint8Array(0);
}

function readFsReadResponse(from: Reader): FsReadResponse {
  const to = new FsReadResponse();
  to.size = from.int("size");
  to.truncated = from.flag("truncated");
  return to;
}

/**
 * Returns the content of a file, or a part of it. It needs the grant fs.read:{path}. Errors:
 * denied, not_found, invalid, limit.
 */
export function fsRead(ask: FsReadRequest): Result<FsReadResponse> {
  const json = new Writer();
  json.text("path", ask.path);
  json.int("offset", ask.offset);
  json.int("length", ask.length);
  const meta = json.finish(), subject = "read " + ask.path;
  const answer = answerTo(subject, host_fs_read(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<FsReadResponse>(answer.failure!);
  const from = answer.meta!, to = readFsReadResponse(from);
  if (from.failure !== null) return failed<FsReadResponse>(malformed(subject, from.failure!.message));
  to.body = answer.body;
  return done<FsReadResponse>(to);
}

/** What {@link fsWrite} takes. */
export class FsWriteRequest {
  /** Writes behind what is there. */
  append: bool = false;
  /** Refuses to touch a file that exists. */
  createOnly: bool = false;
  /** path: Absolute path, or relative to the workspace where there is one. */
  constructor(public path: string) {}
}

/** What {@link fsWrite} answers. */
export class FsWriteResponse {
  /** Length of the file afterwards, in bytes. */
  size: i64 = 0;
}

function readFsWriteResponse(from: Reader): FsWriteResponse {
  const to = new FsWriteResponse();
  to.size = from.int("size");
  return to;
}

/**
 * Replaces a file, makes a new one, or writes behind the end of one. It needs the grant
 * fs.write:{path}. Errors: denied, not_found, invalid, conflict, limit. What is sent: the
 * content.
 */
export function fsWrite(ask: FsWriteRequest, content: Uint8Array): Result<FsWriteResponse> {
  const json = new Writer();
  json.text("path", ask.path);
  json.flag("append", ask.append);
  json.flag("create_only", ask.createOnly);
  const meta = json.finish(), subject = "write " + ask.path;
  const answer = answerTo(subject, host_fs_write(meta.dataStart, meta.length, content.dataStart, content.length));
  if (answer.failure !== null) return failed<FsWriteResponse>(answer.failure!);
  const from = answer.meta!, to = readFsWriteResponse(from);
  if (from.failure !== null) return failed<FsWriteResponse>(malformed(subject, from.failure!.message));
  return done<FsWriteResponse>(to);
}

/** What {@link fsList} takes. */
export class FsListRequest {
  /** Lists what is below, too. */
  recursive: bool = false;
  /** The most entries to return; 0 for 1000, in entries. */
  limit: i64 = 0;
  /** path: Absolute path, or relative to the workspace where there is one. */
  constructor(public path: string) {}
}

/** What {@link fsList} answers. */
export class FsListResponse {
  /** Files and directories found. */
  entries: Entry[] = [];
  /** Whether the limit cut the list. */
  truncated: bool = false;
}

function readFsListResponse(from: Reader): FsListResponse {
  const to = new FsListResponse();
  const entries = from.objects("entries");
  for (let i = 0; i < entries.length; i++) to.entries.push(readEntry(entries[i]));
  to.truncated = from.flag("truncated");
  return to;
}

/**
 * Lists a directory, sorted by name, each directory before what is in it. It needs the grant
 * fs.read:{path}. Errors: denied, not_found, invalid, limit.
 */
export function fsList(ask: FsListRequest): Result<FsListResponse> {
  const json = new Writer();
  json.text("path", ask.path);
  json.flag("recursive", ask.recursive);
  json.int("limit", ask.limit);
  const meta = json.finish(), subject = "list " + ask.path;
  const answer = answerTo(subject, host_fs_list(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<FsListResponse>(answer.failure!);
  const from = answer.meta!, to = readFsListResponse(from);
  if (from.failure !== null) return failed<FsListResponse>(malformed(subject, from.failure!.message));
  return done<FsListResponse>(to);
}

/** What {@link fsStat} takes. */
export class FsStatRequest {
  /** path: Absolute path, or relative to the workspace where there is one. */
  constructor(public path: string) {}
}

/** What {@link fsStat} answers. */
export class FsStatResponse {
  /** Length of the file; 0 for a directory, in bytes. */
  size: i64 = 0;
  /** Whether it is a directory. */
  dir: bool = false;
  /** Time of the last change. */
  modified: string | null = null;
  /** Whether there is anything. */
  exists: bool = false;
}

function readFsStatResponse(from: Reader): FsStatResponse {
  const to = new FsStatResponse();
  to.size = from.int("size");
  to.dir = from.flag("dir");
  to.modified = from.maybeText("modified");
  to.exists = from.flag("exists");
  return to;
}

/**
 * Describes a file or directory; that there is none is an answer and no error. It needs the
 * grant fs.read:{path}. Errors: denied, invalid.
 */
export function fsStat(ask: FsStatRequest): Result<FsStatResponse> {
  const json = new Writer();
  json.text("path", ask.path);
  const meta = json.finish(), subject = "stat " + ask.path;
  const answer = answerTo(subject, host_fs_stat(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<FsStatResponse>(answer.failure!);
  const from = answer.meta!, to = readFsStatResponse(from);
  if (from.failure !== null) return failed<FsStatResponse>(malformed(subject, from.failure!.message));
  return done<FsStatResponse>(to);
}

/** What {@link httpRequest} takes. */
export class HttpRequestRequest {
  /** HTTP method; GET when it is left out. */
  method: string = "GET";
  /** Header fields, each with all its values. */
  headers: Map<string, string[]> = new Map<string, string[]>();
  /** Bounds the exchange with all its redirects; 0 for the host's own limit, in milliseconds. */
  timeoutMs: i64 = 0;
  /** Bounds the body of the response; 0 for the host's own limit, in bytes. */
  maxBytes: i64 = 0;
  /** url: Absolute URL with scheme http or https. */
  constructor(public url: string) {}
}

/** What {@link httpRequest} answers. */
export class HttpRequestResponse {
  /** HTTP status code. */
  status: i64 = 0;
  /** Header fields of the response, without cookies and what concerns the connection. */
  headers: Map<string, string[]> = new Map<string, string[]>();
  /** Where the response came from, after redirects. */
  url: string = "";
  /** Whether the body was longer than allowed, and was cut. */
  truncated: bool = false;
  /** The content received. */
  body: Uint8Array = new Uint8Array(0);
}

function readHttpRequestResponse(from: Reader): HttpRequestResponse {
  const to = new HttpRequestResponse();
  to.status = from.int("status");
  to.headers = from.lists("headers");
  to.url = from.text("url");
  to.truncated = from.flag("truncated");
  return to;
}

/**
 * Sends an HTTP request and returns the response; every redirect needs the grant too; a status
 * of 400 or more is no error. It needs the grant http:{method} {url}. Errors: denied, invalid,
 * limit, io, timeout. What is sent: the content to send; empty for none.
 */
export function httpRequest(ask: HttpRequestRequest, content: Uint8Array): Result<HttpRequestResponse> {
  const json = new Writer();
  if (ask.method == "") ask.method = "GET";
  json.text("method", ask.method);
  json.text("url", ask.url);
  json.lists("headers", ask.headers);
  json.int("timeout_ms", ask.timeoutMs);
  json.int("max_bytes", ask.maxBytes);
  const meta = json.finish(), subject = ask.method + " " + ask.url;
  const answer = answerTo(subject, host_http_request(meta.dataStart, meta.length, content.dataStart, content.length));
  if (answer.failure !== null) return failed<HttpRequestResponse>(answer.failure!);
  const from = answer.meta!, to = readHttpRequestResponse(from);
  if (from.failure !== null) return failed<HttpRequestResponse>(malformed(subject, from.failure!.message));
  to.body = answer.body;
  return done<HttpRequestResponse>(to);
}

/** What {@link kvGet} takes. */
export class KvGetRequest {
  /** key: Valid UTF-8 without control characters. */
  constructor(public key: string) {}
}

/** What {@link kvGet} answers. */
export class KvGetResponse {
  /** Whether the key has a value. */
  found: bool = false;
  /** Grows with every change of the key; 0 when it has no value. */
  revision: u64 = 0;
  /** The value. */
  body: Uint8Array = new Uint8Array(0);
}

function readKvGetResponse(from: Reader): KvGetResponse {
  const to = new KvGetResponse();
  to.found = from.flag("found");
  to.revision = from.uint("revision");
  return to;
}

/**
 * Returns a value of the skill's own state; that there is none is an answer and no error. It
 * needs the grant kv. Errors: denied, invalid, io.
 */
export function kvGet(ask: KvGetRequest): Result<KvGetResponse> {
  const json = new Writer();
  json.text("key", ask.key);
  const meta = json.finish(), subject = "get key " + ask.key;
  const answer = answerTo(subject, host_kv_get(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<KvGetResponse>(answer.failure!);
  const from = answer.meta!, to = readKvGetResponse(from);
  if (from.failure !== null) return failed<KvGetResponse>(malformed(subject, from.failure!.message));
  to.body = answer.body;
  return done<KvGetResponse>(to);
}

/** What {@link kvPut} takes. */
export class KvPutRequest {
  /** How long the value lives; 0 until it is deleted, in seconds. */
  ttlSeconds: i64 = 0;
  /**
   * Stores only if the key still has this revision, with 0 only if it has no value; left out,
   * it stores in any case.
   */
  revision: Some<u64> | null = null;
  /** key: Valid UTF-8 without control characters. */
  constructor(public key: string) {}
}

/** What {@link kvPut} answers. */
export class KvPutResponse {
  /** The new revision. */
  revision: u64 = 0;
}

function readKvPutResponse(from: Reader): KvPutResponse {
  const to = new KvPutResponse();
  to.revision = from.uint("revision");
  return to;
}

/**
 * Stores a value. It needs the grant kv. Errors: denied, invalid, conflict, limit, io. What is
 * sent: the value.
 */
export function kvPut(ask: KvPutRequest, content: Uint8Array): Result<KvPutResponse> {
  const json = new Writer();
  json.text("key", ask.key);
  json.int("ttl_seconds", ask.ttlSeconds);
  const revision = ask.revision;
  if (revision !== null) json.uint("revision", revision.value);
  const meta = json.finish(), subject = "put key " + ask.key;
  const answer = answerTo(subject, host_kv_put(meta.dataStart, meta.length, content.dataStart, content.length));
  if (answer.failure !== null) return failed<KvPutResponse>(answer.failure!);
  const from = answer.meta!, to = readKvPutResponse(from);
  if (from.failure !== null) return failed<KvPutResponse>(malformed(subject, from.failure!.message));
  return done<KvPutResponse>(to);
}

/** What {@link kvDelete} takes. */
export class KvDeleteRequest {
  /** key: Valid UTF-8 without control characters. */
  constructor(public key: string) {}
}

/** What {@link kvDelete} answers. */
export class KvDeleteResponse {
  /** Whether the key had a value. */
  deleted: bool = false;
}

function readKvDeleteResponse(from: Reader): KvDeleteResponse {
  const to = new KvDeleteResponse();
  to.deleted = from.flag("deleted");
  return to;
}

/** Removes a value. It needs the grant kv. Errors: denied, invalid, io. */
export function kvDelete(ask: KvDeleteRequest): Result<KvDeleteResponse> {
  const json = new Writer();
  json.text("key", ask.key);
  const meta = json.finish(), subject = "delete key " + ask.key;
  const answer = answerTo(subject, host_kv_delete(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<KvDeleteResponse>(answer.failure!);
  const from = answer.meta!, to = readKvDeleteResponse(from);
  if (from.failure !== null) return failed<KvDeleteResponse>(malformed(subject, from.failure!.message));
  return done<KvDeleteResponse>(to);
}

/** What {@link kvList} takes. */
export class KvListRequest {
  /** What the keys begin with; empty for all keys. */
  prefix: string = "";
  /** The most keys to return; 0 for as many as one call returns, in keys. */
  limit: i64 = 0;
  constructor() {}
}

/** What {@link kvList} answers. */
export class KvListResponse {
  /** The keys. */
  keys: string[] = [];
}

function readKvListResponse(from: Reader): KvListResponse {
  const to = new KvListResponse();
  to.keys = from.texts("keys");
  return to;
}

/**
 * Returns the keys that begin with a prefix, in order. It needs the grant kv. Errors: denied,
 * invalid, io.
 */
export function kvList(ask: KvListRequest): Result<KvListResponse> {
  const json = new Writer();
  json.text("prefix", ask.prefix);
  json.int("limit", ask.limit);
  const meta = json.finish(), subject = "list keys " + ask.prefix;
  const answer = answerTo(subject, host_kv_list(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<KvListResponse>(answer.failure!);
  const from = answer.meta!, to = readKvListResponse(from);
  if (from.failure !== null) return failed<KvListResponse>(malformed(subject, from.failure!.message));
  return done<KvListResponse>(to);
}

/** What {@link secretExists} takes. */
export class SecretExistsRequest {
  /** name: Name of the secret. */
  constructor(public name: string) {}
}

/** What {@link secretExists} answers. */
export class SecretExistsResponse {
  /** Whether it is stored. */
  exists: bool = false;
}

function readSecretExistsResponse(from: Reader): SecretExistsResponse {
  const to = new SecretExistsResponse();
  to.exists = from.flag("exists");
  return to;
}

/**
 * Says whether a secret is stored; its value never reaches a skill: the host adds it to
 * requests where the manifest says so. It needs the grant secret:{name}. Errors: denied, io.
 */
export function secretExists(ask: SecretExistsRequest): Result<SecretExistsResponse> {
  const json = new Writer();
  json.text("name", ask.name);
  const meta = json.finish(), subject = "look for secret " + ask.name;
  const answer = answerTo(subject, host_secret_exists(meta.dataStart, meta.length, 0, 0));
  if (answer.failure !== null) return failed<SecretExistsResponse>(answer.failure!);
  const from = answer.meta!, to = readSecretExistsResponse(from);
  if (from.failure !== null) return failed<SecretExistsResponse>(malformed(subject, from.failure!.message));
  return done<SecretExistsResponse>(to);
}

/** What {@link logLine} takes. */
export class LogLineRequest {
  /** How much the line matters; info when it is left out. */
  level: Level = Level.Info;
  /** Named values beside the message; at most 16. */
  fields: Map<string, string> = new Map<string, string>();
  constructor() {}
}

/**
 * Writes a line to the log of the call, which is for people who look into a call afterwards. It
 * needs no grant. Errors: invalid, limit. What is sent: the message.
 */
export function logLine(ask: LogLineRequest, content: Uint8Array): Failure | null {
  const json = new Writer();
  json.text("level", levelName(ask.level));
  json.map("fields", ask.fields);
  const meta = json.finish(), subject = "log";
  const answer = answerTo(subject, host_log(meta.dataStart, meta.length, content.dataStart, content.length));
  return answer.failure;
}

/** What {@link notify} takes. */
export class NotifyRequest {
  /** How much it matters; info when it is left out. */
  severity: Severity = Severity.Info;
  /** title: One line of up to 200 bytes; not empty. */
  constructor(public title: string) {}
}

/**
 * Sends a notification to the person who owns the host. It needs the grant notify. Errors:
 * denied, invalid, limit, io. What is sent: the text, up to 4096 bytes; it may be empty.
 */
export function notify(ask: NotifyRequest, content: Uint8Array): Failure | null {
  const json = new Writer();
  json.text("severity", severityName(ask.severity));
  json.text("title", ask.title);
  const meta = json.finish(), subject = "notify";
  const answer = answerTo(subject, host_notify(meta.dataStart, meta.length, content.dataStart, content.length));
  return answer.failure;
}

/** What {@link skillCall} takes. */
export class SkillCallRequest {
  /** Name of the tool; it may be left out when the skill has only one. */
  tool: string = "";
  /** Name of the session to go on with, which takes the grant session:{skill}/{session} too. */
  session: string = "";
  /** skill: Name of the skill, without a version. */
  constructor(public skill: string) {}
}

/** What {@link skillCall} answers. */
export class SkillCallResponse {
  /** The output of the tool. */
  body: Uint8Array = new Uint8Array(0);
}

/**
 * Calls a tool of another skill, which runs with its own grants and limits and within the time
 * that the caller has left. It needs the grant skill:{skill}. Errors: denied, not_found,
 * invalid, conflict, limit, timeout, failed. What is sent: the input of the tool.
 */
export function skillCall(ask: SkillCallRequest, content: Uint8Array): Result<SkillCallResponse> {
  const json = new Writer();
  json.text("skill", ask.skill);
  json.text("tool", ask.tool);
  json.text("session", ask.session);
  const meta = json.finish(), subject = "call skill " + ask.skill;
  const answer = answerTo(subject, host_skill_call(meta.dataStart, meta.length, content.dataStart, content.length));
  if (answer.failure !== null) return failed<SkillCallResponse>(answer.failure!);
  const to = new SkillCallResponse();
  to.body = answer.body;
  return done<SkillCallResponse>(to);
}

/** What {@link modelCall} takes. */
export class ModelCallRequest {
  /** What the model is told before the prompt. */
  system: string = "";
  /** The longest answer; 0 for the host's own limit, in tokens. */
  maxTokens: i64 = 0;
  /** How freely the model chooses, from 0 to 2; left out, as the provider has it. */
  temperature: Some<f64> | null = null;
  /** What the answer is to be; text when it is left out. */
  format: Format = Format.Text;
  /** model: Name of the model, as the host knows it. */
  constructor(public model: string) {}
}

/** What {@link modelCall} answers. */
export class ModelCallResponse {
  /** The model that answered. */
  model: string = "";
  /** Why the answer ends where it does. */
  finishReason: string = "";
  /** Length of what was asked, in tokens. */
  inputTokens: i64 = 0;
  /** Length of the answer, in tokens. */
  outputTokens: i64 = 0;
  /** The answer. */
  body: Uint8Array = new Uint8Array(0);
}

function readModelCallResponse(from: Reader): ModelCallResponse {
  const to = new ModelCallResponse();
  to.model = from.text("model");
  to.finishReason = from.text("finish_reason");
  to.inputTokens = from.int("input_tokens");
  to.outputTokens = from.int("output_tokens");
  return to;
}

/**
 * Asks a language model; without a provider for the model it fails and says so. It needs the
 * grant model:{model}. Errors: denied, invalid, limit, failed. What is sent: the prompt.
 */
export function modelCall(ask: ModelCallRequest, content: Uint8Array): Result<ModelCallResponse> {
  const json = new Writer();
  json.text("model", ask.model);
  json.text("system", ask.system);
  json.int("max_tokens", ask.maxTokens);
  const temperature = ask.temperature;
  if (temperature !== null) json.float("temperature", temperature.value);
  json.text("format", formatName(ask.format));
  const meta = json.finish(), subject = "ask model " + ask.model;
  const answer = answerTo(subject, host_model_call(meta.dataStart, meta.length, content.dataStart, content.length));
  if (answer.failure !== null) return failed<ModelCallResponse>(answer.failure!);
  const from = answer.meta!, to = readModelCallResponse(from);
  if (from.failure !== null) return failed<ModelCallResponse>(malformed(subject, from.failure!.message));
  to.body = answer.body;
  return done<ModelCallResponse>(to);
}

