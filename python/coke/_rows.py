"""Rows to cluster, from whatever the user has: arrays without a copy where the layout allows,
tensors, Arrow tables, data frames, and files."""
import ctypes
import os
import sys

import numpy as np

from ._library import Handle, call, constant, encode, lib, make, struct
from ._options import Options

NUMBERS = {"f4": constant.COKE_NUMBER_F32, "f2": constant.COKE_NUMBER_F16,
           "f8": constant.COKE_NUMBER_F64, "u1": constant.COKE_NUMBER_U8,
           "i1": constant.COKE_NUMBER_I8}
CPU_DEVICES = (1, 3, 11, 13)  # DLPack: CPU, and memory of CUDA and ROCm that the CPU can read


class Rows:
    """Rows of float32, read by the library when they are needed.

    `coke.open_rows` makes them of files, which may be larger than memory; every function that
    takes an array takes them, too. Indexing copies rows to a numpy array."""

    def __init__(self, handle, source, names=None, opened=None):
        self._handle = handle
        self.source = source
        self.names = names  # of the columns, or None
        self._opened = opened  # (paths, options) of files

    def __reduce__(self):
        if self._opened is None:
            raise TypeError("cannot pickle rows that are not of files")
        return open_again, self._opened

    @property
    def address(self):
        if not self.is_open:
            raise ValueError("these rows are closed")
        return self._handle.address

    @property
    def shape(self):
        return lib.rows_count(self.address), lib.rows_dim(self.address)

    dtype = np.dtype(np.float32)
    ndim = 2

    @property
    def is_open(self):
        return bool(self._handle.address)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, which):
        """Rows by number, slice or list of numbers, as float32."""
        n, dim = self.shape
        scalar = np.ndim(which) == 0 and not isinstance(which, slice)
        index = np.arange(n, dtype=np.int64)[[which] if scalar else which]
        index = np.ascontiguousarray(index, dtype=np.int64)
        out = np.empty((len(index), dim), np.float32)
        call("rows_read", self.address, index.ctypes.data, len(index), out.ctypes.data)
        return out[0] if scalar else out

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("rows of files are copied to become an array")
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def close(self):
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        if not self.is_open:
            return "<coke.Rows of %s: closed>" % self.source
        return "<coke.Rows of %s: %d x %d>" % ((self.source,) + self.shape)


def open_rows(*paths, **options):
    """Opens files of rows: all formats of `coke cluster` (docs/formats.md).

    Parameters
    ----------
    *paths : str or path
        Several files are one list of rows; a pattern ("part-*.npy") or a folder stands for its
        files, "file.h5:/train" for an array in a file.
    **options
        Options of kind `rows`, as `coke.options("rows")` lists them.

    Returns
    -------
    Rows
    """
    return open_again([os.fsdecode(path) for path in paths], options)


def open_again(names, options):
    array = (ctypes.c_char_p * max(len(names), 1))(*[encode(name) for name in names])
    chosen = Options("rows", options)
    handle = Handle(make("rows_open", array, len(names), chosen.address), "rows_free")
    source = names[0] if len(names) == 1 else "%s and %d more" % (names[0], len(names) - 1)
    return Rows(handle, source, opened=(names, options))


# ---- arrays ----


def from_dlpack(x):
    device = x.__dlpack_device__()[0]
    if int(device) not in CPU_DEVICES:
        raise ValueError("the tensor is on another device; pass x.cpu()")
    if hasattr(x, "detach"):
        x = x.detach()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()  # numpy has no such type
        return x.numpy()
    return np.from_dlpack(x)


def column_names(x):
    """Names of a data frame's columns if all are text, else None."""
    columns = getattr(x, "columns", None)
    if columns is None or not hasattr(x, "shape"):
        return None
    names = list(columns)
    return np.asarray(names, dtype=object) if names and all(isinstance(n, str) for n in names) \
        else None


def from_objects(x):
    """Numbers, or one vector per element (a pandas column of lists), as an array of numbers."""
    if x.ndim == 2 and x.shape[1] == 1 and x.size and np.ndim(x[0, 0]) == 1:
        x = x[:, 0]
    if x.ndim == 0:
        raise TypeError("a %s is not an array, tensor, data frame or path" %
                        type(x.item()).__name__)
    if x.ndim == 1 and any(np.ndim(v) == 1 for v in x):
        missing = [i for i, v in enumerate(x) if np.ndim(v) != 1]
        if missing:
            raise ValueError("row %d has no vector" % missing[0])
        if len({len(v) for v in x}) > 1:
            raise ValueError("the vectors have different lengths")
        return np.stack([np.asarray(v) for v in x])
    if any(isinstance(v, dict) for v in x.ravel()[:1]):
        raise TypeError("argument must be a string or a real number, not '%s'" %
                        type(x.ravel()[0]).__name__)
    return x.astype(np.float64)


