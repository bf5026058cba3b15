"""Losses and SGD against PyTorch: recordings are made here, golden_tests replays them.

usage: test_torch_loss.py PATH-OF-GOLDEN_TESTS     exit code 77: no PyTorch here
"""

import json
import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("PyTorch is not installed: skipped")
    sys.exit(77)


def record(root, name, hyper, arrays):
    folder = os.path.join(root, name)
    os.makedirs(folder)
    entries = []
    for key, value in arrays.items():
        value = np.ascontiguousarray(value)
        np.save(f"{folder}/{key}.npy", value)
        entries.append({"name": key, "file": f"{key}.npy", "dtype": value.dtype.name, "shape": list(value.shape)})
    with open(f"{folder}/manifest.json", "w") as f:
        json.dump({"case": name, "hyper": hyper, "arrays": entries}, f)


def cross_entropy(logits, target):
    return -(target * F.log_softmax(logits, 1)).sum(1).mean()


def loss_of(h, proj, pred, centers, targets):
    """Mean over heads; proj and pred are raw, one tensor a view."""
    total = 0
    weight = h.get("pred_weight", 0.5) if h["mode"] == "multi" else h["beta"]
    for c, y in zip(centers, targets):
        z = [F.normalize(x, dim=1) @ c / h["T"] for x in proj]
        q = [F.softmax(s, 1).detach() for s in z[:2]]
        both = []
        for v in range(h["views"]):
            if h["mode"] == "single":
                target = y
            else:
                other = q[1 - v] if v < 2 else (q[0] + q[1]) / 2
                target = h["alpha"] * y + (1 - h["alpha"]) * other
            ce = (1 - weight) * cross_entropy(z[v], target)
            if pred is not None:
                ce = ce + weight * cross_entropy(F.normalize(pred[v], dim=1) @ c / h["T"], target)
            both.append(ce)
        if h["mode"] == "multi":
            large, small = torch.stack(both[:2]).mean(), torch.stack(both[2:]).mean()
            total = total + h["beta"] * large + (1 - h["beta"]) * small
        else:
            total = total + torch.stack(both).mean()
    return total / len(centers)


def soft_targets(rng, n, k, slots):
    target = np.zeros((n, k), "f4")
    for i in range(n):
        used = rng.integers(1, slots + 1)
        weight = rng.random(used)
        target[i, rng.choice(k, used, replace=False)] = np.exp(weight / 0.5) / np.exp(weight / 0.5).sum()
    return target


def run_torch(hyper, arrays, targets, dtype):
    def views(name):
        if name not in arrays:
            return None
        return [torch.tensor(x, dtype=dtype, requires_grad=True) for x in arrays[name]]

    proj, pred = views("proj_raw"), views("pred_raw")
    centers = [torch.tensor(arrays[f"centers_{i}"], dtype=dtype) for i in range(hyper["num_head"])]
    loss = loss_of(hyper, proj, pred, centers, [torch.tensor(t, dtype=dtype) for t in targets])
    loss.backward()
    bits = "f64" if dtype == torch.float64 else "f32"
    arrays[f"loss_{bits}"] = loss.detach().numpy().reshape(1)
    arrays[f"grad_proj_{bits}"] = np.stack([x.grad for x in proj])
    if pred is not None:
        arrays[f"grad_pred_{bits}"] = np.stack([x.grad for x in pred])


def record_loss(root, name, seed, soft=False, without_pred=False, **hyper):
    rng = np.random.default_rng(seed)
    n, d, views = hyper["batch"], hyper["dim"], hyper["views"]
    hyper["num_head"] = len(hyper["K"])
    arrays = {"proj_raw": rng.normal(size=(views, n, d)).astype("f4")}
    if not without_pred:
        arrays["pred_raw"] = (0.3 * rng.normal(size=(views, n, d))).astype("f4")
    targets, labels = [], []
    for i, k in enumerate(hyper["K"]):
        c = rng.normal(size=(d, k))
        arrays[f"centers_{i}"] = (c / np.linalg.norm(c, axis=0)).astype("f4")
        if soft:
            arrays[f"soft_labels_{i}"] = soft_targets(rng, n, k, 5)
            targets.append(arrays[f"soft_labels_{i}"])
        else:
            labels.append(rng.integers(0, k, n))
            targets.append(np.eye(k, dtype="f4")[labels[-1]])
    if labels:
        arrays["labels"] = np.stack(labels).astype("i4")
    run_torch(hyper, arrays, targets, torch.float32)
    run_torch(hyper, arrays, targets, torch.float64)
    record(root, name, hyper, arrays)


