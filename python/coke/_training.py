"""coke.train and coke.Run: encoders of images, in a full build of the library (COKE_NN=ON)."""
import ctypes
import functools
import json
import os
import tempfile

import numpy as np

from ._library import (Error, Handle, call, constant, encode, lib, make, set_threads, struct)
from ._model import summary_dict
from ._options import Options, lines_of, option_name, python_name, table, with_options, whole
from ._watch import Watch

OUTPUTS = {"features": constant.COKE_OUTPUT_FEATURES, "projections": constant.COKE_OUTPUT_PROJ}


def need_full_build():
    if not lib.has("train_run"):
        raise Error("this build of libcoke clusters vectors only; training needs "
                    "pip install . -C cmake.define.COKE_NN=ON")


def image_array(images):
    """A numpy array of images as the library reads it: uint8 [n][height][width][channels]."""
    x = np.asarray(images)
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.shape[3] not in (1, 3) or x.dtype != np.uint8:
        raise ValueError("images: uint8 [n][height][width] or [n][height][width][channels of 1 "
                         "or 3] is needed, not %s %s" % (x.dtype, list(x.shape)))
    return np.ascontiguousarray(x)


class Images:
    """An open data set: a folder, list, archive or array."""

    def __init__(self, source, options=None, beside=None):
        self._file = None
        if isinstance(source, (str, os.PathLike)):
            self.source = os.fspath(source)
        else:
            self.source = self._write(image_array(source), beside)
        options = options or Options("dataset")
        self._handle = Handle(make("dataset_open", encode(self.source), options.address),
                              "dataset_free", keep=(options,))

    def _write(self, x, beside):
        """beside: the array stays in this file, for later uses of a run; else it is temporary."""
        if beside is None:
            self._file = tempfile.NamedTemporaryFile(suffix=".npy")
            np.save(self._file, x)
            self._file.flush()
            return self._file.name
        if not os.path.exists(beside) or not np.array_equal(np.load(beside, mmap_mode="r"), x):
            with open(beside + ".tmp", "wb") as f:
                np.save(f, x)
            os.replace(beside + ".tmp", beside)
        return beside

    @property
    def address(self):
        return self._handle.address

    def __len__(self):
        return lib.dataset_count(self.address)

    def names(self):
        text = ctypes.create_string_buffer(4096)
        found = []
        for i in range(len(self)):
            lib.dataset_name(self.address, i, text, len(text))
            found.append(os.fsdecode(text.value))
        return found

    def sheet(self, images, columns, side):
        """The bytes of a JPEG: at most 256 images by number, each `side` pixels wide."""
        chosen = np.ascontiguousarray(images, np.int64)
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        call("dataset_sheet", self.address, chosen.ctypes.data, len(chosen), columns, side,
             ctypes.byref(data), ctypes.byref(size))
        try:
            return ctypes.string_at(data.value, size.value)
        finally:
            lib.bytes_free(data)

    def labels(self):
        return np.array([lib.dataset_label(self.address, i) for i in range(len(self))], np.int32)


def split(values, *kinds):
    """Option objects of several kinds, each with those of the values that it has."""
    names = {kind: {python_name(o.name) for o in table(kind)} for kind in kinds}
    values = {python_name(option_name(name)): value for name, value in values.items()}
    for name in values:
        if not any(name in known for known in names.values()):
            Options(kinds[0]).set(name, values[name])  # fails, and suggests the nearest
    return [Options(kind, {n: v for n, v in values.items() if n in names[kind]})
            for kind in kinds]


def presets():
    """Named sets of options for `coke.train`: a dict from name to what it is for."""
    need_full_build()
    found = {}
    while lib.train_preset_name(len(found)):
        i = len(found)
        found[lib.train_preset_name(i).decode()] = lib.train_preset_about(i).decode()
    return found


