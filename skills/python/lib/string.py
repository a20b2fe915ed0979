ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ascii_letters = ascii_lowercase + ascii_uppercase
digits = "0123456789"
hexdigits = digits + "abcdefABCDEF"
octdigits = "01234567"
punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
whitespace = " \t\n\r\x0b\x0c"
printable = digits + ascii_letters + punctuation + whitespace


def capwords(s, sep=None):
    return (sep or " ").join([w.capitalize() for w in s.split(sep)])


class Template:
    delimiter = "$"

    def __init__(self, template):
        self.template = template

    def _fill(self, values, safe):
        t, out, i = self.template, [], 0
        while True:
            at = t.find("$", i)
            if at < 0:
                return "".join(out) + t[i:]
            out.append(t[i:at])
            i = at + 1
            if t[i:i + 1] == "$":
                out.append("$")
                i += 1
                continue
            brace = t[i:i + 1] == "{"
            start = end = i + brace
            while end < len(t) and (t[end].isalpha() or t[end] == "_" or end > start and t[end].isdigit()):
                end += 1
            name = t[start:end]
            if not name or brace and t[end:end + 1] != "}":
                if not safe:
                    raise ValueError("Invalid placeholder in string: line %d, col %d" % (t.count("\n", 0, at) + 1, at - t.rfind("\n", 0, at)))
                out.append("$")
                continue
            i = end + brace
            if name in values or not safe:
                out.append(str(values[name]))
            else:
                out.append(t[at:i])

    def substitute(self, mapping={}, **kw):
        return self._fill(dict(mapping, **kw), False)

    def safe_substitute(self, mapping={}, **kw):
        return self._fill(dict(mapping, **kw), True)
