# The way to the host: call is what the module skillet is built on.
import js, sys
from uctypes import addressof

_host = js.skillet
numbers = {}  # of the host's functions; the driver fills it
building = True  # the code at the top of a program runs: nobody answers calls
stale = True  # random numbers have to be seeded: set when a call begins


class Misuse(ValueError):
    kind = "invalid"


def call(name, meta, body=None):
    number = numbers.get(name)
    if number is None:
        raise Misuse("the host has no function " + str(name))
    if building:
        raise Misuse(name + ": the host cannot be called by code outside of functions")
    if not isinstance(meta, str):
        raise Misuse(name + ": the request is a string of JSON")
    meta = meta.encode()
    if body is None:
        body = b""
    elif isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, (bytes, bytearray)):
        body = bytes(body)
    length = _host(number, addressof(meta), len(meta), addressof(body), len(body))
    rest = _host(5, 0, 0, 0, 0)
    meta, body = bytearray(length), bytearray(rest)
    _host(4, addressof(meta), addressof(body), 0, 0)
    return str(meta, "utf-8"), bytes(body)


def request(name, meta, body=None):
    # like call with an answer that is a dict, or an OSError
    import json
    meta, body = call(name, json.dumps(meta), body)
    meta = json.loads(meta)
    if "error" in meta:
        kind = meta["error"]["kind"]
        e = OSError(_numbers.get(kind, 5), meta["error"]["message"])
        raise e
    return meta, body


_numbers = {"not_found": 2, "denied": 13, "conflict": 17, "invalid": 22, "limit": 27, "timeout": 110}


def random(n):
    b = bytearray(n)
    if _host(6, addressof(b), n, 0, 0):
        raise OSError(5)
    return bytes(b)


def log(level, message):
    if building:
        sys.stdout.write(message + "\n")
        return
    call("log", '{"level":"' + level + '"}', message)


def input():
    b = bytearray(_host(0, 0, 0, 0, 0))
    _host(1, addressof(b), 0, len(b), 0)
    return b


def output(b):
    _host(2, addressof(b), len(b), 0, 0)


def error(kind, message):
    kind, message = kind.encode(), message.encode()
    _host(3, addressof(kind), len(kind), addressof(message), len(message))

