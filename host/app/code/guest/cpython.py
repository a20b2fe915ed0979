# Runs a script of a caller, in the interpreter's own tool: _run is called with the script, and
# answers a value or an error.
import ast as _ast, asyncio as _asyncio, builtins as _builtins, inspect as _inspect, json as _json, linecache as _linecache, sys as _sys

_host = _sys.modules["_skillet"].call
_FILE = "<script>"


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
        return _Tool(self._skill, name)

    __getitem__ = __getattr__

    def __call__(self, input=None, /, **members):
        if input is None:
            input = members
        elif members:
            raise TypeError(f"tools.{self._skill}: give one input, or its members by name")
        meta = {"skill": self._skill} if self._tool is None else {"skill": self._skill, "tool": self._tool}
        meta, body = _host("skill_call", _json.dumps(meta), _json.dumps(input, allow_nan=False))
        error = _json.loads(meta).get("error")
        if error:
            raise ToolError(error["kind"], error["message"])
        return _json.loads(body)


class _Tools:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Tool(name)

    __getitem__ = __getattr__


def _value(code, given):
    _linecache.cache[_FILE] = (len(code), None, code.splitlines(True), _FILE)
    space = {"__name__": "__main__", "__builtins__": _builtins, "tools": _Tools(), "ToolError": ToolError}
    if given:
        space["data"] = _json.loads(_host("skill_call", '{"data":true}')[1])
    tree = _ast.parse(code, _FILE)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
    waits = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    async def steps():
        value = eval(compile(tree, _FILE, "exec", flags=waits, dont_inherit=True), space)
        if _inspect.iscoroutine(value):
            await value
        if last is None:
            return None
        value = eval(compile(_ast.Expression(last.value), _FILE, "eval", flags=waits, dont_inherit=True), space)
        return await value if _inspect.isawaitable(value) else value

    value = _asyncio.run(steps())
    return _json.loads(_json.dumps(value, allow_nan=False))


def _where(e):
    if isinstance(e, SyntaxError) and e.filename == _FILE and e.lineno:
        return {"line": e.lineno, "column": e.offset or 1}
    at, step = {}, e.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == _FILE:
            at = {"line": step.tb_lineno}
        step = step.tb_next
    return at


def _run(asked):
    try:
        return {"value": _value(asked["code"], asked["given"])}
    except BaseException as e:
        name, message = type(e).__name__, e.msg if isinstance(e, SyntaxError) else str(e)
        text = message if isinstance(e, ToolError) or name == "Exception" and message else f"{name}: {message}" if message else name
        error = {"message": text, **_where(e)}
        if isinstance(e, ToolError):
            error["kind"] = e.kind
        return {"error": error}


