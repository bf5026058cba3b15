"""Writes __init__.pyi: the signatures of the package, options from the library's tables.

usage: python _stubs.py FILE       with COKE_LIBRARY set; needs neither numpy nor scikit-learn"""
import importlib.util
import os
import sys

# Parameters that are no options. Estimators have them after the options, cluster before.
SIZES = ["min_sizes: ArrayLike | None = None", "max_sizes: ArrayLike | None = None"]
COMMON = ["n_jobs: int | None = None", "progress: bool | Callable[[Progress], Any] | None = None"]
ESTIMATOR = ["size_min: int | None = None", "size_max: int | None = None"] + SIZES + \
    ["random_state: Any = None"] + COMMON

HEAD = '''"""Generated from the option tables of the library by _stubs.py."""
from os import PathLike
from typing import Any, Callable, Literal, NamedTuple, Sequence, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str
__all__ = %(all)s

class Error(Exception):
    status: int
class UsageError(Error, ValueError): ...
class FormatError(Error, ValueError): ...
class FileError(Error, OSError): ...
class OutOfMemory(Error, MemoryError): ...
class NumericError(Error, ValueError): ...
class Stopped(Error): ...
class CokeWarning(UserWarning): ...

class Progress(NamedTuple):
    phase: str
    epoch: int
    epochs: int
    done: int
    total: int
    objective: float | None
    unit: str
    detail: str | None

class Certificate(NamedTuple):
    primal: float
    dual: float
    gap: float

class Rows:
    source: str
    shape: tuple[int, int]
    dtype: np.dtype[np.float32]
    ndim: int
    is_open: bool
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, which: Any) -> NDArray[np.float32]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Rows: ...
    def __exit__(self, *exc: Any) -> None: ...

class Model:
    data: bytes
    meta: dict[str, str]
    centers: NDArray[np.float32]
    duals: NDArray[np.float32]
    sizes: NDArray[np.int64] | None
    min_sizes: NDArray[np.int64]
    max_sizes: NDArray[np.int64] | None
    n_clusters: int
    dim: int
    metric: str
    def __init__(self, data: bytes) -> None: ...
    def assign(self, x: Any, constrained: bool = False, bad: Literal["error", "skip"] = "error",
               progress: Any = None) -> tuple[NDArray[np.int32], NDArray[np.float32], dict[str, Any]]: ...
    def predict(self, x: Any, constrained: bool = False) -> NDArray[np.int32]: ...
    def transform(self, x: Any, bad: Literal["error", "skip"] = "error") -> NDArray[np.float32]: ...
    def with_bounds(self, n: int, min_sizes: ArrayLike, max_sizes: ArrayLike | None) -> Model: ...
    def save(self, path: str | PathLike[str], force: bool = False) -> None: ...

class Clustering:
    labels: NDArray[np.int32]
    model: Model
    summary: dict[str, Any]
    timing: dict[str, float]
    centers: NDArray[np.float32]
    sizes: NDArray[np.int64]
    duals: NDArray[np.float32]
    objective: float
    certificate: Certificate | None
    def predict(self, x: Any, constrained: bool = False) -> NDArray[np.int32]: ...
    def exemplars(self, n: int = 5, x: Any = None) -> NDArray[np.int64]: ...
    def write(self, folder: str | PathLike[str], force: bool = False) -> None: ...

class _Option(NamedTuple):
    name: str
    type: int
    default: Any
    min: float
    max: float
    choices: str | None
    help: str

def options(kind: str = "cluster") -> list[_Option]: ...
def load(path: str | PathLike[str]) -> Model: ...
def presets() -> dict[str, str]: ...
'''

FITTED = '''    labels_: NDArray[np.int32]
    cluster_centers_: NDArray[np.float32]
    sizes_: NDArray[np.int64]
    duals_: NDArray[np.float32]
    inertia_: float
    objective_: float
    certificate_: Certificate | None
    summary_: dict[str, Any]
    model_: Model
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> %(name)s: ...
    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]: ...
    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any: ...
    def transform(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float: ...
    def exemplars(self, X: Any, n: int = 5) -> NDArray[np.int64]: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> %(name)s: ...
    def set_output(self, *, transform: Any = None) -> %(name)s: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]: ...
'''


CONSTRAINED = [
    "n_clusters: int = 8", "size_min: int | None = None", "size_max: int | None = None",
    'init: Literal["k-means++", "random"] | ArrayLike = "k-means++"', "n_init: int = 10",
    "max_iter: int = 300", "tol: float = 1e-4", "verbose: bool = False",
    "random_state: Any = None", "copy_x: bool = True", "n_jobs: int | None = 1"]
PREDICT_CONSTRAINED = '''    def predict(self, X: Any, size_min: int | None | Literal["init"] = "init",
                size_max: int | None | Literal["init"] = "init") -> NDArray[np.int32]: ...
'''

