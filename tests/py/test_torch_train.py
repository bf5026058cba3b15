"""A short training follows a PyTorch program of the same setting, step by step: loss, labels and
duals, from the same first weights on the same images, in f32.

usage: test_torch_train.py PATH-OF-TRAIN_DRIVER     exit code 77: no torch here
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_weights as theirs  # noqa: E402  (ends with 77 where there is no torch)

np, torch = theirs.np, theirs.torch
N, BATCH, SIDE, DIM, EPOCHS, WARMUP = 96, 32, 16, 16, 18, 2
K = [5, 12]
RATE, MOMENTUM, DECAY = 0.005, 0.9, 1e-4
# The first difference, and what rounding may have grown to at the end.
START, END = 1e-5, 1e-3
MARGIN = 1e-3


def rate_of(epoch, step, steps):
    c = epoch * steps + step
    if epoch == 0:
        return 0.0
    if epoch <= WARMUP:
        return RATE * max(1, c - steps) / (WARMUP * steps)
    done = (c - (WARMUP + 1) * steps) / ((EPOCHS - WARMUP - 1) * steps)
    return RATE / 2 * (1 + np.cos(np.pi * done))


class Head:
    """Online constrained k-means as SPEC part 1 has it, form running."""

    def __init__(self, centers, eta, ratio):
        self.cur, self.prev = centers.copy(), centers.copy()
        self.k = len(centers)
        self.rho = np.zeros(self.k)
        self.count = np.zeros(self.k)
        self.label = np.full(N, -1)
        self.eta, self.ratio = eta, ratio

    def step(self, x, ids):
        """The new labels, and by how much the best cluster was ahead of the second."""
        score = x @ self.cur.T + self.rho
        y = score.argmax(1)
        two = np.sort(score, 1)[:, -2:]
        m = np.bincount(y, minlength=self.k)
        self.rho = np.maximum(self.rho - self.eta * m / len(x) + self.eta * self.ratio / self.k,
                              0 if self.ratio < 1 else -np.inf)
        for k in np.flatnonzero(m):
            new = self.count[k] + m[k]
            c = self.cur[k] * self.count[k] / new + x[y == k].sum(0) / new
            self.cur[k] = c / max(np.linalg.norm(c), 1e-12)
            self.count[k] = new
        self.label[ids] = y
        return y, two[:, 1] - two[:, 0]

    def epoch_end(self):
        self.prev = self.cur.copy()
        self.count[:] = 0


def forward(net, x):
    proj = net(x)
    pred = net.predictor(proj)
    return torch.nn.functional.normalize(proj), torch.nn.functional.normalize(pred)


def loss_of(outs, heads, labels, alpha, beta, temperature):
    """SPEC part 2: one view with hard labels, or two with the other's prediction mixed in."""
    total = 0
    for head, y in zip(heads, labels):
        centers = torch.from_numpy(head.prev).float()
        hard = torch.nn.functional.one_hot(torch.from_numpy(y), head.k).float()
        q = [(p @ centers.T / temperature).softmax(1).detach() for p, _ in outs]
        for v, (proj, pred) in enumerate(outs):
            target = hard if len(outs) == 1 else alpha * hard + (1 - alpha) * q[1 - v]
            for out, weight in ((pred, beta), (proj, 1 - beta)):
                z = (out @ centers.T / temperature).log_softmax(1)
                total = total - weight * (target * z).sum(1).mean() / len(outs)
    return total / len(heads)


