//! Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.

use crate::{request, Json, Map, Result};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

choice! {
    /// What sort of error it is.
    pub enum Kind {
        /// Anything else.
        Failed = "failed",
        /// No grant or policy allows the request.
        Denied = "denied",
        /// The named file, skill or other thing does not exist.
        NotFound = "not_found",
        /// The request or input is malformed or contradicts itself; the same again cannot
        /// succeed.
        Invalid = "invalid",
        /// The file or value exists already, or changed meanwhile.
        Conflict = "conflict",
        /// A size, count or quota was reached.
        Limit = "limit",
        /// Reading, writing or the network failed, or the host lacks what it takes.
        Io = "io",
        /// The time allowed for the operation ran out.
        Timeout = "timeout",
        /// The call is replayed or tested, and nothing says how the host would answer.
        NotRecorded = "not_recorded",
    }
}

choice! {
    /// Says how much a log line matters.
    pub enum Level {
        /// What happened.
        Info = "info",
        /// Every step.
        Trace = "trace",
        /// What helps to find a mistake.
        Debug = "debug",
        /// What should not happen, and did no harm.
        Warn = "warn",
        /// What went wrong.
        Error = "error",
    }
}

choice! {
    /// Says how much a notification matters.
    pub enum Severity {
        /// Good to know.
        Info = "info",
        /// Somebody should look at it.
        Warning = "warning",
        /// Somebody has to do something.
        Error = "error",
    }
}

choice! {
    /// Says what a model is to answer with.
    pub enum Format {
        /// Text, as it comes.
        Text = "text",
        /// One JSON value and nothing around it.
        Json = "json",
    }
}

/// The longest request data; what is long belongs in the body., in bytes
pub const MAX_META: i64 = 262144;

/// The most that one fs_read returns., in bytes
pub const MAX_READ: i64 = 4194304;

/// The most that one fs_list returns., in entries
pub const MAX_LIST: i64 = 10000;

/// The longest URL., in bytes
pub const MAX_URL: i64 = 8192;

/// The most that one request follows., in redirects
pub const MAX_REDIRECTS: i64 = 5;

/// The most that one request may set., in header fields
pub const MAX_HEADERS: i64 = 64;

/// The longest header of a request, and of a response., in bytes
pub const MAX_HEADER_BYTES: i64 = 65536;

/// The longest key., in bytes
pub const MAX_KEY: i64 = 512;

/// The longest value of a key., in bytes
pub const MAX_VALUE: i64 = 262144;

/// The most that one kv_list returns., in keys
pub const MAX_KEYS: i64 = 1000;

/// The longest prompt, with what the model is told before it., in bytes
pub const MAX_PROMPT: i64 = 1048576;

/// The longest answer of a model., in bytes
pub const MAX_MODEL_ANSWER: i64 = 4194304;

object! {
    /// A file or directory of a listing.
    pub struct Entry {
        /// Last element of the path.
        pub name: String,
        /// Absolute path.
        pub path: String,
        /// Length of the file; 0 for a directory, in bytes.
        pub size: i64,
        /// Whether it is a directory.
        pub dir: bool,
        /// Time of the last change.
        pub modified: String,
    }
}

/// What [`fs_read`] takes.
#[derive(Clone, Debug, Default)]
pub struct FsReadRequest<'a> {
    /// Absolute path, or relative to the workspace where there is one.
    pub path: &'a str,
    /// Where to begin; behind the end there is nothing, in bytes.
    pub offset: i64,
    /// How much; 0 for as much as one call returns, in bytes.
    pub length: i64,
}

impl FsReadRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"path\":");
        crate::json::string(&mut out, self.path);
        out.push_str(",\"offset\":");
        self.offset.write(&mut out);
        out.push_str(",\"length\":");
        self.length.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`fs_read`] answers.
    pub struct FsReadResponse {
        /// Length of the whole file, in bytes.
        pub size: i64,
        /// Whether the file goes on behind what was read.
        pub truncated: bool,
        /// The content.
        pub body: crate::Bytes,
    }
}

/// Returns the content of a file, or a part of it. It needs the grant fs.read:{path}. Errors:
/// [`Kind::Denied`], [`Kind::NotFound`], [`Kind::Invalid`], [`Kind::Limit`].
pub fn fs_read(ask: FsReadRequest<'_>) -> Result<FsReadResponse> {
    let subject = format!("read {}", ask.path);
    let (answer, body) = request(imports::fs_read, &subject, &ask.json(), &[])?;
    let mut read = FsReadResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))?;
    read.body = crate::Bytes(body);
    Ok(read)
}

