//! The guest side of a Skillet skill in Zig 0.17: it reads the input of a tool call, writes its output or error, and
//! calls the functions the host offers (files, HTTP, key-value state, secrets, log, notifications, other skills,
//! models). One file, with nothing but the standard library.
//!
//!     const skillet = @import("skillet.zig");
//!
//!     const Input = struct { name: []const u8 = "" };
//!     const Output = struct { greeting: []const u8 };
//!
//!     fn greet(in: Input) !Output {
//!         if (in.name.len == 0) return skillet.fail(.invalid, "name: must not be empty", .{});
//!         return .{ .greeting = try skillet.print("Hello, {s}", .{in.name}) };
//!     }
//!
//!     comptime {
//!         skillet.tool("greet", greet);
//!     }
//!
//! Build it as a module without an entry:
//!
//!     zig build-exe main.zig -target wasm32-freestanding -fno-entry -rdynamic -O ReleaseSmall --stack 131072
//!
//! Nothing has to be freed: the host puts the module back to its beginning after each call. A module imports only the
//! host functions it uses, so its imports say what it can ask for. On other targets, as in zig test, every host function
//! fails with error.Failed.

const std = @import("std");
const builtin = @import("builtin");

const is_guest = builtin.cpu.arch.isWasm();

/// allocator is where everything here comes from.
pub const allocator: std.mem.Allocator = if (is_guest) std.heap.wasm_allocator else std.heap.page_allocator;

/// Map is a JSON object with names of any kind.
pub fn Map(comptime T: type) type {
    return struct {
        map: std.array_hash_map.String(T) = .empty,

        /// Element is what it is a map of.
        pub const Element = T;

        /// put sets a member.
        pub fn put(self: *@This(), name: []const u8, value: T) error{OutOfMemory}!void {
            try self.map.put(allocator, name, value);
        }

        /// get returns a member, or null.
        pub fn get(self: @This(), name: []const u8) ?T {
            return self.map.get(name);
        }

        pub fn jsonStringify(self: @This(), to: anytype) !void {
            try to.beginObject();
            var all = self.map.iterator();
            while (all.next()) |e| {
                try to.objectField(e.key_ptr.*);
                try to.write(e.value_ptr.*);
            }
            try to.endObject();
        }
    };
}

/// print returns a new text.
pub fn print(comptime format: []const u8, args: anytype) error{OutOfMemory}![]u8 {
    return std.fmt.allocPrint(allocator, format, args);
}

// --- errors ---

var last: struct { err: ?anyerror = null, message: []const u8 = "" } = .{};

/// fail returns an error of a kind, with a message for a person: one line, in lower case, without a period.
pub fn fail(kind: Kind, comptime format: []const u8, args: anytype) Error {
    const text = print(format, args) catch return error.OutOfMemory;
    return failWith(kind, text);
}

fn failWith(kind: Kind, text: []const u8) Error {
    const err = errorOf(kind);
    last = .{ .err = err, .message = text };
    return err;
}

/// message returns what the last error of this file, or of fail, says; for another error, its name.
pub fn message(err: anyerror) []const u8 {
    if (last.err) |e| {
        if (e == err) return last.message;
    }
    return @errorName(err);
}

// --- tools ---

/// tool exports a function as a tool. It is given the input, decoded as its only parameter, and what it returns is the
/// output. Members of the input that the parameter does not have are ignored, those that are missing have their
/// default, and one of another type is an error that names it. Empty input is an empty object.
///
/// The name cannot be that of a function that the compiler brings along, such as log or round: export the tool by
/// another, and say so in the manifest with "export".
pub fn tool(comptime name: []const u8, comptime function: anytype) void {
    @setEvalBranchQuota(100_000);
    for (taken) |word| {
        if (std.mem.eql(u8, word, name)) @compileError("a tool cannot be exported as " ++ name ++ ", which is a function of the compiler's: " ++
            "export it by another name, and set \"export\" of the tool in the manifest");
    }
    const exported = struct {
        fn call() callconv(.c) i32 {
            return run(function);
        }
    };
    @export(&exported.call, .{ .name = name });
}

