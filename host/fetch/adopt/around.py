# Runs a script as a command line would: with arguments and standard input, and
# what it prints as the answer.
import builtins
import io
import sys


def _needs():
    import COPY  # what the script imports belongs to the program


class _Unfit(Exception):
    kind = "invalid"


class _Stream:
    # What a script knows as its standard output, or error.
    def __init__(self):
        self.buffer, self.parts = self, []

    def write(self, text):
        self.parts.append(text if isinstance(text, str) else bytes(text).decode())
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False

    def text(self):
        return "".join(self.parts)


class _System:
    # The module sys of a script: with streams, arguments and nothing else new.
    def __init__(self, args, stdin, stdout, stderr):
        for name in dir(sys):
            setattr(self, name, getattr(sys, name))
        self.argv, self.stdin, self.stdout, self.stderr = args, stdin, stdout, stderr


def TOOL(input):
    if input.get("files") or input.get("outputs"):
        raise _Unfit("files can be handed to a script where the interpreter cpython is installed, and this one is python")
    path = PATH
    stdin, out, err = io.StringIO(input.get("stdin", "")), _Stream(), _Stream()

    def show(*values, sep=" ", end="\n", file=None, flush=False):
        text = (" " if sep is None else sep).join([str(v) for v in values])
        (out if file is None else file).write(text + ("\n" if end is None else end))

    def ask(prompt=""):
        line = stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    args = [path] + [str(a) for a in input.get("args", [])]
    sys.modules["sys"] = _System(args, stdin, out, err)
    builtins.print, builtins.input = show, ask  # also for the modules that it imports
    code = 0
    try:
        exec(SOURCE, {"__name__": "__main__", "__file__": "/" + path})
    except SystemExit as e:
        code = e.args[0] if e.args else 0
        if isinstance(code, str):
            err.write(code + "\n")
            code = 1
    return {"stdout": out.text(), "stderr": err.text(), "exit_code": code or 0}
