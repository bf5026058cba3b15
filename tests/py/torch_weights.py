"""Weights and outputs exchanged with PyTorch: torchvision's ResNets with our stems and heads.

make ARCH WIDTH STEM WEIGHTS INPUT OUTPUT   writes random weights, an input and its eval output
check ARCH WIDTH STEM WEIGHTS INPUT OUTPUT  loads weights that we wrote (strict=True) and
                                            compares the eval output
WEIGHTS is .safetensors, INPUT and OUTPUT are .npy. Exit code 77: no torch or torchvision here.
The file is read and written by the package safetensors where that is installed, else by the
few lines below.
"""

import argparse
import json
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
    import torch
    from torch import nn
    from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
except ImportError:
    here, system = os.path.realpath(sys.executable), os.path.realpath(SYSTEM_PYTHON)
    if os.path.exists(SYSTEM_PYTHON) and here != system:
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("torch or torchvision is not installed: skipped")
    sys.exit(77)
try:
    from safetensors import numpy as package
except ImportError:
    package = None

ARCHS = {
    "resnet18": (BasicBlock, [2, 2, 2, 2]),
    "resnet34": (BasicBlock, [3, 4, 6, 3]),
    "resnet50": (Bottleneck, [3, 4, 6, 3]),
}
DTYPES = {"I32": "<i4", "F32": "<f4", "F64": "<f8", "I64": "<i8"}
RELATIVE = 1e-4  # of the largest output


