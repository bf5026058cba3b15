#!/usr/bin/python3
"""Methods without clusters learn: k-NN rises well above that of the random network.

usage: test_methods_learn.py COKE METHOD...
"""
import json
import subprocess
import sys
import tempfile

TRAIN = ["synthetic:n=800", "--recipe", "cifar-small", "--stem", "cifar", "--width", "0.25",
         "--zero-residual", "--channels", "1", "--size", "18", "--batch", "64",
         "--optimizer", "sgd", "--weight-decay", "1e-4", "--warmup", "1",
         "--threads", "2", "--save-epochs", "0", "-q"]
# The last epoch, dimension and rate.
METHODS = {"simclr": (7, 64, 0.2), "simsiam": (25, 64, 0.2), "barlow": (15, 128, 0.05),
           "vicreg": (10, 128, 0.05), "emp": (5, 64, 0.2)}
VIEWS = {"emp": ["--views", "4"]}
GAIN = 0.05


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for method in sys.argv[2:]:
            last, dim, rate = METHODS[method]
            subprocess.run([sys.argv[1], "train", *TRAIN, *VIEWS.get(method, []), "--method", method, "--dim",
                            str(dim), "--hidden", "128", "--rate", str(rate), "--epochs", str(last + 1), "--monitor", str(last), "-o", f"{tmp}/{method}"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(f"{tmp}/{method}/metrics.jsonl") as f:
                epochs = [e for e in map(json.loads, f) if "heads" in e]
            first, then = epochs[0]["knn20"], epochs[-1]["knn20"]
            print(f"{method}: k-NN {first:.3f}, after {last} epochs {then:.3f}")
            assert then > first + GAIN, (method, first, then)


main()
