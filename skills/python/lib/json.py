# The interpreter's own JSON, with the options and errors of CPython's.
import ujson


class JSONDecodeError(ValueError):
    pass


# The interpreter makes a string of JSON by adding to it, which takes it a time
# that grows with the square of the length. So longer strings are taken out of a
# text, and put back into the value.
_LONG = 8192


def loads(s, cls=None, object_hook=None, parse_float=None, parse_int=None, object_pairs_hook=None):
    if not isinstance(s, (str, bytes, bytearray)):
        raise TypeError("the JSON object must be str, bytes or bytearray, not " + type(s).__name__)
    out = []
    if len(s) > _LONG:
        s = _take_out(s.encode() if isinstance(s, str) else bytes(s), out)
    if not isinstance(s, str):
        s = str(s, "utf-8")
    if "\\u" in s:
        s = _join_surrogates(s)
    try:
        value = ujson.loads(s)
    except ValueError as e:
        raise JSONDecodeError("Expecting value: the text is no JSON")
    if out:
        value = _put_back(value, out)
    if object_pairs_hook:
        object_hook = lambda d: object_pairs_hook(list(d.items()))
    return _hooked(value, object_hook) if object_hook else value


def _take_out(b, out):
    # what is left of the text, where a control character and a number stand for
    # each string that is long. No other string is so when no text has that
    # character, as it is or as a code.
    parts, done, at = [], 0, b.find(b'"')
    while at >= 0:
        end = b.find(b'"', at + 1)
        while end > 0 and _is_escaped(b, end):
            end = b.find(b'"', end + 1)
        if end < 0:
            break
        if end - at > _LONG:
            parts.append(b[done:at + 1])
            parts.append(b"\x01%d" % len(out))
            out.append(b[at + 1:end])
            done = end
        at = b.find(b'"', end + 1)
    if not out:
        return b
    parts.append(b[done:])
    rest = b"".join(parts)
    if b"\\u0001" in rest or b"\x01" in b:
        out.clear()
        return b
    out[:] = [_unquoted(piece) for piece in out]
    return rest


def _is_escaped(b, at):
    before = at
    while b[before - 1] == 92:
        before -= 1
    return (at - before) % 2


_escapes = {34: b'"', 92: b"\\", 47: b"/", 98: b"\b", 102: b"\f", 110: b"\n", 114: b"\r", 116: b"\t"}


def _unquoted(b):
    parts, done, at = [], 0, b.find(b"\\")
    while at >= 0:
        parts.append(b[done:at])
        done = at + 2
        if b[at + 1] == 117:
            code, done = _code(b, at + 2), at + 6
            if 0xd800 <= code < 0xdc00 and b[done:done + 2] == b"\\u":
                low = _code(b, done + 2)
                if 0xdc00 <= low < 0xe000:
                    code, done = 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00, done + 6
            parts.append("\ufffd" if 0xd800 <= code < 0xe000 else chr(code))
            parts[-1] = parts[-1].encode()
        elif b[at + 1] in _escapes:
            parts.append(_escapes[b[at + 1]])
        else:
            raise JSONDecodeError("Invalid \\escape")
        at = b.find(b"\\", done)
    parts.append(b[done:])
    return str(b"".join(parts), "utf-8")


def _code(b, at):
    digits = b[at:at + 4]
    for c in digits:
        if c not in b"0123456789abcdefABCDEF":
            digits = b""
    if len(digits) < 4:
        raise JSONDecodeError("Invalid \\uXXXX escape")
    return int(digits, 16)


def _put_back(value, out):
    if isinstance(value, str):
        return out[int(value[1:])] if value[:1] == "\x01" else value
    if isinstance(value, list):
        return [_put_back(v, out) for v in value]
    if isinstance(value, dict):
        return {_put_back(k, out): _put_back(v, out) for k, v in value.items()}
    return value


def _join_surrogates(s):
    parts, i = [], 0
    while True:
        at = s.find("\\u", i)
        if at < 0 or at + 12 > len(s):
            return "".join(parts) + s[i:]
        before = at
        while before > 0 and s[before - 1] == "\\":
            before -= 1
        code = s[at + 2:at + 6].lower()
        if (at - before) % 2 or code[0] != "d" or code[1] not in "89ab" or s[at + 6:at + 8] != "\\u":
            parts.append(s[i:at + 2])
            i = at + 2
            continue
        try:
            low = int(s[at + 8:at + 12], 16)
        except ValueError:
            low = 0
        parts.append(s[i:at])
        if 0xdc00 <= low < 0xe000:
            parts.append(chr(0x10000 + ((int(code, 16) - 0xd800) << 10) + low - 0xdc00))
            i = at + 12
        else:
            parts.append("\ufffd")
            i = at + 6


