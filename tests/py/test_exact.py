"""coke cluster's labels against the optimum of the linear programme (scipy's HiGHS).

usage: test_exact.py PATH-OF-COKE     exit code 77: no scipy here
"""

import json
import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("scipy is not installed: skipped")
    sys.exit(77)

RELATIVE = 1e-5


def make_rows(n, dim, seed, copies=0.0, originals=1):
    """Rows around six directions; a part of them are copies of the first ones."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(6, dim))
    member = (rng.random(n) ** 2 * 6).astype(int)
    x = groups[member] + 0.8 * rng.normal(size=(n, dim))
    x = (x * rng.uniform(0.1, 10, size=(n, 1))).astype("f4")
    where = np.flatnonzero(rng.random(n) < copies)
    x[where] = x[where % originals]
    return x


def best_total(s, least, most):
    """Largest sum of similarities s [n][k] with sizes within least..most."""
    n, k = s.shape
    cols = np.arange(n * k)
    one_label = csr_matrix((np.ones(n * k), (cols // k, cols)), shape=(n, n * k))
    sizes = csr_matrix((np.ones(n * k), (cols % k, cols)), shape=(k, n * k))
    from scipy.sparse import vstack

    result = linprog(
        -s.ravel(),
        A_ub=vstack([-sizes, sizes]),
        b_ub=np.concatenate([-least, most]),
        A_eq=one_label,
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    assert result.status == 0, result.message
    return -result.fun


def read_tensor(path, name, dtype):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
        first, end = header[name]["data_offsets"]
        f.seek(8 + size + first)
        return np.frombuffer(f.read(end - first), dtype)


def run_coke(coke, folder, x, options):
    np.save(f"{folder}/x.npy", x)
    out = f"{folder}/out"
    command = [coke, "cluster", f"{folder}/x.npy", "-o", out, "--force", "--quiet"] + options
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    head = json.load(open(f"{out}/summary.json"))["heads"][0]
    return np.load(f"{out}/labels.npy"), np.load(f"{out}/centers.npy"), head, out


def close(a, b, scale, what):
    assert abs(a - b) <= RELATIVE * scale, f"{what}: {a!r} and {b!r}"


def check(coke, case, n, k, dim, ratio, max_ratio=0.0, weights=False, given=None, copies=0.0, originals=1):
    with tempfile.TemporaryDirectory() as folder:
        x = make_rows(n, dim, case, copies, originals)
        options = ["-k", str(k), "--epochs", "2", "--ratio", str(ratio)]
        least = np.full(k, int(ratio * n / k + 1e-9))
        most = np.full(k, n)
        w = np.ones(n)
        if max_ratio:
            options += ["--max-ratio", str(max_ratio)]
            most = np.full(k, int(np.ceil(max_ratio * n / k - 1e-9)))
        if given is not None:
            least = np.asarray(given)
            np.savetxt(f"{folder}/low", least, fmt="%d")
            options += ["--min-sizes", f"{folder}/low"]
        if weights:
            w = np.random.default_rng(case + 9).uniform(0, 3, n)
            np.save(f"{folder}/w.npy", w)
            options += ["--weights", f"{folder}/w.npy"]
        labels, centers, head, out = run_coke(coke, folder, x, options)
        unit = x.astype("f8") / np.linalg.norm(x.astype("f8"), axis=1, keepdims=True)
        s = (unit @ centers.astype("f8").T) * (w * n / w.sum())[:, None]
        sizes = np.bincount(labels, minlength=k)
        assert (sizes >= least).all() and (sizes <= most).all(), sizes
        total = s[np.arange(n), labels].sum()
        best = best_total(s, least, most)
        proof = head["certificate"]
        close(total, best, abs(best), "labels and the linear programme")
        close(proof["primal"], total, abs(best), "primal and the labels")
        close(proof["dual"], best, abs(best), "dual and the linear programme")
        assert proof["dual"] >= proof["primal"] - 1e-6 * n
        assert abs(proof["gap"]) <= RELATIVE * abs(best), proof
        price = read_tensor(f"{out}/model.safetensors", "duals", "<f4").astype("f8")
        bound = (s + price).max(axis=1).sum() - np.where(price >= 0, price * least, price * most).sum()
        close(bound, proof["dual"], abs(best), "dual bound from the model's prices")
        assert max_ratio or (price >= 0).all()
        print(f"case {case}: n {n}, k {k}: best {best:.6f}, ours {total:.6f}, gap {proof['gap']:.2e}")


def main():
    coke = sys.argv[1]
    case = 0
    for ratio in (0.2, 0.4, 0.8, 1.0):
        for max_ratio in (0.0, 1.2):
            for weights in (False, True):
                case += 1
                check(coke, case, 300, 12, 10, ratio, max_ratio, weights)
    check(coke, 50, 301, 12, 10, 1.0)
    check(coke, 51, 300, 12, 3, 1.0)
    check(coke, 52, 300, 1, 5, 1.0)
    check(coke, 53, 300, 12, 10, 0.0, given=[100, 0, 0, 50, 1, 2, 3, 4, 60, 0, 0, 80])
    check(coke, 54, 1000, 20, 24, 0.9)
    case = 60
    for copies, originals in ((0.2, 1), (0.9, 1), (0.9, 3), (1.0, 1), (1.0, 3)):
        for ratio, max_ratio in ((0.4, 0.0), (1.0, 0.0), (0.8, 1.2)):
            case += 1
            check(coke, case, 400, 12, 10, ratio, max_ratio, copies=copies, originals=originals)


if __name__ == "__main__":
    main()
