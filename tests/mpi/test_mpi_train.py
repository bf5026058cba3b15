#!/usr/bin/python3
"""One training by 1, 2, 3 and 4 processes: the same images and augmentations, the same gradients
but for rounding, the same labels where there was a choice, and the same clusters, byte for byte,
of the same features.

usage: test_mpi_train.py PATH-OF-RANKS_DRIVER     MPIEXEC in the environment starts processes
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

DRIVER, MPIEXEC = sys.argv[1], os.environ["MPIEXEC"]
RANKS = [2, 3, 4]
# 35 images in batches of 16: the last batch has three, fewer than four processes.
SOURCE = "synthetic:n=35,size=16"
OPTIONS = ["arch=resnet18", "stem=cifar", "width=0.125", "dim=16", "size=16", "batch=16",
           "k=5,10", "epochs=4", "warmup=1", "optimizer=sgd", "rate=0.000001", "workers=1"]
# margin: labels may differ where scores are that near. rounding, of the length of all gradients:
# numbers summed up in another order, through 22 layers. later: the same for a batch of three
# images, whose batch norm magnifies roundings.
F32 = {"margin": 1e-4, "rounding": 2e-4, "later": 1e-2}
# In bf16 any difference in a batch's statistics would change roundings, and with them gradients by a
# tenth. There is none: sums of single images are added in double.
BF16 = {"margin": 1e-6, "rounding": 1e-5, "later": 1e-5}


def has_bf16():
    with open("/proc/cpuinfo") as f:
        return "avx512_bf16" in f.read()


def run(ranks, mode, folder, epochs, options):
    os.mkdir(folder)
    command = [DRIVER, mode, folder, str(epochs), SOURCE] + OPTIONS + options
    if ranks > 1:
        command = [MPIEXEC, "-n", str(ranks)] + command
    emulate = "precision=bf16" in options and not has_bf16()
    env = dict(os.environ, COKE_ISA="amx-emulated") if emulate else None
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return {name[:-4]: np.load(os.path.join(folder, name)) for name in os.listdir(folder)}


def check_step(one, many, step, allowed):
    """Labels that differ, and how many there are."""
    for name in "ids", "pixels":
        key = "%s-%s" % (step, name)
        assert np.array_equal(one[key], many[key]), key
    flips = total = 0
    for h in range(2):
        a, b = (x["%s-labels%d" % (step, h)] for x in (one, many))
        margin = one["%s-margins%d" % (step, h)]
        differ = a != b
        flips += int(differ.sum())
        total += len(a)
        assert not (differ & (margin > allowed)).any(), (step, h, margin[differ])
    return flips, total


def check_gradients(one, many, step, rounding):
    a, b = one[step + "-grad"].astype(float), many[step + "-grad"].astype(float)
    error = np.linalg.norm(a - b) / np.linalg.norm(a)
    loss = abs(one[step + "-loss"][0] - many[step + "-loss"][0])
    assert error < rounding and loss < 100 * rounding, (step, error, loss)
    return error


def compare(one, many, ranks, name, bound):
    flips = total = 0
    for step in ("e0-s0", "e0-s1", "e0-s2", "e1-s0"):
        f, t = check_step(one, many, step, bound["margin"])
        flips, total = flips + f, total + t
    error = check_gradients(one, many, "e1-s0", bound["rounding"])
    for s in 1, 2:  # of hardly moved weights
        check_step(one, many, "e1-s%d" % s, float("inf"))
    # Some processes had no image here: theirs may not count.
    check_gradients(one, many, "e1-s2", bound["later"])
    print("%s, %d processes: gradients %.1e apart, %d of %d labels differ within a margin of %g" %
          (name, ranks, error, flips, total, bound["margin"]))


def main():
    kinds = {"two views": ["recipe=cifar"],
             "two and two smaller views": ["recipe=multi", "small-size=8", "small-views=2"],
             "one view": ["recipe=single", "predictor=0", "beta=0"],
             "two views in bf16": ["recipe=cifar", "precision=bf16"]}
    with tempfile.TemporaryDirectory() as tmp:
        for name, options in kinds.items():
            stem = os.path.join(tmp, name.replace(" ", "-"))
            one = run(1, "train", stem + "1", 2, options)
            bound = BF16 if name.endswith("bf16") else F32
            for ranks in RANKS if name.startswith("two views") else [3]:
                compare(one, run(ranks, "train", stem + str(ranks), 2, options), ranks, name,
                        bound)
        for form in "running", "mean", "epoch":
            stem = os.path.join(tmp, form)
            options = ["recipe=single", "predictor=0", "beta=0", "update=" + form, "epochs=6"]
            options += ["stage=3"] if form == "running" else []
            one = run(1, "cluster", stem + "1", 5, options)
            for ranks in RANKS if form == "running" else [3]:
                many = run(ranks, "cluster", stem + str(ranks), 5, options)
                for key in one:
                    assert one[key].tobytes() == many[key].tobytes(), (form, ranks, key)
            print("form %s: labels, duals and centers are the same bytes" % form)


main()
