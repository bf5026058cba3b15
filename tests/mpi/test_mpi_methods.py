#!/usr/bin/python3
"""Every method of training with several processes: they end alike, with the losses of one process.

usage: test_mpi_methods.py COKE     MPIEXEC in the environment starts processes
"""
import json
import os
import subprocess
import sys
import tempfile

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
           ("selflabel", ["--from", "BASE", "--recipe", "cifar-weak-strong", "--threshold", "0.1"]),
           ("byol", BOTH), ("mocov2", HEAD + ["--queue", "40"]),
           ("mocov2", HEAD + ["--queue", "40", "--no-symmetric"]), ("mocov3", BOTH),
           ("nnclr", BOTH + ["--queue", "40"]),
           ("swav", HEAD + PROTOTYPES + ["--queue", "24", "--queue-from", "1"]),
           ("swav", HEAD + PROTOTYPES + ["--recipe", "multi", "--small-views", "2"]),
           ("dino", HEAD + PROTOTYPES), ("msn", HEAD + PROTOTYPES)]


def losses(run):
    with open(run + "/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    return [line["loss"] for line in lines if "heads" in line]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([COKE, "train", *TRAIN, *CLUSTERS, "-o", tmp + "/base", "-q"], check=True)
        for i, (method, more) in enumerate(METHODS):
            found = []
            more = [tmp + "/base" if word == "BASE" else word for word in more]
            for ranks in (1, 2, 3):
                run = f"{tmp}/{i}-{ranks}"
                done = subprocess.run([MPIEXEC, "-n", str(ranks), COKE, "train", *TRAIN, "--method",
                                       method, *more, "-o", run], capture_output=True, text=True)
                assert done.returncode == 0, (method, ranks, done.stderr)
                found.append(losses(run))
            for other in found[1:]:
                # Views and order are the same. At a low rate rounding stays small; it may decide labels.
                assert all(abs(a - b) < 0.05 * abs(a) + 2e-3 for a, b in zip(found[0], other)), (
                    method, found)
            print(method, *more, [" ".join("%.4f" % x for x in f) for f in found])


main()
