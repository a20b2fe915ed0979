# Generated from sdk/hostapi/interface.json by `make generate`: what the host offers.
from typing import Literal, NamedTuple

# What is sent: text goes as UTF-8.
Content = str | bytes | bytearray | memoryview | None

# Kind says what sort of error it is:
# - denied: no grant or policy allows the request
# - not_found: the named file, skill or other thing does not exist
# - invalid: the request or input is malformed or contradicts itself; the same again cannot
# succeed
# - conflict: the file or value exists already, or changed meanwhile
# - limit: a size, count or quota was reached
# - io: reading, writing or the network failed, or the host lacks what it takes
# - timeout: the time allowed for the operation ran out
# - not_recorded: the call is replayed or tested, and nothing says how the host would answer
# - failed: anything else
Kind = Literal["denied", "not_found", "invalid", "conflict", "limit", "io", "timeout", "not_recorded", "failed"]

# Level says how much a log line matters:
# - trace: every step
# - debug: what helps to find a mistake
# - info: what happened
# - warn: what should not happen, and did no harm
# - error: what went wrong
Level = Literal["trace", "debug", "info", "warn", "error"]

# Severity says how much a notification matters:
# - info: good to know
# - warning: somebody should look at it
# - error: somebody has to do something
Severity = Literal["info", "warning", "error"]

# Format says what a model is to answer with:
# - text: text, as it comes
# - json: one JSON value and nothing around it
Format = Literal["text", "json"]

KINDS: tuple[Kind, ...]

# The longest request data; what is long belongs in the body, in bytes.
MAX_META: int
# The most that one fs_read returns, in bytes.
MAX_READ: int
# The most that one fs_list returns, in entries.
MAX_LIST: int
# The longest URL, in bytes.
MAX_URL: int
# The most that one request follows, in redirects.
MAX_REDIRECTS: int
# The most that one request may set, in header fields.
MAX_HEADERS: int
# The longest header of a request, and of a response, in bytes.
MAX_HEADER_BYTES: int
# The longest key, in bytes.
MAX_KEY: int
# The longest value of a key, in bytes.
MAX_VALUE: int
# The most that one kv_list returns, in keys.
MAX_KEYS: int
# The longest prompt, with what the model is told before it, in bytes.
MAX_PROMPT: int
# The longest answer of a model, in bytes.
MAX_MODEL_ANSWER: int

class Entry(NamedTuple):
    """A file or directory of a listing."""

    # Last element of the path.
    name: str
    # Absolute path.
    path: str
    # Length of the file; 0 for a directory, in bytes.
    size: int
    # Whether it is a directory.
    dir: bool
    # Time of the last change.
    modified: str

class FsReadResponse(NamedTuple):
    """What fs_read answers."""

    # Length of the whole file, in bytes.
    size: int
    # Whether the file goes on behind what was read.
    truncated: bool
    # The content.
    body: bytes

def fs_read(path: str, offset: int = 0, length: int = 0) -> FsReadResponse:
    """Returns the content of a file, or a part of it.

    It needs the grant fs.read:{path}. Errors: denied, not_found, invalid, limit.
    path: Absolute path, or relative to the workspace where there is one.
    offset: Where to begin; behind the end there is nothing, in bytes.
    length: How much; 0 for as much as one call returns, in bytes.
    """

class FsWriteResponse(NamedTuple):
    """What fs_write answers."""

    # Length of the file afterwards, in bytes.
    size: int

def fs_write(path: str, content: Content = b"", append: bool = False, create_only: bool = False) -> FsWriteResponse:
    """Replaces a file, makes a new one, or writes behind the end of one.

    It needs the grant fs.write:{path}. Errors: denied, not_found, invalid, conflict, limit.
    path: Absolute path, or relative to the workspace where there is one.
    append: Writes behind what is there.
    create_only: Refuses to touch a file that exists.
    content: The content.
    """

class FsListResponse(NamedTuple):
    """What fs_list answers."""

    # Files and directories found.
    entries: list[Entry]
    # Whether the limit cut the list.
    truncated: bool

def fs_list(path: str, recursive: bool = False, limit: int = 0) -> FsListResponse:
    """Lists a directory, sorted by name, each directory before what is in it.

    It needs the grant fs.read:{path}. Errors: denied, not_found, invalid, limit.
    path: Absolute path, or relative to the workspace where there is one.
    recursive: Lists what is below, too.
    limit: The most entries to return; 0 for 1000, in entries.
    """

class FsStatResponse(NamedTuple):
    """What fs_stat answers."""

    # Length of the file; 0 for a directory, in bytes.
    size: int
    # Whether it is a directory.
    dir: bool
    # Time of the last change.
    modified: str | None
    # Whether there is anything.
    exists: bool

def fs_stat(path: str) -> FsStatResponse:
    """Describes a file or directory; that there is none is an answer and no error.

    It needs the grant fs.read:{path}. Errors: denied, invalid.
    path: Absolute path, or relative to the workspace where there is one.
    """

class HttpRequestResponse(NamedTuple):
    """What http_request answers."""

    # HTTP status code.
    status: int
    # Header fields of the response, without cookies and what concerns the connection.
    headers: dict[str, list[str]]
    # Where the response came from, after redirects.
    url: str
    # Whether the body was longer than allowed, and was cut.
    truncated: bool
    # The content received.
    body: bytes

