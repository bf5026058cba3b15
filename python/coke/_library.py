"""The shared library: where it is, its structs and functions, and its errors as exceptions.

Structs mirror include/coke/types.h (a test compares them); functions are declared in FUNCTIONS,
one line each. Everything else of the package calls `call(name, ...)`, which raises.
"""
import ctypes
import os
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_void_p)

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


# ---- structs of coke/types.h ----


class Sized(Structure):
    """A struct of the caller that begins with its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class coke_option_info(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("type", c_int), ("def", c_double),
                ("min", c_double), ("max", c_double), ("choices", c_char_p), ("help", c_char_p)]


class coke_progress(Structure):
    _fields_ = [("phase", c_char_p), ("epoch", c_int64), ("epochs", c_int64), ("done", c_int64),
                ("total", c_int64), ("objective", c_double), ("unit", c_char_p),
                ("detail", c_char_p)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(coke_progress))
LINE = CFUNCTYPE(None, c_void_p, c_char_p)
BAD_IMAGE = CFUNCTYPE(None, c_void_p, c_int64, c_char_p)


class coke_callbacks(Sized):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("progress", PROGRESS), ("say", LINE),
                ("warn", LINE), ("bad_image", BAD_IMAGE)]


class coke_memory(Sized):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("n", c_int64), ("dim", c_int32),
                ("type", c_int), ("row_stride", c_int64), ("column_stride", c_int64)]


class coke_cluster_input(Sized):
    _fields_ = [("size", c_size_t), ("rows", c_void_p), ("min_sizes", c_void_p),
                ("max_sizes", c_void_p), ("weights", c_void_p)]


class coke_head_summary(Sized):
    _fields_ = [("size", c_size_t), ("n", c_int64), ("k", c_int64), ("dim", c_int32),
                ("skipped", c_int64), ("epochs", c_int64), ("converged", c_int),
                ("eta", c_double), ("objective", c_double), ("labels_objective", c_double),
                ("size_min", c_int64), ("size_median", c_int64), ("size_max", c_int64),
                ("below_before_repair", c_int64), ("above_before_repair", c_int64),
                ("missing_before_repair", c_int64), ("bound_min", c_int64),
                ("bound_max", c_int64), ("repaired", c_int), ("moved", c_int64),
                ("primal", c_double), ("dual", c_double), ("gap", c_double),
                ("repair_bytes", c_int64), ("reads", c_double)]


class coke_timing(Structure):
    _fields_ = [("init", c_double), ("epochs", c_double), ("final", c_double),
                ("total", c_double), ("vectors_per_second", c_double)]


class coke_assign_job(Sized):
    _fields_ = [("size", c_size_t), ("rows", c_void_p), ("labels", c_void_p),
                ("scores", c_void_p), ("constrained", c_int), ("bad", c_int),
                ("callbacks", c_void_p)]


class coke_train_control(Sized):
    _fields_ = [("size", c_size_t), ("fresh", c_int), ("resume_anyway", c_int), ("force", c_int)]


class coke_train_summary(Sized):
    _fields_ = [("size", c_size_t), ("epochs", c_int64), ("images", c_int64), ("loss", c_double),
                ("seconds", c_double), ("waited", c_double), ("saving", c_double),
                ("resumed", c_int), ("monitored", c_int), ("knn20", c_double),
                ("knn200", c_double), ("matched_head", c_int), ("accuracy", c_double),
                ("nmi", c_double), ("ari", c_double)]


class coke_embed_summary(Sized):
    _fields_ = [("size", c_size_t), ("images", c_int64), ("dim", c_int32), ("bad", c_int64)]


class coke_eval_input(Sized):
    _fields_ = [("size", c_size_t), ("run", c_void_p), ("train", c_void_p), ("test", c_void_p),
                ("callbacks", c_void_p)]


class coke_knn_result(Sized):
    _fields_ = [("size", c_size_t), ("bank", c_int64), ("asked", c_int64), ("bad", c_int64),
                ("classes", c_int32), ("leave_one_out", c_int), ("n", c_int),
                ("k", c_int64 * 16), ("accuracy", c_double * 16)]


class coke_eval_row(Structure):
    _fields_ = [("rate", c_double), ("weight_decay", c_double), ("loss", c_double),
                ("top1", c_double), ("top5", c_double), ("loss_deviation", c_double),
                ("top1_deviation", c_double), ("top5_deviation", c_double)]


class coke_classifier_result(Sized):
    _fields_ = [("size", c_size_t), ("train", c_int64), ("test", c_int64), ("bad", c_int64),
                ("classes", c_int32), ("epochs", c_int64), ("batch", c_int64),
                ("trials", c_int64), ("seed", c_int64), ("n", c_int), ("best", c_int),
                ("row", coke_eval_row * 16)]


class coke_head_scores(Structure):
    _fields_ = [("k", c_int64), ("accuracy", c_double), ("many_to_one", c_double),
                ("nmi", c_double), ("ari", c_double)]


class coke_clusters_result(Sized):
    _fields_ = [("size", c_size_t), ("images", c_int64), ("bad", c_int64), ("classes", c_int32),
                ("heads", c_int), ("matched", c_int), ("head", coke_head_scores * 64)]


class coke_report_input(Sized):
    _fields_ = [("size", c_size_t), ("source", c_char_p), ("images", c_char_p),
                ("data", c_void_p), ("vectors", POINTER(c_char_p)), ("nvectors", c_int),
                ("callbacks", c_void_p)]


# ---- functions: their result (s = status, which `call` checks) and arguments ----

LETTERS = {"s": c_int, "i": c_int, "l": c_int64, "d": c_double, "p": c_void_p, "t": c_char_p,
           "z": c_size_t, "n": None, "w": c_int32}
FUNCTIONS = {
    # the library
    "last_error": "t", "version": "t", "isa": "t", "threads": "i", "set_threads": "si",
    # options
    "options_new": "spt", "options_free": "np", "options_set": "sptt", "options_set_int": "sptl",
    "options_set_float": "sptd", "options_get": "sptpz", "options_count": "ip",
    "options_describe": "spip",
    # rows, clusterings, models
    "rows_from_memory": "spp", "rows_open": "sppip", "rows_free": "np", "rows_count": "lp",
    "rows_dim": "wp", "rows_note": "tp", "rows_read": "sppl" + "p",
    "cluster_run": "spppp", "cluster_free": "np", "cluster_heads": "ip", "cluster_summary": "ppi",
    "cluster_timing": "pp", "cluster_labels": "spip", "cluster_pack": "spipp",
    "cluster_write": "spti", "bytes_free": "np",
    "model_load": "spt", "model_unpack": "sppz", "model_free": "np", "model_assign": "sppp",
    "file_write": "stpzi", "synthetic_fill": "splwwl",
    # k-means, batch by batch
    "kmeans_new": "sppppp", "kmeans_free": "np", "kmeans_step": "spppl" + "p",
    "kmeans_copy": "spipl", "kmeans_pack": "sppp", "kmeans_unpack": "sppz",
    # images
    "dataset_open": "sptp", "dataset_free": "np", "dataset_count": "lp", "dataset_name": "nplpz",
    "dataset_classes": "wp", "dataset_class_name": "tpw", "dataset_label": "wpl",
    "train_preset": "spt", "train_run": "spptppp",
    "run_is": "it", "run_open": "sptp", "run_free": "np", "run_heads": "ip", "run_k": "lpi",
    "run_epoch": "lp", "run_weights": "tp", "run_embed": "sppitipp", "run_assign": "sppipppp",
    "eval_knn": "sppp", "eval_linear": "sppp", "eval_finetune": "sppp", "eval_cluster": "spp",
    "report_write": "spptti" + "p", "export": "sttpip",
}


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
    """The functions of FUNCTIONS as attributes; loads the library when the first is used."""

    def __init__(self):
        self._lock = threading.Lock()
        self._dll = None

    def dll(self):
        with self._lock:
            if self._dll is None:
                self._dll = open_library(find_library())
        return self._dll

    def __getattr__(self, name):
        letters = FUNCTIONS.get(name)
        if letters is None:
            raise AttributeError(name)
        try:
            function = getattr(self.dll(), "coke_" + name)
        except AttributeError:
            raise Error("this build of libcoke has no coke_%s: build it with COKE_NN=ON" % name,
                        -1) from None
        function.restype = LETTERS[letters[0]]
        function.argtypes = [LETTERS[letter] for letter in letters[1:]]
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
    n = int(n_jobs)
    if n == 0:
        raise ValueError("n_jobs == 0 has no meaning; use -1 for all cores")
    n = max(1, cores + 1 + n) if n < 0 else n
    with thread_lock:
        if lib.threads() != n:
            call("set_threads", n)