/// What [`fs_write`] takes.
#[derive(Clone, Debug, Default)]
pub struct FsWriteRequest<'a> {
    /// Absolute path, or relative to the workspace where there is one.
    pub path: &'a str,
    /// Writes behind what is there.
    pub append: bool,
    /// Refuses to touch a file that exists.
    pub create_only: bool,
}

impl FsWriteRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"path\":");
        crate::json::string(&mut out, self.path);
        out.push_str(",\"append\":");
        self.append.write(&mut out);
        out.push_str(",\"create_only\":");
        self.create_only.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`fs_write`] answers.
    pub struct FsWriteResponse {
        /// Length of the file afterwards, in bytes.
        pub size: i64,
    }
}

/// Replaces a file, makes a new one, or writes behind the end of one. It needs the grant
/// fs.write:{path}. Errors: [`Kind::Denied`], [`Kind::NotFound`], [`Kind::Invalid`],
/// [`Kind::Conflict`], [`Kind::Limit`].
/// The body is the content.
pub fn fs_write(ask: FsWriteRequest<'_>, body: &[u8]) -> Result<FsWriteResponse> {
    let subject = format!("write {}", ask.path);
    let (answer, _) = request(imports::fs_write, &subject, &ask.json(), body)?;
    FsWriteResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`fs_list`] takes.
#[derive(Clone, Debug, Default)]
pub struct FsListRequest<'a> {
    /// Absolute path, or relative to the workspace where there is one.
    pub path: &'a str,
    /// Lists what is below, too.
    pub recursive: bool,
    /// The most entries to return; 0 for 1000, in entries.
    pub limit: i64,
}

impl FsListRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"path\":");
        crate::json::string(&mut out, self.path);
        out.push_str(",\"recursive\":");
        self.recursive.write(&mut out);
        out.push_str(",\"limit\":");
        self.limit.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`fs_list`] answers.
    pub struct FsListResponse {
        /// Files and directories found.
        pub entries: Vec<Entry>,
        /// Whether the limit cut the list.
        pub truncated: bool,
    }
}

/// Lists a directory, sorted by name, each directory before what is in it. It needs the grant
/// fs.read:{path}. Errors: [`Kind::Denied`], [`Kind::NotFound`], [`Kind::Invalid`],
/// [`Kind::Limit`].
pub fn fs_list(ask: FsListRequest<'_>) -> Result<FsListResponse> {
    let subject = format!("list {}", ask.path);
    let (answer, _) = request(imports::fs_list, &subject, &ask.json(), &[])?;
    FsListResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`fs_stat`] takes.
#[derive(Clone, Debug, Default)]
pub struct FsStatRequest<'a> {
    /// Absolute path, or relative to the workspace where there is one.
    pub path: &'a str,
}

impl FsStatRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"path\":");
        crate::json::string(&mut out, self.path);
        out.push('}');
        out
    }
}

object! {
    /// What [`fs_stat`] answers.
    pub struct FsStatResponse {
        /// Length of the file; 0 for a directory, in bytes.
        pub size: i64,
        /// Whether it is a directory.
        pub dir: bool,
        /// Time of the last change.
        pub modified: Option<String>,
        /// Whether there is anything.
        pub exists: bool,
    }
}

/// Describes a file or directory; that there is none is an answer and no error. It needs the
/// grant fs.read:{path}. Errors: [`Kind::Denied`], [`Kind::Invalid`].
pub fn fs_stat(ask: FsStatRequest<'_>) -> Result<FsStatResponse> {
    let subject = format!("stat {}", ask.path);
    let (answer, _) = request(imports::fs_stat, &subject, &ask.json(), &[])?;
    FsStatResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`http_request`] takes.
#[derive(Clone, Debug, Default)]
pub struct HttpRequestRequest<'a> {
    /// HTTP method; GET when it is left out.
    pub method: &'a str,
    /// Absolute URL with scheme http or https.
    pub url: &'a str,
    /// Header fields, each with all its values.
    pub headers: Map<Vec<String>>,
    /// Bounds the exchange with all its redirects; 0 for the host's own limit, in milliseconds.
    pub timeout_ms: i64,
    /// Bounds the body of the response; 0 for the host's own limit, in bytes.
    pub max_bytes: i64,
}

