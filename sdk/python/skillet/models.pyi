"""Language models. It needs the grant model, and a provider that the host is configured with."""

from typing import Any, NamedTuple
from .host import Format

class Answer(NamedTuple):
    text: str
    # The model that answered.
    model: str
    # Why the answer ends where it does.
    finish_reason: str
    # Length of what was asked and of the answer, in tokens.
    input_tokens: int
    output_tokens: int

def ask(model: str, prompt: str, system: str = "", max_tokens: int = 0, temperature: float | None = None, format: Format = "text") -> Answer:
    """Asks a model.

    system: what it is told before the prompt
    max_tokens: the longest answer; 0 for the host's own limit
    temperature: how freely it chooses, from 0 to 2
    """

def ask_json(model: str, prompt: str, system: str = "", max_tokens: int = 0, temperature: float | None = None) -> Any:
    """Asks a model for JSON, and returns the value."""
