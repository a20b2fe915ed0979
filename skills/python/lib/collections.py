from ucollections import OrderedDict, deque, namedtuple


class defaultdict(dict):
    def __init__(self, default_factory=None, *args, **kw):
        self.default_factory = default_factory
        super().__init__(*args, **kw)

    def __getitem__(self, key):
        try:
            return super().__getitem__(key)
        except KeyError:
            return self.__missing__(key)

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def copy(self):
        return defaultdict(self.default_factory, self)

    def __repr__(self):
        return "defaultdict(" + repr(self.default_factory) + ", " + repr(dict(self)) + ")"


class Counter(dict):
    def __init__(self, iterable=None, **kw):
        super().__init__()
        self._order = []
        self.update(iterable, **kw)

    def __getitem__(self, key):
        return self.get(key, 0)

    def update(self, iterable=None, **kw):
        self._add(iterable, kw, 1)

    def subtract(self, iterable=None, **kw):
        self._add(iterable, kw, -1)

    def _add(self, iterable, kw, sign):
        get, put = self.get, super().__setitem__
        for source in (iterable, kw):
            if isinstance(source, dict):
                for k, n in source.items():
                    if k not in self:
                        self._order.append(k)
                    put(k, get(k, 0) + sign * n)
            elif source:
                for k in source:
                    if k not in self:
                        self._order.append(k)
                    put(k, get(k, 0) + sign)

    def __setitem__(self, key, n):
        if key not in self:
            self._order.append(key)
        super().__setitem__(key, n)

    def most_common(self, n=None):
        # equal counts in the order they were met
        pairs, seen = [], set()
        for k in self._order:
            if k in self and k not in seen:
                seen.add(k)
                pairs.append((k, self[k]))
        pairs = _by_count(pairs)
        return pairs if n is None else pairs[:n]

    def elements(self):
        for k in self._order:
            for _ in range(self.get(k, 0)):
                yield k

    def total(self):
        return sum(self.values())

    def copy(self):
        return Counter(self)

    def __add__(self, o):
        return self._both(o, lambda a, b: a + b)

    def __sub__(self, o):
        return self._both(o, lambda a, b: a - b)

    def __and__(self, o):
        return self._both(o, min)

    def __or__(self, o):
        return self._both(o, max)

    def _both(self, o, f):
        out = Counter()
        for k in self._order + o._order:
            n = f(self[k], o[k])
            if n > 0 and k not in out:
                out[k] = n
        return out

    def __repr__(self):
        return "Counter({" + ", ".join(["%r: %r" % p for p in self.most_common()]) + "})"


def _by_count(pairs):
    # sorting is not stable here
    return [(k, n) for _, _, k, n in sorted([(-n, i, k, n) for i, (k, n) in enumerate(pairs)], key=lambda x: (x[0], x[1]))]


class ChainMap:
    def __init__(self, *maps):
        self.maps = list(maps) or [{}]

    def __getitem__(self, key):
        for m in self.maps:
            if key in m:
                return m[key]
        raise KeyError(key)

    def __setitem__(self, key, value):
        self.maps[0][key] = value

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __contains__(self, key):
        return any([key in m for m in self.maps])

    def __iter__(self):
        return iter(set([k for m in self.maps for k in m]))

    def __len__(self):
        return len(set([k for m in self.maps for k in m]))

    def keys(self):
        return list(self)

    def items(self):
        return [(k, self[k]) for k in self]

    def new_child(self, m=None):
        return ChainMap(m if m is not None else {}, *self.maps)


class UserDict(dict):
    pass


class UserList(list):
    pass
