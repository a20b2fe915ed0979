# Runs a script as a command line would: with arguments and standard input, and
# what it prints as the answer.
import io
import sys


def _needs():
    import COPY  # what the script imports belongs to the program


def TOOL(input):
    path = PATH
    out, err = io.StringIO(), io.StringIO()
    errors = sys.stderr

    def show(*values, sep=" ", end="\n", file=None, flush=False):
        to = out
        if file is errors:
            to = err
        elif file is not None and file is not sys.stdout:
            to = file
        to.write((" " if sep is None else sep).join([str(v) for v in values]) + ("\n" if end is None else end))

    def ask(prompt=""):
        line = stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    stdin = io.StringIO(input.get("stdin", ""))
    sys.argv[:] = [path] + [str(a) for a in input.get("args", [])]
    code = 0
    try:
        exec(SOURCE, {"__name__": "__main__", "__file__": "/" + path, "print": show, "input": ask})
    except SystemExit as e:
        code = e.args[0] if e.args else 0
        if isinstance(code, str):
            err.write(code + "\n")
            code = 1
    return {"stdout": out.getvalue(), "stderr": err.getvalue(), "exit_code": code or 0}
