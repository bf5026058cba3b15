"""torch_ssl.py - self-supervised methods in PyTorch with lightly's losses, for a given time: the
peers of bench/race/race.

usage: torch_ssl.py METHOD DATA OUT --minutes M [--cpu] [--points N] [--threads N] [...]

DATA has CIFAR-10's binary files. Trains for M minutes of training time and writes, at N points
spread evenly over it and at the end, OUT/MINUTES-train.npy and -test.npy: the features of the
backbone for the images as they are. Time for these features is not counted. A last line of JSON
says the settings. The rate follows half a cosine over the time, after 5 % of warm-up. --cpu counts
CPU time; the views are made by the same process.
"""
import argparse
import json
import math
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "bench", "peers"), os.path.join(TOP, "tests", "py")]
import numpy as np  # noqa: E402
import torch_weights as nets  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision import transforms as T  # noqa: E402

torch, nn = nets.torch, nets.nn
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def mlp(*widths, last_norm=False):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        last = i == len(widths) - 2
        layers += [nn.Linear(a, b, bias=last and not last_norm)]
        layers += [] if last and not last_norm else [nn.BatchNorm1d(b)]
        layers += [] if last else [nn.ReLU()]
    return nn.Sequential(*layers)


# Settings of short runs: views, least area, batch, rate, weight decay, widths of the projector.
# SimCLR, SwAV, VICReg, BYOL: solo-learn's and lightly's for CIFAR-10 (LARS, batch 256);
# EMP-SSL: the authors' (20 patches of a quarter of the area or more, batch 100, LARS, rate .3).
# simclr-small: those of coke's preset cifar10-simclr-small, to part the settings from the program.
SETTINGS = {
    "simclr": dict(views=2, least=0.08, batch=256, rate=0.4, decay=1e-5, widths=(2048, 256)),
    "simclr-small": dict(views=2, least=0.1, batch=128, rate=0.2, decay=1e-4, widths=(1024, 128),
                         size=16, optimizer="sgd"),
    "swav": dict(views=2, least=0.08, batch=256, rate=0.6, decay=1e-6, widths=(2048, 128)),
    "vicreg": dict(views=2, least=0.2, batch=256, rate=0.3, decay=1e-4, widths=(2048, 2048, 2048)),
    "byol": dict(views=2, least=0.2, batch=256, rate=0.3, decay=1e-5, widths=(4096, 256)),
    "emp": dict(views=20, least=0.25, batch=100, rate=0.3, decay=1e-4, widths=(4096, 1024)),
}


def read(data, names):
    raw = np.concatenate([np.fromfile(os.path.join(data, n + ".bin"), np.uint8) for n in names])
    rows = raw.reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32)


