# HTTP requests.
from . import host
from ._request import parsed


class Response:
    def __init__(self, answer):
        self.status, self.headers, self.url, self.truncated, self.body = answer

    @property
    def ok(self):
        return 200 <= self.status < 300

    def header(self, name):
        for key, values in self.headers.items():
            if key.lower() == name.lower():
                return ", ".join(values)
        return None

    def text(self):
        return str(self.body, "utf-8")

    def json(self):
        return parsed(self.body, f"response of {self.url}")


def request(url, method="GET", headers=None, body=None, timeout=0, max_bytes=0):
    listed = {k: [v] if isinstance(v, str) else list(v) for k, v in (headers or {}).items()}
    return Response(host.http_request(url, body, method, listed, int(timeout * 1000), max_bytes))


def get(url, headers=None, timeout=0, max_bytes=0):
    return request(url, "GET", headers, None, timeout, max_bytes)


def post(url, body=None, headers=None, timeout=0, max_bytes=0):
    return request(url, "POST", headers, body, timeout, max_bytes)
