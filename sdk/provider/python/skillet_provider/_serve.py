"""How a provider is served: the handshake with the host that started this process,
the services that it expects, and the end of it.

The host is Skillet, by go-plugin; its guide for plugins in other languages says
what is done here. Nothing that is printed can break the handshake: standard output
is standard error from the moment that serve is called.
"""

import base64
import os
import sys
import tempfile
import threading
import time
import traceback
from concurrent import futures
from dataclasses import dataclass

import grpc

from . import _certificate
from ._contract import (
    Delta,
    EmbedRequest,
    Empty,
    ErrorDetail,
    GenerateRequest,
    ModelList,
    ModelRequest,
    PieceEvent,
    ProviderError,
    Response,
    Usage,
    Vector,
    VectorList,
    WholeEvent,
)
from ._wire import decode, encode, field

PROTOCOL = 1
MAX_MESSAGE = 16 << 20
_COOKIE = ("SKILLET_PLUGIN", "a4c1f0d27b5e4e90")
_WORKERS = 64
_SERVICE = "skillet.plugin.v1.Provider"

_CODES = {
    "rate_limited": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "timeout": grpc.StatusCode.DEADLINE_EXCEEDED,
    "unavailable": grpc.StatusCode.UNAVAILABLE,
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
    "refused": grpc.StatusCode.FAILED_PRECONDITION,
    "context_length": grpc.StatusCode.OUT_OF_RANGE,
    "auth": grpc.StatusCode.UNAUTHENTICATED,
    "cancelled": grpc.StatusCode.CANCELLED,
    "internal": grpc.StatusCode.INTERNAL,
}


class Call:
    """One call of the host."""

    def __init__(self, context):
        self._context = context

    def cancelled(self):
        """Whether nobody waits for the answer any more."""
        return not self._context.is_active()

    def check(self):
        """Raise a ProviderError when nobody waits any more."""
        if self.cancelled():
            raise ProviderError("cancelled", "nobody waits for the answer any more")

    def remaining(self):
        """The seconds that are left; None when there is no deadline."""
        return self._context.time_remaining()


@dataclass
class _Any:
    type_url: str = field(1, "string")
    value: object = field(2, ErrorDetail)


@dataclass
class _Status:
    code: int = field(1, "int")
    message: str = field(2, "string")
    details: list = field(3, _Any, repeated=True)


