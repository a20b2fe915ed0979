//! A tool for each host function.
const skillet = @import("skillet.zig");

pub const tools = .{
    .{ .name = "fs_read", .function = fsRead },
    .{ .name = "fs_write", .function = fsWrite },
    .{ .name = "fs_list", .function = fsList },
    .{ .name = "fs_stat", .function = fsStat },
    .{ .name = "http_request", .function = httpRequest },
    .{ .name = "kv_get", .function = kvGet },
    .{ .name = "kv_put", .function = kvPut },
    .{ .name = "kv_delete", .function = kvDelete },
    .{ .name = "kv_list", .function = kvList },
    .{ .name = "secret_exists", .function = secretExists },
    .{ .name = "log_line", .function = log },
    .{ .name = "notify", .function = notify },
    .{ .name = "skill_call", .function = skillCall },
    .{ .name = "model_call", .function = modelCall },
};

fn fsRead(in: struct { path: []const u8 = "", offset: i64 = 0, length: i64 = 0 }) !skillet.FsReadResponse {
    return skillet.fsRead(.{ .path = in.path, .offset = in.offset, .length = in.length });
}

fn fsWrite(in: struct { path: []const u8 = "", append: bool = false, create_only: bool = false, body: []const u8 = "" }) !skillet.FsWriteResponse {
    return skillet.fsWrite(.{ .path = in.path, .append = in.append, .create_only = in.create_only }, in.body);
}

fn fsList(in: struct { path: []const u8 = "", recursive: bool = false, limit: i64 = 0 }) !skillet.FsListResponse {
    return skillet.fsList(.{ .path = in.path, .recursive = in.recursive, .limit = in.limit });
}

fn fsStat(in: struct { path: []const u8 = "" }) !skillet.FsStatResponse {
    return skillet.fsStat(.{ .path = in.path });
}

const Request = struct {
    method: []const u8 = "",
    url: []const u8 = "",
    headers: skillet.Map([]const []const u8) = .{},
    timeout_ms: i64 = 0,
    max_bytes: i64 = 0,
    body: []const u8 = "",
};

fn httpRequest(in: Request) !skillet.HttpRequestResponse {
    return skillet.httpRequest(.{
        .method = in.method,
        .url = in.url,
        .headers = in.headers,
        .timeout_ms = in.timeout_ms,
        .max_bytes = in.max_bytes,
    }, in.body);
}

const Key = struct { key: []const u8 = "" };

fn kvGet(in: Key) !skillet.KvGetResponse {
    return skillet.kvGet(.{ .key = in.key });
}

fn kvPut(in: struct { key: []const u8 = "", ttl_seconds: i64 = 0, revision: ?u64 = null, body: []const u8 = "" }) !skillet.KvPutResponse {
    return skillet.kvPut(.{ .key = in.key, .ttl_seconds = in.ttl_seconds, .revision = in.revision }, in.body);
}

fn kvDelete(in: Key) !skillet.KvDeleteResponse {
    return skillet.kvDelete(.{ .key = in.key });
}

fn kvList(in: struct { prefix: []const u8 = "", limit: i64 = 0 }) !skillet.KvListResponse {
    return skillet.kvList(.{ .prefix = in.prefix, .limit = in.limit });
}

fn secretExists(in: struct { name: []const u8 = "" }) !skillet.SecretExistsResponse {
    return skillet.secretExists(.{ .name = in.name });
}

const Nothing = struct {};

fn log(in: struct { level: skillet.Level = .info, fields: skillet.Map([]const u8) = .{}, message: []const u8 = "" }) !Nothing {
    try skillet.logLine(.{ .level = in.level, .fields = in.fields }, in.message);
    return .{};
}

fn notify(in: struct { severity: skillet.Severity = .info, title: []const u8 = "", text: []const u8 = "" }) !Nothing {
    try skillet.notify(.{ .severity = in.severity, .title = in.title }, in.text);
    return .{};
}

fn skillCall(in: struct { skill: []const u8 = "", tool: []const u8 = "", session: []const u8 = "", body: []const u8 = "" }) !skillet.SkillCallResponse {
    return skillet.skillCall(.{ .skill = in.skill, .tool = in.tool, .session = in.session }, in.body);
}

const Prompt = struct {
    model: []const u8 = "",
    system: []const u8 = "",
    max_tokens: i64 = 0,
    temperature: ?f64 = null,
    format: skillet.Format = .text,
    prompt: []const u8 = "",
};

fn modelCall(in: Prompt) !skillet.ModelCallResponse {
    return skillet.modelCall(.{
        .model = in.model,
        .system = in.system,
        .max_tokens = in.max_tokens,
        .temperature = in.temperature,
        .format = in.format,
    }, in.prompt);
}