# Methods of Run: name, parameters, kinds of its options, result.
RUN = [
    ("__init__", ["path: str | PathLike[str]"], ("use",), "None"),
    ("embed", ["images: Any", 'output: Literal["features", "projections"] = "features"',
               "out: str | PathLike[str] | None = None", "progress: Any = None"], ("dataset",),
     "NDArray[np.float32]"),
    ("assign", ["images: Any", "head: int = 0", "progress: Any = None"], ("dataset",),
     "tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]"),
    ("evaluate", ["images: Any", "test: Any = None",
                  'how: Literal["knn", "linear", "finetune", "cluster"] = "knn"',
                  "progress: Any = None"], ("dataset", "knn", "linear", "finetune"),
     "dict[str, Any]"),
    ("report", ["out: str | PathLike[str]", "images: str | PathLike[str] | None = None",
                "force: bool = False"], ("report",), "None"),
    ("export", ["out: str | PathLike[str]", "force: bool = False"], ("export",), "None"),
    ("labels", ["head: int = 0"], (), "NDArray[np.int32]"),
    ("images", [], (), "Any"),
    ("metrics_rows", [], (), "list[dict[str, Any]]"),
    ("metrics", [], (), "Any"),
]
TRAIN = ["images: Any", "k: int | Sequence[int] | None = None",
         "out: str | PathLike[str] | None = None"]
TRAIN_MORE = ["preset: str | None = None", "config: str | PathLike[str] | None = None",
              "fresh: bool = False", "force: bool = False", "resume_anyway: bool = False"] + COMMON


def load_package():
    """This folder as the package coke, also when the file is run as a script."""
    if __package__:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location("coke", os.path.join(here, "__init__.py"),
                                                  submodule_search_locations=[here])
    sys.modules["coke"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["coke"])


def parameters(kind, without):
    from coke._options import python_name, table, type_of
    also = {"init": " | Model | ArrayLike"} if kind == "cluster" else {}
    return ["%s: %s = %r" % (python_name(o.name), type_of(o) + also.get(o.name, ""), o.default)
            for o in table(kind) if o.name not in without]


def parameters_of(kinds, without=()):
    """The options of several kinds, each name once; a build without networks has no tables of
    trainings, and any names."""
    from coke._library import lib
    if kinds and not lib.has("train_run"):
        return ["**options: Any"]
    found = {}
    for kind in kinds:
        for text in parameters(kind, without):
            found.setdefault(text.split(":")[0], text)
    return list(found.values())


def function(indent, name, first, rest, result):
    star = ["*"] if rest and not rest[0].startswith("*") else []
    lines = [indent + "def %s(" % name] + [indent + "    %s," % p for p in first + star + rest] + \
        [indent + ") -> %s: ..." % result]
    return "\n".join(lines) + "\n"


def estimator(name, first, rest):
    """A class with its constructor, the parameters as attributes, and what a fit makes."""
    return "\nclass %s:\n" % name + \
        "".join("    %s\n" % p.split(" = ")[0] for p in first + rest) + \
        function("    ", "__init__", ["self"] + first, rest, "None") + FITTED % {"name": name}


def list_of(names):
    return "[\n%s]" % "".join('    "%s",\n' % name for name in names)


def stubs():
    import coke
    cluster = SIZES + ["sample_weight: ArrayLike | None = None"] + COMMON + \
        parameters("cluster", ("k",))
    text = HEAD % {"all": list_of(coke.__all__)}
    text += function("", "open_rows", ["*paths: str | PathLike[str]"], parameters("rows", ()),
                     "Rows").replace("    *,\n", "", 1)
    for k, result in (("int", "Clustering"), ("Sequence[int] | NDArray[np.integer[Any]]", "list[Clustering]")):
        text += "@overload\n" + function("", "cluster", ["x: Any", "k: " + k], cluster, result)
    text += estimator("KMeans", ["n_clusters: int = 8"],
                      parameters("cluster", ("k", "seed")) + ESTIMATOR)
    text += "    def predict(self, X: Any, constrained: bool = False) -> NDArray[np.int32]: ...\n"
    text += "    def partial_fit(self, X: Any, y: Any = None, sample_weight: None = None) " \
        "-> KMeans: ...\n"
    text += estimator("KMeansConstrained", CONSTRAINED, []) + PREDICT_CONSTRAINED
    text += "\nclass Run:\n    path: str\n    epoch: int\n    n_clusters: list[int]\n"
    for name, first, kinds, result in RUN:
        text += function("    ", name, ["self"] + first, parameters_of(kinds), result)
    return text + "\n" + function("", "train", TRAIN, TRAIN_MORE + parameters_of(("train",), ("k",)),
                                  "Run")


def main():
    load_package()
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write(stubs())


if __name__ == "__main__":
    main()
