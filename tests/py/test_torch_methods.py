"""Short trainings by other methods follow PyTorch programs, step by step, from the same first weights
on the same images, in f32. Losses are those of the package lightly where it is installed, else plain
expressions of their definitions.

usage: test_torch_methods.py PATH-OF-TRAIN_DRIVER [METHOD...]     exit code 77: no torch here
"""
import copy
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_weights as theirs  # noqa: E402  (ends with 77 where there is no torch)

try:
    import lightly.loss as package
except ImportError:
    package = None

np, torch = theirs.np, theirs.torch
F = torch.nn.functional
N, BATCH, SIDE, DIM, EPOCHS, WARMUP = 96, 32, 16, 16, 18, 2
STEPS = N // BATCH
# At a higher rate PyTorch does not follow itself: first weights that differ by 2e-7 of their size, five
# draws, moved its own losses by up to (1) at the rate .001, where ours were (2) apart from it:
#     barlow 4.8e-3 4.8e-3, swav 5.1e-4 5.1e-4, byol 2.3e-6 4e-7, simclr 7e-7 3e-7, dino 9.7e-4 4e-7
# and at .005
#     barlow 3.5e-3 3.6e-3, swav 1.3e-2 3.2e-4, byol 1.7e-3 1.7e-3, simclr 1.4e-2 2.3e-6.
# The losses part at single steps, on equal ways in both programs: a ReLU turns on or off.
RATE, MOMENTUM, DECAY = 0.0002, 0.9, 1e-4
K = 20
CLOSE = 1e-5  # of the loss, all steps


def rate_of(at):
    if at < WARMUP * STEPS:
        return RATE * max(1, at) / (WARMUP * STEPS)
    done = (at - WARMUP * STEPS) / ((EPOCHS - WARMUP - 1) * STEPS)
    return RATE / 2 * (1 + np.cos(np.pi * done))


def tau_of(at, start, end):
    return end - (end - start) * (1 + np.cos(np.pi * at / ((EPOCHS - 1) * STEPS))) / 2


# ---- losses ----


def contrast(z, temperature):
    if package:
        return package.NTXentLoss(temperature=temperature)(*z)
    u = F.normalize(torch.cat(z))
    s = u @ u.T / temperature
    s = s.masked_fill(torch.eye(len(u), dtype=bool), -torch.inf)
    n = len(z[0])
    return F.cross_entropy(s, torch.arange(2 * n).roll(n))


def barlow(z, weight):
    if package:
        return package.BarlowTwinsLoss(lambda_param=weight)(*z)
    y = [(x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5) for x in z]
    c = y[0].T @ y[1] / len(z[0])
    on = torch.diagonal(c)
    return ((1 - on) ** 2).sum() + weight * ((c ** 2).sum() - (on ** 2).sum())


def byol(p, z):
    half = (package.NegativeCosineSimilarity() if package
            else lambda a, b: -F.cosine_similarity(a, b).mean())
    return 4 + 2 * (half(p[0], z[1]) + half(p[1], z[0]))


def codes(scores, eps=0.05, rounds=3):
    q = torch.exp(scores / eps)
    for _ in range(rounds):
        q = q / q.sum(0)
        q = q / q.sum(1, keepdim=True)
    return q


def swav(scores, temperature):
    if package:
        return package.SwaVLoss(temperature=temperature)(scores[:2], scores[2:])
    with torch.no_grad():
        q = [codes(s) for s in scores[:2]]
    pairs = [-(q[i] * F.log_softmax(s / temperature, 1)).sum(1).mean()
             for i in range(2) for v, s in enumerate(scores) if v != i]
    return sum(pairs) / len(pairs)


def predict(student, teacher, temperature):
    """DINO's pairs of a student's view and another view's target."""
    pairs = [-(q * F.log_softmax(s / temperature, 1)).sum(1).mean()
             for i, q in enumerate(teacher) for v, s in enumerate(student) if v != i]
    return sum(pairs) / len(pairs)


