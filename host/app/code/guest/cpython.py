# Runs a script of a caller, in the interpreter's own tool: _run is called with the script, and
# answers a value or an error.
import ast as _ast, asyncio as _asyncio, builtins as _builtins, inspect as _inspect, linecache as _linecache, sys as _sys

_host = _sys.modules["_skillet"].call
_FILE = "<script>"


def _dumps(value):
    return _json.dumps(value, allow_nan=False)


def _value(code, given):
    _linecache.cache[_FILE] = (len(code), None, code.splitlines(True), _FILE)
    space = {**_space, "__builtins__": _builtins}
    if given:
        space["data"] = _data()
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
    return _json.loads(_dumps(value))


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
        return _failure(e, e.msg if isinstance(e, SyntaxError) else str(e), _where(e))
