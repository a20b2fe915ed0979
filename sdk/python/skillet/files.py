# Files of the host.
from . import host
from ._request import fail


def read(path):
    part = host.fs_read(path)
    if not part.truncated:
        return part.body
    content = bytearray()
    while part.body:
        content.extend(part.body)
        if not part.truncated:
            return bytes(content)
        part = host.fs_read(path, offset=len(content))
    fail("limit", f"read {path}: the host stopped after {len(content)} of {part.size} bytes")


def read_text(path):
    try:
        return str(read(path), "utf-8")
    except UnicodeError:
        fail("invalid", f"read {path}: not UTF-8")


def read_part(path, offset=0, length=0):
    return host.fs_read(path, offset, length)


def write(path, content, append=False, create_only=False):
    return host.fs_write(path, content, append, create_only).size


def list_dir(path, recursive=False, limit=0):
    return host.fs_list(path, recursive, limit)


def stat(path):
    info = host.fs_stat(path)
    return info if info.exists else None
