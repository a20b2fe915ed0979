import re

CASES = [
    (r"\d{4}-\d{2}-\d{2}", "on 2024-01-31 and 2023-12-01"),
    (r"(\w+)@(\w+)\.com", "a@b.com, cd@ef.com"),
    (r"(?P<y>\d+)-(?P<m>\d+)", "2024-05 1-2"),
    (r"a|bc|", "abcbca"), (r"x*", "axxb"), (r"\bfoo\b", "foo food foo"), (r"[^a-c\s]+", "abc def ghi"),
    (r"a.*?b", "aXbYb"), (r"(a+)(b+)?", "aab a"), (r"(?i)hello", "Hello HELLO"), (r"^\s*(\w+)", "  x\n  y"),
    (r"(?m)^\s*(\w+)$", "  x\n  y"), (r"(\w)\1", "hello book"), (r"foo(?=bar)", "foobar foobaz"), (r"foo(?!bar)", "foobar foobaz"),
    (r"(?<=\$)\d+", "$12 13 $4"), (r"(?<!\$)\b\d+", "$12 13 $4"), (r"(?:ab)+", "ababx ab"), (r"(ab|a)(c|bcd)", "abcd"),
    (r"[\d.]+", "1.2.3 x 4"), (r"\.", "a.b"), (r"(a|b)*?c", "ababc"), (r"[]a]+", "]a]"), (r"é+", "caféé"),
    (r"\S+", " a  b "), (r"a{2,3}", "aaaaa"), (r"a{,2}b", "aaab"), (r"x{2", "x{2"), (r"(?x) a  b # c", "ab"), (r"\w+\s*=\s*\"[^\"]*\"", 'a = "b" c="d"'),
]


def err(f):
    try:
        return f()
    except re.error:
        return "error"


def run(i):
    out = {}
    for n, (p, s) in enumerate(CASES):
        out["findall %d" % n] = [list(x) if isinstance(x, tuple) else x for x in re.findall(p, s)]
        out["spans %d" % n] = [list(m.span()) for m in re.finditer(p, s)]
        out["sub %d" % n] = re.sub(p, "<\\g<0>>", s)
        out["split %d" % n] = re.split(p, s)
        m = re.search(p, s)
        out["search %d" % n] = [m.group(), list(m.groups()), m.groupdict(), m.lastindex] if m else None
        out["match %d" % n] = bool(re.match(p, s))
        out["full %d" % n] = bool(re.fullmatch(p, s))
    out["callable"] = re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "1 a 22")
    out["count"] = re.subn("a", "b", "aaa", count=2)
    out["names"] = re.sub(r"(?P<a>\w)(\w)", r"\2\g<a>\n", "abcd")
    out["escape"] = re.escape("a.b*c[d] e-f")
    out["bytes"] = str(re.findall(rb"\d+", b"a1b22"))
    out["errors"] = [err(lambda p=p: re.compile(p) and "fine") for p in ["(", "[a", "a)", "*a", "(?P<1>a)", "\\", "a{3,2}"]]
    out["flags"] = [re.findall("a.c", "a\nc", re.S), re.findall("^b", "a\nb", re.M), re.findall("B", "abc", re.IGNORECASE)]
    out["split2"] = re.split(r"[,;]\s*", "a, b;c,d", maxsplit=2)
    out["long"] = len(re.findall(r"\w+", "word " * 2000))
    return out
