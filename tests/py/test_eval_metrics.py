"""Clustering measures and k-NN against numpy and scipy, and scikit-learn where it is installed.

usage: test_eval_metrics.py PATH-OF-EVAL_DRIVER     exit code 77: no numpy or scipy here
"""

import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    from scipy.optimize import linear_sum_assignment
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("numpy or scipy is not installed: skipped")
    sys.exit(77)
try:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
except ImportError:
    normalized_mutual_info_score = None

TOLERANCE = 1e-12
DRIVER = sys.argv[1]


def run(*words):
    done = subprocess.run([DRIVER] + [str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(x) for x in done.stdout.split()]


def save(folder, name, array):
    path = os.path.join(folder, name + ".npy")
    np.save(path, np.ascontiguousarray(array))
    return path


# ---- agreement ----------------------------------------------------------------------------


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def measures(truth, labels, classes, clusters):
    """n, accuracy, many-to-one, NMI, ARI from their definitions."""
    known = (truth >= 0) & (labels >= 0)
    truth, labels = truth[known], labels[known]
    n = len(truth)
    table = np.zeros((classes, clusters), dtype=np.int64)
    np.add.at(table, (truth, labels), 1)
    right = table[linear_sum_assignment(table, maximize=True)].sum()
    h, k = entropy(table.sum(1) / n), entropy(table.sum(0) / n)
    mutual = h + k - entropy(table.ravel() / n)
    pairs = lambda x: (x * (x - 1) // 2).sum()
    both, a, b, total = pairs(table), pairs(table.sum(1)), pairs(table.sum(0)), n * (n - 1) // 2
    expected = float(a) * float(b) / total
    ari = (both - expected) / ((a + b) / 2 - expected)
    return [n, right / n, table.max(0).sum() / n, 2 * mutual / (h + k), ari]


def check_agreement(folder, n, classes, clusters, noise, seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) ** 1.5 * classes).astype("i4")
    labels = ((truth * 7 + rng.integers(0, max(1, clusters // classes), n)) % clusters).astype("i4")
    noisy = rng.random(n) < noise
    labels[noisy] = rng.integers(0, clusters, noisy.sum())
    truth[rng.random(n) < 0.05] = -1
    labels[rng.random(n) < 0.05] = -1
    got = run("agreement", classes, clusters, save(folder, "t", truth), save(folder, "l", labels))
    want = measures(truth, labels, classes, clusters)
    worst = np.abs(np.array(got) - want).max()
    assert worst <= TOLERANCE, (n, classes, clusters, got, want)
    if normalized_mutual_info_score:
        known = (truth >= 0) & (labels >= 0)
        pair = truth[known], labels[known]
        want = [normalized_mutual_info_score(*pair), adjusted_rand_score(*pair)]
        worst = max(worst, np.abs(np.array(got[3:]) - want).max())
        assert worst <= TOLERANCE, (n, classes, clusters, got, want)
    return worst


# ---- k-NN ---------------------------------------------------------------------------------


def vote(similarity, labels, classes, k, temperature):
    """Winner and whether rounding could turn it, for each row of similarity [n][m]."""
    order = np.argsort(-similarity, axis=1, kind="stable")
    near = order[:, :k]
    s = np.take_along_axis(similarity, near, 1)
    votes = np.zeros((len(similarity), classes))
    np.add.at(votes, (np.arange(len(near))[:, None], labels[near]), np.exp(s / temperature))
    top = np.sort(votes, axis=1)
    sure = (top[:, -1] - top[:, -2]) / top[:, -1] > 1e-4
    if k < similarity.shape[1]:
        edge = np.take_along_axis(similarity, order[:, k - 1 : k + 1], 1)
        sure &= edge[:, 0] - edge[:, 1] > 1e-6
    return votes.argmax(1), sure


def check_knn(folder, m, n, dim, classes, leave_one_out, seed):
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(classes, dim))
    label = rng.integers(0, classes, m + n).astype("i4")
    x = groups[label] + 3 * rng.normal(size=(m + n, dim))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype("f4")
    bank, query, ks, temperature = x[:m], x[m:], (1, 20, 200), 0.07
    files = [save(folder, "b", bank), save(folder, "bl", label[:m])]
    if leave_one_out:
        query, right = bank, label[:m]
    else:
        right = label[m:]
        files += [save(folder, "q", query), save(folder, "ql", right)]
    out = os.path.join(folder, "out.npy")
    accuracy = run("knn", classes, out, temperature, ",".join(map(str, ks)), *files)
    got = np.load(out)
    similarity = query.astype("f8") @ bank.astype("f8").T
    if leave_one_out:
        np.fill_diagonal(similarity, -np.inf)
    for j, k in enumerate(ks):
        want, sure = vote(similarity, label[:m], classes, k, temperature)
        assert sure.mean() > 0.9, sure.mean()
        assert (got[j] == want)[sure].all(), (k, np.nonzero((got[j] != want) & sure))
        assert abs(accuracy[j] - (got[j] == right).mean()) < 1e-15
    return accuracy


def main():
    with tempfile.TemporaryDirectory() as folder:
        shapes = [(1000, 10, 10), (5000, 10, 100), (5000, 100, 20), (50000, 1000, 1000), (20000, 100, 3000)]
        for seed, (n, classes, clusters) in enumerate(shapes):
            worst = max(check_agreement(folder, n, classes, clusters, noise, seed) for noise in (0, 0.5, 1))
            print("agreement, %d samples, %d classes, %d clusters: %.1g apart" % (n, classes, clusters, worst))
        for seed, shape in enumerate([(3000, 500, 64, 10, 0), (1500, 0, 130, 30, 1), (150, 70, 5, 3, 0)]):
            print("k-NN", shape, check_knn(folder, *shape, seed))
    print("scikit-learn was %s" % ("compared, too" if normalized_mutual_info_score else "not there"))


main()