/// taken are the names that compiler-rt has; a function of the same name would replace it, or be lost.
const taken = [_][]const u8{
    "bcmp", "ceil",   "cos",    "exp",     "exp2",   "fabs",  "floor", "fma",    "fmax", "fmin",   "fmod", "log",   "log10",
    "log2", "memcmp", "memcpy", "memmove", "memset", "round", "sin",   "sincos", "sqrt", "strlen", "tan",  "trunc",
};

fn run(comptime function: anytype) i32 {
    const In = @typeInfo(@TypeOf(function)).@"fn".param_types[0].?;
    const in = parse(In, input()) catch |err| return report(err);
    const out = function(in) catch |err| return report(err);
    const json = encode(out) catch |err| return report(err);
    output(json);
    return 0;
}

/// report tells the host of an error and returns what an exported function has to return.
pub fn report(err: anyerror) i32 {
    const kind = @tagName(kindOf(err));
    const text = message(err);
    if (is_guest) imports.error_write(address(kind), kind.len, address(text), text.len);
    return 1;
}

/// input returns the whole input of the call as it is.
pub fn input() []const u8 {
    if (!is_guest) return "";
    const length: usize = @intCast(imports.input_length());
    if (length == 0) return "";
    const to = allocator.alloc(u8, length) catch @panic("out of memory");
    const got: usize = @intCast(imports.input_read(to.ptr, 0, to.len));
    return to[0..got];
}

/// output appends to the output of the call. The host ends the call when it grows past its limit.
pub fn output(bytes: []const u8) void {
    if (is_guest) imports.output_write(address(bytes), bytes.len);
}

/// address is where bytes are. A slice of none may point anywhere, which the host refuses.
fn address(bytes: []const u8) [*]const u8 {
    return if (bytes.len == 0) "" else bytes.ptr;
}

// --- JSON ---

/// encode writes a value as JSON.
pub fn encode(value: anytype) error{OutOfMemory}![]u8 {
    return std.json.Stringify.valueAlloc(allocator, value, .{});
}

/// parse reads JSON into a type; see tool for how. A std.json.Value takes anything.
pub fn parse(comptime T: type, json: []const u8) Error!T {
    const text = if (std.mem.trim(u8, json, " \t\r\n").len == 0) "{}" else json;
    const value = std.json.parseFromSliceLeaky(std.json.Value, allocator, text, .{ .duplicate_field_behavior = .use_last }) catch
        return fail(.invalid, "input: not valid JSON", .{});
    return decode(T, value, "");
}

/// decode reads a value that has been parsed. path is where it is, for errors.
pub fn decode(comptime T: type, value: std.json.Value, path: []const u8) Error!T {
    if (T == std.json.Value) return value;
    if (T == []const u8) return if (value == .string) value.string else wrong(value, "a string", path);
    return switch (@typeInfo(T)) {
        .bool => if (value == .bool) value.bool else wrong(value, "true or false", path),
        .int => decodeInt(T, value, path),
        .float => switch (value) {
            .float => |n| @floatCast(n),
            .integer => |n| @floatFromInt(n),
            .number_string => |s| decodeFloat(T, s) orelse wrong(value, "a number in range", path),
            else => wrong(value, "a number", path),
        },
        .optional => |o| if (value == .null) null else try decode(o.child, value, path),
        .@"enum" => decodeEnum(T, value, path),
        .pointer => |p| decodeList(p.child, value, path),
        .@"struct" => if (@hasDecl(T, "Element")) decodeMap(T, value, path) else decodeStruct(T, value, path),
        else => @compileError("input cannot be decoded as " ++ @typeName(T)),
    };
}

