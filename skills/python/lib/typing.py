# Names for annotations, which are not looked at.
class _Form:
    def __init__(self, name):
        self.__name__ = name

    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kw):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __repr__(self):
        return "typing." + self.__name__


for _name in ("Any Union Optional Callable List Dict Set FrozenSet Tuple Type Iterable Iterator Generator Sequence Mapping "
              "MutableMapping MutableSequence Literal Final ClassVar Annotated TypeAlias NoReturn Never Self Text AnyStr "
              "Awaitable Coroutine AsyncIterator AsyncIterable AsyncGenerator Hashable Sized Collection Container Reversible "
              "SupportsInt SupportsFloat Pattern Match IO TextIO BinaryIO DefaultDict OrderedDict Counter Deque ChainMap "
              "Concatenate Required NotRequired ReadOnly Unpack LiteralString TypeGuard Generic Protocol MutableSet Buffer").split():
    globals()[_name] = _Form(_name)

TYPE_CHECKING = False
TypedDict = dict


def TypeVar(name, *bounds, **kw):
    return _Form(name)


ParamSpec = TypeVarTuple = TypeVar


def NewType(name, kind):
    return lambda value: value


def cast(kind, value):
    return value


def _same(f):
    return f


final = override = runtime_checkable = no_type_check = overload = _same


def get_type_hints(thing, *args, **kw):
    return {}


def get_origin(thing):
    return None


def get_args(thing):
    return ()


def assert_never(value):
    raise AssertionError("expected code to be unreachable, but got: " + repr(value))


def NamedTuple(name, fields):
    from collections import namedtuple
    return namedtuple(name, [f[0] for f in fields])
