# JSON with strings that are long.
import json


def run(input):
    out = {}
    texts = {
        "plain": "0123456789abcdef" * 700,
        "lines": "a line\n\t\"quoted\" \\ back / \r \x02" * 400,
        "unicode": "Gr\u00fc\u00dfe, \u4e16\u754c \U0001f680 " * 700,
        "slashes": "\\" * 9001,
        "short": "x",
    }
    for name, text in texts.items():
        for ascii in (True, False):
            written = json.dumps({"k": [text, 1, None], text: text}, ensure_ascii=ascii)
            out[name + str(ascii)] = [len(written), written[:40], written[-40:], json.loads(written) == {"k": [text, 1, None], text: text}]
        read = json.loads(json.dumps([text, "\x01" + "0", "\u00fc"]).encode())
        out[name + " read"] = [len(read[0]), read[0][-20:], read[1:]]
    long = "y" * 10000
    out["marks"] = [s[:12] for s in json.loads('["' + long + '", "0", "\\u0001"]')]
    out["pair"] = json.loads('"' + long + '\\ud83d\\ude80"')[-2:]
    for wrong in ('"' + long, '["' + long + '"', '"' + long + '\\x"', '"' + long + '\\u12g4"', '"' + long + '" 1', '"' + long + '\\"'):
        try:
            json.loads(wrong)
            out[wrong[-5:]] = "read"
        except ValueError:
            out[wrong[-5:]] = "wrong"
    return out
