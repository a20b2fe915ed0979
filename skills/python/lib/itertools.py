def count(start=0, step=1):
    while True:
        yield start
        start += step


def cycle(p):
    items = list(p)
    while items:
        for x in items:
            yield x


def repeat(x, n=None):
    while n is None or n > 0:
        yield x
        if n is not None:
            n -= 1


class chain:
    def __init__(self, *its):
        self._it = _chain(its)

    def __iter__(self):
        return self._it

    def __next__(self):
        return next(self._it)

    @staticmethod
    def from_iterable(its):
        return _chain(its)


def _chain(its):
    for it in its:
        for x in it:
            yield x


def islice(it, start, *rest):
    stop, step = start, 1
    if rest:
        stop = rest[0]
        step = rest[1] if len(rest) > 1 and rest[1] is not None else 1
        start = start or 0
    else:
        start = 0
    i = 0
    if stop is not None and stop <= start:
        return
    for x in it:
        if i >= start and (i - start) % step == 0:
            yield x
        i += 1
        if stop is not None and i >= stop:
            return


def accumulate(it, func=None, initial=None):
    first, total = initial is None, initial
    if not first:
        yield total
    for x in it:
        total = x if first else func(total, x) if func else total + x
        first = False
        yield total


def starmap(f, it):
    for args in it:
        yield f(*args)


def tee(it, n=2):
    items = list(it)
    return tuple([iter(items) for _ in range(n)])


def takewhile(f, it):
    for x in it:
        if not f(x):
            return
        yield x


def dropwhile(f, it):
    it = iter(it)
    for x in it:
        if not f(x):
            yield x
            break
    for x in it:
        yield x


def filterfalse(f, it):
    for x in it:
        if not (f(x) if f else x):
            yield x


def compress(it, selectors):
    for x, s in zip(it, selectors):
        if s:
            yield x


def pairwise(it):
    it = iter(it)
    try:
        a = next(it)
    except StopIteration:
        return
    for b in it:
        yield a, b
        a = b


def batched(it, n):
    batch = []
    for x in it:
        batch.append(x)
        if len(batch) == n:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)


def zip_longest(*its, fillvalue=None):
    its = [iter(i) for i in its]
    left = len(its)
    while left:
        row = []
        for i, it in enumerate(its):
            try:
                row.append(next(it) if it is not None else fillvalue)
            except StopIteration:
                its[i] = None
                left -= 1
                row.append(fillvalue)
        if left:
            yield tuple(row)


def groupby(it, key=None):
    group, last, began = [], None, False
    for x in it:
        k = key(x) if key else x
        if began and k != last:
            yield last, iter(group)
            group = []
        group.append(x)
        last, began = k, True
    if began:
        yield last, iter(group)


def product(*its, repeat=1):
    pools = [list(i) for i in its] * repeat
    if any([not p for p in pools]):
        return
    at = [0] * len(pools)
    while True:
        yield tuple([p[i] for p, i in zip(pools, at)])
        j = len(at) - 1
        while j >= 0:
            at[j] += 1
            if at[j] < len(pools[j]):
                break
            at[j] = 0
            j -= 1
        if j < 0:
            return


def _indexes(n, r, start, used, each):
    # each says which may follow
    if r == 0:
        yield used
        return
    for i in range(n):
        if each(used, i):
            for u in _indexes(n, r - 1, i, used + (i,), each):
                yield u


def permutations(it, r=None):
    pool = list(it)
    for u in _indexes(len(pool), len(pool) if r is None else r, 0, (), lambda used, i: i not in used):
        yield tuple([pool[i] for i in u])


def combinations(it, r):
    pool = list(it)
    for u in _indexes(len(pool), r, 0, (), lambda used, i: not used or i > used[-1]):
        yield tuple([pool[i] for i in u])


def combinations_with_replacement(it, r):
    pool = list(it)
    for u in _indexes(len(pool), r, 0, (), lambda used, i: not used or i >= used[-1]):
        yield tuple([pool[i] for i in u])