fn decodeInt(comptime T: type, value: std.json.Value, path: []const u8) Error!T {
    const n: ?T = switch (value) {
        .integer => |n| std.math.cast(T, n),
        .number_string => |s| std.fmt.parseInt(T, s, 10) catch null,
        else => null,
    };
    return n orelse wrong(value, "a whole number in range", path);
}

fn decodeFloat(comptime T: type, text: []const u8) ?T {
    const n = std.fmt.parseFloat(T, text) catch return null;
    return if (std.math.isFinite(n)) n else null;
}

fn decodeEnum(comptime T: type, value: std.json.Value, path: []const u8) Error!T {
    if (value == .string) {
        if (std.meta.stringToEnum(T, value.string)) |e| return e;
    }
    return wrong(value, "one of " ++ comptime words(T), path);
}

fn words(comptime T: type) []const u8 {
    var all: []const u8 = "";
    for (std.meta.fieldNames(T)) |name| all = all ++ (if (all.len == 0) "" else ", ") ++ name;
    return all;
}

fn decodeList(comptime T: type, value: std.json.Value, path: []const u8) Error![]const T {
    if (value != .array) return wrong(value, "an array", path);
    const all = try allocator.alloc(T, value.array.items.len);
    for (all, value.array.items) |*to, item| to.* = try decode(T, item, path);
    return all;
}

fn decodeMap(comptime T: type, value: std.json.Value, path: []const u8) Error!T {
    if (value != .object) return wrong(value, "an object", path);
    var out: T = .{};
    var all = value.object.iterator();
    while (all.next()) |e| try out.put(e.key_ptr.*, try decode(T.Element, e.value_ptr.*, try join(path, e.key_ptr.*)));
    return out;
}

fn decodeStruct(comptime T: type, value: std.json.Value, path: []const u8) Error!T {
    if (value != .object) return wrong(value, "an object", path);
    const info = @typeInfo(T).@"struct";
    var out: T = undefined;
    inline for (info.field_names, info.field_types, info.field_attrs) |name, Field, attrs| {
        const default = comptime attrs.defaultValue(Field);
        const found = value.object.get(name) orelse .null;
        if (found != .null) {
            @field(out, name) = try decode(Field, found, try join(path, name));
        } else if (default) |d| {
            @field(out, name) = d;
        } else if (@typeInfo(Field) == .optional) {
            @field(out, name) = null;
        } else return fail(.invalid, "{s}: is missing", .{try join(path, name)});
    }
    return out;
}

fn join(path: []const u8, name: []const u8) error{OutOfMemory}![]const u8 {
    return if (path.len == 0) name else print("{s}.{s}", .{ path, name });
}

/// wrong is the error for a value that is not what was expected.
fn wrong(value: std.json.Value, expected: []const u8, path: []const u8) Error {
    const where = if (path.len == 0) "input" else path;
    const what = switch (value) {
        .null => "null",
        .bool => "true or false",
        .integer, .float, .number_string => "this number",
        .string => "a string",
        .array => "an array",
        .object => "an object",
    };
    return fail(.invalid, "{s}: must be {s}, not {s}", .{ where, expected, what });
}

// --- calling the host ---

const Import = fn (meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) callconv(.c) i64;

