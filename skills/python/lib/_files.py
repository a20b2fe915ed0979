# Files of the host, behind absolute paths.
import io
import _skillet


def read(path):
    parts, offset = [], 0
    while True:
        meta, body = _skillet.request("fs_read", {"path": path, "offset": offset})
        parts.append(body)
        offset += len(body)
        if not meta.get("truncated") or not body:
            return b"".join(parts)


# those that are open, in the order in which they were opened
_open = []


def finish():
    # what was written in a call is handed over at its end, also by those that are not closed
    for w in _open:
        w.flush()


class Writer:
    # collects what is written, and hands it over when it is flushed or closed
    def __init__(self, path, mode):
        if "r" in mode or "+" in mode:
            raise ValueError("a file is opened for reading or for writing")
        self._path, self._text = path, "b" not in mode
        self._how = {"append": True} if "a" in mode else {"create_only": True} if "x" in mode else {}
        self._parts, self._made, self.closed, self.name = [], False, False, path
        _open.append(self)

    def write(self, data):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self._text != isinstance(data, str):
            raise TypeError("write() takes " + ("str" if self._text else "bytes"))
        self._parts.append(data.encode() if self._text else bytes(data))
        return len(data)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if self._parts or not self._made:
            _skillet.request("fs_write", dict(self._how, path=self._path), b"".join(self._parts))
            self._parts, self._made, self._how = [], True, {"append": True}

    def close(self):
        if not self.closed:
            self._end()
            self.flush()

    def _end(self):
        self.closed = True
        if self in _open:
            _open.remove(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind is None:
            self.close()
        elif not self.closed:
            self._end()


def listing(path, files):
    if path in files.folders:
        prefix = path if path == "/" else path + "/"
        names = set([n[len(prefix):].split("/")[0] for n in list(files.program) + list(files.folders) if n.startswith(prefix) and n != path])
        return iter([(n, 0x4000 if prefix + n in files.folders else 0x8000, 0) for n in sorted(names)])
    meta, _ = _skillet.request("fs_list", {"path": path})
    return iter([(e["name"], 0x4000 if e.get("dir") else 0x8000, 0) for e in meta["entries"]])
