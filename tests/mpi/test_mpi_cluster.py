#!/usr/bin/python3
"""`mpirun coke cluster` writes the bytes of one process, for any number of them.

usage: test_mpi_cluster.py COKE     MPIEXEC in the environment starts processes
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

COKE, MPIEXEC = sys.argv[1], os.environ["MPIEXEC"]
# Few clusters in large batches exchange sums, many in small ones exchange rows.
CASES = {
    "sums": ["x.npy", "-k", "20", "--epochs", "3", "--batch", "1000"],
    "heads": ["x.npy", "-k", "8,30", "--ratio", "0.9", "--update", "running", "--epochs", "2"],
    "rows": ["y.npy", "--bad", "skip", "-k", "300", "--max-ratio", "1.5", "--epochs", "2"],
    "blocks": ["x.npy", "-k", "10", "--shuffle", "block", "--update", "epoch", "--epochs", "2",
               "--no-repair"],
    "distances": ["y.npy", "--bad", "skip", "-k", "8,40", "--ratio", "0.9", "--metric", "euclidean",
                  "--epochs", "2"],
    "copies": ["copies.npy", "-k", "40", "--ratio", "0.9", "--epochs", "2", "--repair", "exact"],
    "light": ["x.npy", "-k", "20", "--ratio", "0.7", "--epochs", "2", "--weights", "light.txt"],
    "nearly": ["copies.npy", "-k", "40", "--ratio", "0.9", "--epochs", "2"],
}


def run(ranks, words, folder):
    command = [COKE, "cluster"] + words + ["--threads", "1", "-q"]
    if ranks > 1:
        command = [MPIEXEC, "-n", str(ranks)] + command
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)


VARY = ("summary.json", "checksums.xxh3")


def read(folder):
    """All files but the one with the times in it, and its checksum."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read() if name not in VARY else None
    return found


def make(tmp):
    rng = np.random.default_rng(3)
    center = rng.normal(size=(30, 24))
    x = center[rng.integers(0, 30, 3003) ** 2 // 30] + .5 * rng.normal(size=(3003, 24))
    x = x.astype("f4")
    np.save(tmp + "/x.npy", x)
    np.save(tmp + "/short.npy", x[:3000])
    np.save(tmp + "/other.npy", x[::-1])
    for name, row in ("last", -1), ("inner", 1501):
        one = x.copy()
        one[row, 3] += 1
        np.save("%s/%s.npy" % (tmp, name), one)
    np.save(tmp + "/tiny.npy", x[:2])
    for name, least in ("least", 20), ("more", 21):
        np.savetxt("%s/%s.txt" % (tmp, name), [least] * 5, "%d")
    np.savetxt(tmp + "/light.txt", np.arange(3003) % 3 > 0, "%d")
    one = x.copy()
    one[rng.random(3003) < .6] = x[5]
    np.save(tmp + "/copies.npy", one)
    x[77] = 0
    x[2900] = np.nan
    np.save(tmp + "/y.npy", x)


def check_words(tmp, code, words, *parts):
    command = [MPIEXEC]
    for i, part in enumerate(parts):
        command += ([":"] if i else []) + ["-n", "1", COKE, "cluster"] + part + ["-q"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp, timeout=60)
    assert done.returncode == code and done.stderr.count(words) == 1, (done.returncode,
                                                                       done.stderr)


with tempfile.TemporaryDirectory() as tmp:
    make(tmp)
    for name, words in CASES.items():
        for ranks in [1, 2, 3, 4] if name in ("sums", "rows") else [1, 3]:
            folder = "%s%d" % (name, ranks)
            done = run(ranks, words + ["-o", folder], tmp)
            assert done.returncode == 0, (name, ranks, done.stderr)
            assert done.stdout.count("written to") == 1, done.stdout
            if ranks == 1:
                expected = read(os.path.join(tmp, folder))
            assert read(os.path.join(tmp, folder)) == expected, (name, ranks)
    check_words(tmp, 2, "option 'ratio' is 0.5 in process 1, but 0.4 in process 0",
                ["x.npy", "-k", "5"], ["x.npy", "-k", "5", "--ratio", "0.5"])
    check_words(tmp, 2, "the number of rows is 3000 in process 1, but 3003 in process 0",
                ["x.npy", "-k", "5"], ["short.npy", "-k", "5"])
    for name in "other.npy", "last.npy", "inner.npy":
        check_words(tmp, 2, "a sample of the rows is ", ["x.npy", "-k", "5"], [name, "-k", "5"])
    check_words(tmp, 2, "the list of sizes is ", ["x.npy", "-k", "5", "--min-sizes", "least.txt"],
                ["x.npy", "-k", "5", "--min-sizes", "more.txt"])
    check_words(tmp, 2, "2 rows cannot be shared by 3 processes", *[["tiny.npy", "-k", "1"]] * 3)
    check_words(tmp, 4, "process 1: ", ["x.npy", "-k", "5"], ["nowhere.npy", "-k", "5"])
    check_words(tmp, 2, "standard input cannot be shared", *[["-", "-k", "5"]] * 2)