def train(images, k=None, out=None, *, preset=None, config=None, fresh=False, force=False,
          resume_anyway=False, n_jobs=None, progress=None, **options):
    need_full_build()
    if out is None:
        raise TypeError("train() needs out, the folder of the run")
    chosen = Options("train")
    if preset is None and options.get("method") in presets():
        preset = options["method"]
    if preset is not None:
        call("train_preset", chosen.address, preset.encode())
    if config is not None:
        call("options_load_json", chosen.address, encode(config))
    if k is not None:
        chosen.set("k", [whole(v, "k") for v in (k if np.ndim(k) > 0 else [k])])
    for name, value in options.items():
        chosen.set(name, value)
    out = os.fspath(out)
    data = Images(images, chosen, beside=out.rstrip("/") + "-images.npy")
    control = struct.coke_train_control(fresh=bool(fresh), force=bool(force),
                                        resume_anyway=bool(resume_anyway))
    summary = struct.coke_train_summary()
    watch = Watch(progress)
    set_threads(n_jobs)
    watch.call("train_run", data.address, chosen.address, encode(out), ctypes.byref(control),
               watch.address, ctypes.byref(summary))
    return Run(out)


class Run:
    """A training: its encoder and clusterings, applied to images.

    path: the folder of a training, also while it is running, a checkpoint, an encoder, or the
    weights of a torchvision ResNet. options: kind `use` (size, bad, best, ...)."""

    def __init__(self, path, **options):
        need_full_build()
        self.path = os.fspath(path)
        self._chosen, self._options = options, Options("use", options)
        self._handle = Handle(make("run_open", encode(self.path), self._options.address),
                              "run_free", keep=(self._options,))

    def __reduce__(self):
        return functools.partial(Run, **self._chosen), (self.path,)

    @property
    def epoch(self):
        return lib.run_epoch(self._handle.address)

    @property
    def n_clusters(self):
        """Of each head."""
        return [lib.run_k(self._handle.address, h)
                for h in range(lib.run_heads(self._handle.address))]

    def labels(self, head=0):
        """Clusters of the training's own images in one head, as the checkpoint has them."""
        labels = np.empty(lib.run_images(self._handle.address), np.int32)
        call("run_labels", self._handle.address, head, labels.ctypes.data)
        return labels

    def images(self):
        """The images of the training, opened as it did; FileError if they are gone."""
        with open(os.path.join(self.path, "run.json"), encoding="utf-8") as f:
            source = json.load(f)["data"]
        with open(os.path.join(self.path, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        known = {row.name for row in table("dataset")}
        return Images(source, Options("dataset", {n: v for n, v in config.items() if n in known}))

    def _open(self, images, options):
        """A data set in the colors that the encoder takes; options: kind dataset."""
        channels = lib.run_channels(self._handle.address)
        if options.get("channels") == "auto" and channels in (1, 3):
            options.set("channels", channels)
        return Images(images, options)

    def embed(self, images, output="features", out=None, progress=None, **options):
        """Vectors of the images, float32 [n][dim]; rows of unreadable images are 0.

        out: a .npy file that stays, read back as a memory map; else the result is in memory."""
        data = self._open(images, Options("dataset", options))
        with tempfile.TemporaryDirectory() as folder:
            path = os.fspath(out) if out is not None else os.path.join(folder, "x.npy")
            watch = Watch(progress)
            summary = struct.coke_embed_summary()
            watch.call("run_embed", self._handle.address, data.address, OUTPUTS[output],
                       encode(path), 0, watch.address, ctypes.byref(summary))
            return np.load(path, mmap_mode="r" if out is not None else None)

    def assign(self, images, head=0, progress=None, **options):
        """Clusters (int32), similarities and margins (float32) of the images in one head."""
        data = self._open(images, Options("dataset", options))
        n = len(data)
        cluster = np.empty(n, np.int32)
        similarity, margin = np.empty(n, np.float32), np.empty(n, np.float32)
        watch = Watch(progress)
        watch.call("run_assign", self._handle.address, data.address, head, watch.address,
                   cluster.ctypes.data, similarity.ctypes.data, margin.ctypes.data)
        return cluster, similarity, margin

    def evaluate(self, images, test=None, how="knn", progress=None, **options):
        """Agreement with known classes: how = knn, linear, finetune or cluster. A dict.

        test: images to judge by; None: the test split of data that have one (CIFAR, MNIST)."""
        kinds = {"knn": "knn_result", "linear": "classifier_result",
                 "finetune": "classifier_result", "cluster": "clusters_result"}
        if how not in kinds:
            raise ValueError("how: %r is not one of %s" % (how, ", ".join(kinds)))
        dataset, chosen = split(options, "dataset", how) if how != "cluster" else \
            (Options("dataset", options), None)
        train = self._open(images, dataset)
        other = None if test is None else self._open(test, dataset)
        if test is None and "split" not in options and lib.dataset_has_split(train.address):
            dataset.set("split", "test")
            other = self._open(images, dataset)
        watch = Watch(progress)
        job = struct.coke_eval_input(run=self._handle.address, train=train.address,
                                     test=other.address if other else None,
                                     callbacks=watch.address)
        if how == "cluster":
            job.test = (other or train).address
        result = getattr(struct, "coke_" + kinds[how])()
        arguments = [ctypes.byref(job)] + ([chosen.address] if chosen else [])
        watch.call("eval_" + how, *(arguments + [ctypes.byref(result)]))
        return plain(result)

    def report(self, out, images=None, force=False, **options):
        """Writes the run as one HTML page."""
        chosen = Options("report", options)
        job = struct.coke_report_input(source=encode(self.path),
                                       images=None if images is None else encode(images))
        call("report_write", ctypes.byref(job), chosen.address, encode(out), None, bool(force),
             ctypes.byref(struct.coke_report_summary()))

    def export(self, out, force=False, **options):
        """Writes the encoder for other programs: format = safetensors, pth, onnx, detectron2."""
        chosen = Options("export", options)
        summary = struct.coke_exchange_summary()
        try:
            call("export", encode(self.path), encode(out), chosen.address, bool(force),
                 ctypes.byref(summary))
        finally:
            lib.options_free(summary.encoder)

    def metrics_rows(self):
        """The lines of metrics.jsonl as dicts; [] if there is no such file."""
        path = os.path.join(self.path, "metrics.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f if line.endswith("\n")]
        return [{n: v for n, v in row.items() if n != "xxh3"} for row in rows]  # its checksum

    def metrics(self):
        """metrics.jsonl as a pandas table."""
        import pandas
        return pandas.json_normalize(self.metrics_rows())

    def __repr__(self):
        return "<coke.Run %s: %d epochs, k = %s>" % (self.path, self.epoch, self.n_clusters)

    def _repr_html_(self):
        from ._html import run_html
        return run_html(self)


def plain(result):
    """A result struct as a dict; arrays are cut to the rows that are used."""
    values = summary_dict(result)
    n = values.pop("heads", values.pop("n", None))
    for name, value in values.items():
        if isinstance(value, ctypes.Array):
            values[name] = [summary_dict(v) if isinstance(v, ctypes.Structure) else v
                            for v in value[:n]]
    return values


TRAIN = """Trains an encoder on images into the folder `out`, or resumes; returns its `coke.Run`.

    Parameters
    ----------
    images : path of a folder, list or archive, "synthetic:", or uint8 array [n][h][w][channels]
        An array is kept beside the run, in OUT-images.npy.
    k : int or list of int
        Clusters of each head; a preset may have them, and some methods need none.
    out : path
        Folder of the run.
    preset : str
        A named set of options, of which `coke.presets()` tells; k and options take precedence.
        Without it, a method has the preset of its name, as in the program.
    config : path
        A JSON file of options, as the config.json of a run.
    fresh : bool
        Does not resume from the folder; with force it replaces an earlier run.
    resume_anyway : bool
        Resumes although options, threads or versions have changed.
    n_jobs : int
        Threads; -1 = all cores. A run resumes only with as many.
    progress : bool or callable
        True shows a bar; a callable receives a `coke.Progress`, and False from it stops.
%s

    Ctrl-C writes a checkpoint first; the same call resumes."""


def document():
    """Docstrings and signatures from the tables of options, where the build has them."""
    if not lib.has("train_run"):
        train.__doc__ = TRAIN % "    **options : as `coke train` lists them"
        return
    train.__doc__ = TRAIN % lines_of("train", without=("k",))
    with_options(train, "train", without=("k",))
    uses = {Run.__init__: ("use",), Run.embed: ("dataset",), Run.assign: ("dataset",),
            Run.report: ("report",), Run.export: ("export",),
            Run.evaluate: ("dataset", "knn", "linear", "finetune")}
    for method, kinds in uses.items():
        method.__doc__ = "%s\n\n    Options\n    -------\n%s\n" % (
            method.__doc__ or "Opens a run.", "\n".join(lines_of(kind) for kind in kinds))


document()
