# The part of argparse that scripts use: positional and optional arguments,
# types, choices, defaults, actions, numbers of values, groups and subcommands.
import sys

SUPPRESS = "==SUPPRESS=="
OPTIONAL, ZERO_OR_MORE, ONE_OR_MORE, REMAINDER = "?", "*", "+", "..."


class ArgumentTypeError(Exception):
    pass


class ArgumentError(Exception):
    def __init__(self, argument, message):
        super().__init__(message)


class HelpFormatter:
    pass


class RawDescriptionHelpFormatter(HelpFormatter):
    pass


class RawTextHelpFormatter(HelpFormatter):
    pass


class ArgumentDefaultsHelpFormatter(HelpFormatter):
    pass


class MetavarTypeHelpFormatter(HelpFormatter):
    pass


class Namespace:
    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)

    def __repr__(self):
        return "Namespace(%s)" % ", ".join(["%s=%r" % (k, v) for k, v in self.__dict__.items()])

    def __contains__(self, key):
        return key in self.__dict__


class FileType:
    def __init__(self, mode="r", bufsize=-1, encoding=None, errors=None):
        self.mode = mode

    def __call__(self, name):
        return open(name, self.mode)


class BooleanOptionalAction:
    pass


class _Argument:
    def __init__(self, names, kwargs):
        self.names = names
        self.action = kwargs.get("action", "store")
        self.nargs = kwargs.get("nargs")
        self.type = kwargs.get("type")
        self.choices = kwargs.get("choices")
        self.const = kwargs.get("const")
        self.default = kwargs.get("default")
        self.help = kwargs.get("help")
        self.metavar = kwargs.get("metavar")
        self.version = kwargs.get("version")
        self.optional = names[0].startswith("-")
        self.required = kwargs.get("required", not self.optional and self.nargs not in ("?", "*", "..."))
        self.dest = kwargs.get("dest") or self._dest()
        if self.action == "store_true":
            self.const, self.default = True, kwargs.get("default", False)
        elif self.action == "store_false":
            self.const, self.default = False, kwargs.get("default", True)
        elif self.action is BooleanOptionalAction:
            self.names = names + ["--no-" + n[2:] for n in names if n.startswith("--")]
        elif self.action == "count" and self.default is None and "default" not in kwargs:
            self.default = None

    def _dest(self):
        long = [n for n in self.names if n.startswith("--")]
        return (long or self.names)[0].lstrip("-").replace("-", "_") if self.optional else self.names[0]

    def takes_value(self):
        return self.action in ("store", "append", "extend")

    def label(self):
        if isinstance(self.metavar, tuple):
            return " ".join(self.metavar)
        if self.metavar:
            return self.metavar
        if self.choices:
            return "{" + ",".join([str(c) for c in self.choices]) + "}"
        return self.dest.upper() if self.optional else self.dest

    def usage(self):
        text = self.names[0] if self.optional else ""
        if not self.optional or self.takes_value():
            value = self.label()
            if self.nargs in ("*", "..."):
                value = "[%s ...]" % value
            elif self.nargs == "+":
                value = "%s [%s ...]" % (value, value)
            elif self.nargs == "?":
                value = "[%s]" % value
            text = (text + " " + value).strip()
        return text if self.required else "[" + text + "]"


class _Group:
    def __init__(self, parser, required=False, exclusive=False):
        self.parser, self.required, self.exclusive, self.members = parser, required, exclusive, []

    def add_argument(self, *names, **kwargs):
        a = self.parser.add_argument(*names, **kwargs)
        self.members.append(a)
        return a

    def add_argument_group(self, *args, **kwargs):
        return self.parser.add_argument_group()

    def add_mutually_exclusive_group(self, required=False):
        return self.parser.add_mutually_exclusive_group(required)


class _Subparsers:
    def __init__(self, parser, dest, required):
        self.parser, self.dest, self.required, self.choices = parser, dest, required, {}

    def add_parser(self, name, aliases=(), **kwargs):
        kwargs.setdefault("prog", self.parser.prog + " " + name)
        kwargs["description"] = kwargs.get("description") or kwargs.pop("help", None)
        kwargs.pop("help", None)
        p = ArgumentParser(**kwargs)
        for n in [name] + list(aliases):
            self.choices[n] = p
        return p


