# Loggers that write to the log of the call. Handlers and formatters can be
# made, and change nothing.
import _skillet
import sys, io

NOTSET, DEBUG, INFO, WARNING, ERROR, CRITICAL = 0, 10, 20, 30, 40, 50
WARN, FATAL = WARNING, CRITICAL
_names = {0: "NOTSET", 10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
_loggers = {}


def getLevelName(level):
    if isinstance(level, str):
        return {v: k for k, v in _names.items()}.get(level, "Level " + level)
    return _names.get(level, "Level %d" % level)


def addLevelName(level, name):
    _names[level] = name


def _level(level):
    if isinstance(level, str):
        number = getLevelName(level.upper())
        if not isinstance(number, int):
            raise ValueError("Unknown level: " + repr(level))
        return number
    return level


class Logger:
    def __init__(self, name, level=NOTSET):
        self.name, self.level, self.handlers, self.propagate, self.disabled = name, level, [], True, False

    @property
    def parent(self):
        return None if self is root else getLogger(self.name.rpartition(".")[0])

    def setLevel(self, level):
        self.level = _level(level)

    def getEffectiveLevel(self):
        logger = self
        while logger is not None:
            if logger.level:
                return logger.level
            logger = logger.parent
        return NOTSET

    def isEnabledFor(self, level):
        return not self.disabled and level >= self.getEffectiveLevel()

    def log(self, level, msg, *args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
        if not self.isEnabledFor(level):
            return
        text = str(msg)
        if args:
            text = text % (args[0] if len(args) == 1 and isinstance(args[0], dict) else args)
        if isinstance(exc_info, BaseException):
            out = io.StringIO()
            sys.print_exception(exc_info, out)
            text += "\n" + out.getvalue().rstrip()
        if self is not root:
            text = self.name + ": " + text
        _skillet.log("error" if level >= ERROR else "warn" if level >= WARNING else "info" if level >= INFO else "debug", text)

    def debug(self, msg, *args, **kw):
        self.log(DEBUG, msg, *args, **kw)

    def info(self, msg, *args, **kw):
        self.log(INFO, msg, *args, **kw)

    def warning(self, msg, *args, **kw):
        self.log(WARNING, msg, *args, **kw)

    warn = warning

    def error(self, msg, *args, **kw):
        self.log(ERROR, msg, *args, **kw)

    def exception(self, msg, *args, **kw):
        self.log(ERROR, msg, *args, **kw)

    def critical(self, msg, *args, **kw):
        self.log(CRITICAL, msg, *args, **kw)

    fatal = critical

    def addHandler(self, handler):
        self.handlers.append(handler)

    def removeHandler(self, handler):
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self):
        return bool(self.handlers)

    def getChild(self, suffix):
        return getLogger(suffix if self is root else self.name + "." + suffix)


class Handler:
    def __init__(self, *args, **kw):
        self.level = NOTSET

    def setLevel(self, level):
        self.level = _level(level)

    def setFormatter(self, formatter):
        pass


StreamHandler = NullHandler = Handler


class Formatter:
    def __init__(self, *args, **kw):
        pass


root = Logger("root", WARNING)


def getLogger(name=None):
    if not name or name == "root":
        return root
    if name not in _loggers:
        _loggers[name] = Logger(name)
    return _loggers[name]


def basicConfig(level=None, **options):
    if level is not None:
        root.setLevel(level)


def disable(level=CRITICAL):
    root.disabled = True


def debug(msg, *args, **kw):
    root.log(DEBUG, msg, *args, **kw)


def info(msg, *args, **kw):
    root.log(INFO, msg, *args, **kw)


def warning(msg, *args, **kw):
    root.log(WARNING, msg, *args, **kw)


def error(msg, *args, **kw):
    root.log(ERROR, msg, *args, **kw)


exception = error


def critical(msg, *args, **kw):
    root.log(CRITICAL, msg, *args, **kw)
