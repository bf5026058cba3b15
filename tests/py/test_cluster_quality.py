"""coke cluster's objective against scikit-learn's k-means with ten starts.

usage: test_cluster_quality.py PATH-OF-COKE     exit code 77: no scikit-learn here
"""

import json
import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    from sklearn.cluster import KMeans
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("scikit-learn is not installed: skipped")
    sys.exit(77)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def separated(k, seed):
    """Equal clusters of 60 rows whose noise is .4 as long as their centers."""
    rng = np.random.default_rng(seed)
    center = unit(rng.normal(size=(k, 64)))
    return unit(np.repeat(center, 60, axis=0) + 0.05 * rng.normal(size=(60 * k, 64))).astype("f4")


def uneven(k, seed):
    """Groups of directions, some far more popular than others, and much noise."""
    rng = np.random.default_rng(seed)
    center = unit(rng.normal(size=(k // 5, 48))[rng.integers(k // 5, size=k)] + rng.normal(size=(k, 48)))
    share = (np.arange(k) + 1.0) ** -0.7
    member = rng.choice(k, size=3000, p=share / share.sum())
    return unit(center[member] + 0.9 * unit(rng.normal(size=(3000, 48)))).astype("f4")


def mean_cosine(x, labels, k):
    sums = np.zeros((k, x.shape[1]))
    np.add.at(sums, labels, x)
    return np.linalg.norm(sums, axis=1).sum() / len(x)


def run_coke(coke, x, k, options):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        command = [coke, "cluster", f"{folder}/x.npy", "-k", str(k), "-o", f"{folder}/out", "--quiet"]
        subprocess.run(command + options, check=True, stdout=subprocess.DEVNULL)
        head = json.load(open(f"{folder}/out/summary.json"))["heads"][0]
        labels = np.load(f"{folder}/out/labels.npy")
    ours = mean_cosine(x, labels, k)
    assert abs(ours - head["labels_objective"]) < 1e-5, (ours, head)
    return ours


def check(coke, name, x, k, options):
    ours = run_coke(coke, x, k, options)
    theirs = mean_cosine(x, KMeans(k, n_init=10, random_state=1).fit(x).labels_, k)
    print(f"{name}, k {k}, {' '.join(options)}: coke {ours:.5f}, scikit-learn {theirs:.5f}", flush=True)
    assert ours >= 0.999 * theirs, (ours, theirs)


def main():
    coke = sys.argv[1]
    for seed in range(3):
        for k in (10, 50):
            check(coke, "separated", separated(k, seed), k, ["--seed", str(seed)])
        check(coke, "uneven", uneven(100, seed), 30, ["--ratio", "0", "--seed", str(seed)])
    check(coke, "separated", separated(200, 0), 200, [])


if __name__ == "__main__":
    main()
