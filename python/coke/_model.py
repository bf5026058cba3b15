"""Models: the bytes of a model.safetensors, their arrays, and labels of new rows."""
import ctypes
import json
import os
from struct import pack as pack_number
from struct import unpack_from

import numpy as np

from ._library import Handle, call, encode, lib, make, struct
from ._rows import as_rows, blocks
from ._watch import Watch

TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4"}
BAD = ("error", "skip")  # what becomes of rows without a label, as in coke.h
NAMES = {np.dtype(value): name for name, value in TYPES.items()}


def unpack(data):
    """The tensors and the metadata of a safetensors file."""
    length, = unpack_from("<Q", data)
    header = json.loads(bytes(data[8:8 + length]))
    meta = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data, TYPES[entry["dtype"]], offset=8 + length + begin,
                             count=int(np.prod(entry["shape"], dtype=np.int64)))
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, {k: v for k, v in meta.items() if not k.startswith("xxh3")}


def pack(tensors, meta):
    """The bytes of a safetensors file; without checksums, which are optional."""
    header, chunks, at = {"__metadata__": meta}, [], 0
    for name, value in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        value = np.ascontiguousarray(value)
        header[name] = {"dtype": NAMES[value.dtype], "shape": list(value.shape),
                        "data_offsets": [at, at + value.nbytes]}
        chunks.append(value.tobytes())
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return b"".join([pack_number("<Q", len(text)), text] + chunks)


class Model:
    """A finished clustering that labels new rows: what `coke cluster` writes and `coke.load`
    reads.

    Attributes
    ----------
    centers : ndarray (k, dim)
    duals : ndarray (k,)
        Prices that prove the labels optimal.
    sizes, min_sizes, max_sizes : ndarray (k,)
        max_sizes is None without upper bounds.
    meta : dict of str
    """

    def __init__(self, data):
        self.data = bytes(data)
        self._open()

    def _open(self):
        self._handle = Handle(make("model_unpack", self.data, len(self.data)), "model_free")
        tensors, self.meta = unpack(self.data)
        self.centers = tensors["centers"]
        self.duals = tensors["duals"]
        self.min_sizes = tensors["min_sizes"]
        self.max_sizes = tensors.get("max_sizes")
        self.sizes = tensors.get("sizes")

    def __getstate__(self):
        return {"data": self.data}

    def __setstate__(self, state):
        self.data = state["data"]
        self._open()

    @property
    def n_clusters(self):
        return self.centers.shape[0]

    @property
    def dim(self):
        return self.centers.shape[1]

    @property
    def metric(self):
        return self.meta.get("metric", "cosine")

    def assign(self, x, constrained=False, bad="error", progress=None):
        """Labels (int32), scores (float32) and a summary (dict) of the rows x.

        constrained: satisfy the bounds of the model exactly, in proportion to the rows.
        bad: "skip" gives rows that cannot be labelled the label -1 instead of failing."""
        if bad not in BAD:
            raise ValueError("bad: %r is none of %s" % (bad, ", ".join(BAD)))
        rows = as_rows(x)
        n, dim = rows.shape
        if dim != self.dim:
            raise ValueError("X has %d features, but the model has %d" % (dim, self.dim))
        labels, scores = np.empty(n, np.int32), np.empty(n, np.float32)
        watch = Watch(progress)
        summary = struct.coke_head_summary()
        job = struct.coke_assign_job(rows=rows.address, labels=labels.ctypes.data,
                                     scores=scores.ctypes.data, constrained=bool(constrained),
                                     bad=BAD.index(bad), callbacks=watch.address)
        watch.call("model_assign", self._handle.address, ctypes.byref(job),
                   ctypes.byref(summary))
        return labels, scores, summary_dict(summary)

    def predict(self, x, constrained=False):
        """The nearest center of each row; constrained: with the model's sizes kept."""
        return self.assign(x, constrained)[0]

    def transform(self, x, bad="error"):
        """Distances to the centers; of the normalized rows if the metric is the cosine. bad: "skip"
        gives rows with NaN or infinity distances of NaN."""
        return distances(x, self.centers, self.metric, bad)

    def with_bounds(self, n, min_sizes, max_sizes):
        """This model with other bounds for n rows."""
        k = self.n_clusters
        tensors, meta = unpack(self.data)
        tensors = dict(tensors, min_sizes=np.broadcast_to(min_sizes, k).astype("<i8"))
        tensors.pop("max_sizes", None)
        if max_sizes is not None:
            tensors["max_sizes"] = np.broadcast_to(max_sizes, k).astype("<i8")
        return Model(pack(tensors, dict(meta, n=str(int(n)))))

    def save(self, path, force=False):
        """Writes a model.safetensors, whole or not at all; `coke assign` reads it."""
        call("file_write", encode(path), self.data, len(self.data), bool(force))

    def __repr__(self):
        return "<coke.Model: %d clusters, %d columns, %s>" % (self.n_clusters, self.dim,
                                                              self.metric)

    def _repr_html_(self):
        from ._html import model_html
        return model_html(self)


def summary_dict(summary):
    """A struct of the library as a dict; without its size."""
    return {name: getattr(summary, name) for name, _ in summary._fields_ if name != "size"}


def distances(x, centers, metric, bad="error"):
    """Euclidean distances [n][k]; of unit vectors if the metric is the cosine."""
    rows = as_rows(x)
    out = np.empty((len(rows), len(centers)), np.float32)
    square = np.einsum("ij,ij->i", centers, centers, dtype=np.float64)
    at = 0
    for block in blocks(rows):
        block = block.astype(np.float64)
        finite = np.isfinite(block).all(axis=1)
        if bad == "error" and not finite.all():
            raise ValueError("X contains NaN or infinity (inf)")
        block[~finite] = np.nan
        if metric == "cosine":
            length = np.linalg.norm(block, axis=1, keepdims=True)
            block /= np.where(length == 0, 1, length)
        d = np.einsum("ij,ij->i", block, block)[:, None] + square - 2 * (block @ centers.T)
        out[at:at + len(block)] = np.sqrt(np.maximum(d, 0))
        at += len(block)
    return out


def load(path):
    """A model of `coke cluster` or of `Model.save`: the file, or the folder that holds it."""
    path = os.fspath(path)
    # the library says best what is wrong with a path
    Handle(make("model_load", encode(path)), "model_free").close()
    if os.path.isdir(path):
        path = os.path.join(path, "model.safetensors")
    with open(path, "rb") as f:
        return Model(f.read())


def version():
    return lib.version().decode()
