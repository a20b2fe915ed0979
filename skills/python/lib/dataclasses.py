# The order of the fields is in __names__, which the driver puts into the source.
class FrozenInstanceError(AttributeError):
    pass


class _Missing:
    def __repr__(self):
        return "MISSING"


MISSING = _Missing()
KW_ONLY = object()


class Field:
    def __init__(self, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None, kw_only=False):
        self.name, self.default, self.default_factory = None, default, default_factory
        self.init, self.repr, self.compare, self.metadata, self.kw_only = init, repr, compare, metadata or {}, kw_only


def field(**options):
    if "default" in options and "default_factory" in options:
        raise ValueError("cannot specify both default and default_factory")
    return Field(**options)


def fields(thing):
    return tuple(_fields(thing))


def _fields(thing):
    try:
        return thing.__dataclass_fields__
    except AttributeError:
        raise TypeError("must be called with a dataclass type or instance")


def is_dataclass(thing):
    return hasattr(thing, "__dataclass_fields__")


def _collect(cls, kw_only):
    own, known = cls.__dict__, {}
    ordered = []
    for b in cls.__bases__:
        for f in getattr(b, "__dataclass_fields__", []):
            ordered.append(f.name)
            known[f.name] = f
    for name in own.get("__names__", ()):
        value = own.get(name, MISSING)
        f = value if isinstance(value, Field) else Field(value, kw_only=kw_only)
        f.name = name
        if isinstance(f.default, (list, dict, set)):
            raise ValueError("mutable default " + str(type(f.default)) + " for field " + name + " is not allowed: use default_factory")
        if isinstance(value, Field):
            if f.default is not MISSING:
                setattr(cls, name, f.default)
            else:
                delattr(cls, name)
        if name not in known:
            ordered.append(name)
        known[name] = f
    return [known[n] for n in ordered]


def _init(cls, all):
    takes = [f for f in all if f.init]
    places = [f for f in takes if not f.kw_only]
    post = hasattr(cls, "__post_init__")
    seen = False
    for f in places:
        if f.default is not MISSING or f.default_factory is not MISSING:
            seen = True
        elif seen:
            raise TypeError("non-default argument " + repr(f.name) + " follows default argument")
    put = object.__setattr__

    def __init__(self, *args, **kw):
        if len(args) > len(places):
            raise TypeError("__init__() takes from 1 to " + str(len(places) + 1) + " positional arguments but " + str(len(args) + 1) + " were given")
        given = 0
        for f, v in zip(places, args):
            if f.name in kw:
                raise TypeError("__init__() got multiple values for argument " + repr(f.name))
            put(self, f.name, v)
        missing = []
        for i, f in enumerate(all):
            if f.init and f in places and places.index(f) < len(args):
                continue
            if f.init and f.name in kw:
                put(self, f.name, kw[f.name])
                given += 1
            elif f.default_factory is not MISSING:
                put(self, f.name, f.default_factory())
            elif f.default is not MISSING:
                put(self, f.name, f.default)
            elif f.init:
                missing.append(repr(f.name))
        if missing:
            raise TypeError("__init__() missing " + str(len(missing)) + " required argument" + ("s" if len(missing) > 1 else "") + ": " + " and ".join(missing))
        if given < len(kw):
            for name in kw:
                if name not in [f.name for f in takes]:
                    raise TypeError("__init__() got an unexpected keyword argument " + repr(name))
        if post:
            self.__post_init__()
    return __init__


def dataclass(cls=None, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, kw_only=False, slots=False, match_args=True):
    if cls is None:
        return lambda c: dataclass(c, init, repr, eq, order, unsafe_hash, frozen, kw_only)
    all = _collect(cls, kw_only)
    own = cls.__dict__
    cls.__dataclass_fields__ = all

    def add(name, f):
        if name not in own:
            setattr(cls, name, f)

    if init:
        add("__init__", _init(cls, all))
    if repr:
        add("__repr__", lambda self: type(self).__name__ + "(" + ", ".join(["%s=%r" % (f.name, getattr(self, f.name)) for f in all if f.repr]) + ")")

    def key(self):
        return tuple([getattr(self, f.name) for f in all if f.compare])
    if eq:
        add("__eq__", lambda self, o: key(self) == key(o) if type(o) is type(self) else NotImplemented)
        if frozen or unsafe_hash:
            add("__hash__", lambda self: hash(key(self)))
    if order:
        add("__lt__", lambda self, o: key(self) < key(o) if type(o) is type(self) else NotImplemented)
        add("__le__", lambda self, o: key(self) <= key(o) if type(o) is type(self) else NotImplemented)
        add("__gt__", lambda self, o: key(self) > key(o) if type(o) is type(self) else NotImplemented)
        add("__ge__", lambda self, o: key(self) >= key(o) if type(o) is type(self) else NotImplemented)
    if frozen:
        def refuse(self, name, value=None):
            raise FrozenInstanceError("cannot assign to field " + "'" + name + "'")
        cls.__setattr__ = cls.__delattr__ = refuse
    return cls


def _plain(value, make):
    if is_dataclass(value) and not isinstance(value, type):
        return make([(f.name, _plain(getattr(value, f.name), make)) for f in _fields(value)])
    if isinstance(value, (list, tuple)):
        items = [_plain(v, make) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {_plain(k, make): _plain(v, make) for k, v in value.items()}
    return value


def asdict(thing, dict_factory=dict):
    _fields(thing)
    return _plain(thing, dict_factory)


def astuple(thing, tuple_factory=tuple):
    _fields(thing)
    return _plain(thing, lambda pairs: tuple_factory([v for _, v in pairs]))


def replace(thing, **changes):
    for f in _fields(thing):
        if f.init and f.name not in changes:
            changes[f.name] = getattr(thing, f.name)
    return type(thing)(**changes)
