"""Views against torchvision: given what was drawn, the same floats; and what is drawn, distributed
as torchvision draws.

usage: test_torch_views.py PATH-OF-VIEWS_DRIVER     exit code 77: no torchvision here
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from PIL import Image, ImageFilter, ImageOps
    from scipy import stats
    from torchvision import transforms as T
    from torchvision.transforms import functional as F
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

DRIVER = sys.argv[1]
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
HALF = (0.5,), (0.25,)
JITTER = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
ALPHA = 1e-4  # of each statistical test, with a fixed seed


def draws(source, recipe, epochs, floats="-", *options):
    """A row for each view: index, epoch, view, width, height, crop, gray, sigma, solarize, flip,
    [(op, factor), ...]."""
    text = subprocess.run([DRIVER, source, recipe, str(epochs), floats] + list(options),
                          stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    rows = []
    for line in text.splitlines():
        w = line.split()
        jitter = [(int(w[i]), float(w[i + 1])) for i in range(13, len(w), 2)]
        rows.append(([int(v) for v in w[:5]], [int(v) for v in w[5:9]], int(w[9]), float(w[10]),
                     int(w[11]), int(w[12]), jitter))
    return rows


def photo(rng, width, height, channels):
    """Something smooth with edges and some noise."""
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    planes = []
    for _ in range(channels):
        a = rng.normal(size=6)
        p = np.sin(9 * a[0] * x + 7 * a[1] * y + a[2]) + (x * a[3] + y * a[4] > a[5] / 4)
        planes.append(p + 0.1 * rng.normal(size=p.shape))
    p = np.stack(planes, -1)
    p = (p - p.min()) / (p.max() - p.min()) * 255
    return Image.fromarray(p.astype(np.uint8)[..., 0] if channels == 1 else p.astype(np.uint8))


def apply(image, row, size, norm, center=None):
    _, (x, y, w, h), gray, sigma, solarize, flip, jitter = row
    if center:
        image = F.center_crop(F.resize(image, center), size)
    elif size:
        image = F.resized_crop(image, y, x, h, w, [size, size])
    for op, factor in jitter:
        image = JITTER[op](image, factor)
    if gray:
        image = F.to_grayscale(image, len(image.getbands()))
    if sigma:
        image = image.filter(ImageFilter.GaussianBlur(radius=sigma))
    if solarize:
        image = ImageOps.solarize(image, 128)
    if flip:
        image = F.hflip(image)
    mean, std = norm
    if image.mode == "L":
        mean, std = HALF
    return F.normalize(F.to_tensor(image), mean, std).numpy()


def check_views(folder, recipe, sizes, norm, epochs, center=None, options=()):
    images = [Image.open(os.path.join(folder, n)).convert("RGB") for n in sorted(os.listdir(folder))]
    with tempfile.TemporaryDirectory() as tmp:
        rows = draws(folder, recipe, epochs, tmp + "/x", *options)
        got = np.fromfile(tmp + "/x", np.float32)
    at, off_by = 0, 0
    for row in rows:
        i, _, v = row[0][:3]
        size = sizes[v] if v < len(sizes) else sizes[-1]
        want = apply(images[i], row, size, norm, center)
        mine = got[at:at + want.size].reshape(want.shape)
        at += want.size
        # Equal floats, so equal pixels before them.
        if not np.array_equal(mine, want):
            off_by = max(off_by, np.abs(mine - want).max())
            print("%s: image %d view %d differs by %g in %d places: %s" % (
                recipe, i, v, np.abs(mine - want).max(), (mine != want).sum(), row))
    assert at == got.size, (at, got.size)
    assert off_by == 0, off_by
    print("%-12s %4d views, all equal" % (recipe, len(rows)))


def same(name, mine, theirs):
    p = stats.ks_2samp(mine, theirs).pvalue
    assert p > ALPHA, "%s: p = %g, means %g and %g" % (name, p, np.mean(mine), np.mean(theirs))


def frequency(name, hits, n, p):
    got = stats.binomtest(int(hits), int(n), p).pvalue if hasattr(stats, "binomtest") else \
        stats.binom_test(int(hits), int(n), p)
    assert got > ALPHA, "%s: %d of %d, expected %g" % (name, hits, n, p * n)


def check_crops(width, height, scale, mine):
    """mine [n][4]: x, y, w, h."""
    image = Image.new("L", (width, height))
    theirs = np.array([T.RandomResizedCrop.get_params(image, scale, (3 / 4, 4 / 3))
                       for _ in range(len(mine))])[:, [1, 0, 3, 2]]
    rng = np.random.default_rng(5)
    for j, name in enumerate("x y w h".split()):
        # Ties make the test blind or wrong: spread them evenly.
        a = mine[:, j] + rng.random(len(mine))
        b = theirs[:, j] + rng.random(len(mine))
        same("crop %s of %d x %d" % (name, width, height), a, b)
    same("crop area", mine[:, 2] * mine[:, 3] + rng.random(len(mine)),
         theirs[:, 2] * theirs[:, 3] + rng.random(len(mine)))


def check_distributions(folder, width, height):
    n = 4000
    rows = draws(folder, "double", n, "-")
    for v, (blur_p, solarize_p) in enumerate([(1, 0), (0.1, 0.2)]):
        mine = [r for r in rows if r[0][2] == v]
        check_crops(width, height, (0.08, 1.0), np.array([r[1] for r in mine]))
        frequency("gray", sum(r[2] for r in mine), n, 0.2)
        frequency("blur", sum(r[3] > 0 for r in mine), n, blur_p)
        frequency("solarize", sum(r[4] for r in mine), n, solarize_p)
        frequency("flip", sum(r[5] for r in mine), n, 0.5)
        frequency("jitter", sum(len(r[6]) > 0 for r in mine), n, 0.8)
        same("sigma", [r[3] for r in mine if r[3]], np.random.default_rng(1).uniform(.1, 2, n))
        jittered = [r[6] for r in mine if r[6]]
        theirs = [T.ColorJitter.get_params((0.6, 1.4), (0.6, 1.4), (0.8, 1.2), (-0.1, 0.1))
                  for _ in jittered]
        for op in range(4):
            same("factor %d" % op, [f for j in jittered for o, f in j if o == op],
                 [t[1 + op] for t in theirs])
        orders = np.zeros((24,))
        key = {}
        for j in jittered:
            orders[key.setdefault(tuple(o for o, _ in j), len(key))] += 1
        assert stats.chisquare(orders).pvalue > ALPHA, orders
    a = np.array([r[1] for r in rows if r[0][2] == 0], float)
    b = np.array([r[1] for r in rows if r[0][2] == 1], float)
    for j in range(4):  # the two views of an image know nothing of each other, nor do epochs
        assert abs(np.corrcoef(a[:, j], b[:, j])[0, 1]) < 0.08
        assert abs(np.corrcoef(a[:-1, j], a[1:, j])[0, 1]) < 0.08
    print("%d x %d: crops, factors, orders and frequencies as torchvision's" % (width, height))


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as tmp:
        folder = tmp + "/mixed"
        os.mkdir(folder)
        for i, (w, h, c) in enumerate([(300, 200, 3), (130, 260, 3), (40, 33, 1), (1, 1, 3),
                                       (500, 90, 3), (7, 350, 1), (224, 224, 3), (97, 64, 3)]):
            photo(rng, w, h, c).save("%s/%02d.png" % (folder, i))
        check_views(folder, "single", [224], IMAGENET, 4)
        check_views(folder, "double", [224, 224], IMAGENET, 4)
        check_views(folder, "multi", [224, 224, 96], IMAGENET, 2)
        check_views(folder, "strong", [224, 224], IMAGENET, 2)
        check_views(folder, "weak", [224, 224], IMAGENET, 2)
        check_views(folder, "multi-swav", [224, 224, 96], IMAGENET, 2)
        check_views(folder, "multi-dino", [224, 224, 96], IMAGENET, 2)
        for recipe in ("cifar-strong", "cifar-weak", "cifar-solarize"):
            check_views(folder, recipe, [32, 32], CIFAR, 4)
        check_views(folder, "linear", [224], IMAGENET, 3)
        check_views(folder, "cifar", [32, 32], CIFAR, 10)
        check_views(folder, "cifar-small", [32, 32], CIFAR, 4)
        check_views(folder, "cifar-single", [32], CIFAR, 6)
        check_views(folder, "eval", [224], IMAGENET, 1, center=256)
        check_views(folder, "eval", [96], IMAGENET, 1, center=110, options=("size", "96"))
        for width, height in ((500, 375), (33, 200)):
            one = "%s/one-%d" % (tmp, width)
            os.mkdir(one)
            photo(rng, width, height, 3).save(one + "/a.png")
            check_distributions(one, width, height)


main()
