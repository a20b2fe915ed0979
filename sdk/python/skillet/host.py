# Generated from sdk/hostapi/interface.json by `make generate`: what the host offers. host.pyi explains it.
from collections import namedtuple
from ._request import request

KINDS = ("denied", "not_found", "invalid", "conflict", "limit", "io", "timeout", "not_recorded", "failed")

MAX_META = 262144
MAX_READ = 4194304
MAX_LIST = 10000
MAX_URL = 8192
MAX_REDIRECTS = 5
MAX_HEADERS = 64
MAX_HEADER_BYTES = 65536
MAX_KEY = 512
MAX_VALUE = 262144
MAX_KEYS = 1000
MAX_PROMPT = 1048576
MAX_MODEL_ANSWER = 4194304


Entry = namedtuple("Entry", ["name", "path", "size", "dir", "modified"])


def _entry(meta):
    return Entry(meta.get("name", ""), meta.get("path", ""), meta.get("size", 0), meta.get("dir", False), meta.get("modified"))


FsReadResponse = namedtuple("FsReadResponse", ["size", "truncated", "body"])


def fs_read(path, offset=0, length=0):
    ask = {"path": path, "offset": offset, "length": length}
    meta, body = request("fs_read", f"read {ask['path']}", ask)
    return FsReadResponse(meta.get("size", 0), meta.get("truncated", False), body)


FsWriteResponse = namedtuple("FsWriteResponse", ["size"])


def fs_write(path, content=b"", append=False, create_only=False):
    ask = {"path": path, "append": append, "create_only": create_only}
    meta, _ = request("fs_write", f"write {ask['path']}", ask, content)
    return FsWriteResponse(meta.get("size", 0))


FsListResponse = namedtuple("FsListResponse", ["entries", "truncated"])


def fs_list(path, recursive=False, limit=0):
    ask = {"path": path, "recursive": recursive, "limit": limit}
    meta, _ = request("fs_list", f"list {ask['path']}", ask)
    return FsListResponse([_entry(e) for e in meta.get("entries", [])], meta.get("truncated", False))


FsStatResponse = namedtuple("FsStatResponse", ["size", "dir", "modified", "exists"])


def fs_stat(path):
    ask = {"path": path}
    meta, _ = request("fs_stat", f"stat {ask['path']}", ask)
    return FsStatResponse(meta.get("size", 0), meta.get("dir", False), meta.get("modified"), meta.get("exists", False))


HttpRequestResponse = namedtuple("HttpRequestResponse", ["status", "headers", "url", "truncated", "body"])


def http_request(url, content=b"", method="GET", headers=None, timeout_ms=0, max_bytes=0):
    ask = {"method": method or "GET", "url": url, "headers": headers or {}, "timeout_ms": timeout_ms, "max_bytes": max_bytes}
    meta, body = request("http_request", f"{ask['method']} {ask['url']}", ask, content)
    return HttpRequestResponse(meta.get("status", 0), meta.get("headers", {}), meta.get("url", ""), meta.get("truncated", False), body)


KvGetResponse = namedtuple("KvGetResponse", ["found", "revision", "body"])


def kv_get(key):
    ask = {"key": key}
    meta, body = request("kv_get", f"get key {ask['key']}", ask)
    return KvGetResponse(meta.get("found", False), meta.get("revision", 0), body)


KvPutResponse = namedtuple("KvPutResponse", ["revision"])


def kv_put(key, content=b"", ttl_seconds=0, revision=None):
    ask = {"key": key, "ttl_seconds": ttl_seconds}
    if revision is not None:
        ask["revision"] = revision
    meta, _ = request("kv_put", f"put key {ask['key']}", ask, content)
    return KvPutResponse(meta.get("revision", 0))


KvDeleteResponse = namedtuple("KvDeleteResponse", ["deleted"])


def kv_delete(key):
    ask = {"key": key}
    meta, _ = request("kv_delete", f"delete key {ask['key']}", ask)
    return KvDeleteResponse(meta.get("deleted", False))


KvListResponse = namedtuple("KvListResponse", ["keys"])


def kv_list(prefix="", limit=0):
    ask = {"prefix": prefix, "limit": limit}
    meta, _ = request("kv_list", f"list keys {ask['prefix']}", ask)
    return KvListResponse(meta.get("keys", []))


SecretExistsResponse = namedtuple("SecretExistsResponse", ["exists"])


def secret_exists(name):
    ask = {"name": name}
    meta, _ = request("secret_exists", f"look for secret {ask['name']}", ask)
    return SecretExistsResponse(meta.get("exists", False))


def log(content=b"", level="info", fields=None):
    ask = {"level": level or "info", "fields": fields or {}}
    request("log", "log", ask, content)


def notify(title, content=b"", severity="info"):
    ask = {"severity": severity or "info", "title": title}
    request("notify", "notify", ask, content)


SkillCallResponse = namedtuple("SkillCallResponse", ["body"])


def skill_call(skill, content=b"", tool="", session=""):
    ask = {"skill": skill, "tool": tool, "session": session}
    _, body = request("skill_call", f"call skill {ask['skill']}", ask, content)
    return SkillCallResponse(body)


ModelCallResponse = namedtuple("ModelCallResponse", ["model", "finish_reason", "input_tokens", "output_tokens", "body"])


def model_call(model, content=b"", system="", max_tokens=0, temperature=None, format="text"):
    ask = {"model": model, "system": system, "max_tokens": max_tokens, "format": format or "text"}
    if temperature is not None:
        ask["temperature"] = temperature
    meta, body = request("model_call", f"ask model {ask['model']}", ask, content)
    return ModelCallResponse(meta.get("model", ""), meta.get("finish_reason", ""), meta.get("input_tokens", 0), meta.get("output_tokens", 0), body)
