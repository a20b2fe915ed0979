import _skillet


def warn(message, category=None, stacklevel=1, source=None):
    _skillet.log("warn", str(message))


def filterwarnings(*args, **kw):
    pass


simplefilter = filterwarnings
