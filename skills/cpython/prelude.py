# Runs once, when the interpreter is made: imports the modules that scripts use
# most, changes those that would ask for what a sandbox has not, and ends in a look
# at the clock, in which the interpreter is stopped. Every call goes through _enter.
# The names of the functions of the host are filled in by Prelude.
import sys
import abc, argparse, array, ast, asyncio, atexit, base64, binascii, bisect, builtins, calendar, codecs, collections
import collections.abc, configparser, contextlib, contextvars, copy, csv, dataclasses, datetime, decimal, difflib, enum, errno
import fnmatch, fractions, functools, gc, getpass, glob, gzip, hashlib, heapq, hmac, html, html.entities, html.parser, importlib
import importlib.machinery, importlib.util, inspect, io, itertools, json, keyword, linecache, locale, logging, math, mimetypes, numbers, operator, os, pathlib
import pickle, platform, pprint, queue, random, re, secrets, selectors, shlex, shutil, signal, socket, stat, statistics
import string, struct, subprocess, tempfile, textwrap, threading, time, token, tokenize, traceback, types, typing
import unicodedata, urllib.error, urllib.parse, urllib.request, uuid, warnings, weakref, xml.dom.minidom, xml.etree.ElementTree
import zipfile, zlib, zoneinfo, concurrent.futures

_FUNCTIONS = "<functions>".split()
_OWN = "<skillet>"  # the file name of this text in tracebacks


class _Host(types.ModuleType):
    pass


# ---- the way to the host: see driver.wat

_LENGTH, _OUTPUT, _ERROR, _CODE, _PROGRAM, _READY, _FIRST = range(7)


def _ask(which, a=b"", b=b""):
    return os.write(0, struct.pack("<III", which, len(a), len(b)) + a + b)


class Misuse(ValueError):
    kind = "invalid"


_building = True  # code at the top of a program runs: nobody answers calls


def _call(name, meta, body=None):
    if name not in _FUNCTIONS:
        raise Misuse(f"the host has no function {name}")
    if _building:
        raise Misuse(f"{name}: the host cannot be called by code outside of functions")
    if not isinstance(meta, str):
        raise Misuse(f"{name}: the request is a string of JSON")
    if body is None:
        body = b""
    elif isinstance(body, str):
        body = body.encode()
    else:
        body = bytes(body)
    answer = os.read(1, _ask(_FIRST + _FUNCTIONS.index(name), meta.encode(), body))
    n = 4 + int.from_bytes(answer[:4], "little")
    return answer[4:n].decode(), answer[n:]


def _log(level, text):
    _call("log", json.dumps({"level": level}), text)


_skillet = _Host("_skillet", "The way to the host: the module skillet is built on it.")
_skillet.call, _skillet.log, _skillet.Misuse = _call, _log, Misuse
sys.modules["_skillet"] = _skillet


class _Lines(io.TextIOBase):
    # A stream whose lines are lines of the log of the call.
    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, level):
        self.level, self.rest = level, ""

    def writable(self):
        return True

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            _log(self.level, line.encode("utf-8", "replace"))
        return len(text)

    def finish(self):
        if self.rest:
            self.write("\n")


# ---- what a sandbox has not

def _no(what, instead):
    def refuse(*args, **named):
        raise OSError(errno.ENOTSUP, f"{what}: {instead}")
    return refuse


_PROGRAMS = "no programs can be started here; call another skill with skillet.skills.call"
_THREADS = "there are no threads here; call the function directly, or use asyncio"
_SOCKETS = "there are no sockets here; send requests with skillet.http"


class _NoPopen(subprocess.Popen):
    __init__ = _no("subprocess", _PROGRAMS)
    __del__ = lambda self, *a, **n: None


subprocess.Popen = _NoPopen
for _name in ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile", "kill", "wait", "waitpid", "execl", "execle", "execlp",
              "execlpe", "execv", "execve", "execvp", "execvpe", "spawnl", "spawnle", "spawnv", "spawnve", "spawnlp", "spawnvp"):
    setattr(os, _name, _no("os." + _name, _PROGRAMS))


