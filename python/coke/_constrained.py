"""coke.KMeansConstrained: the interface of the package k-means-constrained, with this library."""
import numpy as np

from ._cluster import Clustering, array_of, is_start, run, start_of
from ._estimators import Estimator, seed_of
from ._exemplars import Source
from ._library import set_threads
from ._options import Options, table

INITS = {"k-means++": "kmeans++", "random": "sample"}


class KMeansConstrained(Estimator):
    """K-means with minimum and maximum cluster sizes, as in the package k-means-constrained:
    change the import and keep the rest.

    Parameters
    ----------
    n_clusters : int, default=8
    size_min, size_max : int, default=None
        Bounds of all clusters; None = no bound.
    init : {'k-means++', 'random'} or array (n_clusters, n_features), default='k-means++'
    n_init : int, default=10
        Starts, of which the best counts.
    max_iter : int, default=300
        Limit of the epochs, and of the rounds after them.
    tol : float, default=1e-4
        Relative gain of the objective below which the epochs end.
    verbose : bool, default=False
        Shows the progress.
    random_state : int, RandomState or Generator, default=None
    copy_x : bool, default=True
        Has no effect: X is never changed.
    n_jobs : int, default=1
        Threads; -1 = all cores. Does not change the result.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, n_iter_
        As there; further those of `coke.KMeans`.
    """

    def __init__(self, n_clusters=8, size_min=None, size_max=None, init="k-means++", n_init=10,
                 max_iter=300, tol=1e-4, verbose=False, random_state=None, copy_x=True, n_jobs=1):
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.n_jobs = n_jobs

    def _options(self):
        options = Options("cluster", {"k": int(self.n_clusters), "metric": "euclidean",
                                      "ratio": 0.0, "tolerance": float(self.tol),
                                      "max_epochs": int(self.max_iter)})
        if not is_start(self.init):
            if self.init not in INITS:
                raise ValueError("init should be 'k-means++', 'random' or an array, got %r" %
                                 (self.init,))
            options.set("init", INITS[self.init])
        names = {row.name for row in table("cluster")}
        if "restarts" in names and not is_start(self.init):
            options.set("restarts", int(self.n_init))
        if "polish" in names:
            options.set("polish", int(self.max_iter))
        seed = seed_of(self.random_state)
        if seed is not None:
            options.set("seed", seed)
        return options

    def _sizes(self, value, name, n):
        """One bound for all clusters; checked as the package does."""
        if value is None:
            return None
        if not 0 <= value <= n:
            raise ValueError("%s=%r must be between 0 and the %d rows" % (name, value, n))
        return array_of(value, np.int64, int(self.n_clusters), name)

    def fit(self, X, y=None, sample_weight=None):
        """Clusters the rows X."""
        rows = self._rows(X, reset=True)
        self._check_count(rows)
        weights = array_of(sample_weight, np.float64, len(rows), "sample_weight")
        start = (None, None)
        if is_start(self.init):
            start = start_of(self.init, int(self.n_clusters), rows.shape[1])
        set_threads(self.n_jobs)
        job = run(rows, self._options(), self._sizes(self.size_min, "size_min", len(rows)),
                  self._sizes(self.size_max, "size_max", len(rows)), weights,
                  bool(self.verbose), start)
        self._source = Source(X)
        return self._fitted(Clustering(job, 0), weights)

    def predict(self, X, size_min="init", size_max="init"):
        """The best labels with cluster sizes of size_min to size_max: 'init' = those of the
        constructor, None = no bound. Without bounds: the nearest centers."""
        model = self._model()
        rows = self._rows(X, reset=False)
        low = self.size_min if isinstance(size_min, str) else size_min
        high = self.size_max if isinstance(size_max, str) else size_max
        set_threads(self.n_jobs)
        if low is None and high is None:
            return model.predict(rows)
        n, k = len(rows), model.n_clusters
        if (low or 0) * k > n or (high is not None and high * k < n):
            raise ValueError("size_min=%r and size_max=%r cannot hold for %d rows and %d clusters"
                             % (low, high, n, k))
        return model.with_bounds(n, low or 0, high).predict(rows, constrained=True)
