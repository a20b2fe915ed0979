# How a script asks the host. The interpreter gives every script the module _skillet.
import json
import _skillet


class Error(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def fail(kind, message):
    raise Error(kind, message)


def request(name, subject, ask, content=None):
    # Every error begins with subject: the operation and what it is about.
    try:
        meta, body = _skillet.call(name, json.dumps(ask, ensure_ascii=False), content)
        meta = json.loads(meta)
    except Exception as e:
        raise Error(getattr(e, "kind", None) or "failed", f"{subject}: {e}")
    failure = meta.get("error")
    if failure:
        raise Error(failure["kind"], f"{subject}: {failure['message']}")
    return meta, body


def parsed(content, what):
    # JSON that somebody else wrote
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError as e:
        raise Error("failed", f"{what}: not valid JSON: {e}")
