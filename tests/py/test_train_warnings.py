"""test_train_warnings.py - trainings that go wrong say so: each warning is provoked by a real run.

usage: test_train_warnings.py COKE"""
import os
import subprocess
import sys
import tempfile

import numpy as np

SMALL = ("--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16 --batch 20 "
         "--epochs 8 --warmup 1 --optimizer sgd --threads 1 --monitor 0")
# What is done wrong, and what must be said of it. A run may say more than that.
CASES = [
    ("no least size", "-k 10 --ratio 0 --rate 0.2",
     ["one cluster of head 0 (k 10) holds"]),
    ("duals that do not move", "-k 50 --ratio 0.4 --eta 1e-6 --rate 0.2",
     ["of 50 clusters of head 0 are empty"]),
    ("duals that jump", "-k 10 --eta 50 --rate 0.02", ["the duals of head 0 (k 10) range over"]),
    ("a loss that tells nothing apart", "-k 10 --temperature 10 --rate 0.02",
     ["guessing gives ln 10 = 2.303"]),
]


def train(coke, data, run, options):
    return subprocess.run([coke, "train", data, "-o", run] + SMALL.split() + options.split(),
                          capture_output=True, text=True)


def check(name, wanted, done, code=0):
    missing = [w for w in wanted if w not in done.stderr]
    good = done.returncode == code and not missing
    print("%s %s%s" % ("ok  " if good else "FAIL", name,
                       "" if good else ": exit %d, missing %s in\n%s" %
                       (done.returncode, missing, done.stderr)))
    return good


def main():
    coke = os.path.abspath(sys.argv[1])
    good = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for i, (name, options, wanted) in enumerate(CASES):
            done = train(coke, "synthetic:n=300,size=16", "run%d" % i, options)
            good.append(check(name, ["warning: epoch"] + wanted, done))
        np.save("black.npy", np.zeros((100, 16, 16, 3), np.uint8))
        done = train(coke, "black.npy", "black", "-k 10 --rate 0.02 --eta 1")
        good.append(check("images that are all alike", ["all images have nearly the same projection"], done))

        # Weights that grow without bounds: the run ends in words, with a good checkpoint.
        done = train(coke, "synthetic:n=300,size=16", "inf",
                     "-k 10 --rate 1000 --weight-decay 1 --save-steps 2")
        good.append(check("a loss that is not finite", ["the loss is not finite"], done, 6))
        info = subprocess.run([coke, "info", "inf/last.safetensors"], capture_output=True, text=True)
        good.append(check("its last checkpoint", [], info))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
