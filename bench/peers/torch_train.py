"""torch_train.py - the same training in PyTorch with torchvision's augmentations: the peer of
bench_train, and of the preset cifar10-small.

usage: torch_train.py CIFAR-FILE [--seconds S]       images a second, as one line of JSON
       torch_train.py CIFAR-FILE --epochs N [...]    trains N epochs, a line of JSON for each

Two views of each image, ResNet-18 with the CIFAR stem, projection and prediction MLPs, the loss
over all heads, online clustering, SGD; DataLoader with 2 workers. Of the images a second each is
seen in two views. The options are those of `coke train`; --schedule is how many epochs the
learning rate is planned for."""
import argparse
import json
import math
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "py")]
import torch_loader as data  # noqa: E402
import torch_weights as nets  # noqa: E402

torch, F = data.torch, nets.nn.functional


class Head:
    """Online constrained k-means; centers move with every batch, or once an epoch."""

    def __init__(self, n, k, dim, eta, ratio, form):
        self.prev = F.normalize(torch.randn(k, dim))
        self.cur, self.rho = self.prev.clone(), torch.zeros(k)
        self.label = torch.randint(0, k, (n,))
        self.k, self.eta, self.ratio, self.form = k, eta, ratio, form
        self.begin()

    def begin(self):
        self.count = torch.zeros(self.k)
        self.sums = torch.zeros_like(self.cur)

    def update(self, x, ids):
        y = (x @ self.cur.T + self.rho).argmax(1)
        m = torch.bincount(y, minlength=self.k).float()
        self.rho = (self.rho - self.eta * m / len(x) + self.eta * self.ratio / self.k).clamp(min=0)
        new = self.count + m
        sums = torch.zeros_like(self.cur).index_add_(0, y, x)
        if self.form == "running":
            share = (self.count / new.clamp(min=1))[:, None]
            moved = F.normalize(self.cur * share + sums / new.clamp(min=1)[:, None])
            self.cur = torch.where((m > 0)[:, None], moved, self.cur)
        self.sums += sums
        self.count = new
        self.label[ids] = y
        return y

    def epoch_end(self):
        if self.form == "epoch":
            self.cur = torch.where((self.count > 0)[:, None], F.normalize(self.sums), self.cur)
        self.prev = self.cur.clone()
        self.begin()


class Indexed(torch.utils.data.Dataset):
    def __init__(self, views):
        self.views = views

    def __len__(self):
        return len(self.views)

    def __getitem__(self, i):
        return (i,) + self.views[i]


def loss_of(outs, heads, labels, alpha, beta, temperature):
    total = 0
    for head, y in zip(heads, labels):
        hard = F.one_hot(y, head.k).float()
        q = [(p @ head.prev.T / temperature).softmax(1).detach() for p, _ in outs]
        for v, (proj, pred) in enumerate(outs):
            target = alpha * hard + (1 - alpha) * q[1 - v]
            for out, weight in ((pred, beta), (proj, 1 - beta)):
                z = (out @ head.prev.T / temperature).log_softmax(1)
                total = total - weight * (target * z).sum(1).mean() / 2
    return total / len(heads)


class Training:
    def __init__(self, a):
        self.a = a
        torch.manual_seed(a.seed)
        views = data.open_cifar([a.file], blur=False, size=a.size)
        self.loader = torch.utils.data.DataLoader(
            Indexed(views), batch_size=a.batch, shuffle=True, num_workers=2,
            persistent_workers=True)
        self.net = nets.Encoder("resnet18", a.width, "cifar", 3, "mlp3", a.dim)
        self.net.add_predictor(a.dim)
        if a.zero_residual:
            for module in self.net.modules():
                if isinstance(module, nets.BasicBlock):
                    torch.nn.init.zeros_(module.bn2.weight)
        ks = [int(k) for k in a.k.split(",")]
        self.heads = [Head(len(views), k, a.dim, a.eta * (k / min(ks) if a.eta_mode == "scaled"
                                                          else 1), a.ratio, a.form) for k in ks]
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=a.rate, momentum=0.9,
                                         weight_decay=a.weight_decay)
        self.net.train()

    def rate(self, epoch, step):
        steps, a = len(self.loader), self.a
        c = epoch * steps + step
        if epoch <= a.warmup:
            return a.rate * max(1, c - steps) / (a.warmup * steps)
        left = (a.schedule - a.warmup - 1) * steps
        return a.rate / 2 * (1 + math.cos(math.pi * (c - (a.warmup + 1) * steps) / left))

    def step(self, ids, x, scan=False):
        a, outs = self.a, []
        for v in x:
            proj = self.net(v)
            outs.append((F.normalize(proj), F.normalize(self.net.predictor(proj))))
        labels = [h.label[ids] for h in self.heads]
        features = (outs[0][0] + outs[1][0]).detach() / 2
        new = [h.update(features, ids) for h in self.heads]
        loss = loss_of(outs, self.heads, new if scan else labels, a.alpha, a.beta, a.temperature)
        if not scan:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def epoch(self, epoch):
        total, seen, start = 0, 0, time.perf_counter()
        for step, (ids, *x) in enumerate(self.loader):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate(epoch, step) if epoch else 0
            with torch.set_grad_enabled(epoch > 0):
                total += self.step(ids, x, scan=epoch == 0) * len(ids)
            seen += len(ids)
        for h in self.heads:
            h.epoch_end()
        spent = time.perf_counter() - start
        print(json.dumps({"epoch": epoch, "loss": total / seen, "seconds": spent,
                          "images_per_second": seen / spent}), flush=True)

    def measure(self):
        best, images, start, warm, repeat = 0, 0, time.perf_counter(), 3, self.a.repeat
        while True:
            for ids, *x in self.loader:
                self.step(ids, x)
                images += len(ids)
                warm -= 1
                if warm == 0:
                    images, start = 0, time.perf_counter()
                spent = time.perf_counter() - start
                if warm < 0 and spent > self.a.seconds:
                    best = max(best, images / spent)
                    images, start = 0, time.perf_counter()
                    repeat -= 1
                if repeat == 0:
                    print(json.dumps({"rate": best}), flush=True)
                    return


def main():
    p = argparse.ArgumentParser(description="the peer of bench_train")
    p.add_argument("file")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--width", type=float, default=0.25)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("-k", "--heads", dest="k", default="10,20,30,40,50,60,70,80,90,100")
    p.add_argument("--eta", type=float, default=0.1)
    p.add_argument("--eta-mode", choices=["shared", "scaled"], default="shared")
    p.add_argument("--ratio", type=float, default=0.9)
    p.add_argument("--form", choices=["running", "epoch"], default="running")
    p.add_argument("--alpha", type=float, default=0.2)
    p.add_argument("--beta", type=float, default=0.5)
    p.add_argument("--temperature", type=float, default=0.05)
    p.add_argument("--rate", type=float, default=0.05)
    p.add_argument("--warmup", type=int, default=2)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--zero-residual", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--epochs", type=int, default=0)
    p.add_argument("--schedule", type=int, default=31)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--repeat", type=int, default=2)
    training = Training(p.parse_args())
    if training.a.epochs:
        for epoch in range(training.a.epochs):
            training.epoch(epoch)
    else:
        training.measure()
    os._exit(0)  # without waiting for the workers


if __name__ == "__main__":
    main()
