"""torch_step.py - one training step of a ResNet in PyTorch, timed: the peer of bench_step.

A step is forward in train mode, loss (softmax over 1000 centers of the L2-normalised output),
backward and SGD with momentum. One process measures one configuration, so that its peak of
memory is that configuration's. The only output is one line of JSON; what cannot be measured
gives {"error": "..."} and exit code 1.

Any interpreter that can import torch will do; torchvision is not needed. Debian's PyTorch:
    /usr/bin/python3 bench/peers/torch_step.py --arch resnet18 --stem cifar --batch 128
A current one beside it (5 GB: the package brings its GPU libraries and does not load without):
    python3 -m venv build/torch && build/torch/bin/pip install torch
    build/torch/bin/python bench/peers/torch_step.py --arch resnet18 --stem cifar --batch 128
"""
import argparse
import json
import os
import sys
import time

BLOCKS = {"resnet18": ("basic", (2, 2, 2, 2)), "resnet34": ("basic", (3, 4, 6, 3)),
          "resnet50": ("bottleneck", (3, 4, 6, 3))}
OUTPUTS = 128
CENTERS = 1000
TEMPERATURE = 0.1


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(message)


def parse(argv):
    p = Parser(description=__doc__.splitlines()[0].split(" - ", 1)[1])
    p.add_argument("--arch", choices=sorted(BLOCKS), default="resnet18")
    p.add_argument("--width", type=float, default=1, help="multiplies all channels (default 1)")
    p.add_argument("--stem", choices=("cifar", "imagenet"), default="cifar")
    p.add_argument("--size", type=int, help="of the square images (default 32 or 224, by stem)")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--precision", choices=("f32", "bf16"), default="f32",
                   help="bf16 is autocast")
    p.add_argument("--layout", choices=("contiguous", "channels_last"), default="contiguous")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=5, help="timed together (default 5)")
    p.add_argument("--repeat", type=int, default=3, help="the best of so many (default 3)")
    p.add_argument("--inference", action="store_true", help="only forward, in eval mode")
    args = p.parse_args(argv)
    if args.size is None:
        args.size = 32 if args.stem == "cifar" else 224
    for name in ("size", "batch", "threads", "steps", "repeat"):
        if getattr(args, name) < 1:
            raise ValueError("--%s must be at least 1" % name)
    if int(64 * args.width + 0.5) < 1:
        raise ValueError("--width %g leaves no channels" % args.width)
    return args


# ---- the network ---------------------------------------------------------------------------

def conv_bn(nn, inputs, outputs, kernel, stride=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs)]


def make_block(nn, kind, inputs, planes, stride):
    """A residual block and its number of output channels; as torchvision's, stride on the 3x3."""
    relu = nn.ReLU(inplace=True)
    if kind == "basic":
        outputs = planes
        path = (conv_bn(nn, inputs, planes, 3, stride) + [relu]
                + conv_bn(nn, planes, planes, 3))
    else:
        outputs = 4 * planes
        path = (conv_bn(nn, inputs, planes, 1) + [relu]
                + conv_bn(nn, planes, planes, 3, stride) + [relu]
                + conv_bn(nn, planes, outputs, 1))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.path = nn.Sequential(*path)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = nn.Sequential(*conv_bn(nn, inputs, outputs, 1, stride))
            self.relu = relu

        def forward(self, x):
            short = x if self.downsample is None else self.downsample(x)
            out = self.path(x)
            out += short
            return self.relu(out)

    return Block(), outputs


def make_resnet(nn, arch, width, stem):
    kind, counts = BLOCKS[arch]
    channels = planes = int(64 * width + 0.5)
    if stem == "cifar":
        layers = conv_bn(nn, 3, channels, 3) + [nn.ReLU(inplace=True)]
    else:
        layers = conv_bn(nn, 3, channels, 7, 2) + [nn.ReLU(inplace=True),
                                                   nn.MaxPool2d(3, 2, 1)]
    for stage, count in enumerate(counts):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            block, channels = make_block(nn, kind, channels, planes << stage, stride)
            layers.append(block)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, OUTPUTS)]
    net = nn.Sequential(*layers)
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    return net


# ---- what is timed ---------------------------------------------------------------------------

def make_step(torch, args):
    """A function that does one step, or one forward pass with --inference."""
    torch.manual_seed(1)
    layout = (torch.channels_last if args.layout == "channels_last" else torch.contiguous_format)
    net = make_resnet(torch.nn, args.arch, args.width, args.stem).to(memory_format=layout)
    x = torch.randn(args.batch, 3, args.size, args.size).contiguous(memory_format=layout)
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16")
    if args.inference:
        net.eval()

        def infer():
            with torch.inference_mode(), autocast:
                return net(x)

        return infer

    normalize = torch.nn.functional.normalize
    centers = normalize(torch.randn(CENTERS, OUTPUTS))
    labels = torch.randint(CENTERS, (args.batch,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    net.train()

    def train():
        optimizer.zero_grad(set_to_none=True)
        with autocast:
            out = net(x)
        logits = normalize(out.float()) @ centers.t() / TEMPERATURE
        loss = torch.nn.functional.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        return loss

    return train


def peak_rss_mb():
    """VmHWM: unlike getrusage's, this peak knows nothing of the process that started us."""
    with open("/proc/self/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


def measure(args):
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # read when torch is loaded
    try:
        import torch
    except (ImportError, OSError, ValueError) as e:
        raise RuntimeError("%s cannot load PyTorch: %s" % (sys.executable, e)) from e
    torch.set_num_threads(args.threads)
    rss_loaded = peak_rss_mb()
    step = make_step(torch, args)
    step()
    seconds = []
    for _ in range(args.repeat):
        start = time.perf_counter()
        for _ in range(args.steps):
            result = step()
        seconds.append((time.perf_counter() - start) / args.steps)
    if not torch.isfinite(result).all():
        raise RuntimeError("the last step's result is not finite")
    best = min(seconds)
    return {"images_per_second": round(args.batch / best, 2), "seconds_per_step": round(best, 5),
            "seconds_worst": round(max(seconds), 5), "peak_rss_mb": round(peak_rss_mb(), 1),
            "rss_loaded_mb": round(rss_loaded, 1), "torch": torch.__version__, **vars(args)}


def main():
    try:
        print(json.dumps(measure(parse(sys.argv[1:]))))
    except (RuntimeError, ValueError, OSError, MemoryError) as e:
        lines = str(e).splitlines() or [type(e).__name__]
        print(json.dumps({"error": lines[0]}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
