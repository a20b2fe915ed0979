# URLs (RFC 3986).
from collections import namedtuple

_with_host = ("http", "https", "ftp", "file", "sftp", "ws", "wss", "git", "rsync", "nfs", "imap")
_always = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def quote(s, safe="/", encoding=None, errors=None):
    b = s.encode() if isinstance(s, str) else s
    return "".join([chr(c) if chr(c) in _always or chr(c) in safe else "%%%02X" % c for c in b])


def quote_plus(s, safe="", encoding=None, errors=None):
    return quote(s, safe + " ").replace(" ", "+")


def unquote_to_bytes(s):
    b = s.encode() if isinstance(s, str) else s
    parts = b.split(b"%")
    out = [parts[0]]
    for p in parts[1:]:
        try:
            out.append(bytes([int(str(p[:2], "ascii"), 16)]) + p[2:] if len(p) > 1 else b"%" + p)
        except ValueError:
            out.append(b"%" + p)
    return b"".join(out)


def unquote(s, encoding="utf-8", errors="replace"):
    if "%" not in s:
        return s
    b = unquote_to_bytes(s)
    try:
        return str(b, "utf-8")
    except UnicodeError:
        return "".join([chr(c) if c < 128 else "\ufffd" for c in b])


def unquote_plus(s, encoding="utf-8", errors="replace"):
    return unquote(s.replace("+", " "))


def urlencode(query, doseq=False, safe="", encoding=None, errors=None, quote_via=quote_plus):
    pairs = []
    for k, v in query.items() if hasattr(query, "items") else query:
        many = v if doseq and isinstance(v, (list, tuple)) else [v]
        for x in many:
            pairs.append(quote_via(k if isinstance(k, bytes) else str(k), safe) + "=" + quote_via(x if isinstance(x, bytes) else str(x), safe))
    return "&".join(pairs)


def parse_qsl(qs, keep_blank_values=False, strict_parsing=False, separator="&", max_num_fields=None):
    out = []
    for pair in qs.split(separator):
        name, has, value = pair.partition("=")
        if pair and strict_parsing and not has:
            raise ValueError("bad query field: " + repr(pair))
        if pair and (value or keep_blank_values):
            out.append((unquote_plus(name), unquote_plus(value)))
    return out


def parse_qs(qs, keep_blank_values=False, strict_parsing=False, separator="&"):
    out = {}
    for k, v in parse_qsl(qs, keep_blank_values, strict_parsing, separator):
        out.setdefault(k, []).append(v)
    return out


class _Url:
    _names = ()

    def __init__(self, *values):
        self._values = values

    def __getattr__(self, name):
        if name in self._names:
            return self._values[self._names.index(name)]
        raise AttributeError(name)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, i):
        return self._values[i]

    def __len__(self):
        return len(self._values)

    def __eq__(self, o):
        return tuple(self) == tuple(o)

    def __hash__(self):
        return hash(self._values)

    def __repr__(self):
        return type(self).__name__ + "(" + ", ".join(["%s=%r" % p for p in zip(self._names, self._values)]) + ")"

    def _replace(self, **changes):
        return type(self)(*[changes.get(n, v) for n, v in zip(self._names, self._values)])

    def _host(self):
        host = self.netloc.rpartition("@")[2]
        if host[:1] == "[":
            host, _, rest = host[1:].partition("]")
            return host, rest[1:] if rest[:1] == ":" else ""
        host, _, port = host.partition(":")
        return host, port

    @property
    def hostname(self):
        return self._host()[0].lower() or None

    @property
    def port(self):
        port = self._host()[1]
        if not port:
            return None
        if not port.isdigit():
            raise ValueError("Port could not be cast to integer value as " + repr(port))
        if int(port) > 65535:
            raise ValueError("Port out of range 0-65535")
        return int(port)

    @property
    def username(self):
        user, at, _ = self.netloc.rpartition("@")
        return user.partition(":")[0] if at else None

    @property
    def password(self):
        user, at, _ = self.netloc.rpartition("@")
        name, has, password = user.partition(":")
        return password if at and has else None


class SplitResult(_Url):
    _names = ("scheme", "netloc", "path", "query", "fragment")

    def geturl(self):
        return urlunsplit(self)


class ParseResult(_Url):
    _names = ("scheme", "netloc", "path", "params", "query", "fragment")

    def geturl(self):
        return urlunparse(self)


def urlsplit(url, scheme="", allow_fragments=True):
    url = url.lstrip().replace("\n", "").replace("\r", "").replace("\t", "")
    netloc = query = fragment = ""
    i = url.find(":")
    if i > 0 and url[0].isalpha() and all([c in _always and c not in "_~" or c == "+" for c in url[:i]]):
        scheme, url = url[:i].lower(), url[i + 1:]
    if url[:2] == "//":
        end = min([n for n in [url.find(c, 2) for c in "/?#"] if n >= 0], default=len(url))
        netloc, url = url[2:end], url[end:]
        if ("[" in netloc) != ("]" in netloc):
            raise ValueError("Invalid IPv6 URL")
    if allow_fragments and "#" in url:
        url, _, fragment = url.partition("#")
    if "?" in url:
        url, _, query = url.partition("?")
    return SplitResult(scheme, netloc, url, query, fragment)


def urlparse(url, scheme="", allow_fragments=True):
    s, n, path, q, f = urlsplit(url, scheme, allow_fragments)
    params = ""
    i = path.find(";", path.rfind("/") + 1)
    if i >= 0:
        path, params = path[:i], path[i + 1:]
    return ParseResult(s, n, path, params, q, f)


def urlunsplit(parts):
    scheme, netloc, url, query, fragment = parts
    if netloc or scheme in _with_host and url[:2] != "//":
        if url and url[:1] != "/":
            url = "/" + url
        url = "//" + netloc + url
    if scheme:
        url = scheme + ":" + url
    if query:
        url += "?" + query
    return url + "#" + fragment if fragment else url


def urlunparse(parts):
    scheme, netloc, url, params, query, fragment = parts
    return urlunsplit((scheme, netloc, url + ";" + params if params else url, query, fragment))


def urldefrag(url):
    s, n, p, q, f = urlsplit(url)
    return urlunsplit((s, n, p, q, "")), f


def urljoin(base, url, allow_fragments=True):
    if not base:
        return url
    if not url:
        return base
    b = urlparse(base)
    u = urlparse(url, b.scheme)
    if u.scheme != b.scheme:
        return url
    if u.netloc:
        return urlunparse(tuple(u))
    u = u._replace(netloc=b.netloc)
    if not u.path and not u.params:
        u = u._replace(path=b.path, params=b.params, query=u.query or b.query)
        return urlunparse(tuple(u))
    own = u.path.split("/")
    if u.path[:1] == "/":
        parts = own
    else:
        parts = b.path.split("/")
        if parts[-1] != "":
            parts = parts[:-1]
        parts = ([p for i, p in enumerate(parts) if p or i == 0 or i == len(parts) - 1][:-1] if parts and parts[-1] == "" else parts) + own
        if parts[:1] != [""] and b.netloc:
            parts.insert(0, "")
    out = []
    for p in parts:
        if p == "..":
            if len(out) > 1 or out and out[0]:
                out.pop()
        elif p != ".":
            out.append(p)
    if parts[-1] in (".", ".."):
        out.append("")
    return urlunparse(tuple(u._replace(path="/".join(out) or "/")))