def _no_thread(*args, **named):
    raise RuntimeError("threading: " + _THREADS)


threading.Thread.start = _no_thread
concurrent.futures.ThreadPoolExecutor = concurrent.futures.ProcessPoolExecutor = _no_thread


class _NoSocket(socket.socket):
    __init__ = _no("socket", _SOCKETS)
    __del__ = lambda self, *a, **n: None


socket.socket = socket.SocketType = _NoSocket
for _name in ("create_connection", "create_server", "socketpair", "getaddrinfo", "gethostbyname", "gethostname", "fromfd"):
    setattr(socket, _name, _no("socket." + _name, _SOCKETS))

_ABSENT = {
    "ssl": _SOCKETS, "_ssl": _SOCKETS, "requests": _SOCKETS, "httpx": _SOCKETS, "aiohttp": _SOCKETS, "urllib3": _SOCKETS,
    "multiprocessing": _THREADS, "_multiprocessing": _THREADS, "concurrent.futures.process": _THREADS, "concurrent.futures.thread": _THREADS,
    "ctypes": "there is no native code here to call", "_ctypes": "there is no native code here to call",
    "lzma": "this interpreter was built without it; zlib and bz2 are there", "_lzma": "this interpreter was built without it; zlib and bz2 are there",
    "tkinter": "there is no screen", "curses": "there is no terminal", "readline": "there is no terminal",
}
_NATIVE = ("numpy", "pandas", "scipy", "lxml", "PIL", "cv2", "matplotlib", "sklearn", "torch", "tensorflow", "cryptography", "pydantic_core")


class _Absent:
    # The last one who is asked for a module.
    @staticmethod
    def find_spec(name, path=None, target=None):
        why = _ABSENT.get(name)
        if name.partition(".")[0] in _NATIVE:
            why = "it has native code, which this interpreter cannot load"
        if why:
            raise ModuleNotFoundError(f"No module named {name!r}: {why}", name=name)
        return None


sys.meta_path.append(_Absent)


# ---- asyncio, without a socket to wake it

class _Selector(selectors._BaseSelectorImpl):
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("asyncio: all tasks wait for something that does not come")
        if timeout > 0:
            time.sleep(timeout)
        return []


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__(_Selector())

    def _make_self_pipe(self):
        self._internal_fds = 0

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, func, *args):
        # There is one thread: it is called at once.
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as e:
            future.set_exception(e)
        return future

    def add_signal_handler(self, *args):
        raise NotImplementedError("there are no signals here")

    remove_signal_handler = add_signal_handler


class _Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = _Loop


asyncio.set_event_loop_policy(_Policy())


# ---- the program

class _Loader:
    # Finds and loads the modules of a program, which are in memory.
    files = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        at = name.replace(".", "/")
        for file, package in ((at + "/__init__.py", True), (at + ".py", False)):
            if file in cls.files:
                return importlib.machinery.ModuleSpec(name, cls, origin=file, is_package=package)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @classmethod
    def exec_module(cls, module):
        file = module.__spec__.origin
        module.__file__ = "/" + file
        exec(_compiled(file), module.__dict__)

    @classmethod
    def get_source(cls, name):
        return cls.files[cls.find_spec(name).origin]


sys.meta_path.insert(0, _Loader)


def _compiled(file):
    text = _Loader.files[file]
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return compile(text, file, "exec", dont_inherit=True)


def _is_guard(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Name) and node.test.left.id == "__name__"


def _kind(text, file):
    # Whether a file defines functions that can be tools, and whether it is a
    # program: it says so, or does something and defines none.
    body = ast.parse(text, file).body
    tools = any(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name[0] != "_" for n in body)
    acts = any(isinstance(n, (ast.For, ast.While, ast.With)) or isinstance(n, ast.Expr) and not isinstance(n.value, ast.Constant) for n in body)
    guarded = any(map(_is_guard, body))
    return tools or not (guarded or acts), guarded or acts and not tools


# What Python has imported before it looks for files the first time.
_BEGUN = {"sys", "builtins", "time", "posix", "zipimport", "encodings", "codecs", "io", "abc", "site", "os", "stat", "posixpath", "genericpath"}

