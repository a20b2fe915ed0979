//! A tool for each host function.

use crate::Nothing;
use skillet::*;

object! {
    struct Read { path: String, offset: i64, length: i64 }
}

fn fs_read(i: Read) -> Result<FsReadResponse> {
    skillet::fs_read(FsReadRequest { path: &i.path, offset: i.offset, length: i.length })
}

object! {
    struct Write { path: String, append: bool, create_only: bool, body: String }
}

fn fs_write(i: Write) -> Result<FsWriteResponse> {
    skillet::fs_write(FsWriteRequest { path: &i.path, append: i.append, create_only: i.create_only }, i.body.as_bytes())
}

object! {
    struct List { path: String, recursive: bool, limit: i64 }
}

fn fs_list(i: List) -> Result<FsListResponse> {
    skillet::fs_list(FsListRequest { path: &i.path, recursive: i.recursive, limit: i.limit })
}

object! {
    struct Path { path: String }
}

fn fs_stat(i: Path) -> Result<FsStatResponse> {
    skillet::fs_stat(FsStatRequest { path: &i.path })
}

object! {
    struct Request { method: String, url: String, headers: Map<Vec<String>>, timeout_ms: i64, max_bytes: i64, body: String }
}

fn http_request(i: Request) -> Result<HttpRequestResponse> {
    let ask = HttpRequestRequest { method: &i.method, url: &i.url, headers: i.headers, timeout_ms: i.timeout_ms, max_bytes: i.max_bytes };
    skillet::http_request(ask, i.body.as_bytes())
}

object! {
    struct Key { key: String }
}

fn kv_get(i: Key) -> Result<KvGetResponse> {
    skillet::kv_get(KvGetRequest { key: &i.key })
}

object! {
    struct Put { key: String, ttl_seconds: i64, revision: Option<u64>, body: String }
}

fn kv_put(i: Put) -> Result<KvPutResponse> {
    skillet::kv_put(KvPutRequest { key: &i.key, ttl_seconds: i.ttl_seconds, revision: i.revision }, i.body.as_bytes())
}

fn kv_delete(i: Key) -> Result<KvDeleteResponse> {
    skillet::kv_delete(KvDeleteRequest { key: &i.key })
}

object! {
    struct Prefix { prefix: String, limit: i64 }
}

fn kv_list(i: Prefix) -> Result<KvListResponse> {
    skillet::kv_list(KvListRequest { prefix: &i.prefix, limit: i.limit })
}

object! {
    struct Name { name: String }
}

fn secret_exists(i: Name) -> Result<SecretExistsResponse> {
    skillet::secret_exists(SecretExistsRequest { name: &i.name })
}

object! {
    struct Line { level: Level, fields: Map<String>, message: String }
}

fn log(i: Line) -> Result<Nothing> {
    log_line(LogRequest { level: i.level, fields: i.fields }, i.message.as_bytes()).map(|_| Nothing {})
}

object! {
    struct Notification { severity: Severity, title: String, text: String }
}

fn notify(i: Notification) -> Result<Nothing> {
    skillet::notify(NotifyRequest { severity: i.severity, title: &i.title }, i.text.as_bytes()).map(|_| Nothing {})
}

object! {
    struct Skill { skill: String, tool: String, session: String, body: String }
}

fn skill_call(i: Skill) -> Result<SkillCallResponse> {
    skillet::skill_call(SkillCallRequest { skill: &i.skill, tool: &i.tool, session: &i.session }, i.body.as_bytes())
}

object! {
    struct Prompt { model: String, system: String, max_tokens: i64, temperature: Option<f64>, format: Format, prompt: String }
}

fn model_call(i: Prompt) -> Result<ModelCallResponse> {
    let ask = ModelCallRequest { model: &i.model, system: &i.system, max_tokens: i.max_tokens, temperature: i.temperature, format: i.format };
    skillet::model_call(ask, i.prompt.as_bytes())
}

tool!(fs_read);
tool!(fs_write);
tool!(fs_list);
tool!(fs_stat);
tool!(http_request);
tool!(kv_get);
tool!(kv_put);
tool!(kv_delete);
tool!(kv_list);
tool!(secret_exists);
tool!("log", log);
tool!(notify);
tool!(skill_call);
tool!(model_call);