impl HttpRequestRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"method\":");
        crate::json::string(&mut out, if self.method.is_empty() { "GET" } else { self.method });
        out.push_str(",\"url\":");
        crate::json::string(&mut out, self.url);
        out.push_str(",\"headers\":");
        self.headers.write(&mut out);
        out.push_str(",\"timeout_ms\":");
        self.timeout_ms.write(&mut out);
        out.push_str(",\"max_bytes\":");
        self.max_bytes.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`http_request`] answers.
    pub struct HttpRequestResponse {
        /// HTTP status code.
        pub status: i64,
        /// Header fields of the response, without cookies and what concerns the connection.
        pub headers: Map<Vec<String>>,
        /// Where the response came from, after redirects.
        pub url: String,
        /// Whether the body was longer than allowed, and was cut.
        pub truncated: bool,
        /// The content received.
        pub body: crate::Bytes,
    }
}

/// Sends an HTTP request and returns the response; every redirect needs the grant too; a status
/// of 400 or more is no error. It needs the grant http:{method} {url}. Errors:
/// [`Kind::Denied`], [`Kind::Invalid`], [`Kind::Limit`], [`Kind::Io`], [`Kind::Timeout`].
/// The body is the content to send; empty for none.
pub fn http_request(ask: HttpRequestRequest<'_>, body: &[u8]) -> Result<HttpRequestResponse> {
    let subject = format!("{} {}", if ask.method.is_empty() { "GET" } else { ask.method }, ask.url);
    let (answer, body) = request(imports::http_request, &subject, &ask.json(), body)?;
    let mut read = HttpRequestResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))?;
    read.body = crate::Bytes(body);
    Ok(read)
}

/// What [`kv_get`] takes.
#[derive(Clone, Debug, Default)]
pub struct KvGetRequest<'a> {
    /// Valid UTF-8 without control characters.
    pub key: &'a str,
}

impl KvGetRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"key\":");
        crate::json::string(&mut out, self.key);
        out.push('}');
        out
    }
}

object! {
    /// What [`kv_get`] answers.
    pub struct KvGetResponse {
        /// Whether the key has a value.
        pub found: bool,
        /// Grows with every change of the key; 0 when it has no value.
        pub revision: u64,
        /// The value.
        pub body: crate::Bytes,
    }
}

/// Returns a value of the skill's own state; that there is none is an answer and no error. It
/// needs the grant kv. Errors: [`Kind::Denied`], [`Kind::Invalid`], [`Kind::Io`].
pub fn kv_get(ask: KvGetRequest<'_>) -> Result<KvGetResponse> {
    let subject = format!("get key {}", ask.key);
    let (answer, body) = request(imports::kv_get, &subject, &ask.json(), &[])?;
    let mut read = KvGetResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))?;
    read.body = crate::Bytes(body);
    Ok(read)
}

/// What [`kv_put`] takes.
#[derive(Clone, Debug, Default)]
pub struct KvPutRequest<'a> {
    /// Valid UTF-8 without control characters.
    pub key: &'a str,
    /// How long the value lives; 0 until it is deleted, in seconds.
    pub ttl_seconds: i64,
    /// Stores only if the key still has this revision, with 0 only if it has no value; left
    /// out, it stores in any case.
    pub revision: Option<u64>,
}

impl KvPutRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"key\":");
        crate::json::string(&mut out, self.key);
        out.push_str(",\"ttl_seconds\":");
        self.ttl_seconds.write(&mut out);
        if let Some(value) = &self.revision {
            out.push_str(",\"revision\":");
            value.write(&mut out);
        }
        out.push('}');
        out
    }
}

object! {
    /// What [`kv_put`] answers.
    pub struct KvPutResponse {
        /// The new revision.
        pub revision: u64,
    }
}

/// Stores a value. It needs the grant kv. Errors: [`Kind::Denied`], [`Kind::Invalid`],
/// [`Kind::Conflict`], [`Kind::Limit`], [`Kind::Io`].
/// The body is the value.
pub fn kv_put(ask: KvPutRequest<'_>, body: &[u8]) -> Result<KvPutResponse> {
    let subject = format!("put key {}", ask.key);
    let (answer, _) = request(imports::kv_put, &subject, &ask.json(), body)?;
    KvPutResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`kv_delete`] takes.
#[derive(Clone, Debug, Default)]
pub struct KvDeleteRequest<'a> {
    /// Valid UTF-8 without control characters.
    pub key: &'a str,
}

impl KvDeleteRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"key\":");
        crate::json::string(&mut out, self.key);
        out.push('}');
        out
    }
}

object! {
    /// What [`kv_delete`] answers.
    pub struct KvDeleteResponse {
        /// Whether the key had a value.
        pub deleted: bool,
    }
}

