"""Other skills, which run with their own grants.

It needs the grant skill, and for a session the grant session. A tool may be left out when the skill has only one.
"""

from typing import Any
from .host import Content

def call(skill: str, input: Any = None, tool: str = "", session: str = "") -> Any:
    """Calls a tool with an input as JSON, and returns its output, which is JSON."""

def call_bytes(skill: str, input: Content, tool: str = "", session: str = "") -> bytes:
    """Calls a tool with any bytes, and returns any."""
