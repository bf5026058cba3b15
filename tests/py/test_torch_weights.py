"""Weights to and from PyTorch: torchvision's networks in ours and ours in theirs, strictly, with
the same outputs in evaluation.

usage: test_torch_weights.py PATH-OF-NN_DRIVER     exit code 77: no torch or torchvision here
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_weights as theirs  # noqa: E402  (ends with 77 where there is no torch)

from torchvision import models  # noqa: E402

np, torch = theirs.np, theirs.torch

# arch, width, stem, head, predictor, size of the images, channels
CASES = [
    ("resnet18", 0.25, "cifar", "mlp3", True, 32, 3),
    ("resnet18", 1, "imagenet", "linear", False, 64, 3),
    ("resnet18", 0.11, "imagenet", "mlp2", True, 37, 4),
    ("resnet18", 0.25, "cifar", "mlp2bn", False, 32, 3),
    ("resnet18", 0.25, "stl", "mlp2bn", False, 46, 3),
    ("resnet18", 0.25, "cifar", "24-gelu-30-bn-gelu-20", True, 32, 3),
    ("resnet18", 0.25, "cifar", "24-bn-relu-20-bn0", False, 32, 3),
    ("resnet34", 0.25, "imagenet", "mlp3", True, 48, 3),
    ("resnet50", 0.25, "imagenet", "linear", False, 64, 3),
    ("resnet50", 0.25, "cifar", "mlp3", True, 16, 1),
]
BATCH, DIM = 4, 20


def run(driver, command, case, folder):
    """Our outputs [logits, prediction if there is one] for the input in the folder."""
    arch, width, stem, head, predictor, size, channels = case
    np.load(f"{folder}/input.npy").astype("<f4").tofile(f"{folder}/input.f32")
    pred = f"{folder}/ours-pred.npy" if predictor else "-"
    options = dict(arch=arch, width=width, stem=stem, head=head, channels=channels, dim=DIM)
    options["predictor"] = int(predictor)
    subprocess.run(
        [driver, command, f"{folder}/weights", f"{folder}/input.f32", str(BATCH), str(size)]
        + [f"{folder}/ours.npy", pred]
        + [f"{name}={value}" for name, value in options.items()],
        check=True,
    )
    return [np.load(path) for path in [f"{folder}/ours.npy", pred] if path != "-"]


def arguments(case, folder):
    arch, width, stem, head, predictor, size, channels = case
    return argparse.Namespace(
        arch=arch,
        width=width,
        stem=stem,
        head=head,
        predictor=f"{folder}/pred.npy" if predictor else None,
        size=size,
        channels=channels,
        dim=DIM,
        batch=BATCH,
        seed=1,
        weights=f"{folder}/weights",
        input=f"{folder}/input.npy",
        output=f"{folder}/output.npy",
    )


def compare(case, what, ours, expected):
    """Ours are predictions of length 1, theirs are not yet."""
    assert len(ours) == len(expected)
    if len(expected) == 2:
        expected[1] = expected[1] / np.linalg.norm(expected[1], axis=1, keepdims=True)
    for name, got, want in zip(("logits", "predictions"), ours, expected):
        assert got.shape == want.shape, f"{case}: {name} {got.shape}, PyTorch's {want.shape}"
        error = np.abs(got - want).max() / np.abs(want).max()
        print(f"{case[0]} x {case[1]} {case[2]} {case[3]}, {what}: {name} {error:.1e} apart")
        assert error <= theirs.RELATIVE, f"more than {theirs.RELATIVE:g}"


def theirs_in_ours(driver, case):
    with tempfile.TemporaryDirectory() as folder:
        args = arguments(case, folder)
        theirs.make(args)
        ours = run(driver, "eval", case, folder)
        expected = [np.load(path) for path in theirs.outputs_of(args)]
        compare(case, "PyTorch's weights", ours, expected)


def ours_in_theirs(driver, case):
    with tempfile.TemporaryDirectory() as folder:
        args = arguments(case, folder)
        x = np.random.default_rng(3).normal(size=(BATCH, args.channels, args.size, args.size))
        np.save(args.input, x.astype("f4"))
        ours = run(driver, "train", case, folder)
        net = theirs.build(args)
        tensors = theirs.read_tensors(args.weights)
        counters = [t for name, t in tensors.items() if name.endswith("num_batches_tracked")]
        assert all(t == 3 for t in counters), counters
        weights = {name: torch.from_numpy(t.copy()) for name, t in tensors.items()}
        net.load_state_dict(weights, strict=True)
        compare(case, "our weights", ours, theirs.evaluate(net, np.load(args.input)))


def first_weights(driver, arch):
    """Our first weights are drawn as torchvision draws them: mean and deviation of every tensor
    within five standard errors (a normal distribution's, which are more than a uniform one's)."""
    case = (arch, 1, "imagenet", "linear", False, 32, 3)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/input.npy", np.ones((BATCH, 3, 32, 32), "f4"))
        run(driver, "new", case, folder)
        ours, drawn = theirs.read_tensors(f"{folder}/weights"), 0
    for name, t in getattr(models, arch)(num_classes=DIM).state_dict().items():
        a, b = ours[name].astype("f8"), t.numpy().astype("f8")
        if b.size < 2 or b.std() == 0:  # batch norm: 1 and 0
            assert (a == b).all(), name
            continue
        error = b.std() * 5 * (2 / b.size) ** 0.5
        assert abs(a.mean() - b.mean()) <= error, f"{name}: means {a.mean()}, {b.mean()}"
        assert abs(a.std() - b.std()) <= error, f"{name}: deviations {a.std()}, {b.std()}"
        drawn += 1
    print(f"{arch}: {drawn} tensors begin as torchvision's do")


def main():
    driver = sys.argv[1]
    for case in CASES:
        theirs_in_ours(driver, case)
        ours_in_theirs(driver, case)
    first_weights(driver, "resnet18")
    first_weights(driver, "resnet50")
    reader = "the package" if theirs.package else "torch_weights.py"
    print(f"torch {torch.__version__}, safetensors by {reader}")


if __name__ == "__main__":
    main()
