# A script that ran with the tools of skills as functions, as a skill. These are the lines of the
# script, as they ran; what is below runs them, and hands their calls to the skills.
_CODE = "\n".join(__CODE__)

# Tools that take a text as it stands, and whether the script has data, and which member of the input that is.
_TEXTS, _GIVEN, _MEMBER = __TEXTS__, __GIVEN__, __MEMBER__

__GUEST__

_ask, _given = _host, [None]


class _Failed(Exception):
    pass


# _as_json is what a tool answered as a script sees it: JSON, or else a text.
def _as_json(body):
    try:
        _json.loads(body)
        return body
    except ValueError:
        return _dumps(bytes(body).decode())


def _host(name, meta, body=None):
    asked = _json.loads(meta)
    if "data" in asked:
        return "{}", _dumps(_given[0])
    asked["skill"] = asked["skill"].replace("_", "-")
    if asked["skill"] + ":" + asked.get("tool", "") in _TEXTS:
        text = _json.loads(body)
        body = text if isinstance(text, str) else body
    meta, body = _ask(name, _json.dumps(asked), body)
    return meta, body if _json.loads(meta).get("error") else _as_json(body)


def run(input):
    _given[0] = input[_MEMBER] if _MEMBER else input
    done = _run({"code": _CODE, "given": _GIVEN})
    if "error" in done:
        e = _Failed(done["error"]["message"])
        e.kind = done["error"].get("kind", "failed")
        raise e
    return done["value"]
