"""coke: clusters of guaranteed sizes.

    import coke
    labels = coke.KMeans(100, ratio=.5).fit_predict(x)   # every cluster has at least .5 n/k rows

docs/python.md has recipes. Names are loaded when they are first used: scikit-learn, if it is
installed, only with the estimators.
"""
import importlib

_HOME = {
    "KMeans": "_estimators", "KMeansConstrained": "_constrained",
    "cluster": "_cluster", "Clustering": "_cluster", "Certificate": "_cluster",
    "load": "_model", "Model": "_model", "open_rows": "_rows", "Rows": "_rows",
    "train": "_training", "Run": "_training", "presets": "_training",
    "Progress": "_watch",
    "Error": "_library", "UsageError": "_library", "FormatError": "_library",
    "FileError": "_library", "OutOfMemory": "_library", "NumericError": "_library",
    "Stopped": "_library", "CokeWarning": "_library",
}
__all__ = sorted(_HOME) + ["options", "__version__"]


def options(kind="cluster"):
    """The options of a kind: a list of (name, type, default, min, max, choices, help).

    Kinds are those of coke.h: cluster, rows, and in a full build train, dataset, use, ..."""
    from ._options import table
    return list(table(kind))


def __getattr__(name):
    if name == "__version__":
        from ._model import version
        return version()
    if name not in _HOME:
        raise AttributeError("module 'coke' has no attribute %r" % name)
    value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
