"""coke embed of torchvision's ResNets: the same features as torchvision, from the same weights and
image files.

usage: test_torch_embed.py PATH-OF-COKE     exit code 77: no torch, torchvision or Pillow here
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_weights as theirs  # noqa: E402  (ends with 77 where there is no torch)

try:
    from PIL import Image
except ImportError:
    print("Pillow is not installed: skipped")
    sys.exit(77)
from torchvision import models  # noqa: E402

np, torch = theirs.np, theirs.torch
IMAGES, SIZE = 5, 48
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def make_images(folder):
    """PNG files in two classes, and what the network sees of them."""
    rng = np.random.default_rng(1)
    seen = []
    for i in range(IMAGES):
        low = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
        pixels = Image.fromarray(low).resize((SIZE, SIZE), Image.BICUBIC)
        place = os.path.join(folder, "ab"[i >= 3])
        os.makedirs(place, exist_ok=True)
        pixels.save(os.path.join(place, f"{i}.png"))
        x = (np.asarray(pixels) / 255 - MEAN) / STD
        seen.append(x.transpose(2, 0, 1))
    return torch.tensor(np.stack(seen), dtype=torch.float32)


def make_network(arch):
    """Random weights, and running statistics as a trained network has them."""
    torch.manual_seed(2)
    net = getattr(models, arch)(weights=None)
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(m.weight, 0.5, 1)
            torch.nn.init.normal_(m.bias, 0, 0.1)
            torch.nn.init.normal_(m.running_mean, 0, 0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 2)
    return net.eval()


def check(coke, arch, folder, data, x):
    net = make_network(arch)
    weights, out = os.path.join(folder, arch + ".safetensors"), os.path.join(folder, arch + ".npy")
    theirs.write_tensors(weights, {k: v.numpy() for k, v in net.state_dict().items()})
    subprocess.run(
        [coke, "embed", "--weights", weights, data, "-o", out, "-q"]
        + ["--size", str(SIZE), "--normalize", "imagenet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    net.fc = torch.nn.Identity()
    with torch.no_grad():
        want = net(x).numpy()
    got = np.load(out)
    assert got.shape == want.shape and got.dtype == np.float32, (got.shape, want.shape)
    apart = np.abs(got - want).max() / np.abs(want).max()
    print(f"{arch}: features of {IMAGES} images {apart:.1e} apart")
    assert apart <= theirs.RELATIVE, f"more than {theirs.RELATIVE:g}"
    return weights, net


def refuse(coke, folder, data, weights, net):
    """A tensor that is missing is told by name."""
    state = {k: v.numpy() for k, v in net.state_dict().items()}
    del state["layer3.0.bn1.running_mean"]
    theirs.write_tensors(weights, state)
    done = subprocess.run(
        [coke, "embed", "--weights", weights, data, "-o", os.path.join(folder, "none.npy"), "-q"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3 and "layer3.0.bn1.running_mean" in done.stderr, done
    assert not os.path.exists(os.path.join(folder, "none.npy"))


def main():
    coke = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "images")
        x = make_images(data)
        for arch in ("resnet18", "resnet34", "resnet50"):
            weights, net = check(coke, arch, folder, data, x)
        refuse(coke, folder, data, weights, net)


main()
