"""torch_train.py - the same training in PyTorch with torchvision's augmentations, timed: the peer
of bench_train.

usage: torch_train.py CIFAR-FILE [--batch N] [--width W] [--heads K,...] [--seconds S]

Two views of each image, ResNet-18 with the CIFAR stem, projection and prediction MLPs, the loss
over all heads, online clustering, SGD; DataLoader with 2 workers. Prints one line of JSON with
images a second, of which each is seen in two views."""
import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tests", "py")]
import torch_loader as data  # noqa: E402
import torch_weights as nets  # noqa: E402

torch, F = data.torch, nets.nn.functional


class Head:
    def __init__(self, n, k, dim, eta, ratio):
        self.prev = F.normalize(torch.randn(k, dim))
        self.cur, self.rho = self.prev.clone(), torch.zeros(k)
        self.count = torch.zeros(k)
        self.label = torch.randint(0, k, (n,))
        self.k, self.eta, self.ratio = k, eta, ratio

    def update(self, x, ids):
        y = (x @ self.cur.T + self.rho).argmax(1)
        m = torch.bincount(y, minlength=self.k).float()
        self.rho = (self.rho - self.eta * m / len(x) + self.eta * self.ratio / self.k).clamp(min=0)
        new = self.count + m
        sums = torch.zeros_like(self.cur).index_add_(0, y, x)
        share = (self.count / new.clamp(min=1))[:, None]
        moved = F.normalize(self.cur * share + sums / new.clamp(min=1)[:, None])
        self.cur = torch.where((m > 0)[:, None], moved, self.cur)
        self.count = new
        self.label[ids] = y


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


def main():
    p = argparse.ArgumentParser(description="the peer of bench_train")
    p.add_argument("file")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--width", type=float, default=0.25)
    p.add_argument("--heads", default="10,20,30,40,50,60,70,80,90,100")
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--repeat", type=int, default=2)
    a = p.parse_args()
    views = data.open_cifar([a.file], blur=False)
    loader = torch.utils.data.DataLoader(Indexed(views), batch_size=a.batch, shuffle=True,
                                         num_workers=2, persistent_workers=True)
    net = nets.Encoder("resnet18", a.width, "cifar", 3, "mlp3", 128)
    net.add_predictor(128)
    heads = [Head(len(views), int(k), 128, 0.1, 0.9) for k in a.heads.split(",")]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    net.train()
    best, images, start, warm = 0, 0, time.perf_counter(), 3
    while True:
        for ids, *x in loader:
            outs = []
            for v in x:
                proj = net(v)
                outs.append((F.normalize(proj), F.normalize(net.predictor(proj))))
            labels = [h.label[ids] for h in heads]
            features = (outs[0][0] + outs[1][0]).detach() / 2
            for h in heads:
                h.update(features, ids)
            loss = loss_of(outs, heads, labels, 0.2, 0.5, 0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            images += len(ids)
            warm -= 1
            if warm == 0:
                images, start = 0, time.perf_counter()
            spent = time.perf_counter() - start
            if warm < 0 and spent > a.seconds:
                best = max(best, images / spent)
                images, start = 0, time.perf_counter()
                a.repeat -= 1
            if a.repeat == 0:
                print(json.dumps({"rate": best}))
                sys.stdout.flush()
                os._exit(0)


if __name__ == "__main__":
    main()