def record_losses(root):
    single = {"mode": "single", "views": 1, "T": 0.1, "beta": 0.3}
    double = {"mode": "double", "views": 2, "T": 0.05, "alpha": 0.2}
    record_loss(root, "soft", 1, soft=True, batch=60, dim=64, K=[400, 37], **single)
    record_loss(root, "soft_no_pred", 2, soft=True, without_pred=True, batch=33, dim=16, K=[9],
                **{**single, "beta": 0})
    record_loss(root, "hard_large", 3, batch=100, dim=128, K=[1000, 129, 128], **single)
    record_loss(root, "pred_only", 4, batch=30, dim=20, K=[50], **{**single, "beta": 1})
    record_loss(root, "double", 5, batch=64, dim=128, K=[300, 500], beta=0.8, **double)
    record_loss(root, "double_soft", 6, soft=True, batch=50, dim=24, K=[60], beta=0.5, **double)
    record_loss(root, "double_no_pred", 7, without_pred=True, batch=50, dim=24, K=[60], beta=0,
                **{**double, "alpha": 0.6})
    record_loss(root, "multi", 8, batch=49, dim=32, K=[77, 10], mode="multi", views=4, T=0.07, alpha=0.3,
                beta=0.6, pred_weight=0.9)


def record_sgd(root, name, seed, momentum, decay, rates, rate=0.05):
    rng = np.random.default_rng(seed)
    shapes, steps = [(6, 5), (4, 3, 3, 3), (11,)], 6
    params = [torch.tensor(rng.normal(size=s).astype("f4"), requires_grad=True) for s in shapes]
    groups = [{"params": [p], "lr": 0} for p in params]
    optimizer = torch.optim.SGD(groups, lr=0, momentum=momentum, weight_decay=decay)
    lr = rate / (1 + np.arange(steps))
    arrays = {"lr": lr}
    for i, p in enumerate(params):
        arrays[f"p{i}_init"] = p.detach().numpy().copy()
        arrays[f"p{i}_grad"] = (0.3 * rng.normal(size=(steps,) + shapes[i])).astype("f4")
        arrays[f"p{i}_after"] = np.zeros((steps,) + shapes[i], "f4")
        arrays[f"p{i}_mom"] = np.zeros((steps,) + shapes[i], "f4")
    for t in range(steps):
        for i, (group, p) in enumerate(zip(optimizer.param_groups, params)):
            group["lr"] = lr[t] * rates[i]
            p.grad = torch.tensor(arrays[f"p{i}_grad"][t])
        optimizer.step()
        for i, p in enumerate(params):
            arrays[f"p{i}_after"][t] = p.detach().numpy()
            arrays[f"p{i}_mom"][t] = optimizer.state[p]["momentum_buffer"].numpy()
    hyper = {"optimizer": "sgd", "momentum": momentum, "weight_decay": decay, "rates": rates}
    record(root, name, hyper, arrays)


def run(golden_tests, root, kind):
    return subprocess.run([golden_tests, kind], env={**os.environ, "COKE_GOLDEN": root}).returncode


def main():
    golden_tests = sys.argv[1]
    with tempfile.TemporaryDirectory() as root:
        record_losses(root)
        record_sgd(root, "sgd", 21, 0.9, 5e-4, [1, 1, 1])
        record_sgd(root, "sgd_rates", 22, 0.8, 0.01, [1, 10, 0.1])
        for kind in ("losses", "optim", "comparator"):
            assert run(golden_tests, root, kind) == 0, kind


if __name__ == "__main__":
    main()