def run_ours(driver, folder, views, case):
    np.asarray(views, "<f4").tofile(folder + "/views.f32")
    rng = np.random.default_rng(5)
    order = np.stack([rng.permutation(N) for _ in range(EPOCHS)]).astype("<i8")
    order.tofile(folder + "/order.i64")
    options = dict(n=N, arch="resnet18", stem="cifar", width=0.125, dim=DIM, size=SIDE,
                   batch=BATCH, epochs=EPOCHS, warmup=WARMUP, rate=RATE, momentum=MOMENTUM,
                   optimizer="sgd", k=",".join(map(str, K)), eta=0.3, ratio=0.9,
                   temperature=0.1, beta=0.5)
    options["weight-decay"] = DECAY
    options["eta-mode"] = "shared"
    # Deep random networks are chaotic: rounding grows tenfold with every step. Blocks that begin
    # as identities and small steps keep it small, so that mistakes show.
    options["zero-residual"] = "on"
    options.update(case)
    subprocess.run([driver, folder, str(EPOCHS)] + ["%s=%s" % o for o in options.items()],
                   check=True)
    return order, np.fromfile(folder + "/steps.f64")


def compare(driver, name, views, alpha, **case):
    with tempfile.TemporaryDirectory() as folder:
        case.update({"alpha": alpha, "alpha-start": alpha})
        order, steps = run_ours(driver, folder, views, case)
        per_step = 1 + sum(BATCH + k for k in K)
        ours = steps.reshape(-1, per_step)
        net = theirs.Encoder("resnet18", 0.125, "cifar", 3, "mlp3", DIM)
        net.add_predictor(DIM)
        first = theirs.read_tensors(folder + "/first.safetensors")
        net.load_state_dict({n: torch.from_numpy(t.copy()) for n, t in first.items()})
        heads = [Head(np.fromfile("%s/centers%d.f32" % (folder, h), "<f4").reshape(k, DIM)
                      .astype(float), 0.3, 0.9) for h, k in enumerate(K)]
        follow(name, net, heads, [torch.from_numpy(np.asarray(v, "f4")) for v in views], order,
               ours, alpha)


def follow(name, net, heads, views, order, ours, alpha):
    optimizer = torch.optim.SGD(net.parameters(), lr=1, momentum=MOMENTUM, weight_decay=DECAY)
    net.train()
    steps, worst, apart, close, far = N // BATCH, [], 0, 0, 0
    for at, row in enumerate(ours):
        epoch, step = divmod(at, steps)
        ids = order[epoch, step * BATCH:(step + 1) * BATCH]
        outs = [forward(net, v[ids]) for v in views]
        x = np.mean([p.detach().double().numpy() for p, _ in outs], 0)
        old = [h.label[ids].copy() for h in heads]
        new = [h.step(x, ids) for h in heads]
        loss = loss_of(outs, heads, old if epoch else [y for y, _ in new], alpha, 0.5, 0.1)
        if epoch:
            for group in optimizer.param_groups:
                group["lr"] = rate_of(epoch, step, steps)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        worst.append(abs(loss.item() - row[0]) / max(abs(loss.item()), 1))
        col = 1
        for h, (y, margin) in zip(heads, new):
            mine, rho = row[col:col + BATCH], row[col + BATCH:col + BATCH + h.k]
            col += BATCH + h.k
            differ = mine != y
            apart += int((differ & (margin > MARGIN)).sum())
            close += int((differ & (margin <= MARGIN)).sum())
            far = max(far, np.abs(rho - h.rho).max())
        if step + 1 == steps:
            for h in heads:
                h.epoch_end()
        if apart or close:
            break  # from here on two trainings of different labels
    grown = " ".join("%.0e" % worst[i] for i in range(0, len(worst), 9))
    print("%s: %d steps, loss apart by %s; labels: %d differ beyond a margin of %g, %d within; "
          "duals apart by %.1e" % (name, len(worst), grown, apart, MARGIN, close, far))
    assert apart == 0 and max(worst[:6]) < START and max(worst) < END and far < 1e-3
    assert len(worst) >= 50 or close, "it ended early"


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    base = rng.normal(size=(N, 3, SIDE, SIDE))
    views = [base + 0.3 * rng.normal(size=base.shape) for _ in range(2)]
    compare(sys.argv[1], "one view", views[:1], 1, recipe="cifar-single")
    compare(sys.argv[1], "two views", views, 0.5, recipe="cifar")


main()
