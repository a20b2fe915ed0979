# Wrapping and indenting of text. Words are what stands between white space and
# behind hyphens.
def dedent(text):
    lines = text.split("\n")
    margin = None
    for i, line in enumerate(lines):
        body = line.lstrip(" \t")
        if not body:
            lines[i] = ""
            continue
        indent = line[:len(line) - len(body)]
        if margin is None:
            margin = indent
        n = 0
        while n < min(len(margin), len(indent)) and margin[n] == indent[n]:
            n += 1
        margin = margin[:n]
    return "\n".join([line[len(margin):] if margin and line else line for line in lines])


def indent(text, prefix, predicate=None):
    test = predicate or (lambda line: line.strip())
    return "".join([prefix + line if test(line) else line for line in text.splitlines(True)])


def _chunks(text, hyphens):
    out, i = [], 0
    while i < len(text):
        j = i
        while j < len(text) and (text[j] == " ") == (text[i] == " "):
            j += 1
        word = text[i:j]
        at = 0
        for k in range(2, len(word)):
            if hyphens and word[k - 1] == "-" and word[k].isalpha() and word[k - 2].isalpha() and (at == 0 or k - at > 1):
                if k - at >= 2 and word[at:k - 1].isalpha():
                    out.append(word[at:k])
                    at = k
        out.append(word[at:])
        i = j
    return out


class TextWrapper:
    def __init__(self, width=70, initial_indent="", subsequent_indent="", expand_tabs=True, replace_whitespace=True, fix_sentence_endings=False,
                 break_long_words=True, drop_whitespace=True, break_on_hyphens=True, tabsize=8, max_lines=None, placeholder=" [...]"):
        self.width, self.initial_indent, self.subsequent_indent = width, initial_indent, subsequent_indent
        self.expand_tabs, self.replace_whitespace, self.tabsize = expand_tabs, replace_whitespace, tabsize
        self.break_long_words, self.drop_whitespace, self.break_on_hyphens = break_long_words, drop_whitespace, break_on_hyphens
        self.max_lines, self.placeholder = max_lines, placeholder

    def wrap(self, text):
        if self.width <= 0:
            raise ValueError("invalid width " + repr(self.width) + " (must be > 0)")
        if self.expand_tabs:
            text = text.expandtabs(self.tabsize)
        if self.replace_whitespace:
            text = "".join([" " if c in "\t\n\x0b\x0c\r" else c for c in text])
        chunks, lines = _chunks(text, self.break_on_hyphens), []
        while chunks:
            indent = self.subsequent_indent if lines else self.initial_indent
            room = self.width - len(indent)
            if self.drop_whitespace and not chunks[0].strip() and lines:
                del chunks[0]
            line, length = [], 0
            while chunks and length + len(chunks[0]) <= room:
                length += len(chunks[0])
                line.append(chunks.pop(0))
            if chunks and len(chunks[0]) > room:
                space = 1 if room < 1 else room - length
                if self.break_long_words:
                    line.append(chunks[0][:space])
                    chunks[0] = chunks[0][space:]
                elif not line:
                    line.append(chunks.pop(0))
                length = sum([len(c) for c in line])
            if self.drop_whitespace and line and not line[-1].strip():
                length -= len(line[-1])
                del line[-1]
            if not line:
                continue
            last = self.max_lines is not None and len(lines) + 1 >= self.max_lines
            if not last or (not chunks or self.drop_whitespace and len(chunks) == 1 and not chunks[0].strip()) and length <= room:
                lines.append(indent + "".join(line))
                continue
            while line:
                if line[-1].strip() and length + len(self.placeholder) <= room:
                    lines.append(indent + "".join(line) + self.placeholder)
                    return lines
                length -= len(line.pop())
            if lines:
                before = lines[-1].rstrip()
                if len(before) + len(self.placeholder) <= self.width:
                    lines[-1] = before + self.placeholder
                    return lines
            lines.append(indent + self.placeholder.lstrip())
            return lines
        return lines

    def fill(self, text):
        return "\n".join(self.wrap(text))


def wrap(text, width=70, **options):
    return TextWrapper(width, **options).wrap(text)


def fill(text, width=70, **options):
    return "\n".join(wrap(text, width, **options))


def shorten(text, width, **options):
    return TextWrapper(width, max_lines=1, **options).fill(" ".join(text.strip().split()))