/// request passes one request to the host. Every error begins with subject: the operation and what it is about. In the
/// answer the member body, where there is one, is the response's body.
fn request(comptime Answer: type, comptime name: []const u8, subject: []const u8, ask: anytype, body: []const u8) Error!Answer {
    if (!is_guest) return fail(.failed, "{s}: no skill host on this target: build for wasm32", .{subject});
    const meta = try std.json.Stringify.valueAlloc(allocator, ask, .{ .emit_null_optional_fields = false });
    const call: Import = @field(imports, name);
    const both: u64 = @bitCast(call(meta.ptr, meta.len, address(body), body.len));
    const meta_length: usize = @intCast(both >> 32);
    const all = try allocator.alloc(u8, meta_length + @as(u32, @truncate(both)) + 1);
    const json = all[0..meta_length];
    const content = all[meta_length .. all.len - 1];
    imports.response_read(json.ptr, content.ptr);
    const Failure = struct { @"error": ?struct { kind: []const u8 = "", message: []const u8 = "" } = null };
    const failure = parse(Failure, json) catch return fail(.io, "{s}: the host sent a malformed response", .{subject});
    if (failure.@"error") |e| return fail(std.meta.stringToEnum(Kind, e.kind) orelse .failed, "{s}: {s}", .{ subject, e.message });
    var answer = parse(Answer, json) catch |err| return fail(.io, "{s}: the host sent a malformed response: {s}", .{ subject, message(err) });
    if (@hasField(Answer, "body")) answer.body = content;
    return answer;
}

/// readFile returns the whole content of a file, of any length. It needs the grant fs.read for the path.
pub fn readFile(path: []const u8) Error![]const u8 {
    var part = try fsRead(.{ .path = path });
    if (!part.truncated) return part.body;
    var all: std.ArrayList(u8) = .empty;
    try all.ensureTotalCapacity(allocator, @intCast(part.size));
    while (part.body.len > 0) {
        try all.appendSlice(allocator, part.body);
        if (!part.truncated) return all.items;
        part = try fsRead(.{ .path = path, .offset = @intCast(all.items.len) });
    }
    return fail(.limit, "read {s}: the host stopped after {d} of {d} bytes", .{ path, all.items.len, part.size });
}

/// log writes a line without fields to the log of the call.
pub fn log(level: Level, text: []const u8) Error!void {
    return logLine(.{ .level = level }, text);
}

/// skillCallAs is skillCall with an input that is encoded, and an output that is decoded.
pub fn skillCallAs(comptime Out: type, ask: SkillCallRequest, in: anytype) Error!Out {
    const answer = try skillCall(ask, try encode(in));
    return parse(Out, answer.body) catch |err| fail(.failed, "call skill {s}: its answer: {s}", .{ ask.skill, message(err) });
}

