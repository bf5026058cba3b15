"""coke.KMeans: a scikit-learn estimator; a plain class with the same methods without it.

The parameters are the options of the library's table "cluster" under scikit-learn's names, and a
few that are not options there. Validation happens in fit, by the library."""
import ctypes
import inspect

import numpy as np

from ._cluster import Clustering, array_of, is_start, run, start_of
from ._exemplars import Source, nearest
from ._library import Handle, call, constant, lib, make, set_threads
from ._model import Model, distances, pack
from ._options import FLAG, Options, lines_of, python_name, table, whole
from ._rows import Rows, as_rows, blocks, collected, column_names

try:
    from sklearn.base import (BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin,
                              TransformerMixin)
    from sklearn.exceptions import NotFittedError
except ImportError:
    class BaseEstimator:
        """get_params and set_params of scikit-learn, which is not installed."""

        @classmethod
        def _get_param_names(cls):
            return sorted(n for n in inspect.signature(cls.__init__).parameters if n != "self")

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._get_param_names():
                    raise ValueError("Invalid parameter %r for estimator %r." % (name, self))
                setattr(self, name, value)
            return self

        def __repr__(self):
            return "%s(n_clusters=%r)" % (type(self).__name__, self.n_clusters)

    class ClusterMixin:
        def fit_predict(self, X, y=None, **kwargs):
            return self.fit(X, **kwargs).labels_

    class TransformerMixin:
        def fit_transform(self, X, y=None, **kwargs):
            return self.fit(X, **kwargs).transform(X)

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features=None):
            check_fitted(self)
            name = type(self).__name__.lower()
            return np.asarray(["%s%d" % (name, i) for i in range(self._n_features_out)],
                              dtype=object)

    class NotFittedError(ValueError, AttributeError):
        """The estimator was not fitted yet."""


SEEDS = 2 ** 31


def check_fitted(estimator):
    if not hasattr(estimator, "cluster_centers_"):
        raise NotFittedError("This %s instance is not fitted yet. Call 'fit' with appropriate "
                             "arguments before using this estimator." % type(estimator).__name__)


def seed_of(random_state):
    """An option `seed`: None = the library's default, which is always the same."""
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if hasattr(random_state, "integers"):
        return int(random_state.integers(SEEDS))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(SEEDS))
    raise ValueError("random_state %r is not an int, RandomState or Generator" % (random_state,))


def usable(x, metric):
    """Which rows [n] are finite and, for the cosine, have a direction."""
    length = np.linalg.norm(x, axis=1)
    return np.isfinite(length) & ((length > 0) | (metric != "cosine"))


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What KMeans and KMeansConstrained have in common: fitted attributes and their use."""

    bad = "error"  # KMeansConstrained has no such parameter

    # ---- input ----

    def _rows(self, X, reset):
        """X as rows; checks or, with reset, remembers the number and names of its features."""
        X = collected(X)
        rows = as_rows(X)
        self._names(X, rows, reset)
        n_features = rows.shape[1]
        if reset:
            self.n_features_in_ = n_features
        elif n_features != self.n_features_in_:
            raise ValueError("X has %d features, but %s is expecting %d features as input" %
                             (n_features, type(self).__name__, self.n_features_in_))
        return rows

    def _check_count(self, rows):
        k = whole(self.n_clusters, "n_clusters")
        if len(rows) < k:
            raise ValueError("n_samples=%d should be >= n_clusters=%d" % (len(rows), k))

    def _names(self, X, rows, reset):
        if isinstance(X, (Rows, np.ndarray, list, tuple)) and reset:
            self.__dict__.pop("feature_names_in_", None)
            return
        if hasattr(self, "_check_feature_names"):  # scikit-learn before 1.6
            self._check_feature_names(X, reset=reset)
            return
        try:
            from sklearn.utils.validation import _check_feature_names
        except ImportError:
            names = column_names(X)
            if reset and names is not None:
                self.feature_names_in_ = names
            return
        _check_feature_names(self, X, reset=reset)

    # ---- results ----

    def _fitted(self, clustering, weights):
        """Sets the attributes from a Clustering; weights [n] of the rows, or None."""
        model, s = clustering.model, clustering.summary
        self.model_ = model
        self.labels_ = clustering.labels
        self.cluster_centers_ = np.array(model.centers)
        self.sizes_ = np.bincount(self.labels_[self.labels_ >= 0], minlength=model.n_clusters)
        self.duals_ = np.array(model.duals)
        self.n_iter_ = int(s["epochs"])
        self.objective_ = s["labels_objective"]
        known = self.labels_ >= 0
        total = known.sum() if weights is None else weights[known].sum()
        # the objective is a mean cosine, or a mean squared distance; |x - c|^2 = 2 - 2 cos
        mean = 2 - 2 * self.objective_ if model.metric == "cosine" else self.objective_
        self.inertia_ = float(mean * total)
        self.certificate_ = clustering.certificate
        self.summary_ = s
        self._n_features_out = model.n_clusters
        return self

    def _model(self):
        check_fitted(self)
        return self.model_

    # ---- use ----

    def transform(self, X):
        """Distances [n][k] to the centers; metric cosine: of rows of length 1."""
        model = self._model()
        rows = self._rows(X, reset=False)
        return distances(rows, self.cluster_centers_, model.metric, self.bad)

    def fit_transform(self, X, y=None, sample_weight=None):
        """fit, then the distances of the same rows to the centers."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances to the nearest centers."""
        model = self._model()
        rows = self._rows(X, reset=False)
        labels = model.assign(rows, bad=self.bad)[0]
        return -inertia(rows, self.cluster_centers_, labels, model.metric, sample_weight)

    def exemplars(self, X, n=5):
        """Typical rows of X: [n_clusters][n] row numbers, those nearest to each center first; -1
        where a center is the nearest one of fewer rows."""
        model = self._model()
        rows = self._rows(X, reset=False)
        return nearest(rows, model.assign(rows, bad=self.bad)[0], self.cluster_centers_, model.metric, n)

    def _repr_html_(self):
        if hasattr(self, "model_"):
            from ._html import estimator_html
            return estimator_html(self)
        inherited = getattr(super(), "_repr_html_", None)  # absent if scikit-learn shows text
        return inherited() if inherited else None

    def _repr_mimebundle_(self, **_):
        html = self._repr_html_()
        return {"text/plain": repr(self), **({"text/html": html} if html else {})}

    # ---- scikit-learn ----

    def _more_tags(self):
        return {"preserves_dtype": [np.float32]}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.sparse = False
        return tags


