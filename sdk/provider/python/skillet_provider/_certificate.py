"""A certificate for one process: a fresh key on the curve P-256, and an X.509
certificate for "localhost" that is signed with it (RFC 5280, RFC 5480, SEC 1).

The standard library makes none, and a library for it would be one more to install.
The key lives as long as the process and is used once here, so nobody can time how
it is used.
"""

import base64
import datetime
import hashlib
import secrets

# The curve: y*y = x*x*x - 3*x + b modulo _P, with the base point _G of order _N.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def _add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % _P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, _P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _P)
    x = (slope * slope - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _times(k, point):
    total = None
    while k:
        if k & 1:
            total = _add(total, point)
        point = _add(point, point)
        k >>= 1
    return total


def _sign(key, message):
    """An ECDSA signature with SHA-256, in DER."""
    z = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        k = 1 + secrets.randbelow(_N - 1)
        r = _times(k, _G)[0] % _N
        s = pow(k, -1, _N) * (z + r * key) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _der(tag, *parts):
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def _sequence(*parts):
    return _der(0x30, *parts)


def _integer(n):
    return _der(0x02, n.to_bytes(n.bit_length() // 8 + 1, "big"))


def _bits(data, unused=0):
    return _der(0x03, bytes([unused]), data)


def _oid(text):
    first, second, *rest = (int(part) for part in text.split("."))
    out = bytearray([40 * first + second])
    for n in rest:
        digits = [n & 0x7F]
        while n := n >> 7:
            digits.append(n & 0x7F | 0x80)
        out += bytes(reversed(digits))
    return _der(0x06, bytes(out))


def _time(when):
    if when.year < 2050:
        return _der(0x17, when.strftime("%y%m%d%H%M%SZ").encode())
    return _der(0x18, when.strftime("%Y%m%d%H%M%SZ").encode())


def _extension(oid, value, critical=False):
    parts = [_oid(oid)]
    if critical:
        parts.append(_der(0x01, b"\xff"))
    return _sequence(*parts, _der(0x04, value))


def _pem(label, der):
    text = base64.encodebytes(der).decode().replace("\n", "")
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    return ("-----BEGIN %s-----\n%s\n-----END %s-----\n" % (label, "\n".join(lines), label)).encode()


def make():
    """A private key and its certificate in PEM, and the certificate in DER."""
    key = 1 + secrets.randbelow(_N - 1)
    x, y = _times(key, _G)
    public = b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    curve = _sequence(_oid("1.2.840.10045.2.1"), _oid("1.2.840.10045.3.1.7"))
    certificate = _certificate(key, _sequence(curve, _bits(public)))
    private = _sequence(_integer(1), _der(0x04, key.to_bytes(32, "big")), _der(0xA1, _bits(public)))
    return (
        _pem("PRIVATE KEY", _sequence(_integer(0), curve, _der(0x04, private))),
        _pem("CERTIFICATE", certificate),
        certificate,
    )


def _certificate(key, public):
    name = _sequence(_der(0x31, _sequence(_oid("2.5.4.3"), _der(0x0C, b"localhost"))))
    now = datetime.datetime.now(datetime.timezone.utc)
    algorithm = _sequence(_oid("1.2.840.10045.4.3.2"))
    extensions = _sequence(
        _extension("2.5.29.17", _sequence(_der(0x82, b"localhost"))),
        _extension("2.5.29.19", _sequence(_der(0x01, b"\xff")), critical=True),
        _extension("2.5.29.15", _bits(b"\x84", unused=2), critical=True),
        _extension("2.5.29.37", _sequence(_oid("1.3.6.1.5.5.7.3.1"), _oid("1.3.6.1.5.5.7.3.2"))),
    )
    body = _sequence(
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(127) | 1),
        algorithm,
        name,
        _sequence(_time(now - datetime.timedelta(minutes=5)), _time(now + datetime.timedelta(days=3650))),
        name,
        public,
        _der(0xA3, extensions),
    )
    return _sequence(body, algorithm, _bits(_sign(key, body)))
