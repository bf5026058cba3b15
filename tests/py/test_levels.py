"""coke cluster --levels 2 against the optimum over each row's candidates (scipy's HiGHS).

usage: test_levels.py PATH-OF-COKE     exit code 77: no scipy here
"""

import sys
import tempfile

from test_exact import RELATIVE, best_total, make_rows, np, read_tensor, run_coke


def candidates(x, out, dim, probes, euclidean):
    """[n][k]: is the cluster in one of the row's nearest groups? From the model's groups."""
    model = f"{out}/model.safetensors"
    group = read_tensor(model, "group_centers", "f4").reshape(-1, dim).astype("f8")
    first = read_tensor(model, "group_first", "i8")
    score = x @ group.T - (group**2).sum(1) / 2 * euclidean
    near = np.argsort(-score, axis=1, kind="stable")[:, :probes]
    allowed = np.zeros((len(x), first[-1]), bool)
    for g in range(len(group)):
        allowed[(near == g).any(1), first[g] : first[g + 1]] = True
    return allowed, len(group)


def check(coke, case, n, k, dim, ratio, max_ratio=0.0, euclidean=False):
    with tempfile.TemporaryDirectory() as folder:
        rows = make_rows(n, dim, case)
        options = ["-k", str(k), "--epochs", "2", "--levels", "2", "--polish", "0"]
        options += ["--ratio", str(ratio)]
        least = np.full(k, int(ratio * n / k + 1e-9))
        most = np.full(k, n)
        options += ["--metric", "euclidean"] if euclidean else []
        if max_ratio:
            options += ["--max-ratio", str(max_ratio)]
            most = np.full(k, int(np.ceil(max_ratio * n / k - 1e-9)))
        label, center, head, out = run_coke(coke, folder, rows, options)
        x = rows.astype("f8")
        center = center.astype("f8")
        if euclidean:
            score = -((x[:, None] - center) ** 2).sum(2)
        else:
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            score = x @ center.T
        allowed, groups = candidates(x, out, dim, head["probes"], euclidean)
        sign = -1 if euclidean else 1  # the summary has squared distances
        assert head["levels"] == 2 and head["groups"] == groups
        assert head["certificate"]["covers"] == "candidates"
        size = np.bincount(label, minlength=k)
        assert (size >= least).all() and (size <= most).all(), size
        within = allowed[np.arange(n), label]
        beyond = head["certificate"]["beyond"]
        assert (~within).sum() <= beyond, (case, (~within).sum(), beyond)
        total = score[np.arange(n), label].sum()
        primal, dual = (sign * head["certificate"][name] for name in ("primal", "dual"))
        assert abs(total - primal) <= RELATIVE * n, (total, primal)
        nearest = sign * np.where(allowed, score, -1e5).max(1).mean()
        assert abs(nearest - head["objective"]) <= RELATIVE, (nearest, head["objective"])
        if beyond == 0:  # the lists alone are feasible: the certificate brackets their optimum
            best = best_total(np.where(allowed, score, -1e5), least, most)
            assert primal <= best + RELATIVE * n <= dual + 2 * RELATIVE * n, (primal, best, dual)
            assert best - primal <= (1e-2 if euclidean else 2e-3) * abs(best), (primal, best)
        print(f"case {case}: primal {primal:.4f}, dual {dual:.4f}, {beyond} rows beyond")
        return beyond


def grouped_rows(n, dim, k):
    """Unit rows around k directions of Zipf sizes in k/25 groups."""
    rng = np.random.default_rng(1)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    group, own = unit(rng.standard_normal((k // 25, dim))), unit(rng.standard_normal((k, dim)))
    own += group[rng.integers(0, len(group), k)]
    part = rng.permutation(np.arange(1, k + 1) ** -0.7)
    label = rng.choice(k, n, p=part / part.sum())
    return unit(own[label] + rng.standard_normal((n, dim)) * 0.9 / dim**0.5).astype("f4")


def check_far_prices(coke):
    """After one epoch half of the clusters lack rows, some far more than the lists reach: prices
    must not go beyond the rows that the next lists show."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-k", "1000", "--epochs", "1", "--levels", "2", "--seed", "2"]
        head = run_coke(coke, folder, grouped_rows(20000, 64, 1000), options)[2]
        gap = head["certificate"]["gap"] / head["certificate"]["primal"]
        assert head["sizes"]["min"] >= 8 and gap <= 5e-4, (head["sizes"], gap)


def main():
    coke = sys.argv[1]
    check_far_prices(coke)
    beyond = [
        check(coke, 1, 500, 40, 6, 0.4),
        check(coke, 2, 600, 40, 12, 0.9),
        check(coke, 3, 400, 30, 6, 1.0),
        check(coke, 4, 500, 30, 8, 0.5, 1.5),
        check(coke, 5, 300, 50, 5, 0.0, 1.3),
        check(coke, 6, 500, 40, 6, 0.4, euclidean=True),
        check(coke, 7, 500, 30, 3, 0.4, 2, euclidean=True),
    ]
    assert sum(b == 0 for b in beyond[:5]) >= 3, beyond
    assert 0 in beyond[5:], beyond


if __name__ == "__main__":
    main()