def inertia(rows, centers, labels, metric, weight=None):
    """The sum of squared distances to the labels' centers, of unit vectors for the cosine."""
    weight = array_of(weight, np.float64, len(rows), "sample_weight")
    total, at = 0.0, 0
    for block in blocks(rows):
        label = labels[at:at + len(block)]
        known = label >= 0
        block = block.astype(np.float64)[known]
        if metric == "cosine":
            block /= np.linalg.norm(block, axis=1, keepdims=True)
        d = block - centers[label[known]]
        square = np.einsum("ij,ij->i", d, d)
        if weight is not None:
            square *= weight[at:at + len(label)][known]
        total += square.sum()
        at += len(label)
    return float(total)


# Parameters that are not options, or have another name; the order of the signature.
FIRST = [("n_clusters", 8)]
LAST = [("size_min", None), ("size_max", None), ("min_sizes", None), ("max_sizes", None),
        ("random_state", None), ("n_jobs", None), ("progress", None)]
RENAMED = ("k", "seed")


class KMeans(Estimator):
    # the docstring is made below, from the table

    def __init__(self, n_clusters=8, **params):
        self.n_clusters = n_clusters
        known = self.__init__.__signature__.parameters
        defaults = {p.name: p.default for p in known.values() if p.kind == p.KEYWORD_ONLY}
        for name in params:
            if name not in defaults:
                raise TypeError("KMeans() has no parameter %r; its options: %s" %
                                (name, ", ".join(defaults)))
        for name, default in defaults.items():
            setattr(self, name, params.get(name, default))

    def _options(self):
        """An option object with the values of the parameters."""
        options = Options("cluster")
        for row in table("cluster"):
            if row.name in RENAMED:
                continue
            value = getattr(self, python_name(row.name))
            if row.name == "init" and is_start(value):
                continue
            if value is None and row.type != FLAG and "off" not in (row.choices or "").split("|"):
                continue
            options.set(row.name, value)
        options.set("k", int(self.n_clusters))
        seed = seed_of(self.random_state)
        if seed is not None:
            options.set("seed", seed)
        return options

    def _start(self, rows):
        if not is_start(self.init):
            return None, None
        return start_of(self.init, int(self.n_clusters), rows.shape[1])

    def _bounds(self, low, high, which):
        value = low if high is None else high
        if low is not None and high is not None:
            raise ValueError("%s: pass one number or one per cluster, not both" % which)
        return array_of(value, np.int64, int(self.n_clusters), which)

    def fit(self, X, y=None, sample_weight=None):
        """Clusters the rows X (an array, tensor, data frame, `coke.Rows` or a path)."""
        rows = self._rows(X, reset=True)
        self._check_count(rows)
        options = self._options()
        set_threads(self.n_jobs)
        weights = array_of(sample_weight, np.float64, len(rows), "sample_weight")
        job = run(rows, options, self._bounds(self.size_min, self.min_sizes, "min_sizes"),
                  self._bounds(self.size_max, self.max_sizes, "max_sizes"), weights,
                  self.progress, self._start(rows))
        self._fitted(Clustering(job, 0), weights)
        self._source = Source(X)
        self.__dict__.pop("_online", None)
        return self

    def predict(self, X, constrained=False):
        """The nearest center of each row; constrained: with the bounds of the fit kept exactly,
        in proportion to the rows."""
        model = self._model()
        rows = self._rows(X, reset=False)
        set_threads(self.n_jobs)
        return model.assign(rows, constrained, self.bad)[0]

    def partial_fit(self, X, y=None, sample_weight=None):
        """One online step with a batch of rows: assigns them, moves duals and centers.

        Continues a fit. Without one the first batch, of at least n_clusters rows, is clustered to
        get initial centers. Bounds are those of `ratio` and `max_ratio`."""
        if sample_weight is not None:
            raise ValueError("partial_fit takes no sample_weight")
        for name in ("size_min", "size_max", "min_sizes", "max_sizes"):
            if getattr(self, name) is not None:
                raise ValueError("%s counts the rows of a fit, and a stream has no end; bound its "
                                 "clusters by ratio and max_ratio" % name)
        first = not hasattr(self, "cluster_centers_")
        rows = self._rows(X, reset=first)
        set_threads(self.n_jobs)
        if not hasattr(self, "_online"):
            self._online = Online.begin(self, rows)
        self.labels_ = np.concatenate([self._online.step(b, self.bad) for b in blocks(rows)])
        for name in ("inertia_", "objective_", "certificate_", "summary_"):  # of the fit
            self.__dict__.pop(name, None)
        self.model_ = self._online.model()
        self.cluster_centers_ = np.array(self.model_.centers)
        self.duals_ = np.array(self.model_.duals)
        self.sizes_ = np.array(self.model_.sizes)
        self.n_iter_ = self._online.steps
        self._source = Source(X)
        self._n_features_out = self.model_.n_clusters
        return self


