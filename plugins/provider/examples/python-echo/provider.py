"""A provider that repeats what it is told: an example to begin with, and the proof
that a provider can be written without Go. It needs no model and no network.
"""

import math
import time

from skillet_provider import (
    Delta,
    EmbedResponse,
    Info,
    Model,
    Provider,
    ProviderError,
    Response,
    ToolCall,
    Usage,
    serve,
)

DIMENSIONS = 32
ROLES = ("user", "assistant", "tool")


def words(text):
    """The words of a text, each with the space behind it."""
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]


def fill(schema, value):
    """An object that has every property of type string which a schema requires."""
    return {name: value for name in schema.get("required", [])}


class Echo(Provider):
    def info(self):
        return Info(name="python-echo", version="1.0.0", local=True, note="It repeats what it is told.")

    def models(self):
        return [
            Model(
                name="echo",
                tiers=["fast"],
                context_tokens=8192,
                text=True,
                tools=True,
                json_schema=True,
                thinking=True,
                streaming=True,
                loaded=True,
            ),
            Model(name="letters", embeddings=True, dimensions=DIMENSIONS, loaded=True),
        ]

    def generate(self, request, call):
        self._check(request)
        answer = self._answer(request)
        if answer.thinking:
            yield Delta(thinking=answer.thinking)
        for word in words(answer.text) if answer.text else []:
            call.check()
            if request.messages[-1].text.startswith("slowly:"):
                time.sleep(0.01)
            yield word
        yield answer

    def _check(self, request):
        if request.model != "echo":
            raise ProviderError("invalid", "there is no text model %r" % (request.model,))
        if not request.messages:
            raise ProviderError("invalid", "there are no messages")
        for message in request.messages:
            if message.role not in ROLES:
                raise ProviderError("invalid", "there is no role %r" % (message.role,))

    def _answer(self, request):
        last = request.messages[-1]
        answer = Response(model="echo", text="You said: " + last.text, finish="stop")
        if request.schema:
            answer.text = '{"%s"}' % '", "'.join('%s": "%s' % item for item in fill(request.schema, "Paris").items())
        elif request.tools and last.role == "user":
            tool = request.tools[0]
            call = ToolCall(id="call-%d" % len(request.messages), name=tool.name, input=fill(tool.input_schema, "Paris"))
            answer.text, answer.finish, answer.calls = "", "tools", [call]
        elif last.text.startswith("slowly:"):
            answer.text = "and on " * 2000
        if request.thinking:
            answer.thinking = "I repeat it."
        return self._count(request, answer)

    def _count(self, request, answer):
        said = words(answer.text)
        if 0 < request.max_tokens < len(said):
            said = said[: request.max_tokens]
            answer.text, answer.finish = "".join(said), "length"
        thoughts = len(answer.thinking.split())
        asked = len(request.system.split()) + sum(1 + len(m.text.split()) for m in request.messages)
        answer.usage = Usage(input_tokens=asked, output_tokens=len(said) + thoughts, thinking_tokens=thoughts)
        return answer

    def embed(self, request, call):
        if request.model != "letters":
            raise ProviderError("invalid", "there is no model %r for vectors" % (request.model,))
        tokens = sum(1 + len(text.split()) for text in request.texts)
        return EmbedResponse("letters", [self._vector(text) for text in request.texts], Usage(input_tokens=tokens))

    def _vector(self, text):
        counts = [0.0] * DIMENSIONS
        for letter in text.lower() or "\0":
            counts[ord(letter) % DIMENSIONS] += 1
        length = math.sqrt(sum(n * n for n in counts))
        return [n / length for n in counts]


if __name__ == "__main__":
    serve(Echo())
