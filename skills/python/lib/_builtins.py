# What built-in types and the built-in module lack. Methods are added to a
# type by giving it another table of its methods, in the interpreter's memory.
import builtins
from uctypes import bytearray_at

_tables = []  # keeps them from being collected


def _extend(kind, methods):
    table = dict(kind.__dict__)
    for f in methods:
        table[f.__name__] = f
    _tables.append(table)
    index = bytearray_at(id(kind) + 19, 1)[0]  # of the slot locals_dict
    bytearray_at(id(kind) + 16 + 4 * index, 4)[:] = id(table).to_bytes(4, "little")


def capitalize(s):
    return s[:1].upper() + s[1:].lower()


def casefold(s):
    return s.lower().replace("\xdf", "ss")


def title(s):
    out, start = [], True
    for c in s:
        out.append(c.upper() if start else c.lower())
        start = not c.isalpha()
    return "".join(out)


def swapcase(s):
    return "".join([c.lower() if c.isupper() else c.upper() for c in s])


def ljust(s, width, fill=" "):
    return s + fill * (width - len(s))


def rjust(s, width, fill=" "):
    return fill * (width - len(s)) + s


def zfill(s, width):
    if s[:1] in ("+", "-") and s:
        return s[0] + rjust(s[1:], width - 1, "0")
    return rjust(s, width, "0")


def removeprefix(s, prefix):
    return s[len(prefix):] if s.startswith(prefix) else s


def removesuffix(s, suffix):
    return s[:len(s) - len(suffix)] if suffix and s.endswith(suffix) else s


def expandtabs(s, tabsize=8):
    out, column = [], 0
    for c in s:
        if c == "\t":
            n = tabsize - column % tabsize if tabsize > 0 else 0
            out.append(" " * n)
            column += n
        else:
            out.append(c)
            column = 0 if c in "\r\n" else column + 1
    return "".join(out)


def isalnum(s):
    return bool(s) and all([c.isalpha() or c.isdigit() for c in s])


def isascii(s):
    return len(s.encode()) == len(s)


def isdecimal(s):
    return s.isdigit()


def isnumeric(s):
    return s.isdigit()


def isprintable(s):
    return all([c >= " " and c != "\x7f" for c in s])


def isidentifier(s):
    return bool(s) and not s[0].isdigit() and all([c.isalpha() or c.isdigit() or c == "_" or ord(c) > 127 for c in s])


def istitle(s):
    return s == title(s) and any([c.isalpha() for c in s])


def format_map(s, values):
    return s.format(**values)


def translate(s, table):
    out = []
    for c in s:
        try:
            to = table[ord(c)]
        except (KeyError, IndexError):
            to = c
        if to is not None:
            out.append(to if isinstance(to, str) else chr(to))
    return "".join(out)


def _maketrans(x, y=None, z=""):
    if y is None:
        return {(ord(k) if isinstance(k, str) else k): v for k, v in x.items()}
    table = {ord(a): ord(b) for a, b in zip(x, y)}
    for c in z:
        table[ord(c)] = None
    return table


_split, _rsplit = str.split, str.rsplit
_splitlines = str.splitlines


def split(s, sep=None, maxsplit=-1):
    return _split(s, sep, maxsplit)


def rsplit(s, sep=None, maxsplit=-1):
    if sep is None and maxsplit >= 0:
        parts = _split(s[::1])
        if len(parts) <= maxsplit:
            return parts
        rest, out = s.rstrip(), []
        for _ in range(maxsplit):
            word = _split(rest)[-1]
            out.insert(0, word)
            rest = rest[:len(rest) - len(word)].rstrip()
        return [rest.lstrip() if not out else rest] + out
    return _rsplit(s, sep, maxsplit) if sep is not None else _split(s)


_native_format = str.format


def format(s, *args, **kw):
    # the interpreter does not know "," and "_" in the format of a number
    if "," not in s and "_" not in s:
        return _native_format(s, *args, **kw)
    args, out, n, i = list(args), [], 0, 0
    while i < len(s):
        at = s.find("{", i)
        if at < 0:
            break
        out.append(s[i:at])
        if s[at + 1:at + 2] == "{":
            out.append("{{")
            i = at + 2
            continue
        end, depth = at + 1, 1
        while end < len(s) and depth:
            depth += (s[end] == "{") - (s[end] == "}")
            end += 1
        name, _, spec = s[at + 1:end - 1].partition(":")
        key = name.partition("!")[0]
        where = args
        if key == "" or key.isdigit():
            key, n = (n, n + 1) if key == "" else (int(key), n)
        elif key in kw:
            where = kw
        if "{" in spec or not ("," in spec or "_" in spec) or (key not in kw and not (isinstance(key, int) and key < len(args))):
            out.append(s[at:end])
            if "{" in spec:
                n += spec.count("{}")
        else:
            value = where[key]
            if where is kw:
                key, where = key + "\0", kw
                kw[key] = _grouped(value, spec)
                out.append("{" + key + "}")
            elif name == "":
                args[key] = _grouped(value, spec)
                out.append("{}")
            else:
                args.append(_grouped(value, spec))
                out.append("{%d}" % (len(args) - 1))
        i = end
    return _native_format("".join(out) + s[i:], *args, **kw)


