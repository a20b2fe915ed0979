"""A provider of embeddings that know meaning and need no network: the model
all-MiniLM-L6-v2, which comes with a Python package."""

import threading

import minilm
from skillet_provider import EmbedResponse, Info, Model, Provider, ProviderError, Usage, serve

VERSION = "1.0.0"

# The weights, and what a batch of long texts takes besides.
MEMORY_BYTES = 256 << 20


class MiniLM(Provider):
    def __init__(self):
        self._lock = threading.Lock()
        self._model = None

    def info(self):
        note = "Embeddings of English sentences. The first %d word pieces of a text count." % minilm.MAX_TOKENS
        return Info(name="minilm", version=VERSION, local=True, note=note)

    def models(self):
        return [
            Model(
                name=minilm.NAME,
                embeddings=True,
                dimensions=minilm.DIMENSIONS,
                context_tokens=minilm.MAX_TOKENS,
                memory_bytes=MEMORY_BYTES,
                loaded=self._model is not None,
            )
        ]

    def embed(self, request, call):
        self._known(request.model)
        vectors, tokens = self._loaded().embed(request.texts, call.check)
        return EmbedResponse(minilm.NAME, vectors.tolist(), Usage(input_tokens=tokens))

    def load(self, model):
        self._known(model)
        self._loaded()

    def unload(self, model):
        self._known(model)
        with self._lock:
            self._model = None

    def health(self):
        try:
            minilm.directory()
        except FileNotFoundError as missing:
            raise ProviderError("unavailable", str(missing)) from missing

    def _loaded(self):
        """The model, which is read when it is first asked for."""
        self.health()
        with self._lock:
            if self._model is None:
                self._model = minilm.Model()
            return self._model


if __name__ == "__main__":
    serve(MiniLM())
