#!/usr/bin/python3
"""A training in bf16 follows the one in f32: at first within one percent of its loss, and after
200 steps with the same k-NN accuracy, no farther from it than f32 trainings are from each other.

The labels of an epoch are the targets of the next, so that two trainings part whatever was the
first difference. How fast is measured, not assumed: further f32 trainings start with weights
changed by about one in a thousand, a quarter of what bf16 rounds.

usage: test_bf16_follows.py COKE [PRESET DATA EPOCHS SEEDS]
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

COKE = os.path.abspath(sys.argv[1])
PRESET, DATA, EPOCHS, SEEDS = (sys.argv[2:] + ["demo", "synthetic:n=3000", "6", "2"])[:4]
FIRST = .01  # of the loss of the first epoch that learns
KNN = .01  # one point, beyond what separates the f32 trainings
FARTHER = 1.5  # times the distance of f32 trainings


def train(run, *options):
    subprocess.run([COKE, "train", DATA, "--preset", PRESET, "-o", run, "--quiet", *options],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(run, "metrics.jsonl")) as f:
        lines = [json.loads(line) for line in f]
    epochs = [line for line in lines if "images" in line]
    return np.array([line["loss"] for line in epochs[1:]]), epochs[-1]["knn20"]


def change(source, target, amount, seed):
    """Weights times 1 + amount * normal numbers, without the checksums of the old ones."""
    with open(source, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        head, data = json.loads(f.read(size)), bytearray(f.read())
    numbers = np.random.default_rng(seed)
    for name in [n for n in head["__metadata__"] if n.startswith("xxh3")]:
        del head["__metadata__"][name]
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32" and "running" not in name:
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data, np.float32, (end - begin) // 4, begin)
            values *= (1 + amount * numbers.standard_normal(values.shape)).astype(np.float32)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def apart(a, b):
    return (b - a) / a


def main():
    with tempfile.TemporaryDirectory() as tmp:
        at = lambda name: os.path.join(tmp, name)
        # Hardly a rate: its final weights are the first ones.
        train(at("start"), "--rate", "1e-30", "--warmup", "0", "--epochs", "2", "--monitor", "1")
        start = at("start/final.safetensors")
        common = ["--epochs", EPOCHS, "--monitor", str(int(EPOCHS) - 1)]
        loss, knn = train(at("f32"), *common, "--init", start)
        bf16, bf16_knn = train(at("bf16"), *common, "--init", start, "--precision", "bf16")
        print("f32: loss %s, k-NN %.3f" % (np.round(loss, 4), knn))
        print("bf16: %s %% apart, k-NN %.3f" % (np.round(100 * apart(loss, bf16), 2), bf16_knn))
        far, others = 0, [knn]
        for seed in range(int(SEEDS)):
            change(start, at("changed"), 1e-3, seed)
            other, other_knn = train(at("f32-%d" % seed), *common, "--init", at("changed"))
            far = np.maximum(far, np.abs(apart(loss, other)))
            others.append(other_knn)
            print("f32, weights changed by 1e-3: %s %% apart, k-NN %.3f" %
                  (np.round(100 * apart(loss, other), 2), other_knn))
        distance = np.abs(apart(loss, bf16))
        assert distance[0] < FIRST, distance
        assert (distance < np.maximum(.01, FARTHER * far)).all(), (distance, far)
        assert min(others) - KNN < bf16_knn < max(others) + KNN, (bf16_knn, others)


main()
