import base64
import csv
import io
import json
import string
import textwrap
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, unquote, unquote_plus, urlencode, urljoin, urlparse, urlsplit, urlunparse

LONG = ("The quick brown fox jumps over the lazy dog, and a well-known state-of-the-art "
        "supercalifragilisticexpialidocious word.\tTabs  and   spaces\nand lines.")
URLS = ["https://user:pw@Example.com:8080/a/b;p?q=1&r=%20#frag", "mailto:a@b.c", "/just/path?x", "//host/path", "http://[::1]:80/", "file:///tmp/x", "a:b", "http://h?q#f", ""]
JOINS = [("http://a/b/c/d", x) for x in ["g", "./g", "g/", "/g", "//g", "?y", "g?y", "#s", "", ".", "./", "..", "../", "../g", "../..", "../../g", "../../../g", "http://x/y", "g;x", "mailto:z"]]


def table(text, **kw):
    return [list(r) for r in csv.reader(io.StringIO(text), **kw)]


def err(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def run(i):
    out = {}
    for w in (10, 20, 40):
        out["wrap %d" % w] = textwrap.wrap(LONG, w)
    out["wrap more"] = [textwrap.wrap(LONG, 30, initial_indent="* ", subsequent_indent="  "), textwrap.wrap(LONG, 15, break_long_words=False),
                        textwrap.wrap(LONG, 25, max_lines=2), textwrap.shorten(LONG, 30, placeholder="..."), textwrap.wrap("", 5), textwrap.fill("a b c", 3)]
    out["dedent"] = [textwrap.dedent("  a\n    b\n\n  c\n"), textwrap.dedent("\tx\n  y"), textwrap.indent("a\n\nb\n", "> ")]
    out["capwords"] = [string.capwords("hello  big world"), string.Template("$a ${b} $$ $c").safe_substitute(a=1, b="x"), string.Template("$a-$a").substitute({"a": 5}),
                       err(lambda: string.Template("$a $").substitute(a=1)), err(lambda: string.Template("$zz").substitute()), string.printable, string.punctuation]
    for n, u in enumerate(URLS):
        p = urlparse(u)
        out["url %d" % n] = [list(p), p.hostname, p.port, p.username, p.password, p.geturl(), list(urlsplit(u))]
    out["join"] = [urljoin(a, b) for a, b in JOINS]
    out["unparse"] = urlunparse(("https", "h", "/p", "x", "q=1", "f"))
    out["quote"] = [quote("a b/é&=?~", safe="/"), quote_plus("a b/é&"), unquote("a%20b%C3%A9%zz%"), unquote_plus("a+b%2B"), quote("/x y", safe=""), unquote("%FF")]
    out["encode"] = [urlencode([("a", 1), ("b", "x y")]), urlencode([("a", [1, 2])], doseq=True), parse_qs("a=1&a=2&b=&c"), parse_qs("a=1&b=", keep_blank_values=True), [list(x) for x in parse_qsl("x=%20&y=+")]]
    out["csv"] = [table('a,b\r\n"x,1","y ""q"""\r\n\r\n"multi\nline",z\n'), table("a;b;'c;d'", delimiter=";", quotechar="'"), table("a, b", skipinitialspace=True),
                  table("a\\,b,c", escapechar="\\"), table("1,\"2\"", quoting=csv.QUOTE_NONNUMERIC), table("a,\"b"), table("a\"b,c"), table(""), table("a\tb", dialect="excel-tab")]
    f = io.StringIO()
    w = csv.writer(f)
    w.writerows([["a", 1, None, 2.5, True], ["x,y", 'q"q', "l\nl", ""], [""], []])
    g = io.StringIO()
    d = csv.DictWriter(g, ["b", "a"], extrasaction="ignore", quoting=csv.QUOTE_ALL, lineterminator="\n")
    d.writeheader()
    d.writerow({"a": 1, "b": "z", "c": 3})
    out["csv written"] = [f.getvalue(), g.getvalue(), err(lambda: csv.DictWriter(io.StringIO(), ["a"]).writerow({"b": 1}))]
    rows = list(csv.DictReader(io.StringIO("n,v\na,1\nb\nc,2,3\n")))
    out["dictreader"] = [sorted((str(k), str(v)) for k, v in r.items()) for r in rows]
    out["json"] = [json.dumps([1, 2.5, "é\"\n", None, True], indent=2), json.dumps({"b": 1, "a": [1, {}]}, sort_keys=True), json.dumps({"a": 1}, separators=(",", ":")),
                   json.dumps({1: "x"}), json.dumps("é😀", ensure_ascii=False), json.dumps("é😀"), json.loads('"\\ud83d\\ude00\\u00e9\\n"'), json.loads(' {"a": [1, -2.5e3, true]} '),
                   err(lambda: json.loads("{x}")), err(lambda: json.dumps({1, 2})), json.dumps([], indent=1), json.dumps({"x": {2: (1,)}}, indent="\t"), json.dumps(float("inf")),
                   json.dumps({"a": {1}}, default=list), err(lambda: json.loads("")), json.loads(b"[1]"), isinstance(err(lambda: 0), int)]
    out["str"] = ["hello world's end".capitalize(), "aBc".swapcase(), "x".ljust(3, "-"), "x".rjust(3), "-5".zfill(4), "abc".removeprefix("ab"), "abc".removesuffix("bc"), "a\tb".expandtabs(4),
                  "ab1".isalnum(), "a b".isalnum(), "a".isidentifier(), "abc".translate(str.maketrans("ab", "xy", "c")), "a,b,c".split(",", maxsplit=1), "a b  c".split(maxsplit=1),
                  "a b c".rsplit(None, 1), "a.b.c".rsplit(".", maxsplit=1), "{a} {b!r:>4} {0:05.1f}".format(3.14159, a=1, b="x"), "%-5s|%05d|%x" % ("a", 42, 255), f"{1234567.891:,.2f} {0.5:.0%} {'x':^5}|",
                  "héllo".encode().decode(), "straße".casefold(), "hello big world".title(), (255).bit_length(), (7).bit_count(), format(3.5, ".2f"), format(255, "x"), ascii("é")]
    out["base64"] = [base64.b64encode(b"hello\xff").decode(), base64.urlsafe_b64encode(b"\xfb\xff").decode(), base64.b64decode("aGVsbG8=").decode()]
    return out