def http_request(url: str, content: Content = b"", method: str = "GET", headers: dict[str, list[str]] | None = None, timeout_ms: int = 0, max_bytes: int = 0) -> HttpRequestResponse:
    """Sends an HTTP request and returns the response; every redirect needs the grant too; a status of 400 or more is no error.

    It needs the grant http:{method} {url}. Errors: denied, invalid, limit, io, timeout.
    method: HTTP method; GET when it is left out.
    url: Absolute URL with scheme http or https.
    headers: Header fields, each with all its values.
    timeout_ms: Bounds the exchange with all its redirects; 0 for the host's own limit, in
    milliseconds.
    max_bytes: Bounds the body of the response; 0 for the host's own limit, in bytes.
    content: The content to send; empty for none.
    """

class KvGetResponse(NamedTuple):
    """What kv_get answers."""

    # Whether the key has a value.
    found: bool
    # Grows with every change of the key; 0 when it has no value.
    revision: int
    # The value.
    body: bytes

def kv_get(key: str) -> KvGetResponse:
    """Returns a value of the skill's own state; that there is none is an answer and no error.

    It needs the grant kv. Errors: denied, invalid, io.
    key: Valid UTF-8 without control characters.
    """

class KvPutResponse(NamedTuple):
    """What kv_put answers."""

    # The new revision.
    revision: int

def kv_put(key: str, content: Content = b"", ttl_seconds: int = 0, revision: int | None = None) -> KvPutResponse:
    """Stores a value.

    It needs the grant kv. Errors: denied, invalid, conflict, limit, io.
    key: Valid UTF-8 without control characters.
    ttl_seconds: How long the value lives; 0 until it is deleted, in seconds.
    revision: Stores only if the key still has this revision, with 0 only if it has no value;
    left out, it stores in any case.
    content: The value.
    """

class KvDeleteResponse(NamedTuple):
    """What kv_delete answers."""

    # Whether the key had a value.
    deleted: bool

def kv_delete(key: str) -> KvDeleteResponse:
    """Removes a value.

    It needs the grant kv. Errors: denied, invalid, io.
    key: Valid UTF-8 without control characters.
    """

class KvListResponse(NamedTuple):
    """What kv_list answers."""

    # The keys.
    keys: list[str]

def kv_list(prefix: str = "", limit: int = 0) -> KvListResponse:
    """Returns the keys that begin with a prefix, in order.

    It needs the grant kv. Errors: denied, invalid, io.
    prefix: What the keys begin with; empty for all keys.
    limit: The most keys to return; 0 for as many as one call returns, in keys.
    """

class SecretExistsResponse(NamedTuple):
    """What secret_exists answers."""

    # Whether it is stored.
    exists: bool

def secret_exists(name: str) -> SecretExistsResponse:
    """Says whether a secret is stored; its value never reaches a skill: the host adds it to requests where the manifest says so.

    It needs the grant secret:{name}. Errors: denied, io.
    name: Name of the secret.
    """

def log(content: Content = b"", level: Level = "info", fields: dict[str, str] | None = None) -> None:
    """Writes a line to the log of the call, which is for people who look into a call afterwards.

    It needs no grant. Errors: invalid, limit.
    level: How much the line matters; info when it is left out.
    fields: Named values beside the message; at most 16.
    content: The message.
    """

def notify(title: str, content: Content = b"", severity: Severity = "info") -> None:
    """Sends a notification to the person who owns the host.

    It needs the grant notify. Errors: denied, invalid, limit, io.
    severity: How much it matters; info when it is left out.
    title: One line of up to 200 bytes; not empty.
    content: The text, up to 4096 bytes; it may be empty.
    """

class SkillCallResponse(NamedTuple):
    """What skill_call answers."""

    # The output of the tool.
    body: bytes

def skill_call(skill: str, content: Content = b"", tool: str = "", session: str = "") -> SkillCallResponse:
    """Calls a tool of another skill, which runs with its own grants and limits and within the time that the caller has left.

    It needs the grant skill:{skill}. Errors: denied, not_found, invalid, conflict, limit,
    timeout, failed.
    skill: Name of the skill, without a version.
    tool: Name of the tool; it may be left out when the skill has only one.
    session: Name of the session to go on with, which takes the grant session:{skill}/{session}
    too.
    content: The input of the tool.
    """

class ModelCallResponse(NamedTuple):
    """What model_call answers."""

    # The model that answered.
    model: str
    # Why the answer ends where it does.
    finish_reason: str
    # Length of what was asked, in tokens.
    input_tokens: int
    # Length of the answer, in tokens.
    output_tokens: int
    # The answer.
    body: bytes

def model_call(model: str, content: Content = b"", system: str = "", max_tokens: int = 0, temperature: float | None = None, format: Format = "text") -> ModelCallResponse:
    """Asks a language model; without a provider for the model it fails and says so.

    It needs the grant model:{model}. Errors: denied, invalid, limit, failed.
    model: Name of the model, as the host knows it.
    system: What the model is told before the prompt.
    max_tokens: The longest answer; 0 for the host's own limit, in tokens.
    temperature: How freely the model chooses, from 0 to 2; left out, as the provider has it.
    format: What the answer is to be; text when it is left out.
    content: The prompt.
    """
