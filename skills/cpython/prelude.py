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


_OFFICE = ("lxml", "PIL")


class _Absent:
    # The last one who is asked for a module.
    @staticmethod
    def find_spec(name, path=None, target=None):
        why = _ABSENT.get(name)
        if name.partition(".")[0] in _NATIVE:
            why = "it has native code, which this interpreter cannot load"
            if name.partition(".")[0] in _OFFICE:
                why += "; cpython-office has it"
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
    if "scripts" in asked:
        return _load_folder(asked)
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
    _loaded(names)


def _loaded(names):
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
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
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


# ---- the scripts of a folder
#
# A call finds the folder as files. What is Python in it was compiled before, and the
# packages it brings were imported.

_at = ""       # where the folder is
_library = []  # directories in it that hold packages
_codes = {}    # code of its files by their paths


def _load_folder(asked):
    global _at, _library
    _at = asked["at"]
    _library = [_at + "/" + name for name in asked["library"]]
    for name, text in asked["scripts"].items():
        try:
            _codes[_at + "/" + name] = compile(text, _at + "/" + name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # an error of the call that runs it
    _tools.append(_run_script)
    _loaded(["__script__"])


_get_code = importlib.machinery.SourceFileLoader.get_code


def _known_code(self, name):
    code = _codes.get(self.path)
    return _get_code(self, name) if code is None else code


importlib.machinery.SourceFileLoader.get_code = _known_code


class _Ended(SystemExit):
    # os._exit: nothing else of the script runs, as far as that can be had.
    pass


def _exit(code=0):
    raise _Ended(code)


def _text_stream(raw, **named):
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", **named)


class _Kept(io.BytesIO):
    def close(self):  # what was written is wanted
        pass

    def fileno(self):
        raise io.UnsupportedOperation("fileno: the streams of a script are in memory")


def _run_script():
    # A file of the folder, as python FILE ARGUMENTS would run it in the folder.
    asked = json.loads(_input())
    name, given = asked["path"], asked["input"]
    file = _at + "/" + name
    out, err = _Kept(), _Kept()
    os.chdir(_at)
    os.environ.update(HOME="/tmp", TMPDIR="/tmp", PWD=_at, LANG="C.UTF-8")
    os._exit = _exit
    sys.argv[:] = [name] + given.get("args", [])
    sys.orig_argv[:] = ["python"] + sys.argv
    sys.path[:] = [os.path.dirname(file)] + _library + [p for p in sys.path if p]
    sys.dont_write_bytecode = True
    sys.stdin = sys.__stdin__ = _text_stream(io.BytesIO(given.get("stdin", "").encode("utf-8", "surrogatepass")))
    sys.stdout = sys.__stdout__ = _text_stream(out, write_through=True)
    sys.stderr = sys.__stderr__ = _text_stream(err, write_through=True)
    for f in given.get("files", []):
        _hand_in(f)
    module = types.ModuleType("__main__")
    module.__file__, module.__builtins__ = file, builtins
    sys.modules["__main__"] = module
    try:
        code = 0
        try:
            program = _codes.get(file)
            if program is None:
                with open(file, "rb") as f:
                    program = compile(f.read(), file, "exec", dont_inherit=True)
            exec(program, module.__dict__)
        except SystemExit as e:
            code = e.code
        except BaseException as e:
            code = _uncaught(e)
        try:
            atexit._run_exitfuncs()
        except SystemExit as e:
            code = e.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as e:
        code = _uncaught(e)
    answer = {"stdout": _shown(out), "stderr": _shown(err), "exit_code": (code or 0) & 0xff}
    if "outputs" in given:
        answer["files"] = _hand_out(given["outputs"])
    _ask(_OUTPUT, json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    return 0


def _shown(stream):
    return stream.getvalue().decode("utf-8", "replace")


def _in_memory(path):
    # The place of a file that is handed in or out: in the folder, or in /tmp.
    full = os.path.normpath(os.path.join(_at, path))
    if not full.startswith((_at + "/", "/tmp/")):
        raise Misuse(f"{path}: a file that is handed in or out is in the folder of the skill, or in /tmp")
    return full


def _hand_in(f):
    path = _in_memory(f["path"])
    data = base64.b64decode(f["base64"], validate=True) if "base64" in f else f.get("text", "").encode("utf-8", "surrogatepass")
    folder = os.path.dirname(path)
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder)
        with open(path, "wb") as to:
            to.write(data)
    except OSError as e:
        raise Misuse(f"{f['path']}: the file cannot be handed in: {e.strerror}")


def _hand_out(patterns):
    found = {}
    for pattern in patterns:
        full = _in_memory(pattern)
        for path in sorted(glob.glob(full, recursive=True, include_hidden=True)):
            for p in [path] if os.path.isfile(path) else sorted(glob.glob(glob.escape(path) + "/**", recursive=True, include_hidden=True)):
                if os.path.isfile(p):
                    found[os.path.relpath(p, _at) if p.startswith(_at + "/") else p] = p
    answer = []
    for name, path in found.items():
        with open(path, "rb") as f:
            data = f.read()
        try:
            answer.append({"path": name, "text": data.decode()})
        except UnicodeDecodeError:
            answer.append({"path": name, "base64": base64.b64encode(data).decode()})
    return answer


def _uncaught(e):
    # What Python prints of an exception that ends a program, and a way out.
    try:
        text = _trace(e)
        if way := _way(e):
            text += f"note: {way}\n"
        sys.stdout.flush()
        sys.stderr.write(text)
        sys.stderr.flush()
    except BaseException as more:
        os.write(2, f"{type(e).__name__}: {e}, and of that: {type(more).__name__}\n".encode("utf-8", "replace"))
    return 1


def _way(e):
    # What there is in place of what an exception misses; None when nothing is known.
    while e.__cause__ is not None and not isinstance(e, (OSError, ImportError, KeyError)):
        e = e.__cause__
    if isinstance(e, ModuleNotFoundError) and e.name:
        top = e.name.partition(".")[0]
        if top in _ABSENT or top in _NATIVE:
            return None  # its message says why
        here = [f[:-3] for f in os.listdir(sys.path[0]) if f.endswith(".py")]
        near = difflib.get_close_matches(top, here, 1) or difflib.get_close_matches(top, sys.stdlib_module_names, 1, 0.8)
        if near and near[0] != top:
            return f"did you mean {near[0]}?"
        return f"{top} is not part of Python; a package that is pure Python can be brought by the skill: requirements.txt and skillet build"
    if isinstance(e, OSError) and isinstance(e.filename, str):
        return _way_of_file(e)
    if isinstance(e, KeyError) and e.args and isinstance(e.args[0], str) and e.__traceback__:
        step = e.__traceback__
        while step.tb_next:
            step = step.tb_next
        names = {k for v in step.tb_frame.f_locals.values() if isinstance(v, dict) for k in v if isinstance(k, str)}
        if near := difflib.get_close_matches(e.args[0], sorted(names), 1):
            return f"did you mean {near[0]!r}?"
    return None


def _way_of_file(e):
    path = os.path.abspath(e.filename)
    if e.errno == errno.EROFS:
        return f"the files of the skill cannot be changed; others can be made in its folder and in /tmp, which are in memory"
    if e.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM, getattr(errno, "ENOTCAPABLE", 76)):
        return None
    folder, name = os.path.split(path)
    if path.startswith((_at + "/", "/tmp/")):
        if os.path.isdir(folder):
            if near := difflib.get_close_matches(name, [n for n in os.listdir(folder) if n != name], 1):
                return f"did you mean {near[0]}?"
        if not os.path.isabs(e.filename):
            return f"relative paths begin in {_at}, the folder of the skill: hand the file in, or grant it and name it by its whole path"
        return None
    failure = _denied(e, _line(e))
    if failure and failure["message"] == "denied":
        return f"{path} was not granted to the skill"
    return failure["message"] if failure else None


def _line(e):
    # The line of the folder's own that an exception comes from.
    at, step = "", e.__traceback__
    while step:
        file = step.tb_frame.f_code.co_filename
        if file.startswith(_at + "/"):
            at = linecache.getline(file, step.tb_lineno)
        step = step.tb_next
    return at


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
    if tool is _run_program or tool is _run_script:
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
