"""torch_loader.py - torchvision's transforms on Pillow images in PyTorch's DataLoader, timed: the
peer of bench_loader.

usage: torch_loader.py cifar FILE.bin... | photos FOLDER
                       [--workers N] [--batch N] [--seconds S] [--repeat N]

Two views of every image as float tensors, by the two-view recipe: at 32 pixels from CIFAR-10
binary files held in memory, or at 224 from a folder of images. Prints one line of JSON with the
best rate in views a second."""
import argparse
import glob
import json
import os
import random
import sys
import time

import numpy as np
import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as T

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def blur(image):
    return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


def solarize(image):
    return ImageOps.solarize(image, 128)


def view(size, least, norm, blur_p, solarize_p):
    return T.Compose([
        T.RandomResizedCrop(size, scale=(least, 1.0)),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
        T.RandomGrayscale(p=0.2),
        T.RandomApply([T.Lambda(blur)], p=blur_p),
        T.RandomApply([T.Lambda(solarize)], p=solarize_p),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize(*norm),
    ])


class Views(torch.utils.data.Dataset):
    def __init__(self, load, n, size, least, norm, blur=True):
        self.load, self.n = load, n
        self.views = (view(size, least, norm, 1.0 if blur else 0.0, 0.0),
                      view(size, least, norm, 0.1 if blur else 0.0, 0.2))

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = self.load(i)
        return self.views[0](image), self.views[1](image)


def open_cifar(files, blur=True, size=32):
    rows = np.concatenate([np.fromfile(f, np.uint8).reshape(-1, 3073) for f in files])
    pixels = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return Views(lambda i: Image.fromarray(pixels[i]), len(pixels), size, 0.3, CIFAR, blur)


def open_photos(folder):
    names = sorted(n for n in glob.glob(os.path.join(folder, "**", "*"), recursive=True)
                   if n.lower().endswith((".jpg", ".jpeg", ".png")))

    def load(i):
        with open(names[i], "rb") as f:
            return Image.open(f).convert("RGB")
    return Views(load, len(names), 224, 0.08, IMAGENET)


def images_in(loader, seconds):
    """Images and seconds of whole epochs, or of a part of one that lasts long enough."""
    start, images = time.perf_counter(), 0
    while True:
        for batch in loader:
            images += len(batch[0])
            spent = time.perf_counter() - start
            if spent > seconds:
                return images, spent


def main():
    p = argparse.ArgumentParser(description="the peer of bench_loader")
    p.add_argument("kind", choices=("cifar", "photos"))
    p.add_argument("path", nargs="+")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args()
    torch.set_num_threads(1)
    data = open_cifar(a.path) if a.kind == "cifar" else open_photos(a.path[0])
    loader = torch.utils.data.DataLoader(data, batch_size=a.batch, shuffle=True,
                                         num_workers=a.workers, persistent_workers=True)
    images_in(loader, 0.5)  # the workers have started
    best = 0
    for _ in range(a.repeat):
        images, seconds = images_in(loader, a.seconds)
        best = max(best, 2 * images / seconds)
    print(json.dumps({"rate": best}))
    sys.stdout.flush()
    os._exit(0)  # without waiting for workers that fill batches nobody wants


if __name__ == "__main__":
    main()
