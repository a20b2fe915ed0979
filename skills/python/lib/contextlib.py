class _Manager:
    def __init__(self, gen):
        self._gen = gen

    def __enter__(self):
        return next(self._gen)

    def __exit__(self, kind, value, trace):
        if kind is None:
            try:
                next(self._gen)
            except StopIteration:
                return False
            raise RuntimeError("generator didn't stop")
        try:
            self._gen.throw(value if value is not None else kind())
        except StopIteration:
            return True
        except BaseException as e:
            if e is value:
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")


def contextmanager(f):
    return lambda *args, **kw: _Manager(f(*args, **kw))


class AbstractContextManager:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


class ContextDecorator:
    def __call__(self, f):
        def inner(*args, **kw):
            with self:
                return f(*args, **kw)
        return inner


class closing(AbstractContextManager):
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, *exc):
        self.thing.close()


class nullcontext(AbstractContextManager):
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result


class suppress(AbstractContextManager):
    def __init__(self, *kinds):
        self._kinds = kinds

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self._kinds)


class redirect_stdout(AbstractContextManager):
    def __init__(self, target):
        raise NotImplementedError("print goes to the log and cannot be redirected: give it a file")


class ExitStack(AbstractContextManager):
    def __init__(self):
        self._exits = []

    def enter_context(self, cm):
        value = cm.__enter__()
        self._exits.append(cm.__exit__)
        return value

    def push(self, exit):
        self._exits.append(exit.__exit__ if hasattr(exit, "__exit__") else exit)
        return exit

    def callback(self, f, *args, **kw):
        def run(kind, value, trace):
            f(*args, **kw)
        self._exits.append(run)
        return f

    def pop_all(self):
        other = ExitStack()
        other._exits, self._exits = self._exits, []
        return other

    def close(self):
        self.__exit__(None, None, None)

    def __exit__(self, kind, value, trace):
        handled, pending = False, None
        while self._exits:
            try:
                if self._exits.pop()(kind, value, trace):
                    kind = value = trace = pending = None
                    handled = True
            except BaseException as e:
                kind, value, trace = type(e), e, None
                pending = e
        if pending is not None:
            raise pending
        return handled
