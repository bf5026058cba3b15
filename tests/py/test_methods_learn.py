#!/usr/bin/python3
"""Methods learn on the built-in images: k-NN rises well above that of the random network.

usage: test_methods_learn.py COKE METHOD...
"""
import json
import os
import subprocess
import sys
import tempfile

TRAIN = ["synthetic:n=800", "--recipe", "cifar-small", "--stem", "cifar", "--width", "0.25",
         "--zero-residual", "--channels", "1", "--size", "18", "--batch", "64",
         "--optimizer", "sgd", "--weight-decay", "1e-4", "--warmup", "1",
         "--threads", "2", "--save-epochs", "0", "-q"]
SMALL = "--projector 128-bn-relu-64 "
PREDICTED = SMALL + "--predictor 128-bn-relu-64 "
# The last epoch, and the options. Each takes less than two minutes on one core.
METHODS = {
    "simclr": (7, "--projector 128-relu-64 --rate 0.2"),
    "simsiam": (25, "--projector 128-bn-relu-128-bn-relu-64-bn0 --predictor 128-bn-relu-64 --rate 0.2"),
    "barlow": (15, "--projector 128-bn-relu-128-bn-relu-128-bn --rate 0.05"),
    "vicreg": (10, "--projector 128-bn-relu-128 --rate 0.05"),
    "emp": (5, SMALL + "--rate 0.2 --views 4"),
    "byol": (25, PREDICTED + "--rate 0.2 --momentum-start 0.9"),
    "mocov2": (15, "--projector 128-relu-64 --queue 512 --rate 0.06"),
    "mocov3": (30, "--projector 128-bn-relu-64-bn0 --predictor 128-bn-relu-64 --temperature 0.2 "
               "--rate 0.2"),
    "nnclr": (12, "--projector 128-bn-relu-64-bn --predictor 128-bn-relu-64 --queue 512 --rate 0.2"),
    "swav": (12, SMALL + "--prototypes 100 --queue 0 --rate 0.6"),
    "dino": (30, "--projector 128-bn-gelu-128-bn-gelu-64 --prototypes 256 --momentum-start 0.99 "
             "--teacher-temperature 0.04 --rate 0.1"),
    "msn": (30, SMALL + "--prototypes 64 --momentum-start 0.99 --rate 0.2"),
    "deepclusterv2": (12, SMALL + "-k 50,50,50 --rate 0.2"),
    "coke": (20, "--projector mlp3 -k 10,20,50 --temperature 0.2 --alpha 1 --ratio 0.9 --update epoch "
             "--rate 0.2"),
    "secu": (25, SMALL + "-k 10,20,50 --constraint entropy --temperature 0.2 --rate 0.1"),
    # Minimum sizes need duals that settle before the encoder learns: many steps, a slow warm-up.
    "secu-size": (30, "--method secu " + SMALL + "-k 10 --ratio 0.9 --eta 0.1 --temperature 0.1 "
                  "--rate 0.05 --batch 16 --warmup 4"),
    "iic": (20, "--projector linear -k 10 --optimizer adam --rate 0.002"),
    "supervised": (6, "--projector linear --rate 0.1"),
}
GAIN = 0.05


# Second stages: the run that they continue, and by how much they must raise ACC over epoch 0.
# Self-labelling may not lose what SCAN has found; where SCAN has merged classes it cannot part them.
STAGES = {"scan": ("simclr", ["-k", "10", "--epochs", "41", "--rate", "0.001", "--batch", "64"], 0.1),
          "selflabel": ("scan", ["--recipe", "cifar-weak-strong", "--epochs", "8", "--rate", "0.0001",
                                 "--batch", "200"], -0.02)}
BASE = ["--method", "simclr", "--projector", "128-relu-64", "--rate", "0.2", "--epochs", "21"]


def run(coke, out, *words):
    """The journal's lines of the epochs."""
    subprocess.run([coke, "train", *TRAIN, *words, "-o", out], check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{out}/metrics.jsonl") as f:
        return [e for e in map(json.loads, f) if "heads" in e]


def stage(coke, tmp, method):
    """The folder of a run, made unless it is there."""
    out = f"{tmp}/stage-{method}"
    if os.path.exists(out):
        return out
    if method not in STAGES:
        run(coke, out, *BASE)
        return out
    before, words, gain = STAGES[method]
    epochs = run(coke, out, "--method", method, "--optimizer", "adam", *words, "--from",
                 stage(coke, tmp, before), "--monitor", "1")
    first, then = (e["acc"] for e in (epochs[0], epochs[-1]))
    print(f"{method}: ACC {first:.3f}, after {len(epochs) - 1} epochs {then:.3f}")
    assert then > first + gain, (method, first, then)
    return out


def first_stage(coke, tmp, method):
    last, words = METHODS[method]
    if not words.startswith("--method"):
        words = f"--method {method} {words}"
    epochs = run(coke, f"{tmp}/{method}", *words.split(), "--epochs", str(last + 1),
                 "--monitor", str(last))
    first, then = epochs[0]["knn20"], epochs[-1]["knn20"]
    print(f"{method}: k-NN {first:.3f}, after {last} epochs {then:.3f}")
    assert then > first + GAIN, (method, first, then)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        for method in sys.argv[2:]:
            (stage if method in STAGES else first_stage)(sys.argv[1], tmp, method)


main()
