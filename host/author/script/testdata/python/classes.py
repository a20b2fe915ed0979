import dataclasses
import enum
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import Any, Generic, List, Optional, TypeVar


@dataclass
class Point:
    """A point: of two numbers."""
    x: int
    y: int = 0
    tags: List[str] = field(default_factory=list)

    def sum(self) -> int:
        return self.x + self.y


@dataclass
class Point3(Point):
    z: int = 5


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    note: str = field(default="", compare=False, repr=False)


@dataclass
class Half:
    a: int
    b: int = field(init=False)

    def __post_init__(self):
        self.b = self.a // 2


class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
    CRIMSON = 1

    @property
    def pretty(self):
        return self.name.lower()

    def next(self):
        return Color(self.value % 3 + 1)


class Level(IntEnum):
    LOW = auto()
    MID = auto()
    HIGH = 10


class Kind(str, Enum):
    A = "alpha"
    B = "beta"


class Perm(enum.Flag):
    R = auto()
    W = auto()
    X = auto()


T = TypeVar("T")


class Box(Generic[T]):
    def __init__(self, item: T):
        self.item = item


def err(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def run(i):
    p = Point(1, tags=["a"])
    return {
        "repr": [repr(p), repr(Point3(1, 2)), repr(Version(1, 2, "n"))],
        "eq": [p == Point(1, 0, ["a"]), p == Point(2), Point(1) != Point(1), Version(1, 0, "a") == Version(1, 0, "b")],
        "order": sorted([Version(2), Version(1, 5), Version(1, 2)])[0].minor,
        "asdict": dataclasses.asdict(Point3(1, 2, [], 3)),
        "astuple": list(dataclasses.astuple(p)),
        "fields": [f.name for f in dataclasses.fields(Point3)],
        "replace": repr(dataclasses.replace(p, y=9)),
        "fresh": Point(1).tags is not Point(1).tags,
        "method": p.sum(),
        "post": Half(9).b,
        "frozen": err(lambda: setattr(Version(1), "major", 2)),
        "missing": err(lambda: Point()),
        "many": err(lambda: Point(1, 2, 3, 4)),
        "unknown": err(lambda: Point(1, w=3)),
        "hash": len({Version(1), Version(1), Version(2)}),
        "is": [dataclasses.is_dataclass(p), dataclasses.is_dataclass(3)],
        "enum": [Color.RED.name, Color.RED.value, str(Color.GREEN), repr(Color.BLUE), Color(2).name, Color["BLUE"].value],
        "iterate": [c.name for c in Color],
        "alias": Color.CRIMSON is Color.RED,
        "len": len(Color),
        "members": sorted(Color.__members__),
        "property": Color.RED.pretty,
        "next": Color.BLUE.next().name,
        "bad": err(lambda: Color(7)),
        "badname": err(lambda: Color["NO"]),
        "same": [Color.RED == Color.RED, Color.RED == 1, Color.RED != Color.BLUE, Color.RED in Color],
        "key": {Color.RED: "r", Color.BLUE: "b"}[Color.BLUE],
        "int": [Level.LOW < Level.HIGH, Level.MID + 1, Level.HIGH == 10, [l.value for l in Level], max(Level).name],
        "str": [Kind.A == "alpha", Kind("beta").name, Kind.A.value, Kind.A.upper(), [k.value for k in Kind]],
        "flag": [(Perm.R | Perm.W).value, Perm.R in (Perm.R | Perm.X), bool(Perm.R & Perm.W), Perm.X.value],
        "generic": Box(3).item,
        "auto": [Level.LOW.value, Level.MID.value],
    }
