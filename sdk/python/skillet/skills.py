# Other skills.
import json
from . import host
from ._request import parsed


def call(skill, input=None, tool="", session=""):
    content = json.dumps({} if input is None else input, ensure_ascii=False)
    return parsed(call_bytes(skill, content, tool, session), f"output of skill {skill}")


def call_bytes(skill, input, tool="", session=""):
    return host.skill_call(skill, input, tool, session).body