def _grouped(value, spec):
    if not isinstance(value, (int, float)):
        return _native_format("{:" + spec + "}", value)
    mark = "," if "," in spec else "_"
    before, _, after = spec.partition(mark)
    if before[1:2] in "<>^=" and before[1:2]:
        fill, align, rest = before[0], before[1], before[2:]
    elif before[:1] in "<>^=" and before:
        fill, align, rest = " ", before[0], before[1:]
    else:
        fill, align, rest = " ", ">", before
    sign = rest[:1] if rest[:1] in ("+", "-", " ") and rest else ""
    rest = rest[len(sign):]
    number = _native_format("{:" + sign + after + "}", value)
    start = 1 if number[:1] in ("+", "-", " ") else 0
    end = start
    while end < len(number) and (number[end].isdigit() or after[-1:] in "xX" and after and number[end].isalpha()):
        end += 1
    step, digits, groups = 4 if after[-1:] in ("x", "X", "b", "o") else 3, number[start:end], []
    while digits:
        groups.insert(0, digits[max(0, len(digits) - step):])
        digits = digits[:max(0, len(digits) - step)]
    number = number[:start] + mark.join(groups) + number[end:]
    width = int(rest or 0)
    if len(number) >= width:
        return number
    if rest[:1] == "0" or align == "=":
        return number[:start] + ("0" if rest[:1] == "0" else fill) * (width - len(number)) + number[start:]
    return ljust(number, width, fill) if align == "<" else rjust(number, width, fill) if align == ">" else number.center(width) if fill == " " else (
        fill * ((width - len(number)) // 2) + number + fill * (width - len(number) - (width - len(number)) // 2))


_extend(str, [format, capitalize, casefold, title, swapcase, ljust, rjust, zfill, removeprefix, removesuffix, expandtabs, isalnum,
              isascii, isdecimal, isnumeric, isprintable, isidentifier, istitle, format_map, translate, split, rsplit])
_tables[-1]["maketrans"] = staticmethod(_maketrans)


def bit_length(n):
    return len(bin(n)) - (3 if n < 0 else 2) if n else 0


def bit_count(n):
    return bin(n).count("1")


_extend(int, [bit_length, bit_count])

# Sorting is quick in the interpreter only as long as nothing is in order, and
# not stable: so runs are merged.
def _order(keys):
    # the indexes of the keys in their order
    n, runs, i = len(keys), [], 0
    while i < n:
        j = i + 1
        if j < n and keys[j] < keys[i]:
            while j < n and keys[j] < keys[j - 1]:
                j += 1
            run = list(range(j - 1, i - 1, -1))
        else:
            while j < n and not keys[j] < keys[j - 1]:
                j += 1
            run = list(range(i, j))
        runs.append(run)
        i = j
    while len(runs) > 1:
        runs = [_merge(keys, runs[k], runs[k + 1]) if k + 1 < len(runs) else runs[k] for k in range(0, len(runs), 2)]
    return runs[0] if runs else []


def _merge(keys, a, b):
    if not keys[b[0]] < keys[a[-1]]:
        return a + b
    out, i, j = [], 0, 0
    put, la, lb = out.append, len(a), len(b)
    x, y = keys[a[0]], keys[b[0]]
    while True:
        if y < x:
            put(b[j])
            j += 1
            if j == lb:
                out.extend(a[i:])
                return out
            y = keys[b[j]]
        else:
            put(a[i])
            i += 1
            if i == la:
                out.extend(b[j:])
                return out
            x = keys[a[i]]


def _sorted(items, key=None, reverse=False):
    items = list(items)
    if reverse:
        items.reverse()
    keys = items if key is None else [key(x) for x in items]
    items = [items[i] for i in _order(keys)]
    if reverse:
        items.reverse()
    return items


def sort(items, key=None, reverse=False):
    items[:] = _sorted(items, key, reverse)


builtins.sorted = _sorted
_extend(list, [sort])

for _name, _kind in (("IOError", OSError), ("EnvironmentError", OSError), ("FileNotFoundError", OSError), ("PermissionError", OSError),
                     ("FileExistsError", OSError), ("TimeoutError", OSError), ("ConnectionError", OSError),
                     ("RecursionError", RuntimeError), ("ModuleNotFoundError", ImportError), ("UnicodeDecodeError", UnicodeError),
                     ("UnicodeEncodeError", UnicodeError), ("FloatingPointError", ArithmeticError)):
    setattr(builtins, _name, _kind)


class Warning(Exception):
    pass


class UserWarning(Warning):
    pass


class DeprecationWarning(Warning):
    pass


for _kind in (Warning, UserWarning, DeprecationWarning):
    setattr(builtins, _kind.__name__, _kind)


def _format(value, spec=""):
    if not isinstance(value, (int, float, str)) and hasattr(value, "__format__"):
        return value.__format__(spec)
    return ("{:" + spec + "}").format(value)


def _vars(*of):
    return of[0].__dict__


def _ascii(value):
    return "".join([c if c < "\x7f" else ("\\x%02x" if ord(c) < 256 else "\\u%04x" if ord(c) < 65536 else "\\U%08x") % ord(c) for c in repr(value)])


builtins.format, builtins.vars, builtins.ascii = _format, _vars, _ascii

# Classes: the forms of typing may be bases, and enumerations are made of what
# is in their bodies. The names there stand in __names__, which the driver puts
# into the source because bodies are not kept in their order.
_build = builtins.__build_class__
import sys
import _math
sys.modules["math"] = _math


def _class(body, name, *bases, **options):
    real = []
    for b in bases:
        if getattr(b, "_enumeration", False):
            import enum
            return enum.build(_build, body, name, bases)
        if isinstance(b, type):
            real.append(b)
    made = _build(body, name, *real)
    for b in real:
        hook = getattr(b, "__init_subclass__", None)
        if hook:
            hook(made, **options) if not hasattr(hook, "__self__") else hook(**options)
    return made


builtins.__build_class__ = _class
