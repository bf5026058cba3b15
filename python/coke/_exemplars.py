"""Typical members of clusters: the rows nearest to their centers, and what to call them."""
import os
import weakref

import numpy as np

from ._rows import Rows, as_rows, blocks

SHOWN, MEMBERS, LOOKED_AT = 8, 5, 1000  # clusters of a picture, rows of each, rows that compete


class Source:
    """Where rows came from, without keeping them alive: a path, or a weak reference. A copy by
    pickle knows nothing."""

    def __init__(self, x=None):
        self.path = os.fspath(x) if isinstance(x, (str, os.PathLike)) else None
        try:
            self.reference = None if x is None or self.path is not None else weakref.ref(x)
        except TypeError:  # lists have no weak references
            self.reference = None

    def __reduce__(self):
        return Source, ()

    def get(self):
        """What was given to fit, if it is still there."""
        x = self.path if self.path is not None else self.reference and self.reference()
        if isinstance(x, Rows) and not x.is_open:
            return None
        return x


def names_of(x):
    """A function from row numbers to names: those of a pandas index, or the numbers."""
    index = getattr(x, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return str
    return lambda row: str(index[row])


def scores(block, labels, centers, metric):
    """Nearness of rows to the centers of their labels, in float64: cosine, or minus the squared
    distance."""
    own = np.asarray(centers, np.float64)[labels]
    if metric == "cosine":
        length = np.linalg.norm(block, axis=1)
        return np.einsum("ij,ij->i", block, own) / np.where(length > 0, length, 1)
    return -((block - own) ** 2).sum(axis=1)


def first_of_each(labels, score, k, n):
    """[k][n] positions with the highest scores of each label, -1 = none; ties: the lower one."""
    out = np.full((k, n), -1, np.int64)
    order = np.lexsort((-score, labels))
    labels = labels[order]
    rank = np.arange(len(labels)) - np.searchsorted(labels, labels)
    chosen = (labels >= 0) & (rank < n)
    out[labels[chosen], rank[chosen]] = order[chosen]
    return out


def nearest(x, labels, centers, metric, n):
    """[k][n] rows of x that are nearest to the centers of their labels; -1 = there are no more."""
    if n < 1:
        raise ValueError("n: %r is not a positive number of rows" % (n,))
    rows = as_rows(x)
    if len(rows) != len(labels):
        raise ValueError("x has %d rows, and there are %d labels" % (len(rows), len(labels)))
    score, at = np.empty(len(labels)), 0
    for block in blocks(rows):
        score[at:at + len(block)] = scores(block, labels[at:at + len(block)], centers, metric)
        at += len(block)
    return first_of_each(labels, score, len(centers), n)


def largest(sizes):
    return np.argsort(-np.asarray(sizes), kind="stable")[:SHOWN]


def spread(members, n):
    """At most n of them, evenly spaced."""
    return members if len(members) <= n else members[np.arange(n) * len(members) // n]


def some(source, labels, sizes, centers, metric):
    """[(cluster, [names])] of the largest clusters: the nearest among some of their rows; [] if
    the rows are gone or have changed."""
    x = source.get()
    if x is None:
        return []
    rows = as_rows(x)
    if rows.shape != (len(labels), centers.shape[1]):
        return []
    name, shown = names_of(x), []
    for cluster in largest(sizes):
        members = spread(np.flatnonzero(labels == cluster), LOOKED_AT)
        own = labels[members]
        best = members[np.argsort(-scores(rows[members], own, centers, metric), kind="stable")]
        shown.append((int(cluster), [name(int(row)) for row in best[:MEMBERS]]))
    return shown
