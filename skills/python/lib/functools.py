class partial:
    def __init__(self, func, *args, **keywords):
        self.func, self.args, self.keywords = func, args, keywords

    def __call__(self, *args, **keywords):
        return self.func(*(self.args + args), **dict(self.keywords, **keywords))


_none = object()


def reduce(function, iterable, initial=_none):
    it = iter(iterable)
    if initial is _none:
        try:
            initial = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value")
    for x in it:
        initial = function(initial, x)
    return initial


def update_wrapper(wrapper, wrapped, assigned=(), updated=()):
    return wrapper


def wraps(wrapped, assigned=(), updated=()):
    return lambda wrapper: wrapper


class _Cached:
    # a function with a memory; as a method it is bound to its instance
    def __init__(self, f, maxsize, typed=False):
        self._f, self._max, self._typed = f, maxsize, typed
        self.__wrapped__, self.__name__ = f, getattr(f, "__name__", "")
        self.cache_clear()

    def cache_clear(self):
        from collections import OrderedDict
        self._hits = self._misses = 0
        self._known = OrderedDict() if self._max is not None and self._max < 256 else {}
        self._order = []

    def cache_info(self):
        from collections import namedtuple
        return namedtuple("CacheInfo", ("hits", "misses", "maxsize", "currsize"))(self._hits, self._misses, self._max, len(self._known))

    def __call__(self, *args, **kw):
        key = args
        if kw:
            key = args + (_none,) + tuple(sorted(kw.items()))
        if self._typed:
            key = key + tuple([type(a) for a in args])
        known = self._known
        if key in known:
            self._hits += 1
            if self._max is not None:
                self._order.remove(key)
                self._order.append(key)
            return known[key]
        self._misses += 1
        value = self._f(*args, **kw)
        if self._max == 0:
            return value
        if self._max is not None:
            if len(known) >= self._max and key not in known:
                del known[self._order.pop(0)]
            self._order.append(key)
        known[key] = value
        return value

    def __get__(self, instance, owner=None):
        return self if instance is None else lambda *args, **kw: self(instance, *args, **kw)


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return _Cached(maxsize, 128)
    return lambda f: _Cached(f, maxsize, typed)


def cache(f):
    return _Cached(f, None)


class cached_property:
    def __init__(self, f):
        self._f, self._name = f, f.__name__

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        key = "_cached_" + self._name
        try:
            return instance.__dict__[key]
        except KeyError:
            value = self._f(instance)
            setattr(instance, key, value)
            return value


def cmp_to_key(compare):
    class Key:
        def __init__(self, value):
            self.value = value

        def __lt__(self, o):
            return compare(self.value, o.value) < 0

        def __gt__(self, o):
            return compare(self.value, o.value) > 0

        def __eq__(self, o):
            return compare(self.value, o.value) == 0

        def __le__(self, o):
            return compare(self.value, o.value) <= 0

        def __ge__(self, o):
            return compare(self.value, o.value) >= 0
    return Key


def total_ordering(cls):
    own = cls.__dict__
    have = [n for n in ("__lt__", "__le__", "__gt__", "__ge__") if n in own]
    if not have:
        raise ValueError("must define at least one ordering operation: < > <= >=")
    f, op = own[have[0]], have[0]
    rest = {
        "__lt__": {"__gt__": lambda a, b: not (f(a, b) or a == b), "__le__": lambda a, b: f(a, b) or a == b, "__ge__": lambda a, b: not f(a, b)},
        "__le__": {"__ge__": lambda a, b: not f(a, b) or a == b, "__lt__": lambda a, b: f(a, b) and not a == b, "__gt__": lambda a, b: not f(a, b)},
        "__gt__": {"__lt__": lambda a, b: not (f(a, b) or a == b), "__ge__": lambda a, b: f(a, b) or a == b, "__le__": lambda a, b: not f(a, b)},
        "__ge__": {"__le__": lambda a, b: not f(a, b) or a == b, "__gt__": lambda a, b: f(a, b) and not a == b, "__lt__": lambda a, b: not f(a, b)},
    }[op]
    for name, g in rest.items():
        if name not in own:
            setattr(cls, name, g)
    return cls


def singledispatch(f):
    kinds = []

    def call(*args, **kw):
        for kind, g in kinds:
            if type(args[0]) is kind:
                return g(*args, **kw)
        for kind, g in kinds:
            if isinstance(args[0], kind):
                return g(*args, **kw)
        return f(*args, **kw)
    call = _Dispatch(call)
    call.kinds = kinds
    return call


class _Dispatch:
    def __init__(self, f):
        self._f = f

    def __call__(self, *args, **kw):
        return self._f(*args, **kw)

    def register(self, kind, f=None):
        if f is None:
            return lambda g: self.register(kind, g)
        self.kinds.append((kind, f))
        return f
