# UUIDs (RFC 9562). Those of names (3 and 5) need MD5 and SHA-1, which are not there.
import _skillet


class UUID:
    def __init__(self, hex=None, bytes=None, int=None, version=None):
        if [hex, bytes, int].count(None) != 2:
            raise TypeError("one of the hex, bytes or int arguments must be given")
        if hex is not None:
            text = hex.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
            if len(text) != 32:
                raise ValueError("badly formed hexadecimal UUID string")
            int = _int(text, 16)
        elif bytes is not None:
            if len(bytes) != 16:
                raise ValueError("bytes is not a 16-char string")
            int = _int.from_bytes(bytes, "big")
        if not 0 <= int < 1 << 128:
            raise ValueError("int is out of range (need a 128-bit value)")
        if version is not None:
            int = int & ~(0xc000 << 48) | 0x8000 << 48
            int = int & ~(0xf000 << 64) | version << 76
        self.int = int

    @property
    def hex(self):
        return "%032x" % self.int

    @property
    def bytes(self):
        return self.int.to_bytes(16, "big")

    @property
    def version(self):
        return (self.int >> 76) & 15 if self.int >> 62 & 3 == 2 else None

    @property
    def urn(self):
        return "urn:uuid:" + str(self)

    def __str__(self):
        h = self.hex
        return "-".join([h[:8], h[8:12], h[12:16], h[16:20], h[20:]])

    def __repr__(self):
        return "UUID('" + str(self) + "')"

    def __eq__(self, o):
        return isinstance(o, UUID) and self.int == o.int

    def __lt__(self, o):
        return self.int < o.int

    def __hash__(self):
        return hash(self.int)


_int = int


def uuid4():
    return UUID(bytes=_skillet.random(16), version=4)


def uuid7():
    import time
    b = (time.time_ns() // 1000000).to_bytes(6, "big") + _skillet.random(10)
    return UUID(bytes=b, version=7)


NAMESPACE_DNS = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
NAMESPACE_URL = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
