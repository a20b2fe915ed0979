// The conformance skill in C++: a tool for each host function.
#include "skillet.h"

using skillet::Status;
using skillet::Text;
using skillet::Writer;

SKILLET_CPP_TOOL(fs_read) {
	skillet_fs_read_request ask = {};
	ask.path = in.text("path");
	ask.offset = in.integer("offset");
	ask.length = in.integer("length");
	auto got = skillet::fs_read(ask);
	if (!got) return got;
	out.integer("size", got->size).flag("truncated", got->truncated).text("body", got->body);
	return {};
}

SKILLET_CPP_TOOL(fs_write) {
	skillet_fs_write_request ask = {};
	ask.path = in.text("path");
	ask.append = in.flag("append");
	ask.create_only = in.flag("create_only");
	ask.body = in.text("body");
	auto got = skillet::fs_write(ask);
	if (!got) return got;
	out.integer("size", got->size);
	return {};
}

SKILLET_CPP_TOOL(fs_list) {
	skillet_fs_list_request ask = {};
	ask.path = in.text("path");
	ask.recursive = in.flag("recursive");
	ask.limit = in.integer("limit");
	auto got = skillet::fs_list(ask);
	if (!got) return got;
	out.array("entries", [&](skillet_buffer *to) {
		for (size_t i = 0; i < got->entries_count; i++) {
			const skillet_entry &e = got->entries[i];
			skillet_begin_object(to);
			Writer(to).text("name", e.name).text("path", e.path).integer("size", e.size).flag("dir", e.dir).text("modified", e.modified);
			skillet_end_object(to);
		}
	});
	out.flag("truncated", got->truncated);
	return {};
}

SKILLET_CPP_TOOL(fs_stat) {
	skillet_fs_stat_request ask = {};
	ask.path = in.text("path");
	auto got = skillet::fs_stat(ask);
	if (!got) return got;
	out.integer("size", got->size).flag("dir", got->dir).flag("exists", got->exists);
	if (got->modified.len > 0) out.text("modified", got->modified);
	else out.null("modified");
	return {};
}

SKILLET_CPP_TOOL(http_request) {
	skillet_http_request_request ask = {};
	skillet_error err = {};
	ask.method = in.text("method");
	ask.url = in.text("url");
	ask.timeout_ms = in.integer("timeout_ms");
	ask.max_bytes = in.integer("max_bytes");
	ask.body = in.text("body");
	if (!skillet_get_pairs(in.value(), "headers", true, &ask.headers, &ask.headers_count, &err)) return err;
	auto got = skillet::http_request(ask);
	if (!got) return got;
	out.integer("status", got->status).text("url", got->url).flag("truncated", got->truncated).text("body", got->body);
	skillet_add_lists(out.buffer(), "headers", got->headers, got->headers_count);
	return {};
}

SKILLET_CPP_TOOL(kv_get) {
	auto got = skillet::kv_get({in.text("key")});
	if (!got) return got;
	out.flag("found", got->found).natural("revision", got->revision).text("body", got->body);
	return {};
}

SKILLET_CPP_TOOL(kv_put) {
	skillet_kv_put_request ask = {};
	uint64_t revision = in.natural("revision");
	ask.key = in.text("key");
	ask.ttl_seconds = in.integer("ttl_seconds");
	ask.revision = in.has("revision") ? &revision : nullptr;
	ask.body = in.text("body");
	auto got = skillet::kv_put(ask);
	if (!got) return got;
	out.natural("revision", got->revision);
	return {};
}

SKILLET_CPP_TOOL(kv_delete) {
	auto got = skillet::kv_delete({in.text("key")});
	if (!got) return got;
	out.flag("deleted", got->deleted);
	return {};
}

SKILLET_CPP_TOOL(kv_list) {
	auto got = skillet::kv_list({in.text("prefix"), in.integer("limit")});
	if (!got) return got;
	skillet_add_strings(out.buffer(), "keys", got->keys, got->keys_count);
	return {};
}

SKILLET_CPP_TOOL(secret_exists) {
	auto got = skillet::secret_exists({in.text("name")});
	if (!got) return got;
	out.flag("exists", got->exists);
	return {};
}

SKILLET_CPP_TOOL(log) {
	skillet_log_request ask = {};
	skillet_error err = {};
	Text level = in.text("level");
	if (!level.empty() && !skillet_level_of(level, &ask.level)) return Status(SKILLET_INVALID, "level: there is no such level");
	if (!skillet_get_pairs(in.value(), "fields", false, &ask.fields, &ask.fields_count, &err)) return err;
	ask.body = in.text("message");
	return skillet::log(ask);
}

SKILLET_CPP_TOOL(notify) {
	skillet_notify_request ask = {};
	Text severity = in.text("severity");
	if (!severity.empty() && !skillet_severity_of(severity, &ask.severity)) return Status(SKILLET_INVALID, "severity: there is no such severity");
	ask.title = in.text("title");
	ask.body = in.text("text");
	return skillet::notify(ask);
}

SKILLET_CPP_TOOL(skill_call) {
	skillet_skill_call_request ask = {};
	ask.skill = in.text("skill");
	ask.tool = in.text("tool");
	ask.session = in.text("session");
	ask.body = in.text("body");
	auto got = skillet::skill_call(ask);
	if (!got) return got;
	out.text("body", got->body);
	return {};
}

SKILLET_CPP_TOOL(model_call) {
	skillet_model_call_request ask = {};
	double temperature = in.number("temperature");
	Text format = in.text("format");
	if (!format.empty() && !skillet_format_of(format, &ask.format)) return Status(SKILLET_INVALID, "format: there is no such format");
	ask.model = in.text("model");
	ask.system = in.text("system");
	ask.max_tokens = in.integer("max_tokens");
	ask.temperature = in.has("temperature") ? &temperature : nullptr;
	ask.body = in.text("prompt");
	auto got = skillet::model_call(ask);
	if (!got) return got;
	out.text("model", got->model).text("finish_reason", got->finish_reason).text("body", got->body);
	out.integer("input_tokens", got->input_tokens).integer("output_tokens", got->output_tokens);
	return {};
}
