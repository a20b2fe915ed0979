# The interpreter's own module, which no file can be in front of, and what it lacks.
from math import *


def prod(it, start=1):
    for x in it:
        start = start * x
    return start


def gcd(*n):
    a = 0
    for b in n:
        while b:
            a, b = b, a % b
    return abs(a)


def lcm(*n):
    a = 1
    for b in n:
        if b == 0:
            return 0
        a = abs(a * b) // gcd(a, b)
    return a


def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    x = 1 << (len(bin(n)) - 1) // 2
    while n:
        y = (x + n // x) // 2
        if y >= x and x * x <= n:
            return x
        x = y
    return 0


def perm(n, k=None):
    out = 1
    for i in range(n, n - (n if k is None else k), -1):
        out *= i
    return out if k is None or k <= n else 0


def comb(n, k):
    if k > n:
        return 0
    k, out = min(k, n - k), 1
    for i in range(k):
        out = out * (n - i) // (i + 1)
    return out


def hypot(*x):
    big = max([abs(v) for v in x], default=0.0)
    return big * sqrt(sum([(v / big) ** 2 for v in x])) if big else 0.0


def dist(p, q):
    return hypot(*[a - b for a, b in zip(p, q)])


def log1p(x):
    y = 1.0 + x
    return log(y) * x / (y - 1.0) if y != 1.0 else x


def cbrt(x):
    r = abs(x) ** (1 / 3)
    r = (2 * r + abs(x) / (r * r)) / 3 if r else r
    return r if x >= 0 else -r


def exp2(x):
    return 2.0 ** x


def remainder(x, y):
    return x - y * round(x / y)


def sumprod(p, q):
    return sum([a * b for a, b in zip(p, q)])


def fsum(it):
    import statistics
    return statistics.fsum([float(x) for x in it])
