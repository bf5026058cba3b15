"""The linear probe against PyTorch's SGD, step by step, and against scikit-learn's logistic
regression where it ends.

usage: test_eval_probe.py PATH-OF-EVAL_DRIVER     exit code 77: no numpy or torch here
"""

import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    import torch
except ImportError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("numpy or torch is not installed: skipped")
    sys.exit(77)
try:
    from sklearn.linear_model import LogisticRegression
except ImportError:
    LogisticRegression = None

N, DIM, CLASSES = 600, 20, 7
STEP_TOLERANCE = 1e-4  # of the largest weight, after 50 steps
LOSS_TOLERANCE, ACCURACY_TOLERANCE = 2e-4, 0.005  # at the end
DRIVER = sys.argv[1]


def make(seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, CLASSES, N).astype("i4")
    x = rng.normal(size=(CLASSES, DIM))[label] * 0.4 + rng.normal(size=(N, DIM))
    return x.astype("f4"), label


def probe(folder, x, label, steps, rate, decay):
    """First and last weights [classes][dim + 1], loss and accuracy of our probe."""
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/l.npy", label)
    words = ["probe", f"{folder}/w", CLASSES, steps, rate, decay, f"{folder}/x.npy", f"{folder}/l.npy"]
    done = subprocess.run([DRIVER] + [str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loss, top1 = [float(v) for v in done.stdout.split()][:2]
    return np.load(f"{folder}/w-first.npy"), np.load(f"{folder}/w-last.npy"), loss, top1


def with_one(x):
    return np.hstack([x.astype("f8"), np.ones((len(x), 1))])


def mean_loss(w, x, label):
    z = with_one(x) @ w.T.astype("f8")
    z -= z.max(1, keepdims=True)
    return float((np.log(np.exp(z).sum(1)) - z[np.arange(len(x)), label]).mean()), float((z.argmax(1) == label).mean())


def check_steps(folder):
    x, label = make(1)
    first, last, loss, top1 = probe(folder, x, label, 50, 0.3, 1e-3)
    w = torch.tensor(first.astype("f8"), requires_grad=True)
    sgd = torch.optim.SGD([w], lr=0.3, momentum=0.9, weight_decay=1e-3)
    for _ in range(50):
        sgd.zero_grad()
        z = torch.tensor(with_one(x)) @ w.t()
        torch.nn.functional.cross_entropy(z, torch.tensor(label.astype("i8"))).backward()
        sgd.step()
    want = w.detach().numpy()
    apart = np.abs(last - want).max() / np.abs(want).max()
    print(f"50 steps: weights {apart:.1e} apart from PyTorch's")
    assert apart <= STEP_TOLERANCE
    want = mean_loss(want, x, label)
    assert abs(loss - want[0]) < LOSS_TOLERANCE and abs(top1 - want[1]) <= ACCURACY_TOLERANCE, (loss, top1, want)


def check_end(folder):
    if LogisticRegression is None:
        print("scikit-learn is not installed: the end was not compared")
        return
    x, label = make(2)
    decay = 1e-3
    _, last, loss, top1 = probe(folder, x, label, 3000, 0.3, decay)
    # scikit-learn's objective is |w|^2 / 2 + C * sum of losses; ours decay / 2 * |w|^2 + their mean.
    model = LogisticRegression(C=1 / (N * decay), fit_intercept=False, max_iter=5000, tol=1e-8)
    model.fit(with_one(x), label)
    want = mean_loss(model.coef_, x, label)
    print(f"3000 steps: loss {loss:.6f}, scikit-learn's {want[0]:.6f}; accuracy {top1:.4f}, {want[1]:.4f}")
    assert abs(loss - want[0]) < LOSS_TOLERANCE and abs(top1 - want[1]) <= ACCURACY_TOLERANCE


with tempfile.TemporaryDirectory() as place:
    check_steps(place)
    check_end(place)
