"""The skill's own state, which stays between calls. It needs the grant kv."""

from typing import Any
from .host import Content

def get(key: str) -> bytes | None:
    """Returns a value, or None."""

def get_text(key: str) -> str | None:
    """Returns a value as text, or None."""

def get_json(key: str) -> Any:
    """Returns what was stored with put_json, or None."""

def entry(key: str) -> tuple[bytes, int] | None:
    """Returns a value with its revision, or None."""

def put(key: str, content: Content, ttl_seconds: int = 0, revision: int | None = None) -> int:
    """Stores a value and returns its revision.

    With revision it only stores when the key still has that one, or no value for 0; otherwise the error is of kind
    conflict. The value lives ttl_seconds, or with 0 until it is deleted.
    """

def put_json(key: str, value: Any, ttl_seconds: int = 0, revision: int | None = None) -> int:
    """Stores a value as JSON."""

def delete(key: str) -> bool:
    """Removes a value, and says whether there was one."""

def keys(prefix: str = "", limit: int = 0) -> list[str]:
    """Returns the keys that begin with a prefix, in order."""
