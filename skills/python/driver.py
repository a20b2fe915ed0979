# Runs in __main__ when the interpreter is made: sets it up, and ends with the
# function that every call goes through. _FROZEN and _HOST are set before it.
import builtins, gc, io, sys, uctypes, vfs
import errno


class _Files:
    # The file system: the library and the files of the program, which are all
    # that imports find. What else is opened is asked of the host.
    def __init__(self):
        self.program = {}
        self.folders = {"/", "/lib"}
        for name in _FROZEN:
            self.place("/lib/" + name)

    def place(self, name):
        at = name.rfind("/")
        while at > 0:
            self.folders.add(name[:at])
            at = name.rfind("/", 0, at)

    def mount(self, readonly, mkfs):
        pass

    def umount(self):
        pass

    def chdir(self, path):
        if self.whole(path) != "/":
            raise OSError(errno.EPERM)

    def getcwd(self):
        return "/"

    def whole(self, path):
        parts = []
        for p in path.split("/"):
            if p == "..":
                parts = parts[:-1]
            elif p and p != ".":
                parts.append(p)
        return "/" + "/".join(parts)

    def own(self, path):
        # the content of a file of the program or the library
        if path in self.program:
            return self.program[path]
        if path[:5] == "/lib/" and path[5:] in _FROZEN:
            return uctypes.bytes_at(*_FROZEN[path[5:]])

    def stat(self, path):
        path = self.whole(path)
        if path in self.folders:
            return (0x4000, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        if path in self.program:
            return (0x8000, 0, 0, 0, 0, 0, len(self.program[path]), 0, 0, 0)
        if path[:5] == "/lib/" and path[5:] in _FROZEN:
            return (0x8000, 0, 0, 0, 0, 0, _FROZEN[path[5:]][1], 0, 0, 0)
        raise OSError(errno.ENOENT)

    def open(self, path, mode):
        path = self.whole(path)
        if "w" in mode or "a" in mode or "x" in mode or "+" in mode:
            import _files
            return _files.Writer(path, mode)
        b = self.own(path)
        if b is None:
            import _files
            b = _files.read(path)
        return io.BytesIO(b) if "b" in mode else io.StringIO(str(b, "utf-8"))

    def ilistdir(self, path):
        import _files
        return _files.listing(self.whole(path), self)

    def remove(self, path):
        raise OSError(errno.EPERM)

    mkdir = rmdir = remove

    def rename(self, a, b):
        raise OSError(errno.EPERM)


_files = _Files()
vfs.umount("/")
vfs.mount(_files, "/")
sys.path[:] = ["", "/lib", ".frozen"]
import _skillet
_skillet.numbers.update(_HOST)
import _builtins, json


def _print(*args, sep=" ", end="\n", file=None, flush=False):
    text = (" " if sep is None else sep).join([str(a) for a in args])
    if file is None or file is sys.stdout:
        _skillet.log("info", text)
    elif file is sys.stderr:
        _skillet.log("warn", text)
    else:
        file.write(text + ("\n" if end is None else end))


builtins.print = _print
_tools = []
_repl = {"__name__": "__main__"}


def _trace(e):
    # the traceback without the lines of this file, and where the error was made
    out = io.StringIO()
    sys.print_exception(e, out)
    lines = [l for l in out.getvalue().rstrip().split("\n") if '"<stdin>"' not in l]
    at = ""
    for l in lines:
        if l.startswith('  File "'):
            name, _, rest = l[8:].partition('", line ')
            number, _, rest = rest.partition(", ")
            at = name + ":" + number
            if rest.startswith("column "):
                at += ":" + rest[7:].strip()
    return "\n".join(lines), at


def _report(e):
    text, at = _trace(e)
    kind = getattr(e, "kind", None)
    name = type(e).__name__
    message = str(e)
    if isinstance(kind, str) and kind:
        _skillet.error(kind, message or name)
        return 1
    if isinstance(e, (SystemExit, KeyboardInterrupt)):
        message = "the script ended itself"
    elif name != "Exception" or not message:
        message = name + ": " + message if message else name
    kind = "limit" if isinstance(e, MemoryError) else "failed"
    if isinstance(e, SyntaxError):
        kind = "invalid"
    _skillet.error(kind, message + (" (at " + at + ")" if at else ""))
    if at and text:
        try:
            _skillet.log("debug", text)
        except Exception:
            pass
    return 1


def _annotated(text):
    # Bodies of classes do not keep the order of their names, nor annotations: so
    # the first line of one that has any begins with the names, in order.
    if "class " not in text:
        return text
    lines, header = text.split("\n"), ""
    for i, line in enumerate(lines):
        body = line.lstrip()
        if body[:1] == "@":
            header += body
        elif body[:6] == "class ":
            if "(" in body or "@" in header:
                _names_of_class(lines, i, len(line) - len(body))
            header = ""
        elif body and body[0] != "#":
            header = ""
    return "\n".join(lines)


def _names_of_class(lines, i, outer):
    names, first, inner, depth, quotes = [], 0, -1, 0, None
    while i < len(lines) and not lines[i].split("#")[0].rstrip().endswith(":"):
        i += 1
    for i in range(i + 1, len(lines)):
        line = lines[i]
        body = line.lstrip()
        if not body or depth == 0 and not quotes and body[0] == "#":
            continue
        if depth == 0 and not quotes:
            indent = len(line) - len(body)
            if indent <= outer:
                break
            inner = indent if inner < 0 else inner
            if indent == inner:
                n = 0
                while n < len(body) and (body[n].isalpha() or body[n] == "_" or n and body[n].isdigit()):
                    n += 1
                rest = body[n:].lstrip()
                if n and body[:n] not in ("else", "try", "finally") and "ClassVar" not in rest and (
                        rest[:1] == ":" and rest[:2] != ":=" or rest[:1] == "=" and rest[:2] != "=="):
                    names.append(body[:n])
                    first = first or i
        depth, quotes = _open(body, depth, quotes)
    if names:
        lines[first] = lines[first][:inner] + "__names__ = " + repr(tuple(names)) + "; " + lines[first][inner:]


def _open(line, depth, quotes):
    # how many brackets are open behind a line, and in which string of several
    # lines it ends
    i = 0
    while i < len(line):
        c = line[i]
        if quotes:
            if c == "\\":
                i += 1
            elif line.startswith(quotes, i):
                i += len(quotes) - 1
                quotes = None
        elif c == "#":
            break
        elif c in "\"'":
            quotes = c * 3 if line.startswith(c * 3, i) else c
            i += len(quotes) - 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        i += 1
    return depth, quotes if quotes and len(quotes) == 3 else None


def _load():
    program = json.loads(_skillet.input())
    for name, text in program["files"].items():
        _files.program["/" + name] = (_annotated(text) if name.endswith(".py") else text).encode()
        _files.place("/" + name)
    main = __import__(program["main"])
    _tools[:] = sorted(n for n in dir(main) if n[0] != "_" and callable(getattr(main, n)) and not isinstance(getattr(main, n), type))
    _skillet.output(json.dumps(_tools).encode())
    _tools[:] = [getattr(main, n) for n in _tools]
    gc.collect()


def _settled(value):
    if type(value) is _generator:
        import asyncio
        return asyncio.run(value)
    return value


_generator = type((lambda: (yield))())


def _input():
    b = _skillet.input()
    try:
        return json.loads(b) if b else {}
    except (ValueError, RuntimeError) as e:
        raise _skillet.Misuse("input: not valid JSON: " + str(e))


def _answer(value):
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise _skillet.Misuse("the result is no value of JSON: " + str(e))
    _skillet.output(text.encode())


def _finished(value):
    value = _settled(value)
    files = sys.modules.get("_files")
    if files:
        files.finish()
    return value


def _evaluate():
    code = _input().get("code")
    if not isinstance(code, str):
        raise _skillet.Misuse("code is the text of a script")
    code = code.rstrip()
    try:
        return eval(code, _repl)
    except SyntaxError:
        pass
    last = code.rfind("\n") + 1
    try:
        value = compile(code[last:], "<code>", "eval") if code[last:last + 1] not in " \t" else None
    except SyntaxError:
        value = None
    if value is None:
        exec(compile(code, "<code>", "exec"), _repl)
        return None
    exec(compile(code[:last], "<code>", "exec"), _repl)
    return eval(value, _repl)


def _enter(number):
    try:
        _skillet.stale, _skillet.building = True, number == -1
        if number == -1:
            _load()
        elif number == -2:
            _answer(_finished(_evaluate()))
        elif number >= len(_tools):
            raise _skillet.Misuse("there is no such tool")
        else:
            _answer(_finished(_tools[number](_input())))
        return 0
    except BaseException as e:
        return _report(e)