def is_arrow(x):
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def is_pandas(x):
    return type(x).__module__.split(".")[0] == "pandas"


def check_frame(x):
    """A frame with a column of vectors has no other columns."""
    if getattr(x, "ndim", 1) != 2 or x.shape[1] < 2 or not len(x):
        return
    for name, value in zip(x.columns, x.iloc[0]):
        if np.ndim(value) == 1:
            raise ValueError("the frame has %d columns, of which %r has vectors; pass that column "
                             "alone" % (x.shape[1], name))


def collected(x):
    """The data of a lazy frame of polars; anything else as it is."""
    lazy = type(x).__module__.split(".")[0] == "polars" and hasattr(x, "collect")
    return x.collect() if lazy else x


def to_numpy(x):
    """Any accepted input as a numpy array, without a copy if possible."""
    if isinstance(x, np.ndarray):
        if "numpy.ma" in sys.modules and np.ma.is_masked(x):  # megabytes, if it is not loaded
            raise ValueError("X has masked values; fill them, or leave these rows out")
        return np.asarray(x)
    if type(x).__module__.startswith("scipy.sparse") or hasattr(x, "toarray"):
        raise TypeError("Sparse data was passed, but dense data is required. "
                        "Use '.toarray()' to convert to a dense numpy array.")
    if is_pandas(x):
        check_frame(x)
        return np.asarray(x)
    x = collected(x)
    if type(x).__module__.split(".")[0] == "datasets" and hasattr(x, "with_format"):
        x = x.with_format("arrow")[:]
    if is_arrow(x):
        from ._arrow import to_array
        return to_array(x)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return from_dlpack(x)
    return np.asarray(x)


def check_shape(x):
    if x.ndim == 0:
        raise ValueError("Expected 2D array, got scalar array instead:\narray=%s.\nReshape your "
                         "data either using array.reshape(-1, 1) if your data has a single "
                         "feature or array.reshape(1, -1) if it contains a single sample." % x)
    if x.ndim == 1:
        raise ValueError("Expected 2D array, got 1D array instead:\narray=%s.\nReshape your data "
                         "either using array.reshape(-1, 1) if your data has a single feature "
                         "or array.reshape(1, -1) if it contains a single sample." % x)
    if x.ndim > 2:
        raise ValueError("Found array with dim %d. KMeans expected <= 2." % x.ndim)
    for axis, what in ((0, "sample"), (1, "feature")):
        if x.shape[axis] == 0:
            raise ValueError("Found array with 0 %s(s) (shape=%s) while a minimum of 1 is "
                             "required." % (what, x.shape))


def to_matrix(x):
    """A numpy array [n][dim] of a type that the library reads."""
    x = to_numpy(x)
    if x.dtype.kind == "O":
        x = from_objects(x)
    check_shape(x)
    if x.dtype.kind == "c":
        raise ValueError("Complex data not supported\n%s\n" % x)
    if x.dtype.kind in "mM":
        raise ValueError("X: %s is not a type of numbers" % x.dtype)
    if x.dtype.kind not in "fiub":
        x = x.astype(np.float64)
    if x.dtype.str[1:] in NUMBERS:
        return x.astype(x.dtype.newbyteorder("="), copy=False)
    # 24 bits are exact in float32; the library computes with it
    return x.astype(np.float64 if x.dtype.itemsize > 2 else np.float32)


def from_matrix(x, names=None):
    memory = struct.coke_memory(data=x.ctypes.data, n=x.shape[0], dim=x.shape[1],
                                type=NUMBERS[x.dtype.str[1:]], row_stride=x.strides[0],
                                column_stride=x.strides[1])
    address = make("rows_from_memory", ctypes.byref(memory))
    return Rows(Handle(address, "rows_free", keep=(x,)), "array", names)


def as_rows(x):
    """Rows of anything that is accepted; they are borrowed if x is Rows already."""
    if isinstance(x, Rows):
        return x
    if isinstance(x, (str, os.PathLike)):
        return open_rows(x)
    x = collected(x)
    return from_matrix(to_matrix(x), column_names(x))


def blocks(x, rows=65536):
    """Yields float32 arrays of at most `rows` rows."""
    source = x if isinstance(x, Rows) else as_rows(x)
    for at in range(0, len(source), rows):
        yield source[at:at + rows]
