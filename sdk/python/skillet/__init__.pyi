"""The guest side of a Skillet skill in Python.

Every function that asks the host raises skillet.Error when the host refuses or fails.
"""

from . import files as files, host as host, http as http, kv as kv, models as models
from . import secrets as secrets, shape as shape, skills as skills
from ._request import Error as Error, fail as fail
from .host import Level, Severity

def log(message: object, level: Level = "info", **fields: object) -> None:
    """Writes a line to the log of the call, with named values beside it. It needs no grant."""

def notify(title: str, text: str = "", severity: Severity = "info") -> None:
    """Sends a notification to the person who owns the host. It needs the grant notify."""
