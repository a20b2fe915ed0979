from typing import Any, NoReturn
from .host import Content, Kind

class Error(Exception):
    """An error with a kind. What a tool raises so is its error, with kind and message as they are."""

    # What sort of error it is.
    kind: Kind
    def __init__(self, kind: Kind, message: str) -> None: ...

def fail(kind: Kind, message: str) -> NoReturn:
    """Raises Error. The message is for a person: one line, in lower case, without a period."""

def request(name: str, subject: str, ask: dict[str, Any], content: Content = None) -> tuple[dict[str, Any], bytes]: ...
def parsed(content: bytes, what: str) -> Any: ...