class Online:
    """The k-means of partial_fit: batches without an end, so that there is one endless epoch."""

    ROWS = 1 << 30  # of that epoch; bounds are fractions of it

    def __init__(self, data, metric, steps=0):
        self.handle = Handle(make("kmeans_unpack", data, len(data)), "kmeans_free")
        self.metric = metric
        self.steps = steps

    @classmethod
    def begin(cls, estimator, rows):
        """Initial centers and the step of the duals from the fit, or else from a clustering of the
        first batch."""
        source, seen = estimator._options(), None
        if hasattr(estimator, "summary_"):
            model, summary, seen = estimator.model_, estimator.summary_, estimator.sizes_
        else:
            estimator._check_count(rows)
            start = Clustering(run(rows, source, start=estimator._start(rows)), 0)
            model, summary = start.model, start.summary
        options = Options("kmeans", {"n": cls.ROWS, "k": model.n_clusters, "dim": model.dim,
                                     "keep_labels": False})
        names = {row.name for row in table("cluster")} - {"k", "update", "carry"}
        for row in table("kmeans"):
            if row.name in names:
                options.set(row.name, source.get(row.name))
        options.set("eta", float(summary["eta"]))
        centers = np.ascontiguousarray(model.centers, np.float32)
        address = make("kmeans_new", options.address, centers.ctypes.data, None, None)
        self = cls.__new__(cls)
        self.handle, self.metric, self.steps = Handle(address, "kmeans_free"), model.metric, 0
        self.k, self.dim = centers.shape
        if seen is not None:
            self._count(seen, centers)
        return self

    def _count(self, seen, centers):
        """Gives the rows of a fit, seen [k], their weight in the centers. Euclidean sums keep it in
        their last column, in a unit that a step with k rows shows."""
        state, meta = packed_state(self.handle.address)
        state.update(count=seen.astype("<i8"), sum=np.array(state["sum"]))
        if self.metric == "euclidean":
            self.step(centers, "skip")
            after, _ = packed_state(self.handle.address)
            state["sum"][:, self.dim] = seen * (after["sum"][:, self.dim].sum() // self.k)
        self.__setstate__({"handle": pack(state, meta), "steps": 0})

    def step(self, x, bad):
        """Labels of a batch; those of bad rows are -1 if they are to be skipped."""
        good = usable(x, self.metric)
        if bad == "error" and not good.all():
            raise ValueError("row %d of X is zero, NaN or infinity" % np.argmin(good))
        labels = np.full(len(x), -1, np.int32)
        x = np.ascontiguousarray(x[good])
        if self.metric == "cosine":
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        own = np.empty(len(x), np.int32)
        call("kmeans_step", self.handle.address, x.ctypes.data, None, len(x), own.ctypes.data)
        labels[good] = own
        self.steps += 1
        return labels

    def copy(self, what, shape, dtype):
        out = np.empty(shape, dtype)
        call("kmeans_copy", self.handle.address, what, out.ctypes.data, out.size)
        return out

    def model(self):
        """The moving centers as a model; its bounds are those of the endless epoch."""
        tensors, meta = {}, {"format": "coke-kmeans", "n": str(self.ROWS), "metric": self.metric,
                         "objective": "0"}
        tensors["centers"] = self.copy(constant.COKE_ARRAY_CURRENT, (self.k, self.dim), np.float32)
        tensors["duals"] = self.copy(constant.COKE_ARRAY_DUALS, self.k, np.float32)
        tensors["sizes"] = self.copy(constant.COKE_ARRAY_COUNTS, self.k, np.int64)
        state, _ = packed_state(self.handle.address)
        tensors["min_sizes"] = state["min_sizes"]
        if "max_sizes" in state:
            tensors["max_sizes"] = state["max_sizes"]
        return Model(pack(tensors, meta))

    def __getstate__(self):
        return dict(self.__dict__, handle=packed_bytes(self.handle.address))

    def __setstate__(self, state):
        self.__dict__.update(state)
        data = state["handle"]
        self.handle = Handle(make("kmeans_unpack", data, len(data)), "kmeans_free")


def packed_bytes(address):
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    call("kmeans_pack", address, ctypes.byref(data), ctypes.byref(size))
    try:
        return ctypes.string_at(data.value, size.value)
    finally:
        lib.bytes_free(data)


def packed_state(address):
    from ._model import unpack
    return unpack(packed_bytes(address))


def signature():
    """Of KMeans.__init__: scikit-learn finds the parameters there."""
    kind = inspect.Parameter.KEYWORD_ONLY
    rows = [(python_name(o.name), o.default) for o in table("cluster") if o.name not in RENAMED]
    first = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + \
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=d)
         for n, d in FIRST]
    return inspect.Signature(first + [inspect.Parameter(n, kind, default=d)
                                      for n, d in rows + LAST])


