"""A provider of Skillet in Python: what answers model and embedding requests.

    from skillet_provider import Info, Model, Provider, Response, serve

    class Echo(Provider):
        def info(self):
            return Info(name="echo", version="1.0.0", local=True)

        def models(self):
            return [Model(name="echo", text=True, streaming=True, loaded=True)]

        def generate(self, request, call):
            text = request.messages[-1].text
            for word in text.split():
                yield word + " "
            yield Response(model="echo", text=..., finish="stop")

    serve(Echo())

It needs grpcio and nothing else. The contract is that of the Go package
plugins/provider; the fields have the same names and meanings.
"""

from ._contract import (
    Delta,
    EmbedRequest,
    EmbedResponse,
    GenerateRequest,
    Info,
    Message,
    Model,
    Provider,
    ProviderError,
    Response,
    Tool,
    ToolCall,
    Usage,
)
from ._serve import Call, serve

__all__ = [
    "Call",
    "Delta",
    "EmbedRequest",
    "EmbedResponse",
    "GenerateRequest",
    "Info",
    "Message",
    "Model",
    "Provider",
    "ProviderError",
    "Response",
    "Tool",
    "ToolCall",
    "Usage",
    "serve",
]
