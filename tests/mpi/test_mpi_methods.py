#!/usr/bin/python3
"""Every method of training with several processes: they end alike, with the losses of one process.
So do averaged weights and rounds shorter than epochs.

usage: test_mpi_methods.py COKE     MPIEXEC in the environment starts processes
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

COKE, MPIEXEC = sys.argv[1], os.environ["MPIEXEC"]
TRAIN = ["synthetic:n=48,size=16", "--stem", "cifar", "--width", "0.125", "--recipe",
         "cifar", "--size", "16", "--batch", "16", "--epochs", "3", "--warmup", "1", "--optimizer",
         "sgd", "--rate", "0.002", "--monitor", "0", "--threads", "1"]
HEAD = ["--projector", "64-bn-relu-16"]
BOTH = HEAD + ["--predictor", "64-bn-relu-16"]
PROTOTYPES = ["--prototypes", "20", "--freeze-prototypes", "0"]
CLUSTERS = ["-k", "5,10", "--eta", "0.1"]
METHODS = [("secu", CLUSTERS), ("secu", CLUSTERS[:2] + ["--constraint", "entropy"]),
           ("simclr", HEAD), ("simsiam", BOTH), ("barlow", HEAD),
           ("vicreg", HEAD), ("emp", HEAD + ["--views", "3"]),
           ("deepclusterv2", HEAD + ["-k", "5,10"]), ("iic", ["-k", "5"]), ("supervised", []),
           ("scan", ["-k", "5", "--near", "3", "--from", "BASE"]),
           ("selflabel", ["--from", "BASE", "--recipe", "cifar-weak-strong", "--threshold", "0.1",
                          "--rate", "2e-5"]),
           ("byol", BOTH), ("mocov2", HEAD + ["--queue", "40"]),
           ("mocov2", HEAD + ["--queue", "40", "--no-symmetric"]), ("mocov3", BOTH),
           ("nnclr", BOTH + ["--queue", "40"]),
           ("swav", HEAD + PROTOTYPES + ["--queue", "24", "--queue-from", "1"]),
           ("swav", HEAD + PROTOTYPES + ["--recipe", "multi", "--small-views", "2"]),
           ("dino", HEAD + PROTOTYPES), ("msn", HEAD + PROTOTYPES)]

# A process divides its own images, so that batch norm sees others together than in one process
# (docs/distributed.md): the losses are only near, but all processes must end alike.
SPLIT = [("coke", CLUSTERS), ("byol", BOTH), ("mocov2", HEAD + ["--queue", "40"]),
         ("dino", HEAD + PROTOTYPES)]


def losses(run):
    with open(run + "/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    return [line["loss"] for line in lines if "heads" in line]


def weights(path, prefix):
    """The averaged parameters ("ema.") or the trained ones ("") of a checkpoint, as one vector."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        base = f.tell()
        names = sorted(n[4:] for n in header if n.startswith("ema.") and "running" not in n)
        parts = []
        for name in names:
            start, end = header[prefix + name]["data_offsets"]
            f.seek(base + start)
            parts.append(np.frombuffer(f.read(end - start), "<f4"))
    assert parts, path
    return np.concatenate(parts).astype(float)


def train(ranks, run, more):
    done = subprocess.run([MPIEXEC, "-n", str(ranks), COKE, "train", *TRAIN, *more, "-o", run],
                          capture_output=True, text=True)
    assert done.returncode == 0, (more, ranks, done.stderr)
    return losses(run)


def check_schedules(tmp):
    """Processes differ far less than averaged weights from trained ones, and rounds from epochs."""
    more = [*CLUSTERS, "--ema", "0.9", "--round", "16"]
    whole = train(1, tmp + "/whole", more[:-2])
    runs = [f"{tmp}/rounds{ranks}" for ranks in (1, 2, 3)]
    found = [train(ranks + 1, run, more) for ranks, run in enumerate(runs)]
    averaged = [weights(run + "/last.safetensors", "ema.") for run in runs]
    effect = np.linalg.norm(averaged[0] - weights(runs[0] + "/last.safetensors", ""))
    rounds = abs(found[0][1] - whole[1])
    for loss, average in zip(found[1:], averaged[1:]):
        error = np.linalg.norm(average - averaged[0])
        assert error < 0.1 * effect, (error, effect)
        assert abs(loss[1] - found[0][1]) < 0.1 * rounds, (found, whole)
    print("ema, round", found, "whole epochs", whole, "averaging", effect, "processes", error)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([COKE, "train", *TRAIN, *CLUSTERS, "-o", tmp + "/base", "-q"], check=True)
        check_schedules(tmp)
        rows = [(m, words, 0.05) for m, words in METHODS]
        rows += [(m, words + ["--accumulate", "2"], 0.3) for m, words in SPLIT]
        for i, (method, more, near) in enumerate(rows):
            found = []
            more = [tmp + "/base" if word == "BASE" else word for word in more]
            for ranks in (1, 2, 3):
                found.append(train(ranks, f"{tmp}/{i}-{ranks}", ["--method", method, *more]))
            for other in found[1:]:
                # Views and order are the same. At a low rate rounding stays small; it may decide labels.
                assert all(abs(a - b) < near * abs(a) + 2e-3 for a, b in zip(found[0], other)), (
                    method, found)
            print(method, *more, [" ".join("%.4f" % x for x in f) for f in found])


main()
