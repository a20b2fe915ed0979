# Coroutines one after the other and in turns. Waiting is a look at the clock.
import time

TimeoutError = OSError


class CancelledError(BaseException):
    pass


class _Yield:
    def __await__(self):
        yield

    __iter__ = __await__


class Future:
    def __init__(self):
        self._done, self._value, self._error, self._calls = False, None, None, []

    def done(self):
        return self._done

    def result(self):
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self):
        return self._error

    def set_result(self, value):
        self._done, self._value = True, value

    def set_exception(self, e):
        self._done, self._error = True, e

    def __iter__(self):
        while not self._done:
            yield
        return self.result()

    __await__ = __iter__


class Task(Future):
    def __init__(self, coro):
        super().__init__()
        self._coro, self._cancel = coro, False

    def cancel(self, msg=None):
        if self._done:
            return False
        self._cancel = True
        return True

    def cancelled(self):
        return isinstance(self._error, CancelledError)

    def _step(self):
        try:
            if self._cancel:
                self._cancel = False
                self._coro.throw(CancelledError())
            else:
                self._coro.send(None)
        except StopIteration as e:
            self.set_result(e.value)
        except BaseException as e:
            self.set_exception(e)


_tasks = []


def create_task(coro, name=None):
    t = coro if isinstance(coro, Future) else Task(coro)
    if t not in _tasks:
        _tasks.append(t)
    return t


ensure_future = create_task


def _turn():
    for t in list(_tasks):
        if not t._done:
            t._step()
        if t._done and t in _tasks:
            _tasks.remove(t)


def run(coro, debug=None):
    main = create_task(coro)
    while not main._done:
        _turn()
    del _tasks[:]
    return main.result()


async def sleep(seconds, result=None):
    until = time.ticks_ms() + int(seconds * 1000)
    await _Yield()
    while time.ticks_ms() < until:
        await _Yield()
    return result


async def gather(*coros, return_exceptions=False):
    tasks, out = [create_task(c) for c in coros], []
    for t in tasks:
        while not t._done:
            await _Yield()
        if t._error is not None and not return_exceptions:
            raise t._error
        out.append(t._error if t._error is not None else t._value)
    return out


async def wait_for(coro, timeout):
    t = create_task(coro)
    until = None if timeout is None else time.ticks_ms() + int(timeout * 1000)
    while not t._done:
        if until is not None and time.ticks_ms() >= until:
            t.cancel()
            await _Yield()
            raise TimeoutError(110)
        await _Yield()
    return t.result()


async def wait(coros, timeout=None, return_when="ALL_COMPLETED"):
    tasks = [create_task(c) for c in coros]
    until = None if timeout is None else time.ticks_ms() + int(timeout * 1000)
    while True:
        done = [t for t in tasks if t._done]
        if len(done) == len(tasks) or done and return_when == "FIRST_COMPLETED" or until is not None and time.ticks_ms() >= until:
            return set(done), set([t for t in tasks if not t._done])
        await _Yield()


async def to_thread(f, *args, **kw):
    return f(*args, **kw)


def iscoroutinefunction(f):
    return False


class Event:
    def __init__(self):
        self._set = False

    def is_set(self):
        return self._set

    def set(self):
        self._set = True

    def clear(self):
        self._set = False

    async def wait(self):
        while not self._set:
            await _Yield()
        return True


class Semaphore:
    def __init__(self, value=1):
        self._value = value

    def locked(self):
        return self._value == 0

    async def acquire(self):
        while self._value == 0:
            await _Yield()
        self._value -= 1
        return True

    def release(self):
        self._value += 1

    async def __aenter__(self):
        await self.acquire()

    async def __aexit__(self, *exc):
        self.release()


class Lock(Semaphore):
    pass


class Queue:
    def __init__(self, maxsize=0):
        self._items, self._max = [], maxsize

    def qsize(self):
        return len(self._items)

    def empty(self):
        return not self._items

    def full(self):
        return 0 < self._max <= len(self._items)

    def put_nowait(self, item):
        self._items.append(item)

    def get_nowait(self):
        return self._items.pop(0)

    async def put(self, item):
        while self.full():
            await _Yield()
        self._items.append(item)

    async def get(self):
        while not self._items:
            await _Yield()
        return self._items.pop(0)
