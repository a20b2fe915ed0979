# What a script in Python calls tools with. The interpreter's own part below has _host, which asks
# the host, and _dumps, which writes JSON.
import json as _json


class ToolError(Exception):
    """A tool that was called failed; kind says how."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class _Tool:
    def __init__(self, skill, tool=None):
        self._skill, self._tool = skill, tool

    def __getattr__(self, name):
        if self._tool is not None or name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        return _Tool(self._skill, name)

    def __call__(self, *given, **members):
        if len(given) > 1 or given and members:
            raise TypeError("tools." + self._skill + ": give one input, or its members by name")
        meta = {"skill": self._skill} if self._tool is None else {"skill": self._skill, "tool": self._tool}
        meta, body = _host("skill_call", _json.dumps(meta), _dumps(members if not given or given[0] is None else given[0]))
        error = _json.loads(meta).get("error")
        if error:
            raise ToolError(error["kind"], error["message"])
        return _json.loads(body)


class _Tools:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        return _Tool(name)


_space = {"__name__": "__main__", "tools": _Tools(), "ToolError": ToolError}


def _data():
    return _json.loads(_host("skill_call", '{"data":true}')[1])


def _failure(e, message, where):
    name = type(e).__name__
    text = message if isinstance(e, ToolError) or name == "Exception" and message else name + ": " + message if message else name
    error = {"message": text}
    error.update(where)
    if isinstance(e, ToolError):
        error["kind"] = e.kind
    return {"error": error}
