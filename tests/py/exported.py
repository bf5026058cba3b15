"""What test_torch_export.py and test_onnx_export.py share: encoders of all kinds, and the
programs that make and ask them."""

import os
import subprocess
import tempfile

import numpy as np

# arch, width, stem, head, predictor, size of the images, channels
CASES = [
    ("resnet18", 0.25, "imagenet", "mlp3", 1, 64, 3),
    ("resnet18", 0.11, "cifar", "mlp2", 1, 24, 4),
    ("resnet34", 0.125, "imagenet", "linear", 0, 48, 3),
    ("resnet50", 0.25, "imagenet", "mlp3", 1, 64, 3),
    ("resnet50", 0.125, "cifar", "none", 0, 16, 1),
    ("resnet18", 0.25, "cifar", "40-gelu-32-bn-gelu-20-bn0", 1, 24, 3),
]
BATCH, DIM = 4, 20
RELATIVE = 1e-5  # of the largest output


class Programs:
    def __init__(self, coke, maker, asker):
        self.coke, self.maker, self.asker = coke, maker, asker

    def run(self, *words, code=0):
        """coke with these words; what it says."""
        done = subprocess.run([self.coke, *words], capture_output=True, text=True)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def make(self, case, path):
        """An encoder after a few steps, so that no tensor is what it began as."""
        arch, width, stem, head, predictor, size, channels = case
        options = dict(arch=arch, width=width, stem=stem, channels=channels, dim=DIM)
        options |= dict(head=head, predictor=predictor)
        command = "train" if head != "none" else "new"
        with tempfile.TemporaryDirectory() as folder:
            images(case).tofile(f"{folder}/x")
            words = [f"{folder}/x", str(BATCH), str(size)]
            words += [f"{folder}/logits.npy" if head != "none" else "-", "-"]
            subprocess.run(
                [self.maker, command, path, *words]
                + [f"{name}={value}" for name, value in options.items()],
                check=True,
            )

    def ask(self, path, x, projection=True):
        """Features and projection of the encoder in path, by coke."""
        with tempfile.TemporaryDirectory() as folder:
            x.astype("<f4").tofile(f"{folder}/x")
            files = [f"{folder}/features.npy", f"{folder}/proj.npy" if projection else "-"]
            subprocess.run(
                [self.asker, path, f"{folder}/x", str(len(x)), str(x.shape[2]), *files],
                check=True,
            )
            return [np.load(f) for f in files if f != "-"]


def images(case, batch=BATCH, seed=3):
    size, channels = case[5], case[6]
    x = np.random.default_rng(seed).normal(size=(batch, channels, size, size))
    return x.astype("<f4")


def compare(what, got, want):
    assert got.shape == want.shape, f"{what}: {got.shape}, not {want.shape}"
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error <= RELATIVE, f"{what}: {error:.1e} apart"
    return error


def same_bits(what, got, want):
    """Two dicts of arrays."""
    assert set(got) == set(want), f"{what}: {sorted(set(got) ^ set(want))[:5]}"
    for name in want:
        a, b = np.asarray(got[name]), np.asarray(want[name])
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {name}"
        assert a.tobytes() == b.tobytes(), f"{what}: {name} differs"


def snippet(page, language, title):
    """The first block of code behind a heading of the page."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    part = text[text.index(f"## {title}") :]
    part = part[part.index(f"```{language}\n") + len(language) + 4 :]
    return part[: part.index("```")]


def inside(folder):
    """Runs the rest of the process in a folder, where the page's commands are typed."""
    os.chdir(folder)