def document():
    KMeans.__init__.__signature__ = signature()
    KMeans.__doc__ = """K-means with minimum and maximum sizes of the clusters, kept exactly.

    Parameters
    ----------
    n_clusters : int, default=8
%s
    init : as above, or an array (n_clusters, n_features) of initial centers, or a `coke.Model`
    size_min, size_max : int, default=None
        Bounds of all clusters, in rows, instead of `ratio` and `max_ratio`.
    min_sizes, max_sizes : array (n_clusters,), default=None
        Bounds of each cluster.
    random_state : int, RandomState or Generator, default=None
        None: the default seed of the library, so that results are repeatable.
    n_jobs : int, default=None
        Threads of the process from now on; -1 = all cores. Does not change the result.
    progress : bool or callable, default=None
        True shows a bar (tqdm if it is installed); a callable receives a `coke.Progress`, and
        False from it stops the fit.

    Attributes
    ----------
    labels_ : ndarray of int32 (n,)
        -1 = a row that was skipped.
    cluster_centers_ : ndarray of float32 (n_clusters, n_features)
    sizes_ : ndarray of int64 (n_clusters,)
    inertia_ : float
        Sum of squared distances to the labels' centers; metric cosine: of unit vectors.
    objective_ : float
        Mean similarity to the labels' centers, as `coke cluster` reports it.
    certificate_ : Certificate (primal, dual, gap) or None
    duals_ : ndarray of float32 (n_clusters,)
    n_iter_ : int
        Epochs.
    summary_ : dict
    model_ : Model
        What `coke assign` takes: `model_.save("model.safetensors")`.
    """ % lines_of("cluster", without=RENAMED)


document()
