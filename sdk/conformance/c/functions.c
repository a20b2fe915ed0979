// The conformance skill in C: a tool for each host function.
#include "skillet.h"

SKILLET_TOOL(fs_read) {
	skillet_fs_read_request ask = {0};
	skillet_fs_read_response got;
	if (!skillet_get_string(in, "path", &ask.path, err) || !skillet_get_int(in, "offset", &ask.offset, err) ||
		!skillet_get_int(in, "length", &ask.length, err) || !skillet_fs_read(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_int(out, "size", got.size);
	skillet_add_bool(out, "truncated", got.truncated);
	skillet_add_string(out, "body", got.body);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(fs_write) {
	skillet_fs_write_request ask = {0};
	skillet_fs_write_response got;
	if (!skillet_get_string(in, "path", &ask.path, err) || !skillet_get_bool(in, "append", &ask.append, err) ||
		!skillet_get_bool(in, "create_only", &ask.create_only, err) || !skillet_get_string(in, "body", &ask.body, err) ||
		!skillet_fs_write(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_int(out, "size", got.size);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(fs_list) {
	skillet_fs_list_request ask = {0};
	skillet_fs_list_response got;
	if (!skillet_get_string(in, "path", &ask.path, err) || !skillet_get_bool(in, "recursive", &ask.recursive, err) ||
		!skillet_get_int(in, "limit", &ask.limit, err) || !skillet_fs_list(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_key(out, "entries");
	skillet_begin_array(out);
	for (size_t i = 0; i < got.entries_count; i++) {
		const skillet_entry *e = &got.entries[i];
		skillet_begin_object(out);
		skillet_add_string(out, "name", e->name);
		skillet_add_string(out, "path", e->path);
		skillet_add_int(out, "size", e->size);
		skillet_add_bool(out, "dir", e->dir);
		skillet_add_string(out, "modified", e->modified);
		skillet_end_object(out);
	}
	skillet_end_array(out);
	skillet_add_bool(out, "truncated", got.truncated);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(fs_stat) {
	skillet_fs_stat_request ask = {0};
	skillet_fs_stat_response got;
	if (!skillet_get_string(in, "path", &ask.path, err) || !skillet_fs_stat(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_int(out, "size", got.size);
	skillet_add_bool(out, "dir", got.dir);
	if (got.modified.len > 0) skillet_add_string(out, "modified", got.modified);
	else skillet_add_null(out, "modified");
	skillet_add_bool(out, "exists", got.exists);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(http_request) {
	skillet_http_request_request ask = {0};
	skillet_http_request_response got;
	if (!skillet_get_string(in, "method", &ask.method, err) || !skillet_get_string(in, "url", &ask.url, err) ||
		!skillet_get_pairs(in, "headers", true, &ask.headers, &ask.headers_count, err) ||
		!skillet_get_int(in, "timeout_ms", &ask.timeout_ms, err) || !skillet_get_int(in, "max_bytes", &ask.max_bytes, err) ||
		!skillet_get_string(in, "body", &ask.body, err) || !skillet_http_request(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_int(out, "status", got.status);
	skillet_add_lists(out, "headers", got.headers, got.headers_count);
	skillet_add_string(out, "url", got.url);
	skillet_add_bool(out, "truncated", got.truncated);
	skillet_add_string(out, "body", got.body);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(kv_get) {
	skillet_kv_get_request ask = {0};
	skillet_kv_get_response got;
	if (!skillet_get_string(in, "key", &ask.key, err) || !skillet_kv_get(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_bool(out, "found", got.found);
	skillet_add_uint(out, "revision", got.revision);
	skillet_add_string(out, "body", got.body);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(kv_put) {
	skillet_kv_put_request ask = {0};
	skillet_kv_put_response got;
	uint64_t revision = 0;
	if (!skillet_get_string(in, "key", &ask.key, err) || !skillet_get_int(in, "ttl_seconds", &ask.ttl_seconds, err) ||
		!skillet_get_uint(in, "revision", &revision, err) || !skillet_get_string(in, "body", &ask.body, err)) return false;
	if (skillet_find(in, "revision") != 0) ask.revision = &revision;
	if (!skillet_kv_put(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_uint(out, "revision", got.revision);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(kv_delete) {
	skillet_kv_delete_request ask = {0};
	skillet_kv_delete_response got;
	if (!skillet_get_string(in, "key", &ask.key, err) || !skillet_kv_delete(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_bool(out, "deleted", got.deleted);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(kv_list) {
	skillet_kv_list_request ask = {0};
	skillet_kv_list_response got;
	if (!skillet_get_string(in, "prefix", &ask.prefix, err) || !skillet_get_int(in, "limit", &ask.limit, err) ||
		!skillet_kv_list(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_strings(out, "keys", got.keys, got.keys_count);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(secret_exists) {
	skillet_secret_exists_request ask = {0};
	skillet_secret_exists_response got;
	if (!skillet_get_string(in, "name", &ask.name, err) || !skillet_secret_exists(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_bool(out, "exists", got.exists);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(log) {
	skillet_log_request ask = {0};
	skillet_str level = {0};
	if (!skillet_get_string(in, "level", &level, err) || !skillet_get_string(in, "message", &ask.body, err) ||
		!skillet_get_pairs(in, "fields", false, &ask.fields, &ask.fields_count, err)) return false;
	if (level.len > 0 && !skillet_level_of(level, &ask.level)) return skillet_fail(err, SKILLET_INVALID, "level: there is no %t", level);
	skillet_begin_object(out);
	skillet_end_object(out);
	return skillet_log(&ask, err);
}

SKILLET_TOOL(notify) {
	skillet_notify_request ask = {0};
	skillet_str severity = {0};
	if (!skillet_get_string(in, "severity", &severity, err) || !skillet_get_string(in, "title", &ask.title, err) ||
		!skillet_get_string(in, "text", &ask.body, err)) return false;
	if (severity.len > 0 && !skillet_severity_of(severity, &ask.severity)) return skillet_fail(err, SKILLET_INVALID, "severity: there is no %t", severity);
	skillet_begin_object(out);
	skillet_end_object(out);
	return skillet_notify(&ask, err);
}

SKILLET_TOOL(skill_call) {
	skillet_skill_call_request ask = {0};
	skillet_skill_call_response got;
	if (!skillet_get_string(in, "skill", &ask.skill, err) || !skillet_get_string(in, "tool", &ask.tool, err) ||
		!skillet_get_string(in, "session", &ask.session, err) || !skillet_get_string(in, "body", &ask.body, err) ||
		!skillet_skill_call(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_string(out, "body", got.body);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(model_call) {
	skillet_model_call_request ask = {0};
	skillet_model_call_response got;
	skillet_str format = {0};
	double temperature = 0;
	if (!skillet_get_string(in, "model", &ask.model, err) || !skillet_get_string(in, "system", &ask.system, err) ||
		!skillet_get_int(in, "max_tokens", &ask.max_tokens, err) || !skillet_get_float(in, "temperature", &temperature, err) ||
		!skillet_get_string(in, "format", &format, err) || !skillet_get_string(in, "prompt", &ask.body, err)) return false;
	if (skillet_find(in, "temperature") != 0) ask.temperature = &temperature;
	if (format.len > 0 && !skillet_format_of(format, &ask.format)) return skillet_fail(err, SKILLET_INVALID, "format: there is no %t", format);
	if (!skillet_model_call(&ask, &got, err)) return false;
	skillet_begin_object(out);
	skillet_add_string(out, "model", got.model);
	skillet_add_string(out, "finish_reason", got.finish_reason);
	skillet_add_int(out, "input_tokens", got.input_tokens);
	skillet_add_int(out, "output_tokens", got.output_tokens);
	skillet_add_string(out, "body", got.body);
	skillet_end_object(out);
	return true;
}