class Encoder(ResNet):
    """torchvision's ResNet with other widths: its blocks and names, made by its own code."""

    def __init__(self, arch, width, stem, channels, head, dim):
        self.base = int(64 * width + 0.5)  # halves go up
        super().__init__(*ARCHS[arch])
        kernel, stride = (7, 2) if stem == "imagenet" else (3, 1)
        self.conv1 = nn.Conv2d(channels, self.base, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(self.base)
        if stem == "cifar":
            self.maxpool = nn.Identity()
        if stem == "stl":
            self.maxpool = nn.MaxPool2d(2, 2, 1)
        features = self.inplanes
        words = {"linear": linear, "mlp2": mlp2, "mlp2bn": mlp2bn, "mlp3": mlp3}
        self.fc = (words.get(head) or layers(head))(features, dim)
        self.predictor = None

    def _make_layer(self, block, planes, *args, **kwargs):
        if planes == 64:
            self.inplanes = self.base  # the first layer: what the stem hands over
        return super()._make_layer(block, planes // 64 * self.base, *args, **kwargs)

    def add_predictor(self, dim):
        self.predictor = nn.Sequential(
            nn.Linear(dim, self.inplanes),
            nn.BatchNorm1d(self.inplanes),
            nn.ReLU(),
            nn.Linear(self.inplanes, dim),
        )


def linear(features, dim):
    return nn.Linear(features, dim)


def mlp2(features, dim):
    return nn.Sequential(nn.Linear(features, features), nn.ReLU(), nn.Linear(features, dim))


def mlp2bn(features, dim):
    return nn.Sequential(
        nn.Linear(features, features),
        nn.BatchNorm1d(features),
        nn.ReLU(),
        nn.Linear(features, dim),
    )


def mlp3(features, dim):
    hidden = []
    for _ in range(2):
        hidden += [nn.Linear(features, features), nn.BatchNorm1d(features), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(features, dim), nn.BatchNorm1d(dim))


def layers(text):
    """As --projector: "24-gelu-20-bn0"."""

    def head(features, dim):
        parts, width = [], features
        for word in text.split("-"):
            if word.isdigit():
                parts.append(nn.Linear(width, int(word)))
                width = int(word)
            else:
                parts.append({"relu": nn.ReLU(), "gelu": nn.GELU(), "bn": nn.BatchNorm1d(width),
                              "bn0": nn.BatchNorm1d(width, affine=False)}[word])
        return nn.Sequential(*parts)

    return head


# ---- files ---------------------------------------------------------------------------------


def write_tensors(path, tensors):
    """tensors: name -> array. The widest type first, so that every tensor is aligned."""
    if package:
        package.save_file(tensors, path)
        return
    kinds = {np.dtype(code): name for name, code in DTYPES.items()}
    header, at = {}, 0
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    for name in names:
        x = tensors[name]
        header[name] = {
            "dtype": kinds[x.dtype],
            "shape": list(x.shape),
            "data_offsets": [at, at + x.nbytes],
        }
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            f.write(tensors[name].tobytes())


def read_tensors(path):
    if package:
        return package.load_file(path)
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, end_here = entry["data_offsets"]
        assert first == end, f"{path}: {name} begins at {first}, not at {end}"
        end = end_here
        x = np.frombuffer(data[8 + size + first : 8 + size + end], DTYPES[entry["dtype"]])
        tensors[name] = x.reshape(entry["shape"])
    assert 8 + size + end == len(data), f"{path}: {len(data) - 8 - size - end} bytes left over"
    return tensors


# ---- commands --------------------------------------------------------------------------------


def build(args):
    torch.manual_seed(args.seed)
    net = Encoder(args.arch, args.width, args.stem, args.channels, args.head, args.dim)
    if args.predictor:
        net.add_predictor(args.dim)
    return net


def evaluate(net, x):
    """[projection, prediction if there is one]"""
    net.eval()
    with torch.no_grad():
        out = [net(torch.from_numpy(x))]
        if net.predictor is not None:
            out.append(net.predictor(out[0]))
    return [t.numpy() for t in out]


def outputs_of(args):
    return [args.output] + ([args.predictor] if args.predictor else [])


def make(args):
    net = build(args)
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) and m.affine:
                m.weight.uniform_(0.5, 1.5)
                m.bias.uniform_(-0.5, 0.5)
        for _ in range(3):  # running statistics that fit the weights and are not 0 and 1
            x = torch.randn(8, args.channels, args.size, args.size)
            out = net.train()(x)
            if net.predictor is not None:
                net.predictor(out)
    write_tensors(args.weights, {name: t.numpy() for name, t in net.state_dict().items()})
    x = torch.randn(args.batch, args.channels, args.size, args.size).numpy()
    np.save(args.input, x)
    for path, out in zip(outputs_of(args), evaluate(net, x)):
        np.save(path, out)


def check(args):
    net = build(args)
    ours = read_tensors(args.weights)
    for name, t in net.state_dict().items():
        if name in ours and ours[name].dtype != t.numpy().dtype:
            sys.exit(f"{args.weights}: {name} is {ours[name].dtype}, torchvision's {t.dtype}")
    net.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in ours.items()}, strict=True)
    for path, expected in zip(outputs_of(args), evaluate(net, np.load(args.input))):
        got = np.load(path)
        if got.shape != expected.shape:
            sys.exit(f"{path}: shape {got.shape}, PyTorch's is {expected.shape}")
        error = np.abs(got - expected).max() / np.abs(expected).max()
        print(f"{path}: largest difference to PyTorch {error:.2e} of the largest output")
        if not error <= RELATIVE:
            sys.exit(f"{path}: more than {RELATIVE:g}")


def parse():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("command", choices=("make", "check"))
    p.add_argument("arch", choices=sorted(ARCHS))
    p.add_argument("width", type=float)
    p.add_argument("stem", choices=("cifar", "imagenet"))
    p.add_argument("weights")
    p.add_argument("input")
    p.add_argument("output")
    p.add_argument("--head", choices=("linear", "mlp2", "mlp2bn", "mlp3"), default="linear")
    p.add_argument("--dim", type=int, default=128, help="outputs")
    p.add_argument("--channels", type=int, default=3, help="of the input")
    p.add_argument("--predictor", metavar="OUTPUT", help="with predictor.*; its output")
    p.add_argument("--size", type=int, default=32, help="of make's input")
    p.add_argument("--batch", type=int, default=4, help="of make's input")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


if __name__ == "__main__":
    arguments = parse()
    {"make": make, "check": check}[arguments.command](arguments)
    print(f"torch {torch.__version__}, safetensors by {'the package' if package else 'this file'}")
