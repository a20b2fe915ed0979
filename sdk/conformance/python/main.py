# The conformance skill in Python.
import skillet
from functions import *
from skillet import shape

_Values = shape.object({
    "text": shape.string(""),
    "int": shape.integer(0),
    "float": shape.number(0),
    "flag": shape.boolean(False),
    "list": shape.list_of(shape.integer(), []),
    "map": shape.map_of(shape.string(), {}),
    "maybe": shape.nullable(shape.string()),
    "inner": shape.object({"depth": shape.integer(0)}, {}),
})


def values(input):
    return _Values.read(input)


def fail(input):
    raise skillet.Error(input["kind"], input["message"])


def caught(input):
    try:
        skillet.files.read(input["path"])
    except skillet.Error as e:
        return {"kind": e.kind, "message": str(e)}
    return {"kind": "", "message": ""}


def read_file(input):
    content = skillet.files.read(input["path"])
    return {"bytes": len(content), "sum": sum(content) % 2**32}
