# Random numbers, seeded anew in each call from what the host gives.
import urandom, _skillet
import math

getstate = None
_gauss = None


def seed(a=None, version=2):
    global _gauss
    _gauss = None
    if a is None:
        a = int.from_bytes(_skillet.random(4), "big")
    elif isinstance(a, (str, bytes, bytearray)):
        n = 2166136261
        for c in (a.encode() if isinstance(a, str) else a):
            n = (n ^ c) * 16777619 & 0xffffffff
        a = n
    elif isinstance(a, float):
        a = hash(a)
    urandom.seed(a & 0xffffffff)
    _skillet.stale = False


def getrandbits(k):
    if _skillet.stale:
        seed()
    if k < 0:
        raise ValueError("number of bits must be non-negative")
    n = 0
    while k > 0:
        n = n << min(k, 30) | urandom.getrandbits(min(k, 30))
        k -= 30
    return n


def random():
    return getrandbits(53) / 9007199254740992


def _below(n):
    if n <= 0:
        raise ValueError("empty range")
    k = len(bin(n)) - 2
    r = getrandbits(k)
    while r >= n:
        r = getrandbits(k)
    return r


def randrange(start, stop=None, step=1):
    if stop is None:
        start, stop = 0, start
    n = (stop - start + step - (1 if step > 0 else -1)) // step
    if n <= 0:
        raise ValueError("empty range for randrange()")
    return start + step * _below(n)


def randint(a, b):
    return randrange(a, b + 1)


def randbytes(n):
    return getrandbits(8 * n).to_bytes(n, "little")


def uniform(a, b):
    return a + (b - a) * random()


def triangular(low=0.0, high=1.0, mode=None):
    u, c = random(), 0.5 if mode is None else (mode - low) / (high - low)
    if u > c:
        u, c, low, high = 1 - u, 1 - c, high, low
    return low + (high - low) * math.sqrt(u * c)


def choice(seq):
    if not len(seq):
        raise IndexError("Cannot choose from an empty sequence")
    return seq[_below(len(seq))]


def choices(population, weights=None, cum_weights=None, k=1):
    population = list(population)
    if cum_weights is None:
        if weights is None:
            return [choice(population) for _ in range(k)]
        cum_weights, total = [], 0
        for w in weights:
            total += w
            cum_weights.append(total)
    if len(cum_weights) != len(population):
        raise ValueError("The number of weights does not match the population")
    if cum_weights[-1] <= 0:
        raise ValueError("Total of weights must be greater than zero")
    out = []
    for _ in range(k):
        r, i = random() * cum_weights[-1], 0
        while i < len(population) - 1 and cum_weights[i] <= r:
            i += 1
        out.append(population[i])
    return out


def shuffle(x):
    for i in range(len(x) - 1, 0, -1):
        j = _below(i + 1)
        x[i], x[j] = x[j], x[i]


def sample(population, k, counts=None):
    if counts is not None:
        population = [p for p, n in zip(population, counts) for _ in range(n)]
    pool = list(population)
    if not 0 <= k <= len(pool):
        raise ValueError("Sample larger than population or is negative")
    for i in range(k):
        j = i + _below(len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:k]


def gauss(mu=0.0, sigma=1.0):
    global _gauss
    if _skillet.stale:
        seed()
    z, _gauss = _gauss, None
    if z is None:
        a, r = 2 * math.pi * random(), math.sqrt(-2 * math.log(1 - random()))
        z, _gauss = math.cos(a) * r, math.sin(a) * r
    return mu + z * sigma


normalvariate = gauss


def lognormvariate(mu, sigma):
    return math.exp(gauss(mu, sigma))


def expovariate(lambd=1.0):
    return -math.log(1 - random()) / lambd


class Random:
    # shares its numbers with the module
    def __init__(self, x=None):
        if x is not None:
            seed(x)

    def __getattr__(self, name):
        return globals()[name]


class SystemRandom(Random):
    pass