class ArgumentParser:
    def __init__(self, prog=None, usage=None, description=None, epilog=None, parents=(), formatter_class=None,
                 add_help=True, **kwargs):
        self.prog = prog or (sys.argv[0].split("/")[-1] if sys.argv else "script")
        self.text, self.description, self.epilog = usage, description, epilog
        self.arguments, self.groups, self.subparsers, self.defaults = [], [], None, {}
        if add_help:
            self.add_argument("-h", "--help", action="help", help="show this help message and exit")
        for p in parents:
            self.arguments += [a for a in p.arguments if a.action != "help"]

    def add_argument(self, *names, **kwargs):
        a = _Argument(list(names) or [kwargs["dest"]], kwargs)
        self.arguments.append(a)
        return a

    def add_argument_group(self, *args, **kwargs):
        return _Group(self)

    def add_mutually_exclusive_group(self, required=False):
        g = _Group(self, required, True)
        self.groups.append(g)
        return g

    def add_subparsers(self, dest=None, required=False, **kwargs):
        self.subparsers = _Subparsers(self, dest, required)
        return self.subparsers

    def set_defaults(self, **kwargs):
        self.defaults.update(kwargs)

    def get_default(self, dest):
        for a in self.arguments:
            if a.dest == dest:
                return a.default
        return self.defaults.get(dest)

    def format_usage(self):
        if self.text:
            return "usage: %s\n" % self.text.replace("%(prog)s", self.prog)
        parts = [a.usage() for a in self.arguments if a.optional and a.help != SUPPRESS]
        parts += [a.usage() for a in self.arguments if not a.optional]
        if self.subparsers:
            parts.append("{%s} ..." % ",".join(self.subparsers.choices))
        return "usage: %s\n" % " ".join([self.prog] + parts)

    def format_help(self):
        lines = [self.format_usage()]
        if self.description:
            lines.append(self.description + "\n")
        for title, optional in (("positional arguments", False), ("options", True)):
            shown = [a for a in self.arguments if a.optional == optional and a.help != SUPPRESS]
            if shown:
                lines.append(title + ":")
                for a in shown:
                    name = ", ".join(a.names) if optional else a.label()
                    if optional and a.takes_value():
                        name += " " + a.label()
                    text = (a.help or "").replace("%(default)s", str(a.default)).replace("%(prog)s", self.prog).replace("%%", "%")
                    lines.append("  %s  %s" % (name, text))
                lines.append("")
        if self.subparsers:
            lines.append("commands:\n  " + "\n  ".join(self.subparsers.choices) + "\n")
        if self.epilog:
            lines.append(self.epilog)
        return "\n".join(lines).rstrip() + "\n"

    def print_help(self, file=None):
        self._show(self.format_help(), file)

    def print_usage(self, file=None):
        self._show(self.format_usage(), file)

    def _show(self, text, file):
        print(text, end="", file=file)

    def exit(self, status=0, message=None):
        if message:
            print(message, end="", file=sys.stderr)
        sys.exit(status)

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(2, "%s: error: %s\n" % (self.prog, message))

    def parse_args(self, args=None, namespace=None):
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error("unrecognized arguments: " + " ".join(rest))
        return found

    def parse_known_args(self, args=None, namespace=None):
        args = list(sys.argv[1:] if args is None else args)
        found = namespace or Namespace()
        for a in self.arguments:
            if a.action not in ("help", "version") and a.default != SUPPRESS and not hasattr(found, a.dest):
                d = a.default
                setattr(found, a.dest, self._typed(a, d) if isinstance(d, str) and a.takes_value() else d)
        for k, v in self.defaults.items():
            setattr(found, k, v)
        return found, _Run(self, found, args).rest

    def _typed(self, a, text):
        if a.type is None:
            return text
        try:
            return a.type(text)
        except (ValueError, TypeError, ArgumentTypeError) as e:
            why = str(e) if isinstance(e, ArgumentTypeError) else "invalid value: %r" % (text,)
            self.error("argument %s: %s" % ("/".join(a.names), why))

    def _checked(self, a, text):
        v = self._typed(a, text)
        if a.choices is not None and v not in a.choices:
            self.error("argument %s: invalid choice: %r (choose from %s)" % ("/".join(a.names), v, ", ".join([str(c) for c in a.choices])))
        return v


