"""coke cluster and assign with metric euclidean: sizes and inertia against the optimum of the linear
programme (scipy's HiGHS), labels and distances against numpy and, where installed, scikit-learn.

usage: test_euclidean.py PATH-OF-COKE     exit code 77: no scipy here
"""

import filecmp
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_exact import best_total, read_tensor  # leaves with 77 where scipy is missing

import numpy as np

try:
    from sklearn.cluster import KMeans
except ImportError:
    KMeans = None


def blobs(n, dim, groups, noise, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(groups, dim))
    member = (rng.random(n) ** 2 * groups).astype(int)
    return (center[member] + noise * rng.normal(size=(n, dim)) + shift).astype("f4")


def run(coke, folder, x, options, out="out", env=None):
    np.save(f"{folder}/x.npy", x)
    out = f"{folder}/{out}"
    command = [coke, "cluster", f"{folder}/x.npy", "-o", out, "--force", "--quiet"]
    subprocess.run(command + ["--metric", "euclidean"] + options, check=True,
                   stdout=subprocess.DEVNULL, env=env)
    head = json.load(open(f"{out}/summary.json"))["heads"][0]
    return np.load(f"{out}/labels.npy"), np.load(f"{out}/centers.npy"), head


def squares(x, centers):
    x, centers = x.astype("f8"), centers.astype("f8")
    return np.stack([((x - c) ** 2).sum(axis=1) for c in centers], axis=1)


def assign(coke, folder, options=()):
    subprocess.run([coke, "assign", f"{folder}/out", f"{folder}/x.npy", "-o", f"{folder}/l.npy",
                    "--scores", f"{folder}/s.npy", "--force", "--quiet", *options],
                   check=True, stdout=subprocess.DEVNULL)
    return np.load(f"{folder}/l.npy"), np.load(f"{folder}/s.npy").ravel()


def near(a, b, scale, what, relative=1e-5):
    assert abs(a - b) <= relative * scale, f"{what}: {a!r} and {b!r}"


def check(coke, name, x, k, ratio, max_ratio=0.0, weights=None, options=()):
    """Sizes, objectives and certificate of one clustering, whatever its centers are."""
    n = len(x)
    with tempfile.TemporaryDirectory() as folder:
        extra = ["-k", str(k), "--ratio", str(ratio), "--repair", "exact", *options]
        least = np.full(k, int(ratio * n / k + 1e-9))
        most = np.full(k, n)
        w = np.ones(n)
        if max_ratio:
            extra += ["--max-ratio", str(max_ratio)]
            most = np.full(k, int(np.ceil(max_ratio * n / k - 1e-9)))
        if weights is not None:
            w = weights * n / weights.sum()
            np.save(f"{folder}/w.npy", weights)
            extra += ["--weights", f"{folder}/w.npy"]
        labels, centers, head = run(coke, folder, x, extra)
        d = squares(x, centers) * w[:, None]
        sizes = np.bincount(labels, minlength=k)
        assert (sizes >= least).all() and (sizes <= most).all(), (name, sizes)
        # f32 scores are rounded to 2^-24 of the extent of the rows
        extent = (w * ((x.astype("f8") - x.astype("f8").mean(axis=0)) ** 2).sum(axis=1)).max()
        total, slack = d[np.arange(n), labels].sum(), 1e-5 * d.min(axis=1).sum() + 4e-7 * n * extent
        near(head["inertia"], total, 1, f"{name}: inertia", slack + 1e-6 * total)
        near(head["labels_objective"], total / n, 1, f"{name}: objective", (slack + 1e-6 * total) / n)
        near(head["objective"], d.min(axis=1).sum() / n, 1, f"{name}: nearest", slack / n)
        gap = None
        if ratio or max_ratio:
            best = -best_total(-d / extent, least, most) * extent if extent else 0.0
            proof = head["certificate"]
            gap = proof["gap"]
            near(total, best, 1, f"{name}: labels and the linear programme", slack)
            near(proof["primal"], total, 1, f"{name}: primal", slack + 1e-6 * total)
            near(proof["dual"], best, 1, f"{name}: dual", slack + 1e-6 * total)
            assert gap >= -1e-9 * abs(best) - 1e-12, (name, proof)
            price = read_tensor(f"{folder}/out/model.safetensors", "duals", "<f4").astype("f8")
            bound = (d - 2 * price).min(axis=1).sum() + 2 * np.where(
                price >= 0, price * least, price * most).sum()
            near(bound, proof["dual"], 1, f"{name}: bound from the prices", slack + 1e-6 * total)
        else:
            assert (d[np.arange(n), labels] <= d.min(axis=1) + 4e-7 * extent).all(), name
        if weights is None:
            again, score = assign(coke, folder, ["--constrained"] if ratio or max_ratio else [])
            own = d[np.arange(n), again]
            if len(np.unique(x, axis=0)) < n / 2:  # equal rows are interchangeable
                near(own.sum(), total, 1, f"{name}: labels of the model", slack)
            else:
                assert (again == labels).mean() > (0.99 if ratio or max_ratio else 0.9999), name
            assert np.allclose(score, own, rtol=1e-4, atol=4e-7 * extent), name
        print(f"{name}: n {n}, k {k}, ratio {ratio}: inertia {total:.6g}, gap {gap}")


