# A notebook of Python: each piece of code goes on with the names of those before it,
# as long as they are calls of one session.

_names = {"__name__": "__main__"}
_compile, _exec, _eval = compile, exec, eval


def eval(input):
    return _shown(_evaluate(input["code"]))


def _evaluate(code):
    # runs code; the value is that of its last statement, if that is an expression
    before, last = _parts(code)
    if before:
        _exec(before, _names)
    if last is not None:
        return _eval(last, _names)


def _parts(code):
    # the code before a last expression, and that expression, compiled
    code = code.rstrip()
    if _compiles(code.lstrip(), "eval"):
        return None, _compile(code.lstrip(), "<input>", "eval")
    at = len(code)
    for _ in range(200):
        at = max(code.rfind("\n", 0, at), code.rfind(";", 0, at))
        if at < 0:
            break
        last = code[at + 1:]
        if code[at] == "\n" and last[:1] in (" ", "\t"):
            continue
        if last.strip() and _compiles(last.strip(), "eval") and _compiles(code[:at], "exec"):
            return _compile(code[:at], "<input>", "exec"), _compile(last.strip(), "<input>", "eval")
    return _compile(code, "<input>", "exec"), None


def _compiles(code, how):
    try:
        _compile(code, "<input>", how)
    except SyntaxError:
        return False
    return True


def _shown(value):
    # value as JSON has it; what JSON has no form for is the text of repr
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, (list, tuple)):
        return [_shown(v) for v in value]
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {k: _shown(v) for k, v in value.items()}
    return repr(value)
