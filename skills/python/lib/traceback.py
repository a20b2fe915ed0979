import sys, io


def format_exception(e, value=None, tb=None, **kw):
    out = io.StringIO()
    sys.print_exception(value if value is not None else e, out)
    return out.getvalue().splitlines(True)


def format_exception_only(e, value=None, **kw):
    e = value if value is not None else e
    text = str(e)
    return [type(e).__name__ + (": " + text if text else "") + "\n"]


def print_exception(e, value=None, tb=None, **kw):
    print("".join(format_exception(e, value)).rstrip(), file=sys.stderr)


def format_exc(*args):
    raise NotImplementedError("there is no current exception to ask for: format_exception(e)")
