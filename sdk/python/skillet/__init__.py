# The host's functions for skills in Python. What each of them does is in the stubs beside (.pyi).
from ._request import Error, fail
from . import files, host, http, kv, models, secrets, shape, skills


def log(message, level="info", **fields):
    host.log(str(message), level, {name: str(value) for name, value in fields.items()})


def notify(title, text="", severity="info"):
    host.notify(title, text, severity)