def check_sklearn(coke, x, k):
    """The labels are those of KMeans with the same centers."""
    with tempfile.TemporaryDirectory() as folder:
        labels, centers, head = run(coke, folder, x, ["-k", str(k), "--ratio", "0"])
        km = KMeans(k, init=centers.astype("f8"), n_init=1, max_iter=1).fit(x.astype("f8"))
        km.cluster_centers_ = centers.astype("f8")
        assert (km.predict(x.astype("f8")) == labels).mean() > 0.9999
        near(-km.score(x.astype("f8")), head["inertia"], head["inertia"], "inertia of scikit-learn")
        free = KMeans(k, n_init=10, random_state=0).fit(x.astype("f8"))
        assert head["inertia"] < 5 * free.inertia_, (head["inertia"], free.inertia_)


def check_same_bytes(coke, x):
    """Threads, instruction sets, paths and the order of the shards change nothing."""
    with tempfile.TemporaryDirectory() as folder:
        files = ["labels.npy", "centers.npy", "model.safetensors"]
        options = ["-k", "30", "--ratio", ".8", "--epochs", "3"]
        run(coke, folder, x, options + ["--threads", "1"], "one")
        for name, extra, isa in (("two", ["--threads", "2"], None), ("four", ["--threads", "4"], None),
                                 ("ref", [], "ref"), ("avx2", [], "avx2")):
            env = dict(os.environ, COKE_ISA=isa) if isa else None
            run(coke, folder, x, options + extra, name, env)
            for f in files:
                assert filecmp.cmp(f"{folder}/one/{f}", f"{folder}/{name}/{f}", False), (name, f)


def main():
    coke = sys.argv[1]
    rng = np.random.default_rng(5)
    case = 0
    for dim, noise, shift in ((2, 0.3, 0), (10, 0.5, 3), (2, 0.1, 1e4)):
        for ratio, top in ((0, 0), (0.4, 0), (1, 0), (0.4, 1.2)):
            case += 1
            x = blobs(300, dim, 6, noise, case, shift)
            check(coke, f"blobs {dim}-d at {shift:g}", x, 12, ratio, top)
            check(coke, f"weights {dim}-d at {shift:g}", x, 12, ratio, top, rng.uniform(0, 3, 300))
    lengths = blobs(300, 24, 6, 0.5, 77) * np.exp(2 * rng.normal(size=(300, 1))).astype("f4")
    check(coke, "any length", lengths, 10, 0.5)
    grid = np.stack(np.meshgrid(np.arange(18), np.arange(17)), -1).reshape(-1, 2).astype("f4")
    check(coke, "integer grid", grid, 9, 1.0)
    check(coke, "copies", np.repeat(grid[:30], 10, axis=0), 8, 0.9)
    check(coke, "one row", np.full((90, 5), 7, "f4"), 6, 1.0)
    check(coke, "zero rows", np.zeros((60, 3), "f4"), 4, 0.5)
    check(coke, "one feature", rng.normal(size=(300, 1)).astype("f4"), 7, 0.8)
    check(coke, "wide", rng.normal(size=(200, 1536)).astype("f4"), 8, 0.7)
    check(coke, "tiny", blobs(300, 3, 6, 0.2, 3) * np.float32(1e-6), 8, 0.7)
    check(coke, "huge", blobs(300, 3, 6, 0.2, 3) * np.float32(1e9), 8, 0.7)
    check(coke, "one cluster", blobs(300, 3, 6, 0.2, 3), 1, 1.0)
    for update in ("running", "mean", "epoch"):
        check(coke, update, blobs(400, 5, 6, 0.3, 9), 10, 0.6, options=("--update", update))
    if KMeans:
        check_sklearn(coke, blobs(3000, 2, 20, 0.1, 4), 20)
        check_sklearn(coke, blobs(3000, 2, 20, 0.1, 4, 1e4), 20)
        check_sklearn(coke, blobs(3000, 40, 20, 0.3, 4), 15)
    check_same_bytes(coke, blobs(3000, 20, 12, 0.5, 6))


if __name__ == "__main__":
    main()
