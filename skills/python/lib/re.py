# Regular expressions by backtracking. Not there: \p, atomic groups,
# conditionals, possessive quantifiers.
A = ASCII = 256
I = IGNORECASE = 2
M = MULTILINE = 8
S = DOTALL = 16
X = VERBOSE = 64
U = UNICODE = 32
L = LOCALE = 4
NOFLAG = 0


class error(Exception):
    pass


PatternError = error


def _word(c):
    return c.isalpha() or c.isdigit() or c == "_" or ord(c) > 191


_classes = {"d": str.isdigit, "s": str.isspace, "w": _word}
_escapes = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}


class _Parser:
    # makes nodes, which are functions of (text, position, groups, next) that
    # return the end of a match or -1
    def __init__(self, pattern, flags):
        self.p, self.i, self.flags = pattern, 0, flags
        self.groups, self.names = 0, {}

    def fail(self, why):
        raise error(why + " at position " + str(self.i))

    def peek(self):
        return self.p[self.i:self.i + 1]

    def eat(self, s):
        if self.p.startswith(s, self.i):
            self.i += len(s)
            return True
        return False

    def alternatives(self):
        arms = [self.sequence()]
        while self.eat("|"):
            arms.append(self.sequence())
        return arms[0] if len(arms) == 1 else _either(arms)

    def sequence(self):
        items = []
        while self.i < len(self.p) and self.peek() not in "|)":
            if self.flags & X:
                if self.peek().isspace():
                    self.i += 1
                    continue
                if self.peek() == "#":
                    while self.i < len(self.p) and self.p[self.i] != "\n":
                        self.i += 1
                    continue
            before = self.groups
            item = self.atom()
            if item is not None:
                items.append(self.repeat(item, before))
        return items

    def repeat(self, item, before):
        while True:
            c = self.peek()
            if c == "" or c not in "*+?{":
                return item
            low, high = 0, -1
            if c == "+":
                low = 1
            elif c == "?":
                high = 1
            elif c == "{":
                end = self.p.find("}", self.i)
                bounds = self.p[self.i + 1:end].split(",") if end > 0 else [""]
                if end < 0 or len(bounds) > 2 or not (bounds[0] + bounds[-1]).isdigit() or not all([b == "" or b.isdigit() for b in bounds]):
                    return item
                low = int(bounds[0] or 0)
                high = low if len(bounds) == 1 else int(bounds[1]) if bounds[1] else -1
                if 0 <= high < low:
                    self.fail("min repeat greater than max repeat")
                self.i = end
            self.i += 1
            item = _Repeat(item, low, high, not self.eat("?"), range(before + 1, self.groups + 1))

    def atom(self):
        c = self.peek()
        self.i += 1
        if c == "(":
            return self.group()
        if c == "[":
            return _One(self.set())
        if c == ".":
            return _One((lambda c: True) if self.flags & S else (lambda c: c != "\n"))
        if c == "^":
            return _line_start if self.flags & M else _start
        if c == "$":
            return _line_end if self.flags & M else _end
        if c == "\\":
            return self.escape()
        if c in "*+?":
            self.fail("nothing to repeat")
        return self.literal(c)

    def literal(self, c):
        if self.flags & I and c.lower() != c.upper():
            low = c.lower()
            return _One(lambda x: x.lower() == low)
        return _One(c)

    def escape(self):
        c = self.peek()
        if c == "":
            self.fail("bad escape (end of pattern)")
        self.i += 1
        if c.lower() in _classes:
            return _One(_member(c))
        if c in "bB":
            return _boundary if c == "b" else _no_boundary
        if c == "A":
            return _start
        if c == "Z":
            return _very_end
        if c in "123456789":
            while self.peek().isdigit() and int(c + self.peek()) <= self.groups:
                c += self.peek()
                self.i += 1
            return self.back(int(c))
        self.i -= 1
        return self.literal(self.char())

    def char(self):
        # the character an escape stands for
        c = self.peek()
        self.i += 1
        if c in _escapes:
            return _escapes[c]
        n = {"x": 2, "u": 4, "U": 8}.get(c)
        if n:
            self.i += n
            return chr(int(self.p[self.i - n:self.i], 16))
        if c.isalpha():
            self.fail("bad escape \\" + c)
        return c

    def back(self, n):
        if n > self.groups:
            self.fail("invalid group reference " + str(n))
        fold = self.flags & I

        def match(t, i, g, k):
            if g[2 * n + 1] < 0:
                return -1
            s = t[g[2 * n]:g[2 * n + 1]]
            here = t[i:i + len(s)]
            if here == s or fold and here.lower() == s.lower():
                return k(i + len(s))
            return -1
        return match

    def set(self):
        negated = self.eat("^")
        chars, tests, first = set(), [], True
        while True:
            c = self.peek()
            if c == "":
                self.fail("unterminated character set")
            self.i += 1
            if c == "]" and not first:
                break
            first = False
            if c == "\\":
                e = self.peek()
                if e.lower() in _classes:
                    self.i += 1
                    tests.append(_member(e))
                    continue
                if e == "b":
                    self.i += 1
                    c = "\b"
                else:
                    c = self.char()
            if self.peek() == "-" and self.p[self.i + 1:self.i + 2] not in ("]", ""):
                self.i += 1
                d = self.peek()
                self.i += 1
                if d == "\\":
                    d = self.char()
                if d < c:
                    self.fail("bad character range")
                tests.append(_between(c, d))
            else:
                chars.add(c)
        return _set(chars, tests, negated, self.flags & I)

    def group(self):
        index, name, kind = 0, None, None
        if self.eat("?"):
            if self.eat("P<") or (self.peek() == "<" and self.p[self.i + 1:self.i + 2] not in ("=", "!") and self.eat("<")):
                end = self.p.find(">", self.i)
                name = self.p[self.i:end]
                self.i = end + 1
                if end < 0 or not name.isidentifier():
                    self.fail("bad character in group name")
            elif self.eat("P="):
                end = self.p.find(")", self.i)
                name = self.p[self.i:end]
                self.i = end + 1
                if name not in self.names:
                    self.fail("unknown group name " + repr(name))
                return self.back(self.names[name])
            elif self.eat("#"):
                self.i = self.p.find(")", self.i) + 1
                return None
            else:
                for kind in (":", "=", "!", "<=", "<!", ""):
                    if kind and self.eat(kind):
                        break
                if kind == "":
                    return self.inline()
        if kind is None:
            self.groups += 1
            index = self.groups
            if name is not None:
                if name in self.names:
                    self.fail("redefinition of group name " + repr(name))
                self.names[name] = index
        flags = self.flags
        body = self.alternatives()
        self.flags = flags
        return self.close(kind, index, body)

    def close(self, kind, index, body):
        if not self.eat(")"):
            self.fail("missing ), unterminated subpattern")
        run = _run(body)
        if kind is None:
            def match(t, i, g, k):
                old, old_end = g[2 * index], g[2 * index + 1]

                def after(e):
                    was, was_end = g[2 * index], g[2 * index + 1]
                    g[2 * index], g[2 * index + 1] = i, e
                    r = k(e)
                    if r < 0:
                        g[2 * index], g[2 * index + 1] = was, was_end
                    return r
                r = run(t, i, g, after)
                if r < 0:
                    g[2 * index], g[2 * index + 1] = old, old_end
                return r
            return match
        if kind == ":":
            return run
        if kind in "=!":
            wanted = kind == "="
            return lambda t, i, g, k: k(i) if (run(t, i, g, _same) >= 0) == wanted else -1
        wanted = kind == "<="

        def behind(t, i, g, k):
            found = any([run(t, s, g, lambda e: e if e == i else -1) >= 0 for s in range(i, -1, -1)])
            return k(i) if found == wanted else -1
        return behind

    def inline(self):
        while self.peek().isalpha():
            self.flags |= {"i": I, "m": M, "s": S, "x": X, "a": 0, "u": 0}[self.peek()]
            self.i += 1
        if self.eat(")"):
            return None
        if not self.eat(":"):
            self.fail("unknown extension")
        body = self.alternatives()
        return self.close(":", 0, body)