// generated from sdk/hostapi/interface.json: begin
const imports = struct {
    extern "skillet:host/v1" fn input_length() i64;
    extern "skillet:host/v1" fn input_read(to: [*]u8, offset: i64, length: usize) i32;
    extern "skillet:host/v1" fn output_write(from: [*]const u8, length: usize) void;
    extern "skillet:host/v1" fn error_write(kind: [*]const u8, kind_length: usize, message: [*]const u8, message_length: usize) void;
    extern "skillet:host/v1" fn response_read(meta: [*]u8, body: [*]u8) void;
    extern "skillet:host/v1" fn fs_read(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn fs_write(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn fs_list(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn fs_stat(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn http_request(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn kv_get(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn kv_put(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn kv_delete(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn kv_list(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn secret_exists(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn log(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn notify(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn skill_call(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
    extern "skillet:host/v1" fn model_call(meta: [*]const u8, meta_length: usize, body: [*]const u8, body_length: usize) i64;
};

/// Kind is what sort of error it is.
pub const Kind = enum {
    /// no grant or policy allows the request
    denied,
    /// the named file, skill or other thing does not exist
    not_found,
    /// the request or input is malformed or contradicts itself; the same again cannot succeed
    invalid,
    /// the file or value exists already, or changed meanwhile
    conflict,
    /// a size, count or quota was reached
    limit,
    /// reading, writing or the network failed, or the host lacks what it takes
    io,
    /// the time allowed for the operation ran out
    timeout,
    /// the call is replayed or tested, and nothing says how the host would answer
    not_recorded,
    /// anything else
    failed,
};

/// Error has an error for each kind, and that of the allocator.
pub const Error = error{
    Denied,
    NotFound,
    Invalid,
    Conflict,
    Limit,
    Io,
    Timeout,
    NotRecorded,
    Failed,
    OutOfMemory,
};

/// kindOf returns the kind of an error; memory that ran out is a limit, and anything else failed.
pub fn kindOf(err: anyerror) Kind {
    return switch (err) {
        error.Denied => .denied,
        error.NotFound => .not_found,
        error.Invalid => .invalid,
        error.Conflict => .conflict,
        error.Limit => .limit,
        error.Io => .io,
        error.Timeout => .timeout,
        error.NotRecorded => .not_recorded,
        error.OutOfMemory => .limit,
        else => .failed,
    };
}

/// errorOf returns the error of a kind.
pub fn errorOf(kind: Kind) Error {
    return switch (kind) {
        .denied => error.Denied,
        .not_found => error.NotFound,
        .invalid => error.Invalid,
        .conflict => error.Conflict,
        .limit => error.Limit,
        .io => error.Io,
        .timeout => error.Timeout,
        .not_recorded => error.NotRecorded,
        .failed => error.Failed,
    };
}

/// Level says how much a log line matters.
pub const Level = enum {
    /// every step
    trace,
    /// what helps to find a mistake
    debug,
    /// what happened
    info,
    /// what should not happen, and did no harm
    warn,
    /// what went wrong
    @"error",
};

/// Severity says how much a notification matters.
pub const Severity = enum {
    /// good to know
    info,
    /// somebody should look at it
    warning,
    /// somebody has to do something
    @"error",
};

/// Format says what a model is to answer with.
pub const Format = enum {
    /// text, as it comes
    text,
    /// one JSON value and nothing around it
    json,
};

/// the longest request data; what is long belongs in the body, in bytes
pub const max_meta = 262144;
/// the most that one fs_read returns, in bytes
pub const max_read = 4194304;
/// the most that one fs_list returns, in entries
pub const max_list = 10000;
/// the longest URL, in bytes
pub const max_url = 8192;
/// the most that one request follows, in redirects
pub const max_redirects = 5;
/// the most that one request may set, in header fields
pub const max_headers = 64;
/// the longest header of a request, and of a response, in bytes
pub const max_header_bytes = 65536;
/// the longest key, in bytes
pub const max_key = 512;
/// the longest value of a key, in bytes
pub const max_value = 262144;
/// the most that one kv_list returns, in keys
pub const max_keys = 1000;
/// the longest prompt, with what the model is told before it, in bytes
pub const max_prompt = 1048576;
/// the longest answer of a model, in bytes
pub const max_model_answer = 4194304;

/// a file or directory of a listing
pub const Entry = struct {
    /// last element of the path
    name: []const u8 = "",
    /// absolute path
    path: []const u8 = "",
    /// length of the file; 0 for a directory, in bytes
    size: i64 = 0,
    /// whether it is a directory
    dir: bool = false,
    /// time of the last change
    modified: []const u8 = "",
};

/// what fsRead takes
pub const FsReadRequest = struct {
    /// absolute path, or relative to the workspace where there is one
    path: []const u8,
    /// where to begin; behind the end there is nothing, in bytes
    offset: i64 = 0,
    /// how much; 0 for as much as one call returns, in bytes
    length: i64 = 0,
};

/// what fsRead answers
pub const FsReadResponse = struct {
    /// length of the whole file, in bytes
    size: i64 = 0,
    /// whether the file goes on behind what was read
    truncated: bool = false,
    /// the content
    body: []const u8 = "",
};

/// fsRead returns the content of a file, or a part of it. It needs the grant fs.read:{path}.
/// Errors: error.Denied, error.NotFound, error.Invalid, error.Limit.
pub fn fsRead(ask: FsReadRequest) Error!FsReadResponse {
    return request(FsReadResponse, "fs_read", try print("read {s}", .{ask.path}), ask, "");
}

/// what fsWrite takes
pub const FsWriteRequest = struct {
    /// absolute path, or relative to the workspace where there is one
    path: []const u8,
    /// writes behind what is there
    append: bool = false,
    /// refuses to touch a file that exists
    create_only: bool = false,
};

/// what fsWrite answers
pub const FsWriteResponse = struct {
    /// length of the file afterwards, in bytes
    size: i64 = 0,
};

/// fsWrite replaces a file, makes a new one, or writes behind the end of one. It needs the
/// grant fs.write:{path}. Errors: error.Denied, error.NotFound, error.Invalid, error.Conflict,
/// error.Limit.
/// The body is the content.
pub fn fsWrite(ask: FsWriteRequest, body: []const u8) Error!FsWriteResponse {
    return request(FsWriteResponse, "fs_write", try print("write {s}", .{ask.path}), ask, body);
}

/// what fsList takes
pub const FsListRequest = struct {
    /// absolute path, or relative to the workspace where there is one
    path: []const u8,
    /// lists what is below, too
    recursive: bool = false,
    /// the most entries to return; 0 for 1000, in entries
    limit: i64 = 0,
};

/// what fsList answers
pub const FsListResponse = struct {
    /// files and directories found
    entries: []const Entry = &.{},
    /// whether the limit cut the list
    truncated: bool = false,
};

/// fsList lists a directory, sorted by name, each directory before what is in it. It needs the
/// grant fs.read:{path}. Errors: error.Denied, error.NotFound, error.Invalid, error.Limit.
pub fn fsList(ask: FsListRequest) Error!FsListResponse {
    return request(FsListResponse, "fs_list", try print("list {s}", .{ask.path}), ask, "");
}

/// what fsStat takes
pub const FsStatRequest = struct {
    /// absolute path, or relative to the workspace where there is one
    path: []const u8,
};

/// what fsStat answers
pub const FsStatResponse = struct {
    /// length of the file; 0 for a directory, in bytes
    size: i64 = 0,
    /// whether it is a directory
    dir: bool = false,
    /// time of the last change
    modified: ?[]const u8 = null,
    /// whether there is anything
    exists: bool = false,
};

/// fsStat describes a file or directory; that there is none is an answer and no error. It needs
/// the grant fs.read:{path}. Errors: error.Denied, error.Invalid.
pub fn fsStat(ask: FsStatRequest) Error!FsStatResponse {
    return request(FsStatResponse, "fs_stat", try print("stat {s}", .{ask.path}), ask, "");
}

/// what httpRequest takes
pub const HttpRequestRequest = struct {
    /// HTTP method; GET when it is left out
    method: []const u8 = "GET",
    /// absolute URL with scheme http or https
    url: []const u8,
    /// header fields, each with all its values
    headers: Map([]const []const u8) = .{},
    /// bounds the exchange with all its redirects; 0 for the host's own limit, in milliseconds
    timeout_ms: i64 = 0,
    /// bounds the body of the response; 0 for the host's own limit, in bytes
    max_bytes: i64 = 0,
};

/// what httpRequest answers
pub const HttpRequestResponse = struct {
    /// HTTP status code
    status: i64 = 0,
    /// header fields of the response, without cookies and what concerns the connection
    headers: Map([]const []const u8) = .{},
    /// where the response came from, after redirects
    url: []const u8 = "",
    /// whether the body was longer than allowed, and was cut
    truncated: bool = false,
    /// the content received
    body: []const u8 = "",
};

/// httpRequest sends an HTTP request and returns the response; every redirect needs the grant
/// too; a status of 400 or more is no error. It needs the grant http:{method} {url}. Errors:
/// error.Denied, error.Invalid, error.Limit, error.Io, error.Timeout.
/// The body is the content to send; empty for none.
pub fn httpRequest(ask: HttpRequestRequest, body: []const u8) Error!HttpRequestResponse {
    var full = ask;
    if (full.method.len == 0) full.method = "GET";
    return request(HttpRequestResponse, "http_request", try print("{s} {s}", .{ full.method, full.url }), full, body);
}

/// what kvGet takes
pub const KvGetRequest = struct {
    /// valid UTF-8 without control characters
    key: []const u8,
};

/// what kvGet answers
pub const KvGetResponse = struct {
    /// whether the key has a value
    found: bool = false,
    /// grows with every change of the key; 0 when it has no value
    revision: u64 = 0,
    /// the value
    body: []const u8 = "",
};

/// kvGet returns a value of the skill's own state; that there is none is an answer and no
/// error. It needs the grant kv. Errors: error.Denied, error.Invalid, error.Io.
pub fn kvGet(ask: KvGetRequest) Error!KvGetResponse {
    return request(KvGetResponse, "kv_get", try print("get key {s}", .{ask.key}), ask, "");
}

/// what kvPut takes
pub const KvPutRequest = struct {
    /// valid UTF-8 without control characters
    key: []const u8,
    /// how long the value lives; 0 until it is deleted, in seconds
    ttl_seconds: i64 = 0,
    /// stores only if the key still has this revision, with 0 only if it has no value; left
    /// out, it stores in any case
    revision: ?u64 = null,
};

/// what kvPut answers
pub const KvPutResponse = struct {
    /// the new revision
    revision: u64 = 0,
};

/// kvPut stores a value. It needs the grant kv. Errors: error.Denied, error.Invalid,
/// error.Conflict, error.Limit, error.Io.
/// The body is the value.
pub fn kvPut(ask: KvPutRequest, body: []const u8) Error!KvPutResponse {
    return request(KvPutResponse, "kv_put", try print("put key {s}", .{ask.key}), ask, body);
}

/// what kvDelete takes
pub const KvDeleteRequest = struct {
    /// valid UTF-8 without control characters
    key: []const u8,
};

/// what kvDelete answers
pub const KvDeleteResponse = struct {
    /// whether the key had a value
    deleted: bool = false,
};

/// kvDelete removes a value. It needs the grant kv. Errors: error.Denied, error.Invalid,
/// error.Io.
pub fn kvDelete(ask: KvDeleteRequest) Error!KvDeleteResponse {
    return request(KvDeleteResponse, "kv_delete", try print("delete key {s}", .{ask.key}), ask, "");
}

/// what kvList takes
pub const KvListRequest = struct {
    /// what the keys begin with; empty for all keys
    prefix: []const u8 = "",
    /// the most keys to return; 0 for as many as one call returns, in keys
    limit: i64 = 0,
};

/// what kvList answers
pub const KvListResponse = struct {
    /// the keys
    keys: []const []const u8 = &.{},
};

/// kvList returns the keys that begin with a prefix, in order. It needs the grant kv. Errors:
/// error.Denied, error.Invalid, error.Io.
pub fn kvList(ask: KvListRequest) Error!KvListResponse {
    return request(KvListResponse, "kv_list", try print("list keys {s}", .{ask.prefix}), ask, "");
}

/// what secretExists takes
pub const SecretExistsRequest = struct {
    /// name of the secret
    name: []const u8,
};

/// what secretExists answers
pub const SecretExistsResponse = struct {
    /// whether it is stored
    exists: bool = false,
};

/// secretExists says whether a secret is stored; its value never reaches a skill: the host adds
/// it to requests where the manifest says so. It needs the grant secret:{name}. Errors:
/// error.Denied, error.Io.
pub fn secretExists(ask: SecretExistsRequest) Error!SecretExistsResponse {
    return request(SecretExistsResponse, "secret_exists", try print("look for secret {s}", .{ask.name}), ask, "");
}

/// what logLine takes
pub const LogRequest = struct {
    /// how much the line matters; info when it is left out
    level: Level = .info,
    /// named values beside the message; at most 16
    fields: Map([]const u8) = .{},
};

/// logLine writes a line to the log of the call, which is for people who look into a call
/// afterwards. It needs no grant. Errors: error.Invalid, error.Limit.
/// The body is the message.
pub fn logLine(ask: LogRequest, body: []const u8) Error!void {
    _ = try request(struct {}, "log", "log", ask, body);
}

/// what notify takes
pub const NotifyRequest = struct {
    /// how much it matters; info when it is left out
    severity: Severity = .info,
    /// one line of up to 200 bytes; not empty
    title: []const u8,
};

/// notify sends a notification to the person who owns the host. It needs the grant notify.
/// Errors: error.Denied, error.Invalid, error.Limit, error.Io.
/// The body is the text, up to 4096 bytes; it may be empty.
pub fn notify(ask: NotifyRequest, body: []const u8) Error!void {
    _ = try request(struct {}, "notify", "notify", ask, body);
}

/// what skillCall takes
pub const SkillCallRequest = struct {
    /// name of the skill, without a version
    skill: []const u8,
    /// name of the tool; it may be left out when the skill has only one
    tool: []const u8 = "",
    /// name of the session to go on with, which takes the grant session:{skill}/{session} too
    session: []const u8 = "",
};

/// what skillCall answers
pub const SkillCallResponse = struct {
    /// the output of the tool
    body: []const u8 = "",
};

/// skillCall calls a tool of another skill, which runs with its own grants and limits and
/// within the time that the caller has left. It needs the grant skill:{skill}. Errors:
/// error.Denied, error.NotFound, error.Invalid, error.Conflict, error.Limit, error.Timeout,
/// error.Failed.
/// The body is the input of the tool.
pub fn skillCall(ask: SkillCallRequest, body: []const u8) Error!SkillCallResponse {
    return request(SkillCallResponse, "skill_call", try print("call skill {s}", .{ask.skill}), ask, body);
}

/// what modelCall takes
pub const ModelCallRequest = struct {
    /// name of the model, as the host knows it
    model: []const u8,
    /// what the model is told before the prompt
    system: []const u8 = "",
    /// the longest answer; 0 for the host's own limit, in tokens
    max_tokens: i64 = 0,
    /// how freely the model chooses, from 0 to 2; left out, as the provider has it
    temperature: ?f64 = null,
    /// what the answer is to be; text when it is left out
    format: Format = .text,
};

/// what modelCall answers
pub const ModelCallResponse = struct {
    /// the model that answered
    model: []const u8 = "",
    /// why the answer ends where it does
    finish_reason: []const u8 = "",
    /// length of what was asked, in tokens
    input_tokens: i64 = 0,
    /// length of the answer, in tokens
    output_tokens: i64 = 0,
    /// the answer
    body: []const u8 = "",
};

/// modelCall asks a language model; without a provider for the model it fails and says so. It
/// needs the grant model:{model}. Errors: error.Denied, error.Invalid, error.Limit,
/// error.Failed.
/// The body is the prompt.
pub fn modelCall(ask: ModelCallRequest, body: []const u8) Error!ModelCallResponse {
    return request(ModelCallResponse, "model_call", try print("ask model {s}", .{ask.model}), ask, body);
}

// generated from sdk/hostapi/interface.json: end

test "encode and parse" {
    const T = struct { text: []const u8 = "", list: []const i64 = &.{}, maybe: ?f64 = null };
    const got = try parse(T, "{\"text\":\"\\u00fc\",\"list\":[1,-2],\"other\":{}}");
    try std.testing.expectEqualStrings("ü", got.text);
    try std.testing.expectEqual(@as(i64, -2), got.list[1]);
    try std.testing.expectEqualStrings("{\"text\":\"ü\",\"list\":[1,-2],\"maybe\":null}", try encode(got));
    try std.testing.expectError(error.Invalid, parse(T, "{\"list\":[\"1\"]}"));
    try std.testing.expectEqualStrings("list: must be a whole number in range, not a string", message(error.Invalid));
}

test "no host" {
    try std.testing.expectError(error.Failed, readFile("/a"));
}
