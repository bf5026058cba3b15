"""coke.cluster: one call, one or several numbers of clusters."""
import ctypes
from collections import namedtuple

import numpy as np

from ._exemplars import Source, nearest
from ._library import Handle, call, encode, lib, set_threads, struct
from ._model import Model, summary_dict
from ._options import Options, lines_of, whole, with_options
from ._rows import as_rows, to_matrix
from ._watch import Watch

Certificate = namedtuple("Certificate", "primal dual gap")
Certificate.__doc__ = """Proof of the labels: `primal` is the sum of similarities that they reach,
`dual` an upper bound for any labels within the bounds, `gap` their difference."""


class Clustering:
    """A clustering of rows.

    Attributes
    ----------
    labels : ndarray of int32 (n,)
        -1 = a row that was skipped.
    model : Model
        Labels new rows; has centers, duals, sizes and bounds.
    summary : dict
        What `coke cluster` prints: objective, sizes, epochs.
    certificate : Certificate or None
        None if no repair was asked for.
    timing : dict of seconds
    """

    def __init__(self, job, head, source=None):
        self._job = job
        self._source = Source(source)
        self.summary = summary_dict(
            struct.coke_head_summary.from_address(lib.cluster_summary(job.address, head)))
        self.timing = summary_dict(
            struct.coke_timing.from_address(lib.cluster_timing(job.address)))
        self.labels = np.empty(job.n, np.int32)
        call("cluster_labels", job.address, head, self.labels.ctypes.data)
        self.model = Model(packed(job.address, head))

    def __getstate__(self):
        return dict(self.__dict__, _job=None)

    @property
    def centers(self):
        return self.model.centers

    @property
    def sizes(self):
        return self.model.sizes

    @property
    def duals(self):
        return self.model.duals

    @property
    def objective(self):
        return self.summary["labels_objective"]

    @property
    def certificate(self):
        s = self.summary
        return Certificate(s["primal"], s["dual"], s["gap"]) if s["repaired"] else None

    def predict(self, x, constrained=False):
        return self.model.predict(x, constrained)

    def exemplars(self, n=5, x=None):
        """Typical rows: [k][n] numbers of the rows nearest to the center of their cluster, nearest
        first, -1 where a cluster has fewer.

        x: the rows that were clustered, needed only if they are gone or this is a copy."""
        x = self._source.get() if x is None else x
        if x is None:
            raise ValueError("the rows are gone; pass them as x")
        return nearest(x, self.labels, self.centers, self.model.metric, n)

    def write(self, folder, force=False):
        """Writes what `coke cluster -o folder` writes, of all k of the call."""
        if self._job is None:
            raise ValueError("a copied clustering has no files to write; use model.save")
        call("cluster_write", self._job.address, encode(folder), bool(force))

    def __repr__(self):
        s = self.summary
        return "<coke.Clustering: %d rows, %d clusters of %d..%d>" % (
            s["n"], s["k"], s["size_min"], s["size_max"])

    def _repr_html_(self):
        from ._html import clustering_html
        return clustering_html(self)


def packed(job, head):
    """The bytes of the model of one head."""
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    call("cluster_pack", job, head, ctypes.byref(data), ctypes.byref(size))
    try:
        return ctypes.string_at(data.value, size.value)
    finally:
        lib.bytes_free(data)


def array_of(value, dtype, n, name):
    """A contiguous array [n], or None."""
    if value is None:
        return None
    array, sizes = np.asarray(value), np.dtype(dtype).kind == "i"
    if array.dtype.kind not in "fiub":
        raise ValueError("%s: %s" % (name, "sizes are integers" if sizes else
                                     "weights are real numbers"))
    array = np.ascontiguousarray(np.broadcast_to(array, (n,)) if array.ndim == 0 else array)
    if array.shape != (n,):
        raise ValueError("%s: %d values are needed, the shape is %s" % (name, n, array.shape))
    if sizes and np.any(array != array.astype(np.int64)):
        raise ValueError("%s: sizes are integers" % name)
    if name == "sample_weight" and not np.any(array):
        raise ValueError("sample_weight: all weights are zero")
    return array.astype(dtype, copy=False)


def address(array):
    return None if array is None else array.ctypes.data


def start_of(init, k, dim):
    """An `init` that is no word of the option: (initial centers, a model to continue from)."""
    if isinstance(init, Model):
        return None, init
    try:
        centers = np.ascontiguousarray(to_matrix(init), np.float32)
    except TypeError:
        raise ValueError("init: a %s is not a word of the option, an array or a Model" %
                         type(init).__name__) from None
    if centers.shape != (k, dim):
        raise ValueError("init: the shape of the initial centers is %s, not (%d, %d)" %
                         (centers.shape, k, dim))
    return centers, None


def is_start(init):
    return init is not None and not isinstance(init, str)


def run(rows, options, min_sizes=None, max_sizes=None, weights=None, progress=None,
        start=(None, None)):
    """The job of coke_cluster_run; returns the handle of its result."""
    watch = Watch(progress)
    centers, model = start
    job = struct.coke_cluster_input(rows=rows.address, min_sizes=address(min_sizes),
                                    max_sizes=address(max_sizes), weights=address(weights),
                                    centers=address(centers),
                                    model=model._handle.address if model else None)
    out = ctypes.c_void_p()
    watch.call("cluster_run", ctypes.byref(out), ctypes.byref(job), options.address,
               watch.address)
    handle = Handle(out.value, "cluster_free")
    handle.n = len(rows)
    return handle


def cluster(x, k, *, min_sizes=None, max_sizes=None, sample_weight=None, n_jobs=None,
            progress=None, **options):
    rows = as_rows(x)
    several = np.ndim(k) > 0
    heads = [whole(v, "k") for v in (k if several else [k])]
    if not heads:
        raise ValueError("k: the list is empty")
    start = (None, None)
    if is_start(options.get("init")):
        start = start_of(options.pop("init"), heads[0], rows.shape[1])
    chosen = Options("cluster", dict(options, k=heads))
    if several and (min_sizes is not None or max_sizes is not None):
        raise ValueError("min_sizes and max_sizes need a single k")
    set_threads(n_jobs)
    job = run(rows, chosen, array_of(min_sizes, np.int64, heads[0], "min_sizes"),
              array_of(max_sizes, np.int64, heads[0], "max_sizes"),
              array_of(sample_weight, np.float64, len(rows), "sample_weight"), progress, start)
    results = [Clustering(job, h, x) for h in range(lib.cluster_heads(job.address))]
    return results if several else results[0]


def document():
    """Docstring and signature of `cluster` from the table of options."""
    cluster.__doc__ = """Clusters rows into k clusters of guaranteed sizes.

    Parameters
    ----------
    x : array, tensor, data frame, Rows, or path of a file
    k : int or list of int
        Clusters; several numbers give several clusterings of one read.
    min_sizes, max_sizes : int or array (k,)
        Bounds of each cluster instead of `ratio` and `max_ratio`.
    sample_weight : array (n,)
        Weights of the rows in the centers and the objective; sizes count rows.
    init : str, array (k, dim) or Model
        A word of the option below, initial centers, or a clustering to continue from.
    n_jobs : int
        Threads; -1 = all cores. Does not change the result.
    progress : bool or callable
        True shows a bar; a callable receives a `coke.Progress`, and False from it stops.
%s

    Returns
    -------
    Clustering, or a list of them if k is a list
    """ % lines_of("cluster", without=("k",))
    with_options(cluster, "cluster", without=("k",))


document()
