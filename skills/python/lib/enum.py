# Enumerations. A class of them is an object: it can be called, iterated and
# subscribed, and is no type for isinstance.
class auto:
    pass


class _Base:
    _enumeration = True
    mixin = None
    flag = False

    def __init__(self, name, mixin=None, flag=False):
        self.__name__, self.mixin, self.flag = name, mixin, flag


Enum = _Base("Enum")
IntEnum = _Base("IntEnum", int)
StrEnum = _Base("StrEnum", str)
Flag = _Base("Flag", int, True)
IntFlag = _Base("IntFlag", int, True)


class EnumType:
    def __init__(self, name, kind, flag):
        self.__name__, self._kind, self._flag = name, kind, flag
        self.__members__, self._order = {}, []

    def __call__(self, value):
        for m in self.__members__.values():
            if m.value == value:
                return m
        if self._flag and isinstance(value, int):
            m = _make(self._kind, value)
            parts = [x for x in self._order if x.value and x.value & value == x.value]
            object.__setattr__(m, "name", "|".join([x.name for x in parts]) or None)
            return m
        missing = getattr(self._kind, "_missing_", None)
        m = missing(value) if missing else None
        if m is None:
            raise ValueError(repr(value) + " is not a valid " + self.__name__)
        return m

    def __getattr__(self, name):
        try:
            return self.__members__[name]
        except KeyError:
            return getattr(self._kind, name)

    def __getitem__(self, name):
        return self.__members__[name]

    def __iter__(self):
        return iter(self._order)

    def __len__(self):
        return len(self._order)

    def __contains__(self, m):
        return any([x is m or x.value == m for x in self._order])

    def __repr__(self):
        return "<enum " + repr(self.__name__) + ">"


def _make(kind, value):
    m = kind(value) if kind._mixin else object.__new__(kind)
    m.value = m._value_ = value
    return m


def build(make, body, name, bases):
    mixin, flag = None, False
    parents = []
    for b in bases:
        if isinstance(b, _Base):
            mixin, flag = b.mixin or mixin, b.flag
        elif isinstance(b, EnumType):
            mixin, flag = b._kind._mixin or mixin, b._flag
            parents.append(b._kind)
        elif b in (int, str, float):
            mixin = b
    if not parents and mixin:
        parents = [mixin]
    raw = make(body, name, *parents)
    raw._mixin = mixin
    enumeration = EnumType(name, raw, flag)
    own, last = raw.__dict__, 0
    start = own.get("_generate_next_value_")
    for n in own.get("__names__", ()):
        value = own.get(n)
        if n[:1] == "_" or n not in own or callable(value) and not isinstance(value, auto):
            continue
        if isinstance(value, auto):
            if mixin is str:
                value = n.lower()
            elif flag:
                value = 1 << last.bit_length() if last else 1
            else:
                value = last + 1
        for m in enumeration._order:
            if m.value == value:
                break
        else:
            m = _make(raw, value)
            m.name = m._name_ = n
            enumeration._order.append(m)
            init = own.get("__init__")
            if init:
                init(m, *(value if isinstance(value, tuple) else (value,)))
        if isinstance(value, int):
            last = max(last, value)
        enumeration.__members__[n] = m
        setattr(raw, n, m)
    _complete(raw, own, name, mixin, flag, enumeration)
    return enumeration


def _number(o):
    return o.value if hasattr(o, "value") else o


def _complete(raw, own, name, mixin, flag, enumeration):
    def add(method, f):
        if method not in own:
            setattr(raw, method, f)
    add("__repr__", lambda m: "<%s.%s: %r>" % (name, m.name, m.value))
    if mixin is None:
        add("__str__", lambda m: name + "." + m.name)
        add("__hash__", lambda m: hash(m.name))
        add("__eq__", lambda m, o: m is o)
    elif mixin is not str and not flag:
        # what compares or adds two of them does not look for the native value
        add("__str__", lambda m: str(m.value))
        add("__lt__", lambda m, o: m.value < _number(o))
        add("__le__", lambda m, o: m.value <= _number(o))
        add("__gt__", lambda m, o: m.value > _number(o))
        add("__ge__", lambda m, o: m.value >= _number(o))
        add("__eq__", lambda m, o: m.value == _number(o))
        add("__hash__", lambda m: hash(m.value))
    if flag:
        add("__or__", lambda m, o: enumeration(m.value | _number(o)))
        add("__and__", lambda m, o: enumeration(m.value & _number(o)))
        add("__xor__", lambda m, o: enumeration(m.value ^ _number(o)))
        add("__bool__", lambda m: m.value != 0)
        add("__eq__", lambda m, o: m.value == _number(o))
        add("__hash__", lambda m: m.value)
        add("__contains__", lambda m, o: m.value & _number(o) == _number(o))


def unique(enumeration):
    if len(enumeration.__members__) != len(enumeration._order):
        raise ValueError("duplicate values found in " + repr(enumeration))
    return enumeration
