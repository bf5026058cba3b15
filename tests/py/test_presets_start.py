#!/usr/bin/python3
"""Every preset starts: an epoch that scans and one that learns, on a few built-in images with a narrow
network. Overridden is what makes a preset large; method, optimizer, depth and layers of the heads are
its own.

usage: test_presets_start.py COKE
"""
import json
import re
import subprocess
import sys
import tempfile

IMAGES = "synthetic:n=16,size=32"
SMALL = ("--epochs 2 --warmup 0 --batch 8 --size 16 --width 0.0625 --arch resnet18 --monitor 0 "
         "--save-epochs 0 --threads 1 -q")
# Given only to presets that set them.
LESS = {"k": "2", "stage": "1", "queue": "16", "prototypes": "8", "views": "3",
        "size-schedule": "12,16"}


def output(coke, *words):
    return subprocess.run([coke, "train", *words], check=True, capture_output=True, text=True).stdout


def narrow(head):
    """The description of a head with no layer wider than 32."""
    return re.sub(r"\d{2,}", "32", head)


def overrides(config, defaults):
    """Options that make the preset small."""
    words = []
    for name, value in config.items():
        if name in LESS and value != defaults.get(name):
            words += ["--" + name, LESS[name]]
        if name in ("projector", "predictor") and "-" in str(value):
            words += ["--" + name, narrow(value)]
    if config["coarse"]:
        words += ["--no-coarse"]
    if config["recipe"].startswith("multi"):
        words += ["--small-size", "8"]
    if config["method"] in ("secu", "deepclusterv2", "scan", "iic") and "--k" not in words:
        words += ["--k", "2"]
    return words


def main():
    coke = sys.argv[1]
    defaults = json.loads(output(coke, "--print-config"))
    names = [line.split()[0] for line in output(coke, "--preset", "list").splitlines()]
    assert len(names) > 50, names
    with tempfile.TemporaryDirectory() as tmp:
        output(coke, IMAGES, "--method", "simclr", "--projector", "32-bn-relu-32", *SMALL.split(),
               "-o", tmp + "/encoder")
        output(coke, IMAGES, "--method", "iic", "-k", "2", *SMALL.split(), "-o",
               tmp + "/clusters")
        failed = []
        for name in names:
            config = json.loads(output(coke, "--preset", name, "--print-config"))
            words = overrides(config, defaults)
            if config["method"] in ("scan", "selflabel"):
                words += ["--from", tmp + ("/encoder" if config["method"] == "scan" else "/clusters")]
            run = subprocess.run([coke, "train", IMAGES, "--preset", name, *SMALL.split(),
                                  *words, "-o", f"{tmp}/{name}"], capture_output=True, text=True)
            if run.returncode:
                failed.append(f"{name}: {run.stderr.strip()} ({' '.join(words)})")
        assert not failed, "\n" + "\n".join(failed)
        print(f"{len(names)} presets started")


main()
