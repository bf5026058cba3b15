"""coke eval cluster: silhouettes, ACC, NMI and ARI of clusterings against scikit-learn.

usage: test_silhouette.py PATH-OF-COKE     exit code 77: no scikit-learn here
"""

import json
import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    from sklearn.metrics import (adjusted_rand_score, normalized_mutual_info_score,
                                 silhouette_score)
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("scikit-learn is not installed: skipped")
    sys.exit(77)

COKE = sys.argv[1]
METRICS = ["cosine"]
if "--metric" in subprocess.run([COKE, "cluster", "--help"], capture_output=True, text=True).stdout:
    METRICS.append("euclidean")


def run(*args):
    done = subprocess.run([COKE, *args], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def check(folder, metric, n, dim, seed):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 9, size=n)
    x = (rng.normal(size=(9, dim))[group] + 0.6 * rng.normal(size=(n, dim)) + 2).astype("f4")
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/g.npy", group)
    how = [] if metric == "cosine" else ["--metric", metric]
    run("cluster", f"{folder}/x.npy", "-k", "3,9,40", "--ratio", "0", "-o", f"{folder}/out",
        "--force", "-q", *how)
    for threads in "1", "2":
        text = run("eval", "cluster", f"{folder}/out", "--vectors", f"{folder}/x.npy", "--classes",
                   f"{folder}/g.npy", "--sample", str(n), "--json", "-q", "--threads", threads)
        if threads == "1":
            first = text
    assert text == first, "the result depends on the threads"
    told = json.loads(text)
    assert told["silhouette_rows"] == n and told["classes"] == 9 and told["matched"] == 1
    for h, head in enumerate(told["heads"]):
        label = np.load(f"{folder}/out/labels-h{h}-k{head['k']}.npy")
        want = silhouette_score(x.astype("f8"), label, metric=metric)
        print(metric, n, dim, head["k"], head["silhouette"], want)
        assert abs(head["silhouette"] - want) < 2e-6, "silhouette"
        assert abs(head["nmi"] - normalized_mutual_info_score(group, label)) < 1e-9
        assert abs(head["ari"] - adjusted_rand_score(group, label)) < 1e-9
    # A sample of half of the rows estimates the same.
    half = json.loads(run("eval", "cluster", f"{folder}/out", "--vectors", f"{folder}/x.npy",
                          "--sample", str(n // 2), "--json", "-q"))
    assert half["silhouette_rows"] == n // 2 and "acc" not in half["heads"][0]
    for a, b in zip(half["heads"], told["heads"]):
        assert abs(a["silhouette"] - b["silhouette"]) < 0.05, (a, b)


with tempfile.TemporaryDirectory() as folder:
    for metric in METRICS:
        check(folder, metric, 700, 5, 1)
        check(folder, metric, 2500, 33, 2)