def _same(i):
    return i


def _member(c):
    test = _classes[c.lower()]
    return test if c.islower() else (lambda x: not test(x))


def _between(a, b):
    return lambda c: a <= c <= b


def _set(chars, tests, negated, fold):
    def has(c):
        return c in chars or any([t(c) for t in tests])
    if fold:
        plain = has
        has = lambda c: plain(c) or plain(c.lower()) or plain(c.upper())
    if negated:
        return lambda c: not has(c)
    return chars.__contains__ if not tests and not fold else has


class _One:
    # one character: one that is given, or one that passes a test
    def __init__(self, test):
        self.test = test

    def __call__(self, t, i, g, k):
        test = self.test
        if i < len(t) and (t[i] == test if isinstance(test, str) else test(t[i])):
            return k(i + 1)
        return -1


def _start(t, i, g, k):
    return k(i) if i == 0 else -1


def _line_start(t, i, g, k):
    return k(i) if i == 0 or t[i - 1] == "\n" else -1


def _end(t, i, g, k):
    return k(i) if i == len(t) or i == len(t) - 1 and t[i] == "\n" else -1


def _line_end(t, i, g, k):
    return k(i) if i == len(t) or t[i] == "\n" else -1


def _very_end(t, i, g, k):
    return k(i) if i == len(t) else -1


def _at_boundary(t, i):
    return (i > 0 and _word(t[i - 1])) != (i < len(t) and _word(t[i]))


