# Runs a script of a caller, in the interpreter's own tool: _run is called with the script, and
# answers a value or an error. The interpreter is MicroPython.
import io as _io, json as _json, sys as _sys, _skillet as _sk

_FILE, _LAST = "<script>", "<last>"  # the whole script, and its last line


class ToolError(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class _Tool:
    def __init__(self, skill, tool=None):
        self._skill, self._tool = skill, tool

    def __getattr__(self, name):
        if self._tool is not None or name.startswith("__"):
            raise AttributeError(name)
        return _Tool(self._skill, name)

    def __getitem__(self, name):
        return _Tool(self._skill, name)

    def __call__(self, input=None, **members):
        if input is None:
            input = members
        meta = {"skill": self._skill} if self._tool is None else {"skill": self._skill, "tool": self._tool}
        meta, body = _sk.call("skill_call", _json.dumps(meta), _json.dumps(input))
        error = _json.loads(meta).get("error")
        if error:
            raise ToolError(error["kind"], error["message"])
        return _json.loads(body)


class _Tools:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Tool(name)

    def __getitem__(self, name):
        return _Tool(name)


_space = {"__name__": "__main__", "tools": _Tools(), "ToolError": ToolError}


def _value(code):
    code = code.rstrip()
    try:
        return eval(compile(code, _FILE, "eval"), _space)
    except SyntaxError:
        pass
    last = code.rfind("\n") + 1
    try:
        value = compile(code[last:], _LAST, "eval") if code[last:last + 1] not in " \t)]}" else None
        first = compile(code[:last], _FILE, "exec") if value else None
    except SyntaxError:
        value = None
    if value is None:
        exec(compile(code, _FILE, "exec"), _space)
        return None
    exec(first, _space)
    return eval(value, _space)


def _where(e, before):
    out = _io.StringIO()
    _sys.print_exception(e, out)
    at = {}
    for l in out.getvalue().split("\n"):
        for file, more in ((_FILE, 0), (_LAST, before)):
            start = '  File "' + file + '", line '
            if l.startswith(start):
                at = {"line": int(l[len(start):].split(",")[0]) + more}
    return at


def _run(asked):
    if asked["given"]:
        _space["data"] = _json.loads(_sk.call("skill_call", '{"data":true}')[1])
    try:
        return {"value": _json.loads(_json.dumps(_value(asked["code"])))}
    except BaseException as e:
        name, message = type(e).__name__, str(e)
        text = message if isinstance(e, ToolError) or name == "Exception" and message else name + ": " + message if message else name
        error = {"message": text}
        error.update(_where(e, asked["code"].rstrip().count("\n")))
        if isinstance(e, ToolError):
            error["kind"] = e.kind
        return {"error": error}