_tools = []
_main = ""     # the program's first file
_program = None  # its code


def _load():
    global _main, _program
    asked = json.loads(_input())
    _Loader.files = asked["files"]
    _main = asked["main"] + ".py"
    tools, program = _kind(_Loader.files[_main], _main)
    names = []
    for file in _Loader.files:
        # One of the program comes before one of the same name of the library, as it
        # does where Python looks for files.
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if name in sys.modules and name not in _BEGUN:
            del sys.modules[name]
    if tools:
        spec = _Loader.find_spec(asked["main"])
        main = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        _Loader.exec_module(main)
        names = [n for n in dir(main) if _is_tool(n, getattr(main, n))]
        _tools[:] = [getattr(main, n) for n in names]
    if program:
        _program = _compiled(_main)
        names.append("__main__")
        _tools.append(_run_program)
    _ask(_OUTPUT, json.dumps(names).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()


def _is_tool(name, value):
    if name[0] == "_" or not callable(value) or isinstance(value, type):
        return False
    owner = (getattr(value, "__module__", None) or "").partition(".")[0]
    if owner == "skillet" or isinstance(value, types.BuiltinFunctionType):
        return False
    ours = owner + ".py" in _Loader.files or owner + "/__init__.py" in _Loader.files
    return ours or owner not in sys.stdlib_module_names


def _command_line(b):
    # The arguments and the standard input that an input stands for: it may say both.
    try:
        asked = json.loads(b) if b else {}
    except (ValueError, RecursionError):
        return [], b
    if not isinstance(asked, dict) or asked.keys() - {"args", "stdin"}:
        return [], b
    arguments, text = asked.get("args", []), asked.get("stdin", "")
    if not isinstance(arguments, list) or not all(isinstance(a, str) for a in arguments) or not isinstance(text, str):
        raise Misuse("input: args is a list of strings, and stdin is a string")
    return arguments, text.encode("utf-8", "surrogatepass")


def _run_program():
    # The first file, as python FILE ARGUMENTS would run it.
    module = types.ModuleType("__main__")
    module.__file__, module.__builtins__ = _main, builtins
    sys.modules["__main__"] = module
    arguments, text = _command_line(_input())
    sys.argv[:] = [_main] + arguments
    sys.stdin = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")
    _ask(_PROGRAM)
    try:
        code = 0
        try:
            exec(_program, module.__dict__)
        except SystemExit as e:
            code = e.code
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException as e:
        try:
            sys.stdout.flush()
        finally:
            return _report(e)
    if code is None or code == 0:
        return 0
    message = f"the program ended with exit code {code}"
    if not isinstance(code, int):
        message, code = str(code), 1
        print(message, file=sys.stderr)
    sys.stderr.flush()
    _ask(_ERROR, b"failed", message.encode("utf-8", "replace"))
    return code & 0xff or 1


# ---- errors

def _where(e):
    # The line of the program that a traceback ends with, as file:line: text.
    at = ""
    if isinstance(e, SyntaxError) and e.filename and e.lineno:
        line = (e.text or "").strip()
        return f"{e.filename}:{e.lineno}:{e.offset or 1}" + (f": {_clip(line)}" if line else "")
    step = e.__traceback__
    while step:
        file = step.tb_frame.f_code.co_filename
        if file in _Loader.files:
            at = file, step.tb_lineno
        step = step.tb_next
    if not at:
        return ""
    line = linecache.getline(*at).strip()
    return f"{at[0]}:{at[1]}" + (f": {_clip(line)}" if line else "")


def _clip(line):
    return line if len(line) <= 120 else line[:117] + "..."


def _trace(e):
    # The traceback, without the frames of this text.
    t = traceback.TracebackException(type(e), e, e.__traceback__, limit=-20, compact=True)
    seen, todo = set(), [t]
    while todo:
        x = todo.pop()
        if x is None or id(x) in seen:
            continue
        seen.add(id(x))
        x.stack[:] = [f for f in x.stack if f.filename != _OWN and not f.filename.startswith("<frozen importlib")]
        todo += [x.__cause__, x.__context__] + (x.exceptions or [])
    return "".join(t.format())


# How a line looks that writes a file.
_WRITES = re.compile(r"""['"][wax]b?\+?t?['"]|write_|mkdir|makedirs|touch|\.save\(""")


def _denied(e, at):
    # What the host says of a file that was not found: if it is not granted, the host
    # tells its user how it can be.
    path = e.filename
    if not isinstance(path, str) or _building:
        return None
    path = os.path.abspath(path)
    if path.startswith(("/usr/", "/tmp/")):
        return None
    if _WRITES.search(at):
        return {"message": f"not granted; what may be written is in {tempfile.gettempdir()}, or in a directory that was granted"}
    try:
        meta = json.loads(_call("fs_stat", json.dumps({"path": path}))[0])
    except Exception:
        return None
    failure = meta.get("error")
    return failure if failure and failure["kind"] == "denied" else None


def _report(e):
    at = _where(e)
    kind = getattr(e, "kind", None)
    message = str(e)
    name = type(e).__name__
    if isinstance(kind, str) and kind:
        _ask(_ERROR, kind.encode(), (message or name).encode("utf-8", "replace"))
        return 1
    kind = "failed"
    if isinstance(e, (SystemExit, KeyboardInterrupt)):
        message = "the script ended itself"
    elif isinstance(e, SyntaxError):
        kind, message = "invalid", f"{name}: {e.msg}"
    elif name != "Exception" or not message:
        message = f"{name}: {message}" if message else name
    if isinstance(e, MemoryError):
        kind = "limit"
    if isinstance(e, OSError) and not _building and (failure := _denied(e, at)):
        kind, message = "denied", f"{message}: {failure['message']}"
    _ask(_ERROR, kind.encode(), (f"{message} (at {at})" if at else message).encode("utf-8", "replace"))
    if at:
        try:
            text = _trace(e)
            if _building:
                sys.stderr.write(text)
                sys.stderr.flush()
            else:
                _log("debug", text.rstrip())
        except Exception:
            pass
    return 1


# ---- calls

def _input():
    parts, left = [], _ask(_LENGTH)
    while left > 0:
        part = os.read(0, left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _value():
    b = _input()
    try:
        return json.loads(b) if b else {}
    except (ValueError, RecursionError) as e:
        raise Misuse(f"input: not valid JSON: {e}")


def _answer(value):
    if inspect.iscoroutine(value):
        value = asyncio.run(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as e:
        raise Misuse(f"the result is no value of JSON: {e}")
    sys.stdout.finish()
    sys.stderr.finish()
    _ask(_OUTPUT, text.encode("utf-8", "replace"))


def _evaluate():
    code = _value().get("code")
    if not isinstance(code, str):
        raise Misuse("code is the text of a script")
    _Loader.files = {**_Loader.files, "<code>": code}
    linecache.cache["<code>"] = (len(code), None, code.splitlines(True), "<code>")
    tree = ast.parse(code, "<code>")
    space = {"__name__": "__main__", "__builtins__": builtins}
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), space)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<code>", "eval"), space)


def _fresh():
    # What was drawn when the interpreter was made, or a program built, is drawn anew.
    random.seed()
    tempfile._name_sequence = None
    uuid._last_timestamp = uuid._node = None


def _enter(number):
    global _building
    _building = number == -1
    code = 1
    try:
        if number == -1:
            _load()
            code = 0
        else:
            _fresh()
            code = _serve(number)
    except BaseException as e:
        code = _report(e)
    _ask(_CODE, code.to_bytes(4, "little"))


def _serve(number):
    if number >= len(_tools):
        raise Misuse("there is no such tool")
    tool = _evaluate if number == -2 else _tools[number]
    if tool is _run_program:
        return tool()
    sys.stdout, sys.stderr = _Lines("info"), _Lines("warn")
    try:
        _answer(tool() if number == -2 else tool(_value()))
    except BaseException:
        sys.stdout.finish()
        sys.stderr.finish()
        raise
    return 0


builtins._sk = _enter
sys.argv[:] = [""]
sys.orig_argv[:] = []
os.environ.clear()
gc.collect()
gc.freeze()
_ask(_READY)
time.time()