class _Run:
    # One parse of a command line.
    def __init__(self, parser, found, args):
        self.p, self.found, self.args, self.rest, self.seen = parser, found, args, [], []
        self.words = []
        self.ended = False
        while self.args:
            self.step()
        self.positional()
        self.missing()

    def step(self):
        word = self.args.pop(0)
        if word == "--" and not self.ended:
            self.ended = True
            return
        if self.ended or not word.startswith("-") or word == "-" or self.number(word):
            self.word(word)
            return
        name, _, value = word.partition("=") if word.startswith("--") else (word, "", None)
        has = word.startswith("--") and "=" in word
        a = self.option(name)
        if a is None and not word.startswith("--") and len(word) > 2:
            a = self.option(word[:2])
            if a is not None and a.takes_value():
                name, value, has = word[:2], word[2:], True
            elif a is not None:
                name = word[:2]
                self.args.insert(0, "-" + word[2:])
        if a is None:
            self.rest.append(word)
            return
        self.seen.append(a)
        self.act(a, name, value if has else None)

    def number(self, word):
        try:
            float(word)
            return self.option(word) is None
        except ValueError:
            return False

    def option(self, name):
        for a in self.p.arguments:
            if a.optional and name in a.names:
                return a
        near = [a for a in self.p.arguments if a.optional and name.startswith("--") and [n for n in a.names if n.startswith(name)]]
        return near[0] if len(near) == 1 else None

    def word(self, word):
        subs = self.p.subparsers
        left = [a for a in self.p.arguments if not a.optional]
        if subs and len(self.words) >= len(left):
            if word not in subs.choices:
                self.p.error("invalid choice: %r (choose from %s)" % (word, ", ".join(subs.choices)))
            if subs.dest:
                setattr(self.found, subs.dest, word)
            subs.required = False
            _, rest = subs.choices[word].parse_known_args(self.args, self.found)
            self.rest += rest
            self.args = []
            return
        if left and left[-1].nargs == "..." and len(self.words) >= len(left) - 1:
            self.words += [word] + self.args
            self.args = []
            return
        self.words.append(word)

    def act(self, a, name, value):
        set_ = lambda v: setattr(self.found, a.dest, v)
        if a.action == "help":
            self.p.print_help()
            self.p.exit()
        elif a.action == "version":
            print((a.version or "").replace("%(prog)s", self.p.prog))
            self.p.exit()
        elif a.action in ("store_true", "store_false", "store_const"):
            set_(a.const)
        elif a.action is BooleanOptionalAction:
            set_(not name.startswith("--no-"))
        elif a.action == "count":
            set_((getattr(self.found, a.dest, None) or 0) + 1)
        elif a.action == "append_const":
            set_((getattr(self.found, a.dest, None) or []) + [a.const])
        elif a.action in ("append", "extend"):
            v = self.values(a, value)
            old = list(getattr(self.found, a.dest, None) or [])
            set_(old + (v if a.action == "extend" and isinstance(v, list) else [v]))
        else:
            set_(self.values(a, value))

    def values(self, a, value):
        n = a.nargs
        if value is not None:
            v = self.p._checked(a, value)
            return [v] if n in ("*", "+") or isinstance(n, int) else v
        got = []
        most = 1 if n in (None, "?") else n if isinstance(n, int) else 1 << 30
        while self.args and len(got) < most and (not self.args[0].startswith("-") or self.args[0] == "-" or self.number(self.args[0])):
            got.append(self.p._checked(a, self.args.pop(0)))
        if n == "?" and not got:
            return a.const
        if n is None and not got or n == "+" and not got or isinstance(n, int) and len(got) < n:
            self.p.error("argument %s: expected %s" % ("/".join(a.names), "one argument" if n is None else "more arguments"))
        return got[0] if n in (None, "?") else got

    def positional(self):
        left = [a for a in self.p.arguments if not a.optional]
        words = self.words
        for i, a in enumerate(left):
            after = sum([1 if b.nargs in (None, "+") else b.nargs if isinstance(b.nargs, int) else 0 for b in left[i + 1:]])
            free = len(words) - after
            n = a.nargs
            take = min(1, free) if n in (None, "?") else n if isinstance(n, int) else free
            if take <= 0:
                continue
            got, words = words[:take], words[take:]
            got = [self.p._checked(a, w) for w in got]
            setattr(self.found, a.dest, got[0] if n in (None, "?") else got)
            self.seen.append(a)
        self.rest = words + self.rest
        for a in left:
            if a not in self.seen and a.nargs in ("*", "...") and getattr(self.found, a.dest, None) is None:
                setattr(self.found, a.dest, [])

    def missing(self):
        lacks = ["/".join(a.names) if a.optional else a.label() for a in self.p.arguments if a.required and a not in self.seen]
        if lacks:
            self.p.error("the following arguments are required: " + ", ".join(lacks))
        for g in self.p.groups:
            given = [a for a in g.members if a in self.seen]
            if len(given) > 1:
                self.p.error("argument %s: not allowed with argument %s" % ("/".join(given[1].names), "/".join(given[0].names)))
            if g.required and not given:
                self.p.error("one of the arguments %s is required" % " ".join([a.names[0] for a in g.members]))
        subs = self.p.subparsers
        if subs and subs.required:
            self.p.error("the following arguments are required: %s" % (subs.dest or "command"))
        if subs and subs.dest and not hasattr(self.found, subs.dest):
            setattr(self.found, subs.dest, None)