def _hooked(value, hook):
    if isinstance(value, list):
        return [_hooked(v, hook) for v in value]
    if isinstance(value, dict):
        return hook({k: _hooked(v, hook) for k, v in value.items()})
    return value


def load(f, **options):
    return loads(f.read(), **options)


def _quoted(s):
    # a string, of which a long one is written in pieces
    if len(s) <= _LONG:
        return ujson.dumps(s)
    return '"' + "".join([ujson.dumps(s[i:i + _LONG])[1:-1] for i in range(0, len(s), _LONG)]) + '"'


_plain = {int, bool, type(None)}


def _simple(value):
    # whether the interpreter writes it as JSON
    kind = type(value)
    if kind is str:
        return len(value) <= _LONG
    if kind in _plain:
        return True
    if kind is dict:
        for k, v in value.items():
            if type(k) is not str or type(v) not in _plain and not _simple(v):
                return False
        return True
    if kind is list or kind is tuple:
        for v in value:
            if type(v) not in _plain and not _simple(v):
                return False
        return True
    return kind is float and value - value == 0


def dumps(value, skipkeys=False, ensure_ascii=True, check_circular=True, allow_nan=True, cls=None, indent=None, separators=None, default=None, sort_keys=False):
    if indent is None and not sort_keys and _simple(value):
        s = ujson.dumps(value, separators=separators) if separators else ujson.dumps(value)
    else:
        if isinstance(indent, int):
            indent = " " * indent
        if separators is None:
            separators = (", " if indent is None else ",", ": ")
        if cls is not None:
            default = cls().default
        out = []
        _write(out.append, value, indent, "\n", separators, default, sort_keys, allow_nan, skipkeys)
        s = "".join(out)
    return _ascii(s) if ensure_ascii and len(s) != len(s.encode()) else s


def _ascii(s):
    out = []
    for c in s:
        n = ord(c)
        if n < 128:
            out.append(c)
        elif n < 0x10000:
            out.append("\\u%04x" % n)
        else:
            n -= 0x10000
            out.append("\\u%04x\\u%04x" % (0xd800 + (n >> 10), 0xdc00 + (n & 0x3ff)))
    return "".join(out)


def _number(value, allow_nan):
    if value - value != 0:
        if not allow_nan:
            raise ValueError("Out of range float values are not JSON compliant: " + repr(value))
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _key(k, allow_nan):
    if isinstance(k, str):
        return k
    if k is None or k is True or k is False:
        return ujson.dumps(k)
    if isinstance(k, int):
        return str(k)
    if isinstance(k, float):
        return _number(k, allow_nan)


def _write(put, value, indent, line, separators, default, sort, nan, skip):
    if isinstance(value, str):
        put(_quoted(value))
    elif value is None or value is True or value is False:
        put(ujson.dumps(value))
    elif isinstance(value, int):
        put(str(value))
    elif isinstance(value, float):
        put(_number(value, nan))
    elif isinstance(value, (list, tuple, dict)):
        _write_all(put, value, indent, line, separators, default, sort, nan, skip)
    elif default:
        _write(put, default(value), indent, line, separators, default, sort, nan, skip)
    else:
        raise TypeError("Object of type " + type(value).__name__ + " is not JSON serializable")


def _write_all(put, value, indent, line, separators, default, sort, nan, skip):
    pairs = isinstance(value, dict)
    if not value:
        put("{}" if pairs else "[]")
        return
    deeper = line if indent is None else line + indent
    put("{" if pairs else "[")
    first = True
    for v in (sorted(value.items()) if sort else value.items()) if pairs else value:
        if pairs:
            k = _key(v[0], nan)
            if k is None:
                if skip:
                    continue
                raise TypeError("keys must be str, int, float, bool or None, not " + type(v[0]).__name__)
        put(("" if first else separators[0]) + (deeper if indent is not None else ""))
        first = False
        if pairs:
            put(_quoted(k))
            put(separators[1])
            v = v[1]
        _write(put, v, indent, deeper, separators, default, sort, nan, skip)
    put((line if indent is not None else "") + ("}" if pairs else "]"))


def dump(value, f, **options):
    f.write(dumps(value, **options))


class JSONEncoder:
    def __init__(self, **options):
        self._options = options

    def default(self, value):
        raise TypeError("Object of type " + type(value).__name__ + " is not JSON serializable")

    def encode(self, value):
        return dumps(value, default=self.default, **self._options)


class JSONDecoder:
    def __init__(self, **options):
        self._options = options

    def decode(self, s):
        return loads(s, **self._options)