def _cut(text, size):
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _fail(context, error):
    """End a call with a failure. It raises."""
    detail = ErrorDetail(error.error_class, _cut(error.message, 2048), int(-(-error.retry_after * 1000 // 1)))
    code, text = _CODES[error.error_class], _cut(error.message, 256)
    status = _Status(code.value[0], text, [_Any("type.googleapis.com/skillet.plugin.v1.Error", detail)])
    context.set_trailing_metadata((("grpc-status-details-bin", encode(status)),))
    context.abort(code, text)


def _as_error(error):
    """The ProviderError that an exception is. What it was is printed."""
    if isinstance(error, ProviderError):
        return error
    traceback.print_exception(type(error), error, error.__traceback__)
    return ProviderError("internal", "%s: %s" % (type(error).__name__, error))


def _unary(request_type, answer):
    """The handler of a method with one answer."""

    def handle(data, context):
        try:
            return encode(answer(_read(request_type, data), Call(context)))
        except Exception as error:
            failure = _as_error(error)
        _fail(context, failure)

    return grpc.unary_unary_rpc_method_handler(handle)


def _read(request_type, data):
    try:
        return decode(request_type, data)
    except ValueError as error:
        raise ProviderError("invalid", "the request: %s" % (error,)) from error


def _generate(provider):
    """The handler of Generate."""

    def handle(data, context):
        try:
            yield from _events(provider.generate(_read(GenerateRequest, data), Call(context)))
            return
        except Exception as error:
            failure = _as_error(error)
        _fail(context, failure)

    return grpc.unary_stream_rpc_method_handler(handle)


def _events(answer):
    """The pieces and the whole of an answer, as they are sent."""
    for part in [answer] if isinstance(answer, Response) else answer:
        if isinstance(part, Response):
            yield encode(WholeEvent(part))
            return
        yield encode(PieceEvent(Delta(text=part) if isinstance(part, str) else part))
    raise ProviderError("internal", "generate yielded no Response")


def _embed(provider):
    def answer(request, call):
        a = provider.embed(request, call)
        return VectorList(a.model, [Vector(v) for v in a.vectors], a.usage or Usage())

    return answer


def _handlers(provider):
    """The methods of a provider."""

    def nothing(method):
        def answer(request, _):
            method(request.model)
            return Empty()

        return answer

    def health(*_):
        provider.health()
        return Empty()

    return {
        "Info": _unary(Empty, lambda *_: provider.info()),
        "Models": _unary(Empty, lambda *_: ModelList(list(provider.models()))),
        "Generate": _generate(provider),
        "Embed": _unary(EmbedRequest, _embed(provider)),
        "Load": _unary(ModelRequest, nothing(provider.load)),
        "Unload": _unary(ModelRequest, nothing(provider.unload)),
        "Health": _unary(Empty, health),
    }


def _services(provider, stop):
    """All that the host calls: the provider, and what go-plugin wants to know."""

    def shutdown(*_):
        stop.set()
        return b""

    serving = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse{status: SERVING}
    unary = grpc.unary_unary_rpc_method_handler
    return [
        (_SERVICE, _handlers(provider)),
        ("grpc.health.v1.Health", {"Check": unary(lambda *_: serving)}),
        ("plugin.GRPCController", {"Shutdown": unary(shutdown)}),
        # Nothing: what is printed reaches the host by standard error.
        ("plugin.GRPCStdio", {"StreamStdio": grpc.unary_stream_rpc_method_handler(lambda *_: iter(()))}),
    ]


def _keep_stdout():
    """Where standard output went; from now on it goes where standard error does."""
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(2, 1)
    return before


def _watch_host():
    """End this process when the host is gone."""
    host = os.environ.get("SKILLET_PLUGIN_HOST", "")
    if not host.isdigit() or os.name != "posix":
        return

    def watch():
        while os.getppid() == int(host):
            time.sleep(0.25)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _limit():
    """Bound this process as the host says, where the host cannot: not on Linux,
    where it has, and not on Windows, which has no such bounds."""
    try:
        import resource
    except ImportError:
        return
    names = (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)
    for name, text in zip(names, os.environ.get("SKILLET_PLUGIN_LIMITS", "").split(",")):
        most, hard = int(text) if text.isdigit() else 0, resource.getrlimit(name)[1]
        if most and (hard == resource.RLIM_INFINITY or most < hard):
            resource.setrlimit(name, (most, most))


def _listen(server):
    """Listen where the host says, for the host alone, and say where and who."""
    host_certificate = os.environ.get("PLUGIN_CLIENT_CERT")
    if not host_certificate:
        sys.exit("the host has sent no certificate")
    key, certificate, der = _certificate.make()
    credentials = grpc.ssl_server_credentials([(key, certificate)], host_certificate.encode(), True)
    network, address = "unix", os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(), "s")
    if os.name == "posix":
        server.add_secure_port("unix:" + address, credentials)
    else:
        network, address = "tcp", "127.0.0.1:%d" % server.add_secure_port("127.0.0.1:0", credentials)
    return network, address, base64.b64encode(der).decode().rstrip("=")


def serve(provider):
    """Serve a provider until the host stops it or is gone. It is the last that the
    main program does."""
    if os.environ.get(_COOKIE[0]) != _COOKIE[1]:
        sys.exit("this program is a plugin for Skillet, a provider: Skillet starts it")
    stdout, stop = _keep_stdout(), threading.Event()
    _watch_host()
    _limit()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=_WORKERS),
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            ("grpc.max_send_message_length", MAX_MESSAGE),
        ],
    )
    for name, methods in _services(provider, stop):
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, methods),))
    network, address, certificate = _listen(server)
    server.start()
    os.write(stdout, ("1|%d|%s|%s|grpc|%s\n" % (PROTOCOL, network, address, certificate)).encode())
    os.close(stdout)
    stop.wait()
    server.stop(1).wait()
