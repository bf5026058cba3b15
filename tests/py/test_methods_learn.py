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
# The last epoch, projector and rate.
METHODS = {"simclr": (7, "128-relu-64", 0.2), "simsiam": (25, "128-bn-relu-128-bn-relu-64-bn0", 0.2),
           "barlow": (15, "128-bn-relu-128-bn-relu-128-bn", 0.05),
           "vicreg": (10, "128-bn-relu-128", 0.05), "emp": (5, "128-bn-relu-64", 0.2),
           "deepclusterv2": (12, "128-bn-relu-64", 0.2), "iic": (20, "linear", 0.002),
           "supervised": (6, "linear", 0.1), "byol": (25, "128-bn-relu-64", 0.2)}
MORE = {"simsiam": ["--predictor", "128-bn-relu-64"], "deepclusterv2": ["-k", "50,50,50"],
        "iic": ["-k", "10", "--optimizer", "adam"],
        "byol": ["--predictor", "128-bn-relu-64", "--momentum-start", "0.9"]}
VIEWS = {"emp": ["--views", "4"]}
GAIN = 0.05


# Second stages: the run that they continue, and by how much they must raise ACC over epoch 0.
BASE = ["--method", "simclr", "--projector", "128-relu-64", "--rate", "0.2", "--epochs", "21"]
STAGES = {"scan": (BASE, ["-k", "10", "--epochs", "16", "--rate", "0.001", "--batch", "64"], 0.1),
          "selflabel": (["--method", "secu", "--projector", "128-bn-relu-64", "-k", "10", "--rate",
                         "0.2", "--epochs", "21"],
                        ["--recipe", "cifar-weak-strong", "--threshold", "0.9", "--epochs", "8",
                         "--rate", "0.0005", "--batch", "64"], 0)}


def run(coke, out, *words):
    subprocess.run([coke, "train", *TRAIN, *words, "-o", out], check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{out}/metrics.jsonl") as f:
        return [e for e in map(json.loads, f) if "heads" in e]


def second_stage(coke, tmp, method):
    base, words, gain = STAGES[method]
    run(coke, f"{tmp}/base-{method}", *base)
    epochs = run(coke, f"{tmp}/{method}", "--method", method, "--optimizer", "adam", *words,
                 "--from", f"{tmp}/base-{method}", "--monitor", "1")
    first, then = (e["acc"] for e in (epochs[0], epochs[-1]))
    print(f"{method}: ACC {first:.3f}, after {len(epochs) - 1} epochs {then:.3f}")
    assert then > first + gain, (method, first, then)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for method in sys.argv[2:]:
            if method in STAGES:
                second_stage(sys.argv[1], tmp, method)
                continue
            last, projector, rate = METHODS[method]
            subprocess.run([sys.argv[1], "train", *TRAIN, *VIEWS.get(method, []), "--method", method, "--projector",
                            projector, *MORE.get(method, []), "--rate", str(rate), "--epochs", str(last + 1), "--monitor", str(last), "-o", f"{tmp}/{method}"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(f"{tmp}/{method}/metrics.jsonl") as f:
                epochs = [e for e in map(json.loads, f) if "heads" in e]
            first, then = epochs[0]["knn20"], epochs[-1]["knn20"]
            print(f"{method}: k-NN {first:.3f}, after {last} epochs {then:.3f}")
            assert then > first + GAIN, (method, first, then)


main()
