import argparse, asyncio, collections, csv, dataclasses, decimal, io, json, os, pathlib, random, re, sys, tempfile, time, uuid, zipfile
import xml.etree.ElementTree as ET
import skillet
from helper import twice

drawn = random.random()
count = 0


def library(x):
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.xml", "<a><b n='1'>x</b><b n='2'>y</b></a>" * 1)
    root = ET.fromstring(zipfile.ZipFile(book).read("a.xml"))
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=3)
    match x:
        case {"kind": kind}:
            pass
        case _:
            kind = None
    return {
        "xml": [b.text for b in root.iter("b")],
        "decimal": str(decimal.Decimal("1.1") + decimal.Decimal("2.2")),
        "re": re.sub(r"(?P<a>\w+) (?P<b>\w+)", r"\g<b> \g<a>", "one two"),
        "json": json.loads(json.dumps({"é": [1.5, None, True]})),
        "args": parser.parse_args(["--size", "7"]).size,
        "csv": [r["b"] for r in csv.DictReader(io.StringIO("a,b\n1,2\n3,4\n"))],
        "match": kind,
        "merged": {**{"a": 1}, "b": twice(2)},
        "slice": "abc"[::-1],
    }


def fresh(x):
    global count
    count += 1
    return [count, drawn, random.random(), str(uuid.uuid4()), os.urandom(4).hex(), tempfile.mktemp()]


async def waits(x):
    async def one(n):
        await asyncio.sleep(0.001 * n)
        return n
    done = await asyncio.gather(one(3), one(1), one(2))
    return [done, await asyncio.wait_for(one(1), 1), await asyncio.to_thread(len, "abc")]


def never(x):
    async def main():
        await asyncio.get_running_loop().create_future()
    asyncio.run(main())


def scratch(x):
    with tempfile.TemporaryDirectory() as d:
        p = pathlib.Path(d, "deep", "a.txt")
        p.parent.mkdir()
        p.write_text("one\n")
        with p.open("a") as f:
            f.write("two\n")
        os.rename(p, p.with_suffix(".md"))
        text = p.with_suffix(".md").read_text()
        with zipfile.ZipFile(os.path.join(d, "a.zip"), "w") as z:
            z.write(p.with_suffix(".md"), "x")
        names = sorted(os.listdir(d))
    return [text, names, os.listdir("/tmp")]


def fill(x):
    with open("/tmp/full", "wb") as f:
        while True:
            f.write(b"x" * 65536)


def copied(x):
    text = pathlib.Path(x["from"]).read_text()
    pathlib.Path(x["to"], "copy.txt").write_text(text.upper())
    return [text, sorted(os.listdir(x["to"]))]


def opens(x):
    return open(x).read()


def saves(x):
    with open(x, "w") as f:
        f.write("text")


def tells(x):
    print("one", end=" ")
    print("two\nthree")
    print("careful", file=sys.stderr)
    skillet.log("from the SDK", level="warn")
    return skillet.shape.object({"n": skillet.shape.integer()}).read(x)["n"]


def asks(x):
    return skillet.kv.get("a")


def down(x):
    return down(x)


def loops(x):
    while True:
        pass


def grows(x):
    return len(bytearray(500 << 20))


def hoards(x):
    kept = []
    while True:
        kept.append("x" * 100000)


def starts(x):
    import subprocess
    subprocess.run(["ls"])


def shells(x):
    os.system("ls")


def threads(x):
    import threading
    threading.Thread(target=print).start()


def pools(x):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor() as pool:
        pool.map(len, [])


def connects(x):
    import socket
    socket.create_connection(("example.com", 80))


def fetches(x):
    import urllib.request
    urllib.request.urlopen("http://example.com/")


def imports(x):
    __import__(x)


class Quota(Exception):
    kind = "limit"


def fails(x):
    if x == "kind":
        raise Quota("too much")
    if x == "exit":
        sys.exit(3)
    if x == "set":
        return {1, 2}
    if x == "chain":
        try:
            return {}["x"]
        except KeyError as e:
            raise ValueError("bottom") from e
    return x["nothing"]
