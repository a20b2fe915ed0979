# Shapes of values: what is read with one is what its type says.
import math
from ._request import fail


def _called(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "this number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, (list, tuple)) else "an object"


def _wrong(value, expected, path):
    fail("invalid", f"{path or 'input'}: must be {expected}, not {_called(value)}")


def _inside(path, name):
    return f"{path}.{name}" if path else name


_missing = []  # stands for no default


class Shape:
    # reader is called with a value that is there and its path; default stands for one that is not.
    def __init__(self, reader, default=_missing):
        self.reader = reader
        self.default = default

    def read(self, value, path=""):
        if value is None:
            if self.default is _missing:
                fail("invalid", f"{path or 'input'}: is missing")
            value = self.default
        return self.reader(value, path)


class _Nullable(Shape):
    def read(self, value, path=""):
        return None if value is None else self.reader(value, path)


def _is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)


def _plain(holds, expected, default):
    return Shape(lambda v, path: v if holds(v) else _wrong(v, expected, path), default)


def string(default=_missing):
    return _plain(lambda v: isinstance(v, str), "a string", default)


def integer(default=_missing):
    def reader(v, path):
        if isinstance(v, int) and not isinstance(v, bool):
            return v
        if _is_number(v) and v == int(v):
            return int(v)
        _wrong(v, "a whole number", path)
    return Shape(reader, default)


def number(default=_missing):
    return _plain(_is_number, "a number", default)


def boolean(default=_missing):
    return _plain(lambda v: isinstance(v, bool), "true or false", default)


def one_of(words, default=_missing):
    return _plain(lambda v: v in words, "one of " + ", ".join([str(w) for w in words]), default)


def anything():
    return _Nullable(lambda v, path: v)


def nullable(of):
    return _Nullable(of.read)


def list_of(of, default=_missing):
    def reader(v, path):
        if not isinstance(v, (list, tuple)):
            _wrong(v, "an array", path)
        return [of.read(e, f"{path}[{i}]") for i, e in enumerate(v)]
    return Shape(reader, default)


def map_of(of, default=_missing):
    def reader(v, path):
        if not isinstance(v, dict):
            _wrong(v, "an object", path)
        return {name: of.read(e, _inside(path, name)) for name, e in v.items()}
    return Shape(reader, default)


def object(members, default=_missing):
    def reader(v, path):
        if not isinstance(v, dict):
            _wrong(v, "an object", path)
        return {name: of.read(v.get(name), _inside(path, name)) for name, of in members.items()}
    return Shape(reader, default)
