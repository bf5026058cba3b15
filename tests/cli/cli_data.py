"""cli_data - small data sets for the tests of the program, and checks of what it wrote."""
import json
import os
import pathlib
import sys

import numpy as np

# Names for the scripts, which begin with `from cli_data import *`.
__all__ = ["np", "os", "sys", "json", "vectors", "save", "save_vecs", "load_rows", "sizes",
           "nearest", "lie", "pathlib", "photo", "odd_photos"]


def vectors(n=600, dim=8, groups=6, seed=0):
    """Rows around a few directions, some far more popular than others."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(groups, dim))
    share = 1 / np.arange(1, groups + 1)
    group = rng.choice(groups, size=n, p=share / share.sum())
    return (center[group] + 0.4 * rng.normal(size=(n, dim))).astype(np.float32)


def save(path="x.npy", dtype=None, **kind):
    x = vectors(**kind)
    if dtype is not None:
        x = (x * 20 + (128 if dtype == "u1" else 0) if dtype in ("u1", "i1") else x)
        x = x.astype(dtype)
    np.save(path, x)
    return x


def save_vecs(path, x):
    """.fvecs (float32) or .bvecs (uint8): each row after its length."""
    head = np.full((len(x), 1), x.shape[1], "<i4").view("u1")
    np.hstack([head, np.ascontiguousarray(x).view("u1").reshape(len(x), -1)]).tofile(path)


def load_rows(path):
    x = np.load(path).astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def sizes(path="out/labels.npy", k=None):
    return np.bincount(np.load(path), minlength=k or 0)


def nearest(x, centers, labels, slack=1e-5):
    """Is every label's center as near as the nearest one, but for rounding?"""
    score = x @ np.load(centers).astype(np.float64).T
    return bool(np.all(score.max(1) - score[np.arange(len(x)), labels] <= slack))


def lie(path, out, old, new):
    """The same .npy with a part of its header replaced by another of the same length."""
    with open(path, "rb") as f:
        data = f.read()
    assert data.count(old) == 1 and len(old) <= len(new)
    pad = len(new) - len(old)
    head = data[:128].replace(old, new)
    if pad:  # taken from the blanks before the end of the line
        head = head[:-1 - pad] + b"\n"
    with open(out, "wb") as f:
        f.write(head + data[128:])


def photo(path, width=40, height=30, grey=False, kind=None, seed=0, orientation=None, **how):
    """A picture of some colours; kind: as what, whatever the name says."""
    from PIL import Image
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    y, x = np.mgrid[0:height, 0:width]
    rng = np.random.default_rng(seed)
    pixels = np.stack([x * 255 // width, y * 255 // height, (x + y) % 256], -1).astype(np.uint8)
    pixels ^= rng.integers(0, 64, pixels.shape, dtype=np.uint8)
    image = Image.fromarray(pixels)
    if grey:
        image = image.convert("L")
    if orientation:
        exif = Image.Exif()
        exif[0x112] = orientation
        how["exif"] = exif
    image.save(path, **({"format": kind} if kind else {}), **how)
    return path


def odd_photos(folder):
    """What exists in the wild and can be read."""
    from PIL import Image
    path = photo(folder + "/cmyk.jpg")
    Image.open(path).convert("CMYK").save(path)
    photo(folder + "/one.png", 1, 1)
    photo(folder + "/really-a-png.jpg", kind="png")
    photo(folder + "/progressive.jpg", progressive=True)
    path = photo(folder + "/palette.png")
    Image.open(path).convert("P").save(path)
    path = photo(folder + "/alpha.png")
    Image.open(path).convert("RGBA").save(path)
    Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30) * 100).save(
        folder + "/deep.png")
    frames = [Image.new("RGB", (20, 10), c) for c in ("red", "blue")]
    frames[0].save(folder + "/moving.webp", save_all=True, append_images=frames[1:])
    photo(folder + "/lossy.webp")
    photo(folder + "/plain.ppm")
    photo(folder + "/plain.bmp")
    photo(folder + "/turned.jpg", orientation=6)
