"""What happens while the library works: progress, notes, warnings, Ctrl-C."""
import ctypes
import math
import signal
import sys
import threading
import time
import warnings
from collections import namedtuple

from ._library import CokeWarning, constant, lib, raise_status, struct

STOPPED = constant.COKE_ESTOPPED
CONTINUE, STOP = constant.COKE_ANSWER_CONTINUE, constant.COKE_ANSWER_STOP

Progress = namedtuple("Progress", "phase epoch epochs done total objective unit detail")
Progress.__doc__ = "What a progress callback receives; `objective` is None if it is not known."


def text(value):
    return value.decode("utf-8", "replace") if value else None


def read_progress(p):
    objective = None if math.isnan(p.objective) else p.objective
    return Progress(text(p.phase), p.epoch, p.epochs, p.done, p.total, objective,
                    text(p.unit) or "rows", text(p.detail))


def title(p):
    """"epoch 3/10" or the phase, as the program shows it: a training begins with epoch 0."""
    if p.phase != "epoch" or not p.epochs:
        return p.phase
    first = p.unit == "rows"
    return "epoch %d/%d" % (p.epoch + first, p.epochs - 1 + first)


class Lines:
    """Progress as one line of standard error that is written again."""

    def __init__(self):
        self.last = 0.0

    def __call__(self, p):
        now = time.monotonic()
        if now - self.last < 0.2:
            return
        self.last = now
        goal = "/%d" % p.total if p.total else ""
        sys.stderr.write("\r\x1b[K%s: %d%s %s" % (title(p), p.done, goal, p.unit))
        sys.stderr.flush()

    def close(self):
        if self.last:
            sys.stderr.write("\r\x1b[K")


class Bar:
    """Progress as a bar of tqdm, one per phase and epoch."""

    def __init__(self, tqdm):
        self.tqdm = tqdm
        self.bar = None
        self.name = None

    def __call__(self, p):
        name = title(p)
        if name != self.name:
            self.close()
            self.name = name
            self.bar = self.tqdm(total=p.total or None, desc=name, unit=" " + p.unit, leave=False)
        if p.objective is not None:
            self.bar.set_postfix(objective="%.5f" % p.objective, refresh=False)
        self.bar.update(p.done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def display(progress):
    """None, a callable, or True: tqdm where it is installed."""
    if not progress or callable(progress):
        return progress or None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Lines()
    return Bar(tqdm)


class Watch:
    """The callbacks of one call of the library, and Ctrl-C during it.

    Python runs signal handlers between its own instructions: an exception there could hit the
    callback where it cannot be caught. So SIGINT only leaves a mark, the callback answers "stop",
    and the handler that was installed before runs when the library has returned."""

    def __init__(self, progress=None):
        self.show = display(progress)
        self.error = None
        self.interrupted = None  # arguments of the signal handler
        self.warnings = []
        self.bad_images = []
        kinds = dict(struct.coke_callbacks._fields_)
        mine = {"progress": self._progress, "say": self._say, "warn": self._warn,
                "bad_image": self._bad}
        self.callbacks = struct.coke_callbacks(**{n: kinds[n](f) for n, f in mine.items()})

    def _progress(self, _, p):
        if self.interrupted or self.error:
            return STOP
        if self.show is None:
            return CONTINUE
        try:
            return STOP if self.show(read_progress(struct.coke_progress.from_address(p))) is False else CONTINUE
        except BaseException as error:
            self.error = error
            return STOP

    def _say(self, _, line):
        try:
            if "logging" in sys.modules:  # else nobody listens
                import logging
                logging.getLogger("coke").info("%s", text(line))
        except BaseException as error:
            self.error = error

    def _warn(self, _, line):
        self.warnings.append(text(line))

    def _bad(self, _, index, sentence):
        self.bad_images.append((index, text(sentence)))

    def _mark(self, *arguments):
        self.interrupted = arguments

    def call(self, name, *arguments):
        """Calls coke_<name> with `arguments`; raises what the callbacks met, or its error."""
        function = getattr(lib, name)
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
        watched = callable(before)
        if watched:
            signal.signal(signal.SIGINT, self._mark)
        try:
            status = function(*arguments)
            if status and status != STOPPED and not self.interrupted:
                raise_status(status)
        finally:
            if watched:
                signal.signal(signal.SIGINT, before)
            if hasattr(self.show, "close"):
                self.show.close()
        if self.interrupted:
            before(*self.interrupted)
        if self.error is not None:
            raise self.error
        if status:
            raise_status(status)
        for line in self.warnings:
            warnings.warn(line, CokeWarning, stacklevel=4)

    @property
    def address(self):
        return ctypes.addressof(self.callbacks)
