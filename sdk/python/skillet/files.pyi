"""Files, as far as the grants fs.read and fs.write go. A path is absolute, or relative to the workspace."""

from .host import Content, FsListResponse, FsReadResponse, FsStatResponse

def read(path: str) -> bytes:
    """Returns the whole content of a file, of any length."""

def read_text(path: str) -> str:
    """Returns the whole content of a file as text, which is UTF-8; anything else is an error of kind invalid."""

def read_part(path: str, offset: int = 0, length: int = 0) -> FsReadResponse:
    """Returns a part of a file, in bytes; without a length as much as one call returns."""

def write(path: str, content: Content, append: bool = False, create_only: bool = False) -> int:
    """Writes a file and returns its length in bytes.

    append writes behind the end; create_only refuses a file that is there.
    """

def list_dir(path: str, recursive: bool = False, limit: int = 0) -> FsListResponse:
    """Lists a directory, sorted by name. limit is the most entries; 0 for 1000."""

def stat(path: str) -> FsStatResponse | None:
    """Describes a file or directory; None when there is none."""