# ---- methods: what is learned, and what happens after a step ----


class Method:
    options, views, head, predictor, prototypes = {}, 2, "mlp2bn", False, False
    heads = 0  # clusters of the one head

    def __init__(self, net, state):
        self.net = net
        if self.prototypes:
            self.v = torch.nn.Parameter(torch.from_numpy(state["method.prototypes"].copy()))

    def parameters(self):
        return list(self.net.parameters()) + ([self.v] if self.prototypes else [])

    def scores(self, x, v):
        return F.normalize(x) @ F.normalize(v).T

    def after(self, at):
        pass


class Simclr(Method):
    options = {"method": "simclr", "temperature": 0.2}

    def loss(self, x):
        return contrast([self.net(v) for v in x], 0.2)


class Barlow(Method):
    options = {"method": "barlow", "redundancy-weight": 0.005, "loss-scale": 1}

    def loss(self, x):
        return barlow([self.net(v) for v in x], 0.005)


class Taught(Method):
    def __init__(self, net, state):
        super().__init__(net, state)
        self.teacher = copy.deepcopy(net).train()

    def after(self, at):
        tau = tau_of(at, 0.9, 1)
        with torch.no_grad():
            for t, p in zip(self.teacher.parameters(), self.net.parameters()):
                t.mul_(tau).add_(p, alpha=1 - tau)
        return tau


class Byol(Taught):
    options = {"method": "byol", "momentum-start": 0.9, "momentum-end": 1}
    predictor = True

    def loss(self, x):
        with torch.no_grad():
            z = [self.teacher(v) for v in x]
        return byol([self.net.predictor(self.net(v)) for v in x], z)


class Swav(Method):
    options = {"method": "swav", "temperature": 0.1, "prototypes": K, "queue": 0,
               "freeze-prototypes": 0}
    prototypes = True

    def loss(self, x):
        return swav([self.scores(self.net(v), self.v) for v in x], 0.1)


class Dino(Taught):
    options = {"method": "dino", "temperature": 0.1, "prototypes": K, "freeze-prototypes": 0,
               "momentum-start": 0.9, "momentum-end": 1, "teacher-temperature": 0.07}
    prototypes = True

    def __init__(self, net, state):
        super().__init__(net, state)
        self.average, self.center = self.v.detach().clone(), torch.zeros(K)
        if package:
            self.package = package.DINOLoss(output_dim=K, warmup_teacher_temp=0.07,
                                            teacher_temp=0.07, warmup_teacher_temp_epochs=1)

    def loss(self, x):
        with torch.no_grad():
            t = [self.scores(self.teacher(v), self.average) for v in x[:2]]
        s = [self.scores(self.net(v), self.v) for v in x]
        if package:
            return self.package(t, s, epoch=5)
        q = [((y - self.center) / 0.07).softmax(1) for y in t]
        self.center = 0.9 * self.center + 0.1 * torch.cat(t).mean(0)
        return predict(s, q, 0.1)

    def after(self, at):
        tau = super().after(at)
        self.average = tau * self.average + (1 - tau) * self.v.detach()


class SelfLabel(Method):
    """Labels of the first view, of the same step and in batch norm's training mode, where it is
    confident; cross-entropy of the second, in which all clusters with labels have the same weight.
    Without a run to continue the clusters are the axes."""
    options = {"method": "selflabel", "k": DIM, "threshold": 0.12, "recipe": "cifar-weak-strong"}
    heads = DIM

    def scores_of(self, x):
        return self.net(x)

    def loss(self, x):
        with torch.no_grad():
            sure, label = self.scores_of(x[0]).softmax(1).max(1)
            kept = sure > self.options["threshold"]
            count = torch.bincount(label[kept], minlength=self.heads)
            weight = torch.where(count > 0, kept.sum() / count.clamp(min=1), 1.0)
        assert 0 < kept.sum() < len(kept)
        return F.cross_entropy(self.scores_of(x[1])[kept], label[kept], weight)