/// Removes a value. It needs the grant kv. Errors: [`Kind::Denied`], [`Kind::Invalid`],
/// [`Kind::Io`].
pub fn kv_delete(ask: KvDeleteRequest<'_>) -> Result<KvDeleteResponse> {
    let subject = format!("delete key {}", ask.key);
    let (answer, _) = request(imports::kv_delete, &subject, &ask.json(), &[])?;
    KvDeleteResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`kv_list`] takes.
#[derive(Clone, Debug, Default)]
pub struct KvListRequest<'a> {
    /// What the keys begin with; empty for all keys.
    pub prefix: &'a str,
    /// The most keys to return; 0 for as many as one call returns, in keys.
    pub limit: i64,
}

impl KvListRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"prefix\":");
        crate::json::string(&mut out, self.prefix);
        out.push_str(",\"limit\":");
        self.limit.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`kv_list`] answers.
    pub struct KvListResponse {
        /// The keys.
        pub keys: Vec<String>,
    }
}

/// Returns the keys that begin with a prefix, in order. It needs the grant kv. Errors:
/// [`Kind::Denied`], [`Kind::Invalid`], [`Kind::Io`].
pub fn kv_list(ask: KvListRequest<'_>) -> Result<KvListResponse> {
    let subject = format!("list keys {}", ask.prefix);
    let (answer, _) = request(imports::kv_list, &subject, &ask.json(), &[])?;
    KvListResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`secret_exists`] takes.
#[derive(Clone, Debug, Default)]
pub struct SecretExistsRequest<'a> {
    /// Name of the secret.
    pub name: &'a str,
}

impl SecretExistsRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"name\":");
        crate::json::string(&mut out, self.name);
        out.push('}');
        out
    }
}

object! {
    /// What [`secret_exists`] answers.
    pub struct SecretExistsResponse {
        /// Whether it is stored.
        pub exists: bool,
    }
}

/// Says whether a secret is stored; its value never reaches a skill: the host adds it to
/// requests where the manifest says so. It needs the grant secret:{name}. Errors:
/// [`Kind::Denied`], [`Kind::Io`].
pub fn secret_exists(ask: SecretExistsRequest<'_>) -> Result<SecretExistsResponse> {
    let subject = format!("look for secret {}", ask.name);
    let (answer, _) = request(imports::secret_exists, &subject, &ask.json(), &[])?;
    SecretExistsResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))
}

/// What [`log_line`] takes.
#[derive(Clone, Debug, Default)]
pub struct LogRequest {
    /// How much the line matters; info when it is left out.
    pub level: Level,
    /// Named values beside the message; at most 16.
    pub fields: Map<String>,
}

impl LogRequest {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"level\":");
        self.level.write(&mut out);
        out.push_str(",\"fields\":");
        self.fields.write(&mut out);
        out.push('}');
        out
    }
}

/// Writes a line to the log of the call, which is for people who look into a call afterwards.
/// It needs no grant. Errors: [`Kind::Invalid`], [`Kind::Limit`].
/// The body is the message.
pub fn log_line(ask: LogRequest, body: &[u8]) -> Result<()> {
    let subject = String::from("log");
    request(imports::log, &subject, &ask.json(), body).map(|_| ())
}

/// What [`notify`] takes.
#[derive(Clone, Debug, Default)]
pub struct NotifyRequest<'a> {
    /// How much it matters; info when it is left out.
    pub severity: Severity,
    /// One line of up to 200 bytes; not empty.
    pub title: &'a str,
}

impl NotifyRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"severity\":");
        self.severity.write(&mut out);
        out.push_str(",\"title\":");
        crate::json::string(&mut out, self.title);
        out.push('}');
        out
    }
}

/// Sends a notification to the person who owns the host. It needs the grant notify. Errors:
/// [`Kind::Denied`], [`Kind::Invalid`], [`Kind::Limit`], [`Kind::Io`].
/// The body is the text, up to 4096 bytes; it may be empty.
pub fn notify(ask: NotifyRequest<'_>, body: &[u8]) -> Result<()> {
    let subject = String::from("notify");
    request(imports::notify, &subject, &ask.json(), body).map(|_| ())
}

/// What [`skill_call`] takes.
#[derive(Clone, Debug, Default)]
pub struct SkillCallRequest<'a> {
    /// Name of the skill, without a version.
    pub skill: &'a str,
    /// Name of the tool; it may be left out when the skill has only one.
    pub tool: &'a str,
    /// Name of the session to go on with, which takes the grant session:{skill}/{session} too.
    pub session: &'a str,
}

