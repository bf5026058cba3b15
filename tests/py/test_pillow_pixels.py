"""Pixel operations against Pillow and torchvision: equal in every byte, for every instruction set.

usage: test_pillow_pixels.py PATH-OF-PIXELS_DRIVER     exit code 77: no Pillow or torchvision here
"""

import os
import subprocess
import sys

try:
    import numpy as np
    import torch
    from PIL import Image, ImageFilter, ImageOps
    from torchvision import transforms
    from torchvision.transforms import functional_pil as theirs
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

FILTERS = (Image.BILINEAR, Image.BICUBIC)
SIZES = [(1, 1), (1, 9), (9, 1), (2, 3), (17, 5), (32, 32), (33, 31), (64, 48), (131, 67)]
KINDS = ("noise", "gradient", "smooth", "extreme", "flat")


def picture(rng, kind, width, height, channels):
    """u8 [height][width][channels]"""
    y, x = np.mgrid[0:height, 0:width]
    if kind == "noise":
        p = rng.integers(0, 256, (height, width, channels))
    elif kind == "extreme":
        p = 255 * rng.integers(0, 2, (height, width, channels))
    elif kind == "flat":
        p = np.broadcast_to(rng.integers(0, 256, channels), (height, width, channels))
    elif kind == "gradient":
        slope = rng.uniform(-3, 3, (2, channels))
        p = (x[..., None] * slope[0] + y[..., None] * slope[1] + rng.integers(0, 256)) % 256
    else:
        f, phase = rng.uniform(0, 0.3, (2, channels)), rng.uniform(0, 6, channels)
        p = 127 + 100 * np.sin(x[..., None] * f[0] + y[..., None] * f[1] + phase)
        p = p + rng.normal(0, 4, p.shape)
    return np.clip(p, 0, 255).astype(np.uint8)


def to_image(p):
    return Image.fromarray(p[..., 0] if p.shape[2] == 1 else p)


def planes(image):
    a = np.asarray(image)
    return a[None] if a.ndim == 2 else a.transpose(2, 0, 1)


def each_channel(p, change):
    """What Pillow makes of the channels one by one, for numbers of them it has no mode for."""
    if p.shape[2] in (1, 3):
        return planes(change(to_image(p)))
    return np.concatenate([planes(change(to_image(p[..., c : c + 1]))) for c in range(p.shape[2])])


def resize_jobs(rng):
    for i in range(330):
        w, h = (int(v) for v in rng.integers(1, 90 if i % 3 else 400, 2))
        channels = (3, 3, 3, 1, 4, 5, 2)[i % 7]
        x, y = int(rng.integers(0, w)), int(rng.integers(0, h))
        bw, bh = int(rng.integers(1, w - x + 1)), int(rng.integers(1, h - y + 1))
        ow, oh = (int(v) for v in rng.integers(1, 70 if i % 3 else 230, 2))
        if i % 11 == 0:
            ow = bw
        if i % 13 == 0:
            oh = bh
        yield i % 2, w, h, channels, (x, y, bw, bh), ow, oh
    for filter_ in (0, 1):
        for side in ((1, 1), (1, 50), (50, 1)):
            yield filter_, *side, 3, (0, 0, *side), 7, 5
        yield filter_, 400, 300, 3, (0, 0, 400, 300), 224, 224
        yield filter_, 1500, 40, 3, (3, 1, 1490, 38), 3, 2
        yield filter_, 40, 1500, 1, (1, 3, 38, 1490), 2, 3
        yield filter_, 12, 10, 3, (0, 0, 12, 10), 300, 280


