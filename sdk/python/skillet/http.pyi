"""HTTP, as far as the grant http goes. A status of 400 or more is no error."""

from collections.abc import Mapping, Sequence
from typing import Any
from .host import Content, HttpRequestResponse

Headers = Mapping[str, str | Sequence[str]] | None

class Response:
    """What an HTTP server answered."""

    status: int
    # All header fields, each with all its values.
    headers: dict[str, list[str]]
    # Where it came from, after redirects.
    url: str
    # Whether the body was longer than allowed, and was cut.
    truncated: bool
    body: bytes
    def __init__(self, answer: HttpRequestResponse) -> None: ...
    @property
    def ok(self) -> bool:
        """Whether the status is 200 to 299."""

    def header(self, name: str) -> str | None:
        """A header field by its name in any case, or None."""

    def text(self) -> str:
        """The body as text, which is UTF-8."""

    def json(self) -> Any:
        """The body as JSON."""

def request(url: str, method: str = "GET", headers: Headers = None, body: Content = None, timeout: float = 0, max_bytes: int = 0) -> Response:
    """Sends a request.

    headers: each with its value or all its values
    timeout: bounds the exchange with all its redirects, in seconds; 0 for the host's own limit
    max_bytes: bounds the body of the response; 0 for the host's own limit
    """

def get(url: str, headers: Headers = None, timeout: float = 0, max_bytes: int = 0) -> Response: ...
def post(url: str, body: Content = None, headers: Headers = None, timeout: float = 0, max_bytes: int = 0) -> Response: ...
