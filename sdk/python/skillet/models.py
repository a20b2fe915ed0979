# Language models.
from collections import namedtuple
from . import host
from ._request import parsed

Answer = namedtuple("Answer", ["text", "model", "finish_reason", "input_tokens", "output_tokens"])


def ask(model, prompt, system="", max_tokens=0, temperature=None, format="text"):
    a = host.model_call(model, prompt, system, max_tokens, temperature, format)
    return Answer(str(a.body, "utf-8"), a.model, a.finish_reason, a.input_tokens, a.output_tokens)


def ask_json(model, prompt, system="", max_tokens=0, temperature=None):
    a = host.model_call(model, prompt, system, max_tokens, temperature, "json")
    return parsed(a.body, f"answer of model {model}")