impl SkillCallRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"skill\":");
        crate::json::string(&mut out, self.skill);
        out.push_str(",\"tool\":");
        crate::json::string(&mut out, self.tool);
        out.push_str(",\"session\":");
        crate::json::string(&mut out, self.session);
        out.push('}');
        out
    }
}

object! {
    /// What [`skill_call`] answers.
    pub struct SkillCallResponse {
        /// The output of the tool.
        pub body: crate::Bytes,
    }
}

/// Calls a tool of another skill, which runs with its own grants and limits and within the time
/// that the caller has left. It needs the grant skill:{skill}. Errors: [`Kind::Denied`],
/// [`Kind::NotFound`], [`Kind::Invalid`], [`Kind::Conflict`], [`Kind::Limit`],
/// [`Kind::Timeout`], [`Kind::Failed`].
/// The body is the input of the tool.
pub fn skill_call(ask: SkillCallRequest<'_>, body: &[u8]) -> Result<SkillCallResponse> {
    let subject = format!("call skill {}", ask.skill);
    let (answer, body) = request(imports::skill_call, &subject, &ask.json(), body)?;
    let mut read = SkillCallResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))?;
    read.body = crate::Bytes(body);
    Ok(read)
}

/// What [`model_call`] takes.
#[derive(Clone, Debug, Default)]
pub struct ModelCallRequest<'a> {
    /// Name of the model, as the host knows it.
    pub model: &'a str,
    /// What the model is told before the prompt.
    pub system: &'a str,
    /// The longest answer; 0 for the host's own limit, in tokens.
    pub max_tokens: i64,
    /// How freely the model chooses, from 0 to 2; left out, as the provider has it.
    pub temperature: Option<f64>,
    /// What the answer is to be; text when it is left out.
    pub format: Format,
}

impl ModelCallRequest<'_> {
    fn json(&self) -> String {
        let mut out = String::new();
        out.push_str("{\"model\":");
        crate::json::string(&mut out, self.model);
        out.push_str(",\"system\":");
        crate::json::string(&mut out, self.system);
        out.push_str(",\"max_tokens\":");
        self.max_tokens.write(&mut out);
        if let Some(value) = &self.temperature {
            out.push_str(",\"temperature\":");
            value.write(&mut out);
        }
        out.push_str(",\"format\":");
        self.format.write(&mut out);
        out.push('}');
        out
    }
}

object! {
    /// What [`model_call`] answers.
    pub struct ModelCallResponse {
        /// The model that answered.
        pub model: String,
        /// Why the answer ends where it does.
        pub finish_reason: String,
        /// Length of what was asked, in tokens.
        pub input_tokens: i64,
        /// Length of the answer, in tokens.
        pub output_tokens: i64,
        /// The answer.
        pub body: crate::Bytes,
    }
}

/// Asks a language model; without a provider for the model it fails and says so. It needs the
/// grant model:{model}. Errors: [`Kind::Denied`], [`Kind::Invalid`], [`Kind::Limit`],
/// [`Kind::Failed`].
/// The body is the prompt.
pub fn model_call(ask: ModelCallRequest<'_>, body: &[u8]) -> Result<ModelCallResponse> {
    let subject = format!("ask model {}", ask.model);
    let (answer, body) = request(imports::model_call, &subject, &ask.json(), body)?;
    let mut read = ModelCallResponse::read(&answer, "").map_err(|e| crate::malformed(&subject, e))?;
    read.body = crate::Bytes(body);
    Ok(read)
}

#[cfg(target_arch = "wasm32")]
pub(crate) mod imports {
    #[link(wasm_import_module = "skillet:host/v1")]
    extern "C" {
        pub fn input_length() -> i64;
        pub fn input_read(to: *mut u8, offset: i64, length: usize) -> i32;
        pub fn output_write(from: *const u8, length: usize);
        pub fn error_write(kind: *const u8, kind_length: usize, message: *const u8, message_length: usize);
        pub fn response_read(meta: *mut u8, body: *mut u8);
        pub fn fs_read(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn fs_write(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn fs_list(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn fs_stat(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn http_request(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn kv_get(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn kv_put(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn kv_delete(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn kv_list(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn secret_exists(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn log(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn notify(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn skill_call(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
        pub fn model_call(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod imports {
    pub unsafe extern "C" fn fs_read(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn fs_write(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn fs_list(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn fs_stat(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn http_request(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn kv_get(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn kv_put(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn kv_delete(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn kv_list(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn secret_exists(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn log(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn notify(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn skill_call(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
    pub unsafe extern "C" fn model_call(_: *const u8, _: usize, _: *const u8, _: usize) -> i64 {
        0
    }
}