def _boundary(t, i, g, k):
    return k(i) if _at_boundary(t, i) else -1


def _no_boundary(t, i, g, k):
    return -1 if _at_boundary(t, i) else k(i)


def _either(arms):
    arms = [_run(a) for a in arms]

    def match(t, i, g, k):
        for a in arms:
            r = a(t, i, g, k)
            if r >= 0:
                return r
        return -1
    return [match]


def _Repeat(item, low, high, greedy, inner):
    if isinstance(item, _One):
        return _repeat_one(item.test, low, high, greedy)
    item = _run(item) if isinstance(item, list) else item

    def match(t, i, g, k):
        def more(i, n, last):
            if n < low:
                return item(t, i, g, lambda e: more(e, n + 1, i))
            if i == last:
                return k(i)
            if not greedy:
                r = k(i)
                if r >= 0:
                    return r
            if high < 0 or n < high:
                r = item(t, i, g, lambda e: more(e, n + 1, i) if e != i else -1)
                if r >= 0:
                    return r
            return k(i) if greedy else -1
        return more(i, 0, -1)
    return match


def _repeat_one(test, low, high, greedy):
    # characters need no recursion
    literal = isinstance(test, str)

    def match(t, i, g, k):
        end = len(t) if high < 0 else min(len(t), i + high)
        j = i
        if not greedy:
            while True:
                if j - i >= low:
                    r = k(j)
                    if r >= 0:
                        return r
                if j >= end or not (t[j] == test if literal else test(t[j])):
                    return -1
                j += 1
        if literal:
            while j < end and t[j] == test:
                j += 1
        else:
            while j < end and test(t[j]):
                j += 1
        while j >= i + low:
            r = k(j)
            if r >= 0:
                return r
            j -= 1
        return -1
    return match


def _run(items):
    # one node of a list of them
    if not isinstance(items, list):
        return items
    if len(items) == 1:
        return items[0]
    if not items:
        return lambda t, i, g, k: k(i)
    if all([isinstance(x, _One) for x in items]):
        tests = [x.test for x in items]

        def string(t, i, g, k):
            if i + len(tests) > len(t):
                return -1
            for test in tests:
                if not (t[i] == test if isinstance(test, str) else test(t[i])):
                    return -1
                i += 1
            return k(i)
        return string
    first, rest = items[0], _run(items[1:])
    return lambda t, i, g, k: first(t, i, g, lambda e: rest(t, e, g, k))


class Match:
    def __init__(self, pattern, text, spans, shown, pos, endpos):
        self.re, self.string, self._spans, self._shown = pattern, shown, spans, text
        self.pos, self.endpos = pos, endpos

    def _index(self, n):
        if isinstance(n, str):
            n = self.re.groupindex.get(n, -1)
        if not 0 <= n <= self.re.groups:
            raise IndexError("no such group")
        return n

    def _one(self, n, default=None):
        n = self._index(n)
        if self._spans[2 * n + 1] < 0:
            return default
        return self.string[self._spans[2 * n]:self._spans[2 * n + 1]]

    def group(self, *n):
        if len(n) > 1:
            return tuple([self._one(x) for x in n])
        return self._one(n[0] if n else 0)

    def __getitem__(self, n):
        return self._one(n)

    def groups(self, default=None):
        return tuple([self._one(n, default) for n in range(1, self.re.groups + 1)])

    def groupdict(self, default=None):
        return {name: self._one(n, default) for name, n in self.re.groupindex.items()}

    def start(self, n=0):
        return self._spans[2 * self._index(n)] if self._spans[2 * self._index(n) + 1] >= 0 else -1

    def end(self, n=0):
        return self._spans[2 * self._index(n) + 1]

    def span(self, n=0):
        return self.start(n), self.end(n)

    @property
    def lastindex(self):
        last, end = None, -1
        for n in range(1, self.re.groups + 1):
            if self._spans[2 * n + 1] > end or self._spans[2 * n + 1] >= 0 and last is None:
                last, end = n, self._spans[2 * n + 1]
        return last

    def expand(self, template):
        return _template(self.re, template)(self)

    def __repr__(self):
        return "<re.Match object; span=" + repr(self.span()) + ", match=" + repr(self.group()) + ">"


