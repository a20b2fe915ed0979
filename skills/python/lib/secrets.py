import _skillet

DEFAULT_ENTROPY = 32


def token_bytes(n=None):
    return _skillet.random(DEFAULT_ENTROPY if n is None else n)


def token_hex(n=None):
    return token_bytes(n).hex()


def token_urlsafe(n=None):
    import binascii
    return str(binascii.b2a_base64(token_bytes(n)), "ascii").rstrip("=\n").replace("+", "-").replace("/", "_")


def randbits(k):
    return int.from_bytes(_skillet.random((k + 7) // 8), "big") >> (-k % 8)


def randbelow(n):
    if n <= 0:
        raise ValueError("Upper bound must be positive.")
    k = n.bit_length()
    r = randbits(k)
    while r >= n:
        r = randbits(k)
    return r


def choice(seq):
    return seq[randbelow(len(seq))]


def compare_digest(a, b):
    if len(a) != len(b):
        return False
    r = 0
    for x, y in zip(a.encode() if isinstance(a, str) else a, b.encode() if isinstance(b, str) else b):
        r |= x ^ y
    return r == 0
