# Runs a script of a caller, in the interpreter's own tool: _run is called with the script, and
# answers a value or an error. The interpreter is MicroPython.
import io as _io, sys as _sys, _skillet as _sk

_host, _dumps = _sk.call, _json.dumps
_FILE, _LAST = "<script>", "<last>"  # the whole script, and its last line


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
        _space["data"] = _data()
    try:
        return {"value": _json.loads(_dumps(_value(asked["code"])))}
    except BaseException as e:
        return _failure(e, str(e), _where(e, asked["code"].rstrip().count("\n")))
