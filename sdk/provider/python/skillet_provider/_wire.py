"""Protocol Buffers, as far as the contract of a provider takes them.

A message is a dataclass whose fields say their number and kind; what is written is
the encoding of proto3. It refuses to know any message.
"""

import dataclasses
import json
import struct

_NUMBER, _KIND, _REPEATED = "number", "kind", "repeated"


def field(number, kind, repeated=False):
    """A field: kind is "string", "bool", "int", "double", "optional double",
    "floats", "json" (any value; None is no value) or the class of a message."""
    how = {_NUMBER: number, _KIND: kind, _REPEATED: repeated}
    if repeated or kind == "floats":
        return dataclasses.field(default_factory=list, metadata=how)
    if isinstance(kind, type):
        return dataclasses.field(default_factory=kind, metadata=how)
    return dataclasses.field(default=_ZERO[kind], metadata=how)


_ZERO = {"string": "", "bool": False, "int": 0, "double": 0.0, "optional double": None, "json": None}


def encode(message):
    """The bytes of a message. Fields that are zero are left out."""
    out = bytearray()
    for f in dataclasses.fields(message):
        value = getattr(message, f.name)
        for one in value if f.metadata[_REPEATED] else [value]:
            _put(out, f.metadata[_NUMBER], f.metadata[_KIND], one, f.metadata[_REPEATED])
    return bytes(out)


def _put(out, number, kind, value, always):
    if kind in ("bool", "int"):
        if value or always:
            out += _varint(number << 3) + _varint(int(value) & 0xFFFFFFFFFFFFFFFF)
    elif kind in ("double", "optional double"):
        if value is not None and (value != 0 or kind == "optional double"):
            out += _varint(number << 3 | 1) + struct.pack("<d", value)
    else:
        data = _bytes_of(kind, value)
        if data or always:
            out += _varint(number << 3 | 2) + _varint(len(data)) + data


def _bytes_of(kind, value):
    if kind == "string":
        return value.encode("utf-8", "replace")
    if kind == "json":
        return b"" if value is None else json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if kind == "floats":
        return struct.pack("<%df" % len(value), *value)
    return encode(value)


def _varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def decode(cls, data):
    """The message that the bytes are. Unknown fields are left out; ValueError says
    that they are none."""
    fields = {f.metadata[_NUMBER]: f for f in dataclasses.fields(cls)}
    message, at = cls(), 0
    while at < len(data):
        key, at = _read_varint(data, at)
        value, at = _read_value(data, at, key & 7)
        f = fields.get(key >> 3)
        if f is None:
            continue
        value = _convert(f.metadata[_KIND], key & 7, value)
        if f.metadata[_REPEATED]:
            getattr(message, f.name).append(value)
        elif f.metadata[_KIND] == "floats":
            getattr(message, f.name).extend(value)
        else:
            setattr(message, f.name, value)
    return message


def _read_varint(data, at):
    n = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("the message ends within a number")
        byte = data[at]
        at += 1
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            return n & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("a number of more than ten bytes")


def _read_value(data, at, wire):
    if wire == 0:
        return _read_varint(data, at)
    if wire == 2:
        size, at = _read_varint(data, at)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise ValueError("a field of type %d" % wire)
    if size > len(data) - at:
        raise ValueError("the message ends within a field")
    return data[at : at + size], at + size


_WIRE = {"bool": 0, "int": 0, "double": 1, "optional double": 1}


def _convert(kind, wire, value):
    if kind == "floats" and wire == 5:
        return struct.unpack("<f", value)
    if wire != _WIRE.get(kind, 2):
        raise ValueError("a field of type %d that is no %s" % (wire, kind))
    if kind == "bool":
        return bool(value)
    if kind == "int":
        return value - (1 << 64) if value >> 63 else value
    if kind in ("double", "optional double"):
        return struct.unpack("<d", value)[0]
    if kind == "string":
        return value.decode("utf-8")
    if kind == "json":
        return json.loads(value) if value else None
    if kind == "floats":
        if len(value) % 4:
            raise ValueError("numbers of less than four bytes")
        return struct.unpack("<%df" % (len(value) // 4), value)
    return decode(kind, value)