class Views(torch.utils.data.Dataset):
    def __init__(self, images, views, least, size):
        self.images, self.views = images, views
        self.make = T.Compose([
            T.RandomResizedCrop(size, scale=(least, 1.0)),
            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            T.RandomGrayscale(p=0.2), T.RandomHorizontalFlip(), T.ToTensor(),
            T.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = Image.fromarray(self.images[i].transpose(1, 2, 0))
        return [self.make(image) for _ in range(self.views)]


class Method(nn.Module):
    """A backbone, a projector and one of lightly's losses."""

    def __init__(self, name, width):
        super().__init__()
        from lightly import loss
        self.name, s = name, SETTINGS[name]
        self.backbone = nets.Encoder("resnet18", width, "cifar", 3, "linear", 64)
        dim = self.backbone.inplanes
        self.backbone.fc = nn.Identity()
        self.projector = mlp(dim, *s["widths"])
        out = s["widths"][-1]
        if name.startswith("simclr"):
            self.loss = loss.NTXentLoss(temperature=0.2)
        elif name == "vicreg":
            self.loss = loss.VICRegLoss()
        elif name == "emp":
            self.loss = loss.EMPSSLLoss(inv_coef=200.0)
        elif name == "swav":
            from lightly.models.modules import SwaVPrototypes
            self.loss = loss.SwaVLoss(temperature=0.1, sinkhorn_epsilon=0.05)
            self.prototypes = SwaVPrototypes(out, n_prototypes=300)
        else:
            import copy
            self.loss = loss.NegativeCosineSimilarity()
            self.predictor = mlp(out, s["widths"][0], out)
            self.slow = nn.ModuleList([copy.deepcopy(self.backbone), copy.deepcopy(self.projector)])
            for p in self.slow.parameters():
                p.requires_grad_(False)

    def project(self, x):
        return self.projector(self.backbone(x))

    def forward(self, views):
        if self.name == "byol":
            with torch.no_grad():
                target = [self.slow[1](self.slow[0](v)) for v in views]
            online = [self.predictor(self.project(v)) for v in views]
            return (self.loss(online[0], target[1]) + self.loss(online[1], target[0])) / 2
        z = [self.project(v) for v in views]
        if self.name == "swav":
            self.prototypes.normalize()
            return self.loss([self.prototypes(nn.functional.normalize(x)) for x in z], [])
        if self.name == "emp":
            return self.loss([nn.functional.normalize(x) for x in z])
        return self.loss(z[0], z[1])

    @torch.no_grad()
    def after_step(self, fraction):
        if self.name != "byol":
            return
        tau = 1 - (1 - 0.99) * (math.cos(math.pi * fraction) + 1) / 2
        fast = list(self.backbone.parameters()) + list(self.projector.parameters())
        for p, q in zip(self.slow.parameters(), fast):
            p.mul_(tau).add_(q, alpha=1 - tau)


@torch.no_grad()
def write_features(model, images, path):
    model.backbone.eval()
    mean, std = (torch.tensor(v)[:, None, None] for v in (MEAN, STD))
    out = [model.backbone((torch.from_numpy(images[i:i + 250]).float() / 255 - mean) / std).numpy()
           for i in range(0, len(images), 250)]
    np.save(path, np.concatenate(out))
    model.backbone.train()


def optimizer_of(trained, s):
    """LARS as in solo-learn: biases and batch norm without decay and, in lightly's, without trust."""
    from lightly.utils.lars import LARS
    groups = [{"params": [q for q in trained if q.ndim > 1], "weight_decay": s["decay"]},
              {"params": [q for q in trained if q.ndim <= 1], "weight_decay": 0.0}]
    if s.get("optimizer") == "sgd":
        return torch.optim.SGD(groups, lr=s["rate"], momentum=0.9)
    return LARS(groups, lr=s["rate"], momentum=0.9, trust_coefficient=0.02)


def rate_at(peak, fraction):
    if fraction < 0.05:
        return peak * max(fraction, 1e-3) / 0.05
    return peak * (1 + math.cos(math.pi * (fraction - 0.05) / 0.95)) / 2


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("method", choices=sorted(SETTINGS))
    p.add_argument("data")
    p.add_argument("out")
    p.add_argument("--minutes", type=float, required=True)
    p.add_argument("--points", type=int, default=6)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--width", type=float, default=0.25, help="1 is the published network")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--cpu", action="store_true", help="count CPU time")
    p.add_argument("--limit", type=int, default=0, help="images; 0: all")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    s = SETTINGS[a.method]
    names = ["data_batch_%d" % i for i in range(1, 6)]
    train = read(a.data, [n for n in names if os.path.exists(os.path.join(a.data, n + ".bin"))])
    test = read(a.data, ["test_batch"])
    train, test = (train[:a.limit], test[:a.limit]) if a.limit else (train, test)
    model = Method(a.method, a.width)
    trained = [q for q in model.parameters() if q.requires_grad]
    optimizer = optimizer_of(trained, s)
    loader = torch.utils.data.DataLoader(Views(train, s["views"], s["least"],
                                                         s.get("size", 32)), s["batch"],
                                         shuffle=True, drop_last=True,
                                         num_workers=0 if a.cpu else a.threads,
                                         persistent_workers=not a.cpu)
    clock = time.process_time if a.cpu else time.monotonic
    os.makedirs(a.out, exist_ok=True)
    spent, budget, steps, point, loss = 0.0, 60 * a.minutes, 0, 1, math.nan
    while spent < budget:
        start = clock()
        for views in loader:
            now = spent + clock() - start
            fraction = min(now / budget, 1)
            for group in optimizer.param_groups:
                group["lr"] = rate_at(s["rate"], fraction)
            loss = model(views)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            model.after_step(fraction)
            steps += 1
            if fraction >= min(point / a.points, 1):
                point = int(fraction * a.points) + 1
                spent += clock() - start
                for kind, images in (("train", train), ("test", test)):
                    write_features(model, images, "%s/%.2f-%s.npy" % (a.out, spent / 60, kind))
                start = clock()
            if now >= budget:
                break
        spent += clock() - start
    print(json.dumps({"method": a.method, "minutes": spent / 60, "steps": steps,
                      "epochs": steps * s["batch"] / len(train), "loss": float(loss),
                      "torch": torch.__version__, "width": a.width, "threads": a.threads,
                      "seed": a.seed, **s}))


if __name__ == "__main__":
    main()
