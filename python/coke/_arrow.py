"""Arrow data as a numpy array, through the Arrow C data interface and without pyarrow: columns of
fixed-size lists, lists or list views of numbers (one vector per row), and tables of numbers.

A single chunk is not copied; the array then keeps the Arrow memory alive."""
import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p

import numpy as np

NUMBERS = {"e": "f2", "f": "f4", "g": "f8", "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4",
           "I": "u4", "l": "i8", "L": "u8"}
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


class Schema(Structure):
    pass


Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p),
                   ("flags", c_int64), ("n_children", c_int64),
                   ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p),
                   ("release", c_void_p), ("private_data", c_void_p)]


class Array(Structure):
    pass


Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64),
                  ("n_buffers", c_int64), ("n_children", c_int64), ("buffers", POINTER(c_void_p)),
                  ("children", POINTER(POINTER(Array))), ("dictionary", c_void_p),
                  ("release", c_void_p), ("private_data", c_void_p)]


class Stream(Structure):
    _fields_ = [("get_schema", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)),
                ("get_next", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)),
                ("get_last_error", ctypes.CFUNCTYPE(c_char_p, c_void_p)),
                ("release", c_void_p), ("private_data", c_void_p)]


class Owned:
    """A schema or an array that this side releases."""

    def __init__(self, kind):
        self.value = kind()

    def __del__(self):
        if self.value.release:
            RELEASE(self.value.release)(ctypes.addressof(self.value))


def pointer_of(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return get(capsule, name)


def check_nulls(array, first, n):
    """No value of rows first .. first + n - 1 may be missing."""
    bits = array.buffers[0] if array.n_buffers > 0 else None
    if array.null_count == 0 or not bits:
        return
    raw = np.frombuffer((ctypes.c_ubyte * ((first + n + 7) // 8)).from_address(bits), np.uint8)
    if not np.unpackbits(raw, bitorder="little")[first:first + n].all():
        raise ValueError("the Arrow data has null values; NaN or missing rows are not allowed")


def numbers(schema, array, first, n, owner):
    """Values first .. first + n - 1 of a primitive array, counted from its offset."""
    if schema.dictionary:
        raise TypeError("an Arrow dictionary is not a column of numbers; decode it")
    kind = NUMBERS.get(schema.format.decode())
    if kind is None:
        form = schema.format.decode()
        raise TypeError("Arrow decimals are not read; cast them to float" if form[:2] == "d:" else
                        "Arrow type '%s' is neither an integer nor a float" % form)
    first += array.offset
    check_nulls(array, first, n)
    size = np.dtype(kind).itemsize
    if n == 0 or not array.buffers[1]:
        return np.empty(0, kind)
    memory = (ctypes.c_char * (n * size)).from_address(array.buffers[1] + first * size)
    memory.owner = owner
    return np.frombuffer(memory, kind)


def lists(schema, array, owner):
    """Rows of a column of lists of one length, as [n][dim]."""
    n, first, form = array.length, array.offset, schema.format.decode()
    check_nulls(array, first, n)
    inner, values = schema.children[0].contents, array.children[0].contents
    if form.startswith("+w:"):
        dim = int(form[3:])
        return numbers(inner, values, first * dim, n * dim, owner).reshape(n, dim)
    if n == 0:
        return np.empty((0, 0), "f4")
    kind = "i8" if form.endswith("L") else "i4"
    if form.startswith("+v"):
        return views(inner, values, integers(array, 1, n, kind), integers(array, 2, n, kind), owner)
    ends = integers(array, 1, n + 1, kind)
    dim = one_length(np.diff(ends))
    return numbers(inner, values, int(ends[0]), n * dim, owner).reshape(n, dim)


def integers(array, buffer, n, kind):
    """The first n integers of a buffer, counted from the array's offset."""
    size = np.dtype(kind).itemsize
    memory = (ctypes.c_char * (n * size)).from_address(array.buffers[buffer] + array.offset * size)
    return np.frombuffer(memory, kind).astype(np.int64)


def one_length(lengths):
    if not (lengths == lengths[0]).all():
        raise ValueError("the vectors have different lengths")
    return int(lengths[0])


def views(inner, values, begins, lengths, owner):
    """Rows of a column of list views, which may be anywhere among the values, also twice; copied
    unless they follow each other."""
    n, dim = len(begins), one_length(lengths)
    first = int(begins.min())
    flat = numbers(inner, values, first, int(begins.max()) - first + dim, owner)
    if (np.diff(begins) == dim).all():
        return flat.reshape(n, dim)
    return flat[(begins - first)[:, None] + np.arange(dim)]


def check_columns(schemas):
    """A table is one column of vectors, or columns of numbers."""
    names = [s.name.decode("utf-8", "replace") if s.name else "" for s in schemas]
    vectors = [n for s, n in zip(schemas, names) if s.format.startswith(b"+")]
    text = [n for s, n in zip(schemas, names)
            if not s.format.startswith(b"+") and (s.dictionary or s.format.decode() not in NUMBERS)]
    if vectors and len(names) > 1:
        raise ValueError("the table has %d columns, of which '%s' has vectors; pass that column "
                         "alone" % (len(names), vectors[0]))
    if text:
        raise TypeError("column '%s' of the table is not a number; leave it out" % text[0])


def convert(schema, array, owner):
    form = schema.format.decode()
    if form.startswith("+w:") or form in ("+l", "+L", "+vl", "+vL"):
        return lists(schema, array, owner)
    if form == "+s":
        check_nulls(array, array.offset, array.length)
        check_columns([schema.children[i].contents for i in range(schema.n_children)])
        columns = [convert(schema.children[i].contents, array.children[i].contents, owner)
                   for i in range(schema.n_children)]
        cut = slice(array.offset, array.offset + array.length)
        columns = [c[cut] if len(c) != array.length else c for c in columns]
        if len(columns) == 1 and columns[0].ndim == 2:
            return columns[0]
        return np.column_stack(columns)
    return numbers(schema, array, 0, array.length, owner)


def from_stream(x):
    capsule = x.__arrow_c_stream__()
    stream = ctypes.cast(pointer_of(capsule, b"arrow_array_stream"), POINTER(Stream))
    schema = Owned(Schema)
    fail(stream, stream.contents.get_schema(stream, ctypes.addressof(schema.value)))
    chunks = []
    while True:
        chunk = Owned(Array)
        fail(stream, stream.contents.get_next(stream, ctypes.addressof(chunk.value)))
        if not chunk.value.release:
            break
        if chunk.value.length:
            chunks.append(convert(schema.value, chunk.value, (chunk, schema)))
    if len(chunks) == 1:
        return chunks[0]
    if len({c.shape[1:] for c in chunks}) > 1:
        raise ValueError("the vectors have different lengths")
    return np.concatenate(chunks) if chunks else np.empty((0, 1), "f4")


def fail(stream, code):
    if code:
        text = stream.contents.get_last_error(stream)
        raise ValueError("the Arrow stream failed: %s" % (text.decode() if text else code))


def to_array(x):
    if hasattr(x, "__arrow_c_array__"):
        schema, array = x.__arrow_c_array__()
        found = ctypes.cast(pointer_of(array, b"arrow_array"), POINTER(Array)).contents
        kind = ctypes.cast(pointer_of(schema, b"arrow_schema"), POINTER(Schema)).contents
        return convert(kind, found, (schema, array))
    return from_stream(x)
