"""The shared library: where it is, its functions, and its errors as exceptions.

The rest of the package uses `call(name, ...)`, which raises, `lib.name(...)` for functions without
a status, `struct.coke_x` and `constant.COKE_X`."""
import ctypes
import operator
import os
import threading
import types
from ctypes import c_void_p

from ._header import Header

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- errors ----


class Error(Exception):
    """A failure of the library: its sentence, and `status` as in coke.h."""

    status = -1

    def __init__(self, message="", status=None):
        super().__init__(message)
        if status is not None:
            self.status = status

    def __reduce__(self):
        return type(self), (str(self), self.status)


class UsageError(Error, ValueError):
    """An argument or option is invalid."""

    status = -2


class FormatError(Error, ValueError):
    """A file is malformed, truncated or of another kind."""

    status = -3


class FileError(Error, OSError):
    """Reading or writing failed."""

    status = -4

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class OutOfMemory(Error, MemoryError):
    """The library could not allocate memory."""

    status = -5


class NumericError(Error, ValueError):
    """NaN, infinity or a zero row where it is not allowed."""

    status = -6


class Stopped(Error):
    """A progress callback returned False."""

    status = -75


CLASSES = {kind.status: kind for kind in (UsageError, FormatError, FileError, OutOfMemory,
                                          NumericError, Stopped)}


class CokeWarning(UserWarning):
    """What the library warns about."""


# ---- the library ----

header = Header()
struct = types.SimpleNamespace(**header.struct)
constant = types.SimpleNamespace(**header.constant)


def find_library():
    """COKE_LIBRARY, the one in the package, or the system's."""
    chosen = os.environ.get("COKE_LIBRARY")
    if chosen:
        return os.path.abspath(chosen)
    inside = os.path.join(HERE, "libcoke.so")
    return inside if os.path.exists(inside) else "libcoke.so.0"


def open_library(path):
    """Loads it. Waiting OpenMP threads of a full build must not spin: libgomp reads the setting
    when it is loaded, and other libraries must not see it (docs/decisions/007)."""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    ours = not any(os.environ.get(name) for name in names)
    if ours:
        os.environ["GOMP_SPINCOUNT"] = "0"
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("libcoke cannot be loaded: %s; set COKE_LIBRARY to its path" % error)
    finally:
        if ours:
            del os.environ["GOMP_SPINCOUNT"]


class Library:
    """The functions of coke.h as attributes; loads the library when the first is used."""

    def __init__(self):
        self._lock = threading.Lock()
        self._dll = None

    def dll(self):
        with self._lock:
            if self._dll is None:
                self._dll = open_library(find_library())
        return self._dll

    def __getattr__(self, name):
        if name not in header.function:
            raise AttributeError(name)
        try:
            function = getattr(self.dll(), "coke_" + name)
        except AttributeError:
            raise Error("this build of libcoke has no coke_%s: build it with COKE_NN=ON" % name,
                        -1) from None
        function.restype, function.argtypes, _ = header.function[name]
        setattr(self, name, function)
        return function

    def has(self, name):
        return hasattr(self.dll(), "coke_" + name)


lib = Library()


def raise_status(status):
    sentence = (lib.last_error() or b"").decode("utf-8", "replace")
    raise CLASSES.get(status, Error)(sentence, status)


def call(name, *arguments):
    """Calls coke_<name>, a function with a status, and raises its error."""
    status = getattr(lib, name)(*arguments)
    if status:
        raise_status(status)


def make(name, *arguments):
    """Calls a constructor; returns the new object's address."""
    out = c_void_p()
    call(name, ctypes.byref(out), *arguments)
    return out.value


class Handle:
    """Owns an object of the library and frees it once, at the latest when it is collected."""

    def __init__(self, address, free, keep=()):
        self.address = address
        self.free = free
        self.keep = keep  # what the object borrows

    def close(self):
        address, self.address = self.address, None
        if address:
            getattr(lib, self.free)(address)
        self.keep = ()

    def __reduce__(self):
        raise TypeError("cannot pickle an object of the library, which is an address")

    def __del__(self):
        try:
            self.close()
        except Exception:  # the interpreter is ending
            pass


def encode(path):
    """A path as bytes for the library."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("embedded null byte in %r" % (path,))
    return name


thread_lock = threading.Lock()


def set_threads(n_jobs):
    """n_jobs as in scikit-learn; None leaves the number as it is."""
    if n_jobs is None:
        return
    cores = len(os.sched_getaffinity(0))
    try:
        n = operator.index(n_jobs)
    except TypeError:
        raise ValueError("n_jobs: %r is not an integer" % (n_jobs,)) from None
    if n == 0:
        raise ValueError("n_jobs == 0 has no meaning; use -1 for all cores")
    n = max(1, cores + 1 + n) if n < 0 else n
    with thread_lock:
        if lib.threads() != n:
            call("set_threads", n)
