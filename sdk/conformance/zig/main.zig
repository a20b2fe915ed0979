//! The conformance skill in Zig.
const skillet = @import("skillet.zig");
const functions = @import("functions.zig");

comptime {
    skillet.tool("values", values);
    skillet.tool("fail", fail);
    skillet.tool("caught", caught);
    skillet.tool("read_file", readFile);
    for (functions.tools) |t| skillet.tool(t.name, t.function);
}

export fn echo() i32 {
    var in = skillet.input();
    while (in.len > 0) {
        const n = @min(in.len, 100_000);
        skillet.output(in[0..n]);
        in = in[n..];
    }
    return 0;
}

const Values = struct {
    text: []const u8 = "",
    int: i64 = 0,
    float: f64 = 0,
    flag: bool = false,
    list: []const i64 = &.{},
    map: skillet.Map([]const u8) = .{},
    maybe: ?[]const u8 = null,
    inner: struct { depth: i64 = 0 } = .{},
};

fn values(in: Values) !Values {
    return in;
}

const Failure = struct { kind: []const u8 = "", message: []const u8 = "" };

fn fail(in: struct { kind: skillet.Kind = .failed, message: []const u8 = "" }) !struct {} {
    return skillet.fail(in.kind, "{s}", .{in.message});
}

const Path = struct { path: []const u8 = "" };

fn caught(in: Path) !Failure {
    _ = skillet.readFile(in.path) catch |err| return .{ .kind = @tagName(skillet.kindOf(err)), .message = skillet.message(err) };
    return .{};
}

fn readFile(in: Path) !struct { bytes: usize, sum: u32 } {
    const content = try skillet.readFile(in.path);
    var sum: u32 = 0;
    for (content) |b| sum +%= b;
    return .{ .bytes = content.len, .sum = sum };
}