class Pattern:
    def __init__(self, pattern, flags):
        self._bytes = isinstance(pattern, (bytes, bytearray))
        p = _Parser("".join([chr(b) for b in pattern]) if self._bytes else pattern, flags)
        body = p.alternatives()
        if p.i < len(p.p):
            p.fail("unbalanced parenthesis")
        self.pattern, self.flags, self.groups, self.groupindex = pattern, p.flags, p.groups, p.names
        self._match = _run(body)
        first = body[0] if isinstance(body, list) and body else None
        self._first = first.test if isinstance(first, _One) and isinstance(first.test, str) else None

    def _text(self, text):
        if self._bytes != isinstance(text, (bytes, bytearray)):
            raise TypeError("cannot use a " + ("bytes" if self._bytes else "string") + " pattern on that object")
        return "".join([chr(b) for b in text]) if self._bytes else text

    def _at(self, t, i, shown, k=_same, pos=0):
        g = [-1] * (2 * self.groups + 2)
        e = self._match(t, i, g, k)
        if e < 0:
            return None
        g[0], g[1] = i, e
        return Match(self, t, g, shown, pos, len(t))

    def match(self, text, pos=0, endpos=None):
        t = self._text(text)
        return self._at(t if endpos is None else t[:endpos], pos, text, pos=pos)

    def fullmatch(self, text, pos=0, endpos=None):
        t = self._text(text)
        if endpos is not None:
            t = t[:endpos]
        end = len(t)
        return self._at(t, pos, text, lambda e: e if e == end else -1, pos)

    def search(self, text, pos=0, endpos=None):
        t = self._text(text)
        return self._search(t if endpos is None else t[:endpos], pos, text)

    def _search(self, t, i, shown, empty=-1):
        # empty is where an empty match was, where there cannot be another
        while i <= len(t):
            if self._first is not None:
                i = t.find(self._first, i)
                if i < 0:
                    return None
            m = self._at(t, i, shown) if i != empty else self._at(t, i, shown, lambda e: e if e != i else -1)
            if m:
                return m
            i += 1

    def finditer(self, text, pos=0, endpos=None):
        t, empty = self._text(text), -1
        if endpos is not None:
            t = t[:endpos]
        while True:
            m = self._search(t, pos, text, empty)
            if not m:
                return
            yield m
            pos = m.end()
            empty = pos if m.start() == pos else -1

    def findall(self, text, pos=0, endpos=None):
        none = text[:0]
        if self.groups == 0:
            return [m.group() for m in self.finditer(text, pos, endpos)]
        if self.groups == 1:
            return [m._one(1, none) for m in self.finditer(text, pos, endpos)]
        return [m.groups(none) for m in self.finditer(text, pos, endpos)]

    def split(self, text, maxsplit=0):
        out, last = [], 0
        for m in self.finditer(text):
            out.append(text[last:m.start()])
            out.extend(m.groups())
            last = m.end()
            maxsplit -= 1
            if maxsplit == 0:
                break
        out.append(text[last:])
        return out

    def subn(self, repl, text, count=0):
        if not callable(repl):
            repl = _template(self, repl)
        out, last, n = [], 0, 0
        for m in self.finditer(text):
            out.append(text[last:m.start()])
            out.append(repl(m))
            last = m.end()
            n += 1
            if n == count:
                break
        out.append(text[last:])
        return text[:0].join(out), n

    def sub(self, repl, text, count=0):
        return self.subn(repl, text, count)[0]

    def __repr__(self):
        return "re.compile(" + repr(self.pattern) + ")"


def _template(pattern, template):
    if isinstance(template, (bytes, bytearray)):
        plain = bytes(template)
        if b"\\" in plain:
            raise error("groups in a template of bytes")
        return lambda m: plain
    parts, i, text = [], 0, ""
    while i < len(template):
        c = template[i]
        i += 1
        if c != "\\" or i >= len(template):
            text += c
            continue
        c = template[i]
        i += 1
        if c == "g":
            end = template.find(">", i)
            name = template[i + 1:end]
            if end < 0 or template[i:i + 1] != "<":
                raise error("missing group name")
            i = end + 1
            n = int(name) if name.isdigit() else pattern.groupindex.get(name)
            if n is None:
                raise IndexError("unknown group name " + repr(name))
        elif c in "123456789":
            n = int(c)
            if template[i:i + 1].isdigit():
                n = 10 * n + int(template[i])
                i += 1
        else:
            if c.isalpha() and c not in _escapes:
                raise error("bad escape \\" + c)
            text += _escapes.get(c, c if c == "\\" else "\\" + c)
            continue
        if n > pattern.groups:
            raise error("invalid group reference " + str(n))
        parts.append((text, n))
        text = ""
    tail = text
    return lambda m: "".join([s + m._one(n, "") for s, n in parts]) + tail


_cache = {}


def compile(pattern, flags=0):
    if isinstance(pattern, Pattern):
        return pattern
    key = (pattern, flags)
    p = _cache.get(key)
    if p is None:
        if len(_cache) > 200:
            _cache.clear()
        p = _cache[key] = Pattern(pattern, flags)
    return p


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


def escape(s):
    if isinstance(s, (bytes, bytearray)):
        return escape(s.decode()).encode()
    return "".join(["\\" + c if c in "()[]{}?*+-|^$\\.&~# \t\n\r\v\f" else c for c in s])


def purge():
    _cache.clear()
