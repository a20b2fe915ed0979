import asyncio
import bisect
import collections
import contextlib
import datetime
import functools
import heapq
import itertools
import math
import operator
import random
import statistics as st
import uuid
from datetime import date, timedelta, timezone

NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
FLOATS = [1.5, 2.25, -3.0, 0.1, 0.2, 1e10, 7.125]


def err(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def r(x):
    return float("%.12g" % x)


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@functools.lru_cache(2)
def twice(n):
    return n * 2


@functools.total_ordering
class Ordered:
    def __init__(self, n):
        self.n = n

    def __eq__(self, o):
        return self.n == o.n

    def __lt__(self, o):
        return self.n < o.n


class Lazy:
    made = 0

    @functools.cached_property
    def value(self):
        Lazy.made += 1
        return 42


@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield "x"
    except KeyError:
        log.append("caught")
    finally:
        log.append("out")


async def later(n):
    await asyncio.sleep(0.001 * n)
    return n


async def both():
    t = asyncio.create_task(later(3))
    return [await asyncio.gather(later(2), later(1)), await t, await asyncio.wait_for(later(1), 5)]


def run(i):
    out = {}
    out["stats"] = [r(st.mean(NUMBERS)), r(st.mean(FLOATS)), st.median(NUMBERS), st.median([1, 2]), st.median_low([1, 2]), st.median_high([1, 2]), st.mode(NUMBERS), st.multimode([1, 1, 2, 2, 3]),
                    r(st.stdev(NUMBERS)), r(st.pstdev(NUMBERS)), r(st.variance(FLOATS)), r(st.pvariance(FLOATS)), [r(x) for x in st.quantiles(NUMBERS)], [r(x) for x in st.quantiles(NUMBERS, n=10, method="inclusive")],
                    r(st.geometric_mean([1, 2, 4])), r(st.harmonic_mean([1, 2, 4])), st.fmean([1, 2]), r(st.correlation([1, 2, 3], [2, 4, 7])), [r(x) for x in st.linear_regression([1, 2, 3], [2, 4, 7])], err(lambda: st.mean([]))]
    out["lru"] = [fib(60), twice(1), twice(2), twice(1), twice(3), list(twice.cache_info())]
    out["functools"] = [functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), functools.partial(pow, 2)(5), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), Ordered(1) <= Ordered(2), Ordered(3) > Ordered(2), Ordered(2) >= Ordered(2)]
    lazy = Lazy()
    out["lazy"] = [lazy.value, lazy.value, Lazy.made]
    c = collections.Counter("abracadabra")
    out["counter"] = [c.most_common(3), c["z"], sorted(c.elements()), c.total(), sorted((c + collections.Counter("az")).items()), sorted((c - collections.Counter("aaab")).items())]
    d = collections.defaultdict(list)
    for k, v in [("a", 1), ("b", 2), ("a", 3)]:
        d[k].append(v)
    out["defaultdict"] = [sorted(d.items()), "zz" in d]
    q = collections.deque([1, 2, 3], 3)
    q.append(4)
    P = collections.namedtuple("P", "x y")
    out["collections"] = [list(q), q.popleft(), P(1, 2).y, list(P(x=1, y=2)), collections.ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], list(collections.OrderedDict([("z", 1), ("a", 2)]))]
    log = []
    with managed(log) as x:
        log.append(x)
    with managed(log):
        raise KeyError("k")
    with contextlib.suppress(ValueError):
        raise ValueError
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "last")
        stack.enter_context(managed(log))
    out["context"] = log
    out["bisect"] = [bisect.bisect([1, 2, 2, 3], 2), bisect.bisect_left([1, 2, 2, 3], 2)]
    out["heapq"] = [heapq.nlargest(2, NUMBERS), heapq.nsmallest(3, NUMBERS), list(heapq.merge([1, 4], [2, 3]))]
    out["itertools"] = [list(itertools.combinations("abc", 2)), list(itertools.permutations([1, 2, 3], 2))[:3], list(itertools.product("ab", [1, 2])), list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
                        [(k, list(g)) for k, g in itertools.groupby("aabbc")], list(itertools.takewhile(lambda x: x < 5, NUMBERS)), list(itertools.dropwhile(lambda x: x < 5, NUMBERS)), list(itertools.accumulate([1, 2, 3])),
                        list(itertools.chain.from_iterable([[1], [2, 3]])), list(itertools.islice(itertools.count(5), 2)), list(itertools.pairwise([1, 2, 3])), list(itertools.filterfalse(lambda x: x % 2, NUMBERS)), list(itertools.compress("abc", [1, 0, 1])), list(itertools.starmap(pow, [(2, 3)]))]
    out["itertools"] = [[list(x) if isinstance(x, tuple) else x for x in l] for l in out["itertools"]]
    out["operator"] = [operator.itemgetter(1)([1, 2]), operator.attrgetter("n")(Ordered(3)), operator.add(1, 2), operator.mul(2, 3), list(operator.itemgetter("a", "b")({"a": 1, "b": 2})), operator.methodcaller("upper")("x"), sorted([{"k": 2}, {"k": 1}], key=operator.itemgetter("k"))]
    out["math"] = [math.prod([2, 3]), math.gcd(12, 18), math.lcm(4, 6), math.comb(5, 2), math.perm(5, 2), math.isqrt(17), r(math.hypot(3, 4)), r(math.dist([0, 0], [3, 4])), math.fsum([0.1] * 10), math.factorial(20), r(math.log1p(0.5)), r(math.cbrt(27))]
    random.seed(5)
    a = [random.random() for _ in range(50)]
    random.seed(5)
    l = list(range(20))
    random.shuffle(l)
    out["random"] = [all(0 <= x < 1 for x in a), a[0] == random.seed(5) or True, sorted(l) == list(range(20)), len(set(random.sample(range(100), 10))), random.choice([7]), random.choices([1, 2], [0, 1], k=3), 1 <= random.randint(1, 6) <= 6, random.getrandbits(100) < 2 ** 100]
    u = uuid.UUID("12345678-1234-4678-8234-567812345678")
    out["uuid"] = [str(u), u.hex, u.version, u.int, repr(u), uuid.uuid4().version, len(str(uuid.uuid4())), err(lambda: uuid.UUID("x")), u == uuid.UUID(int=u.int), str(uuid.UUID(bytes=bytes(range(16)))), u.urn]
    out["asyncio"] = asyncio.run(both())
    t = datetime.datetime(2024, 2, 29, 13, 5, 9, 123456)
    z = datetime.datetime(2024, 2, 29, 13, 5, tzinfo=timezone.utc)
    out["datetime"] = [t.isoformat(), str(t), t.strftime("%Y-%m-%d %H:%M:%S %j %a %A %b %B %y %I %p %f %%"), z.isoformat(), str(z.tzinfo), z.timestamp(), (t + timedelta(days=1, hours=12)).isoformat(),
                       str(t - datetime.datetime(2024, 1, 1)), (t - datetime.datetime(2024, 1, 1)).total_seconds(), date(2024, 3, 1).weekday(), date(2024, 3, 1).isoweekday(), date(2024, 12, 31).isocalendar()[1], str(date(2024, 3, 1) - timedelta(days=1)),
                       datetime.datetime.strptime("31/01/2024 23:59:58", "%d/%m/%Y %H:%M:%S").isoformat(), datetime.datetime.strptime("Jan 5, 2023 03:04 PM", "%b %d, %Y %I:%M %p").isoformat(),
                       datetime.datetime.fromisoformat("2024-01-02T03:04:05+02:00").isoformat(), datetime.datetime.fromisoformat("2024-01-02").isoformat(), date.fromisoformat("2024-01-02").isoformat(),
                       datetime.datetime.fromisoformat("2024-01-02T03:04:05Z").timestamp(), z.astimezone(timezone(timedelta(hours=-5))).isoformat(), t.date().isoformat(), t.time().isoformat(), t.replace(year=2020, microsecond=0).isoformat(),
                       datetime.datetime.fromtimestamp(0, timezone.utc).isoformat(), str(timedelta(days=-1, seconds=5)), timedelta(hours=1) / 2 == timedelta(minutes=30), timedelta(days=3) // timedelta(days=1), repr(t), sorted([date(2024, 1, 2), date(2023, 1, 1)])[0].year,
                       err(lambda: date(2023, 2, 29)), err(lambda: datetime.datetime.strptime("x", "%Y")), date.today() > date(2000, 1, 1) or True, z == datetime.datetime.fromtimestamp(z.timestamp(), timezone.utc), datetime.time(1, 2).strftime("%H:%M"), datetime.datetime.combine(date(2024, 1, 1), datetime.time(5)).isoformat()]
    return out
