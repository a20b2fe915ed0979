def itemgetter(*keys):
    if len(keys) == 1:
        k = keys[0]
        return lambda x: x[k]
    return lambda x: tuple([x[k] for k in keys])


def _path(x, name):
    for part in name.split("."):
        x = getattr(x, part)
    return x


def attrgetter(*names):
    if len(names) == 1:
        n = names[0]
        return lambda x: _path(x, n)
    return lambda x: tuple([_path(x, n) for n in names])


def methodcaller(name, *args, **kw):
    return lambda x: getattr(x, name)(*args, **kw)


def add(a, b): return a + b
def sub(a, b): return a - b
def mul(a, b): return a * b
def truediv(a, b): return a / b
def floordiv(a, b): return a // b
def mod(a, b): return a % b
def pow(a, b): return a ** b
def neg(a): return -a
def pos(a): return +a
def inv(a): return ~a
def not_(a): return not a
def truth(a): return bool(a)
def and_(a, b): return a & b
def or_(a, b): return a | b
def xor(a, b): return a ^ b
def lshift(a, b): return a << b
def rshift(a, b): return a >> b
def eq(a, b): return a == b
def ne(a, b): return a != b
def lt(a, b): return a < b
def le(a, b): return a <= b
def gt(a, b): return a > b
def ge(a, b): return a >= b
def is_(a, b): return a is b
def is_not(a, b): return a is not b
def contains(a, b): return b in a
def concat(a, b): return a + b
def getitem(a, b): return a[b]
def countOf(a, b): return sum([x == b for x in a])
def index(a): return a


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


invert = inv
