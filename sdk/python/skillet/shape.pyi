"""Shapes of values of which only is known that they are JSON.

What is not as it should be is a skillet.Error of kind invalid that names the place. default stands for a value that is
missing or null; without one that is an error.

    Input = shape.object({"path": shape.string(), "word": shape.string(""), "limit": shape.integer(10)})

    def count(input):
        asked = Input.read(input)
        return {"path": asked["path"]}
"""

from builtins import object as _Object
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

class Shape(Generic[T]):
    # What reads a value that is there, and what stands for one that is not.
    reader: Callable[[Any, str], T]
    default: Any
    def __init__(self, reader: Callable[[Any, str], T], default: Any = ...) -> None: ...
    def read(self, value: _Object, path: str = "") -> T:
        """Reads a value; path is where it is, for errors."""

def string(default: str = ...) -> Shape[str]:
    """Text."""

def integer(default: int = ...) -> Shape[int]:
    """A whole number."""

def number(default: float = ...) -> Shape[float]:
    """Any number."""

def boolean(default: bool = ...) -> Shape[bool]:
    """True or false."""

def one_of(words: Sequence[T], default: T = ...) -> Shape[T]:
    """One of a few words or numbers."""

def anything() -> Shape[Any]:
    """Any JSON value; a missing one is None."""

def nullable(of: Shape[T]) -> Shape[T | None]:
    """A value or None, which a missing one is."""

def list_of(of: Shape[T], default: Sequence[Any] = ...) -> Shape[list[T]]:
    """A list whose elements have a shape."""

def map_of(of: Shape[T], default: Mapping[str, Any] = ...) -> Shape[dict[str, T]]:
    """An object with names of any kind, whose values have a shape."""

def object(members: Mapping[str, Shape[Any]], default: Mapping[str, Any] = ...) -> Shape[dict[str, Any]]:
    """An object with these members. It leaves out others. With the default {}, a missing one has its members' defaults."""
