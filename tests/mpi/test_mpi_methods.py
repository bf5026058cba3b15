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
TRAIN = ["synthetic:n=48,size=16", "--stem", "cifar", "--width", "0.125", "--dim", "16", "--recipe",
         "cifar", "--size", "16", "--batch", "16", "--epochs", "3", "--warmup", "1", "--optimizer",
         "sgd", "--rate", "0.002", "--monitor", "0", "--threads", "1"]
CLUSTERS = ["-k", "5,10", "--eta", "0.1"]
METHODS = [("secu", CLUSTERS), ("secu", CLUSTERS[:2] + ["--constraint", "entropy"]),
           ("simclr", []), ("simsiam", []), ("barlow", ["--hidden", "64"]),
           ("vicreg", ["--hidden", "64"]), ("emp", ["--hidden", "64", "--views", "3"])]


def losses(run):
    with open(run + "/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    return [line["loss"] for line in lines if "heads" in line]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for i, (method, more) in enumerate(METHODS):
            found = []
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
