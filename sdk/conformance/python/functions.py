# A tool for each host function.
import skillet
from skillet import files, host, http, kv, models, secrets, skills


def fs_read(input):
    a = files.read_part(input["path"], input.get("offset", 0), input.get("length", 0))
    return {"size": a.size, "truncated": a.truncated, "body": a.body.decode()}


def fs_write(input):
    return {"size": files.write(input["path"], input.get("body", ""), input.get("append", False), input.get("create_only", False))}


def fs_list(input):
    a = files.list_dir(input["path"], input.get("recursive", False), input.get("limit", 0))
    entries = [{"name": e.name, "path": e.path, "size": e.size, "dir": e.dir, "modified": e.modified} for e in a.entries]
    return {"entries": entries, "truncated": a.truncated}


def fs_stat(input):
    a = host.fs_stat(input["path"])
    return {"size": a.size, "dir": a.dir, "modified": a.modified, "exists": a.exists}


def http_request(input):
    timeout, most = input.get("timeout_ms", 0) / 1000, input.get("max_bytes", 0)
    a = http.request(input["url"], input.get("method", ""), input.get("headers"), input.get("body"), timeout, most)
    return {"status": a.status, "headers": a.headers, "url": a.url, "truncated": a.truncated, "body": a.text()}


def kv_get(input):
    a = host.kv_get(input["key"])
    return {"found": a.found, "revision": a.revision, "body": a.body.decode()}


def kv_put(input):
    return {"revision": kv.put(input["key"], input.get("body", ""), input.get("ttl_seconds", 0), input.get("revision"))}


def kv_delete(input):
    return {"deleted": kv.delete(input["key"])}


def kv_list(input):
    return {"keys": kv.keys(input.get("prefix", ""), input.get("limit", 0))}


def secret_exists(input):
    return {"exists": secrets.exists(input["name"])}


def log(input):
    skillet.log(input["message"], input.get("level", "info"), **input.get("fields", {}))
    return {}


def notify(input):
    skillet.notify(input["title"], input.get("text", ""), input.get("severity", "info"))
    return {}


def skill_call(input):
    return {"body": skills.call_bytes(input["skill"], input["body"], input.get("tool", ""), input.get("session", "")).decode()}


def model_call(input):
    a = models.ask(input["model"], input["prompt"], input.get("system", ""), input.get("max_tokens", 0),
                   input.get("temperature"), input.get("format", "text"))
    return {"model": a.model, "finish_reason": a.finish_reason, "input_tokens": a.input_tokens,
            "output_tokens": a.output_tokens, "body": a.text}