def jobs(rng):
    """(line for the driver, pixels, expected result)"""
    for i, (f, w, h, channels, (x, y, bw, bh), ow, oh) in enumerate(resize_jobs(rng)):
        p = picture(rng, KINDS[i % len(KINDS)], w, h, channels)
        box = (x, y, x + bw, y + bh)
        yield (
            f"resize {w} {h} {channels} {x} {y} {bw} {bh} {f} {ow} {oh}",
            p,
            each_channel(p, lambda im: im.crop(box).resize((ow, oh), FILTERS[f])),
        )
    for size in SIZES + [(224, 224)]:
        for kind in KINDS:
            for channels in (3, 1):
                p = picture(rng, kind, *size, channels)
                for line, expected in color_jobs(rng, p):
                    yield line, p, expected
                for line, expected in other_jobs(rng, p):
                    yield line, p, expected
        p = picture(rng, "noise", *size, 5)
        for line, expected in other_jobs(rng, p):
            yield line, p, expected


def color_jobs(rng, p):
    h, w, channels = p.shape
    shape, image = f"{w} {h} {channels}", to_image(p)
    blends = {
        "brightness": theirs.adjust_brightness,
        "contrast": theirs.adjust_contrast,
        "saturation": theirs.adjust_saturation,
    }
    factors = [0, 1, -0.5, 1e9, *rng.uniform(0, 1, 2), *rng.uniform(1, 3, 2)]
    for name, adjust in blends.items():
        for factor in np.float32(factors):
            # Pillow's saturation of a grey image is a blend with itself, which stays.
            yield f"{name} {shape} {factor:.9g}", planes(adjust(image, float(factor)))
    for factor in np.float32([0, 0.5, -0.5, 0.1, -0.1, *rng.uniform(-0.5, 0.5, 3)]):
        yield f"hue {shape} {factor:.9g}", planes(theirs.adjust_hue(image, float(factor)))
    gray = theirs.to_grayscale(image, 3 if channels == 3 else 1)
    yield f"gray {shape} 0", planes(gray)


def other_jobs(rng, p):
    h, w, channels = p.shape
    shape = f"{w} {h} {channels}"
    for threshold in (0, 1, 128, 255, 256, int(rng.integers(0, 256))):
        expected = each_channel(p, lambda im: ImageOps.solarize(im, threshold))
        yield f"solarize {shape} {threshold}", expected
    sigmas = [0, 1e-3, 0.1, 0.5, 1, 2, 40, 150, *rng.uniform(0.1, 2, 3), rng.uniform(2, 30)]
    for sigma in np.float32(sigmas):
        blur = ImageFilter.GaussianBlur(float(sigma))
        yield f"blur {shape} {sigma:.9g}", each_channel(p, lambda im: im.filter(blur))
    to_tensor = transforms.ToTensor()
    tensor = torch.stack([to_tensor(to_image(p[..., c : c + 1]))[0] for c in range(channels)])
    constants = [(0.485, 0.229), (0.5, 0.5), rng.uniform(0.01, 1, 2), (0.3, 1e-30)]
    for mean, std in np.float32(constants):
        normalize = transforms.Normalize([float(mean)] * channels, [float(std)] * channels)
        for flip in (0, 1):
            expected = normalize(tensor.flip(2) if flip else tensor).numpy()
            yield f"normalize {shape} {flip} {mean:.9g} {std:.9g}", expected


def run(driver, isa, todo):
    data = b"".join(line.encode() + b"\n" + p.tobytes() for line, p, _ in todo)
    done = subprocess.run(
        [driver], input=data, stdout=subprocess.PIPE, check=True, env=dict(os.environ, COKE_ISA=isa)
    )
    return done.stdout


def compare(isa, todo, results):
    at, bad = 0, 0
    for line, _, expected in todo:
        ours = np.frombuffer(results, expected.dtype, expected.size, at).reshape(expected.shape)
        at += expected.nbytes
        if not np.array_equal(ours, expected):
            apart = np.abs(ours.astype(np.float64) - expected)
            bad += 1
            if bad <= 20:
                print(f"{isa}: {line}: {(apart > 0).sum()} differ, by up to {apart.max():g}")
    assert at == len(results)
    return bad


def main():
    todo = list(jobs(np.random.default_rng(5)))
    bad = sum(compare(isa, todo, run(sys.argv[1], isa, todo)) for isa in ("ref", "avx2", "avx512"))
    print(f"{len(todo)} results of each version, {bad} differ")
    return bad != 0


sys.exit(main())
