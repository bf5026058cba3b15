#!/usr/bin/python3
"""Trainings in bf16 follow those in f32: in the first epoch that learns, before labels differ, the
loss is the same within .1 percent; afterwards the mean loss of each epoch and the mean k-NN accuracy
at the end differ by less than one percent and one point, beyond the error of these means.

The labels of an epoch are the targets of the next, so that any two trainings part, whatever was
the first difference: one f32 training and one in bf16 cannot be compared. Means of several can.
Both precisions start from the same weights, once as they are and then changed by about one in a
thousand, a quarter of what bf16 rounds.

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
PRESET, DATA, EPOCHS, SEEDS = (sys.argv[2:] + ["demo", "synthetic:n=3000", "6", "4"])[:4]
FIRST = .001  # of the loss of the first epoch that learns
LOSS = .01
KNN = .01
ERRORS = 3  # standard errors of a difference of means


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


def difference(f32, bf16):
    """That of the means over trainings, and its standard error."""
    f32, bf16 = np.array(f32), np.array(bf16)
    error = np.sqrt(f32.var(0, ddof=1) / len(f32) + bf16.var(0, ddof=1) / len(bf16))
    return bf16.mean(0) - f32.mean(0), error


def trainings(at, start):
    """Losses [training][epoch] and k-NN accuracies of either precision."""
    common = ["--epochs", EPOCHS, "--monitor", str(int(EPOCHS) - 1)]
    results = {"f32": ([], []), "bf16": ([], [])}
    for seed in range(int(SEEDS)):
        if seed:
            change(start, at("changed"), 1e-3, seed)
        for precision, (losses, accuracies) in results.items():
            loss, knn = train(at("%s-%d" % (precision, seed)), *common, "--precision", precision,
                              "--init", at("changed") if seed else start)
            losses.append(loss)
            accuracies.append(knn)
            print("%-4s %d: loss %s, k-NN %.3f" % (precision, seed, np.round(loss, 4), knn),
                  flush=True)
    return results


def main():
    with tempfile.TemporaryDirectory() as tmp:
        at = lambda name: os.path.join(tmp, name)
        # Hardly a rate: its final weights are the first ones.
        train(at("start"), "--rate", "1e-30", "--warmup", "0", "--epochs", "2", "--monitor", "1")
        results = trainings(at, at("start/final.safetensors"))
    losses, accuracies = zip(results["f32"], results["bf16"])
    f32 = np.mean(losses[0], 0)
    apart, error = (x / f32 for x in difference(*losses))
    knn_apart, knn_error = difference(*accuracies)
    print("bf16 - f32, %% of the loss: %s, standard error %s" %
          (np.round(100 * apart, 2), np.round(100 * error, 2)))
    print("bf16 - f32, k-NN: %.3f, standard error %.3f" % (knn_apart, knn_error))
    first = losses[1][0][0] / losses[0][0][0] - 1
    assert abs(first) < FIRST, first
    assert (np.abs(apart) < LOSS + ERRORS * error).all(), (apart, error)
    assert abs(knn_apart) < KNN + ERRORS * knn_error, (knn_apart, knn_error)


main()