class SelfLabelCosine(SelfLabel):
    """The same where scores are cosines to centers: here the first axes."""
    options = dict(SelfLabel.options, k=12, temperature=0.5, threshold=0.16)
    heads = 12

    def scores_of(self, x):
        return F.normalize(self.net(x)) @ torch.eye(DIM)[:12].T / 0.5


METHODS = {"simclr": Simclr, "barlow": Barlow, "byol": Byol, "swav": Swav, "dino": Dino,
           "selflabel": SelfLabel, "selflabel-cosine": SelfLabelCosine}


# ---- following ----


def run_ours(driver, folder, views, method):
    np.asarray(views, "<f4").tofile(folder + "/views.f32")
    rng = np.random.default_rng(5)
    order = np.stack([rng.permutation(N) for _ in range(EPOCHS)]).astype("<i8")
    order.tofile(folder + "/order.i64")
    options = dict(n=N, arch="resnet18", stem="cifar", width=0.125, dim=DIM, size=SIDE, batch=BATCH,
                   epochs=EPOCHS, warmup=WARMUP, rate=RATE, momentum=MOMENTUM, optimizer="sgd",
                   recipe="cifar", projector=method.head)
    options["predictor"] = "on" if method.predictor else "off"
    options["weight-decay"] = DECAY
    # Rounding grows with every step in deep random networks; blocks that begin as identities and
    # small steps keep it small, so that mistakes show.
    options["zero-residual"] = "on"
    options.update(method.options)
    subprocess.run([driver, folder, str(EPOCHS)] + ["%s=%s" % o for o in options.items()], check=True)
    row = 1 + BATCH + method.heads if method.heads else 1  # with labels and duals
    return order, np.fromfile(folder + "/steps.f64").reshape(-1, row)[:, 0]


def follow(driver, name, views):
    kind = METHODS[name]
    with tempfile.TemporaryDirectory() as folder:
        order, ours = run_ours(driver, folder, views[:kind.views], kind)
        net = theirs.Encoder("resnet18", 0.125, "cifar", 3, kind.head, DIM)
        if kind.predictor:
            net.add_predictor(DIM)
        first = theirs.read_tensors(folder + "/first.safetensors")
        net.load_state_dict({n: torch.from_numpy(t.copy()) for n, t in first.items()})
        method = kind(net.train(), theirs.read_tensors(folder + "/method.safetensors"))
    optimizer = torch.optim.SGD(method.parameters(), lr=1, momentum=MOMENTUM, weight_decay=DECAY)
    x = [torch.from_numpy(np.asarray(v, "f4")) for v in views]
    apart = []
    for at in range(-STEPS, (EPOCHS - 1) * STEPS):
        ids = order[at // STEPS + 1, at % STEPS * BATCH:(at % STEPS + 1) * BATCH]
        batch = [v[ids] for v in x[:kind.views]]
        if at < 0:  # epoch 0: the encoder runs, which changes its running statistics alone
            continue
        loss = method.loss(batch)
        for group in optimizer.param_groups:
            group["lr"] = rate_of(at)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        method.after(at)
        apart.append(abs(loss.item() - ours[at + STEPS]) / abs(loss.item()))
    grown = " ".join("%.0e" % apart[i] for i in range(0, len(apart), 9))
    print("%s: %d steps, loss %.4f, apart by %s (%s)" % (name, len(apart), loss.item(), grown,
                                                         "lightly" if package else "expressions"))
    assert len(apart) >= 50 and max(apart) < CLOSE, (name, max(apart))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    base = rng.normal(size=(N, 3, SIDE, SIDE))
    views = [base + 0.3 * rng.normal(size=base.shape) for _ in range(2)]
    for name in sys.argv[2:] or METHODS:
        follow(sys.argv[1], name, views)


main()
