"""The contract of a provider: the messages of provider.proto, and what a provider
implements."""

from dataclasses import dataclass

from ._wire import field


@dataclass
class Empty:
    pass


@dataclass
class Info:
    """What a provider says of itself. version is a semantic version; local says that
    nothing leaves the machine."""

    name: str = field(1, "string")
    version: str = field(2, "string")
    local: bool = field(3, "bool")
    note: str = field(4, "string")


@dataclass
class Model:
    """A model that is offered. Prices are USD for a million tokens."""

    name: str = field(1, "string")
    tiers: list = field(2, "string", repeated=True)
    context_tokens: int = field(3, "int")
    output_tokens: int = field(4, "int")
    text: bool = field(5, "bool")
    tools: bool = field(6, "bool")
    json_schema: bool = field(7, "bool")
    thinking: bool = field(8, "bool")
    streaming: bool = field(9, "bool")
    embeddings: bool = field(10, "bool")
    dimensions: int = field(11, "int")
    memory_bytes: int = field(12, "int")
    loaded: bool = field(13, "bool")
    input_usd: float = field(14, "double")
    output_usd: float = field(15, "double")


@dataclass
class ModelList:
    models: list = field(1, Model, repeated=True)


@dataclass
class ModelRequest:
    model: str = field(1, "string")


@dataclass
class ToolCall:
    """A model's wish to have a tool called. input is an object."""

    id: str = field(1, "string")
    name: str = field(2, "string")
    input: object = field(3, "json")


@dataclass
class Message:
    """One turn: role is "user", "assistant" or "tool"."""

    role: str = field(1, "string")
    text: str = field(2, "string")
    calls: list = field(3, ToolCall, repeated=True)
    call_id: str = field(4, "string")
    failed: bool = field(5, "bool")
    opaque: object = field(6, "json")


@dataclass
class Tool:
    """A tool that may be called. input_schema is a JSON Schema."""

    name: str = field(1, "string")
    description: str = field(2, "string")
    input_schema: object = field(3, "json")


@dataclass
class GenerateRequest:
    """What a model is asked. schema is the JSON Schema of the answer, or None;
    temperature may be None."""

    model: str = field(1, "string")
    system: str = field(2, "string")
    messages: list = field(3, Message, repeated=True)
    tools: list = field(4, Tool, repeated=True)
    schema: object = field(5, "json")
    thinking: int = field(6, "int")
    max_tokens: int = field(7, "int")
    temperature: float = field(8, "optional double")
    stop: list = field(9, "string", repeated=True)


@dataclass
class Delta:
    """A piece of an answer."""

    text: str = field(1, "string")
    thinking: str = field(2, "string")


@dataclass
class Usage:
    """The tokens of an answer. Those of thinking are among output_tokens."""

    input_tokens: int = field(1, "int")
    output_tokens: int = field(2, "int")
    thinking_tokens: int = field(3, "int")
    cached_tokens: int = field(4, "int")
    estimated: bool = field(5, "bool")


@dataclass
class Response:
    """The whole answer. finish is "stop", "length", "tools" or "filter"."""

    model: str = field(1, "string")
    text: str = field(2, "string")
    thinking: str = field(3, "string")
    calls: list = field(4, ToolCall, repeated=True)
    finish: str = field(5, "string")
    usage: Usage = field(6, Usage)
    opaque: object = field(7, "json")


@dataclass
class PieceEvent:
    delta: Delta = field(1, Delta)


@dataclass
class WholeEvent:
    response: Response = field(2, Response)


@dataclass
class EmbedRequest:
    model: str = field(1, "string")
    texts: list = field(2, "string", repeated=True)


@dataclass
class Vector:
    values: list = field(1, "floats")


@dataclass
class VectorList:
    model: str = field(1, "string")
    vectors: list = field(2, Vector, repeated=True)
    usage: Usage = field(3, Usage)


@dataclass
class EmbedResponse:
    """A vector of unit length for each text, in order."""

    model: str = ""
    vectors: list = ()
    usage: Usage = None


@dataclass
class ErrorDetail:
    error_class: str = field(1, "string")
    message: str = field(2, "string")
    retry_after_ms: int = field(3, "int")


CLASSES = (
    "rate_limited",
    "timeout",
    "unavailable",
    "invalid",
    "refused",
    "context_length",
    "auth",
    "cancelled",
    "internal",
)


class ProviderError(Exception):
    """A failure of a provider: error_class is one of CLASSES, retry_after seconds."""

    def __init__(self, error_class, message, retry_after=0.0):
        if error_class not in CLASSES:
            raise ValueError("there is no class of failure %r" % (error_class,))
        super().__init__(message)
        self.error_class, self.message, self.retry_after = error_class, message, retry_after


class Provider:
    """What a provider implements. Its methods are called from several threads at a
    time. What they raise is a ProviderError, or a failure of the provider itself."""

    def info(self):
        """Return an Info."""
        raise NotImplementedError

    def models(self):
        """Return the Models that can be asked, in an order that does not change."""
        raise NotImplementedError

    def generate(self, request, call):
        """Answer a GenerateRequest: yield pieces, strings or Deltas, and last the
        whole Response. call.cancelled() says that nobody waits any more."""
        raise ProviderError("invalid", "this provider generates no text")

    def embed(self, request, call):
        """Return the EmbedResponse to an EmbedRequest."""
        raise ProviderError("invalid", "this provider makes no vectors")

    def load(self, model):
        """Have a model ready."""
        self._known(model)

    def unload(self, model):
        """Give back what a model takes."""
        self._known(model)

    def health(self):
        """Raise a ProviderError when no request can be answered now."""

    def _known(self, model):
        if all(m.name != model for m in self.models()):
            raise ProviderError("invalid", "there is no model %r" % (model,))
