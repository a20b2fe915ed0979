# The skill's own state.
import json
from . import host
from ._request import parsed


def get(key):
    answer = host.kv_get(key)
    return answer.body if answer.found else None


def get_text(key):
    content = get(key)
    return None if content is None else str(content, "utf-8")


def get_json(key):
    return parsed(get(key), f"value of key {key}")


def entry(key):
    answer = host.kv_get(key)
    return (answer.body, answer.revision) if answer.found else None


def put(key, content, ttl_seconds=0, revision=None):
    return host.kv_put(key, content, ttl_seconds, revision).revision


def put_json(key, value, ttl_seconds=0, revision=None):
    return put(key, json.dumps(value), ttl_seconds, revision)


def delete(key):
    return host.kv_delete(key).deleted


def keys(prefix="", limit=0):
    return host.kv_list(prefix, limit).keys
