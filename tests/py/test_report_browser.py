"""test_report_browser - reports of trainings and clusterings, large and small, with hostile names,
looked at in Debian's chromium. usage: test_report_browser.py COKE SOURCE BUILD"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

COKE, SOURCE, BUILD = sys.argv[1:4]
CLASSES = ["<img src=x onerror=window.bad=1>", "quote\"s 'n' ticks", "caf\u00e9 \u732b \U0001f408",
           "two\nlines"]
SMALL = ("--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16 "
         "--batch 20 -k 4,10 --warmup 1 --optimizer sgd --rate 0.01 --threads 1").split()


def coke(*words, **how):
    done = subprocess.run([COKE, *words], capture_output=True, text=True, timeout=300, **how)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def find_browser():
    for name in ("/usr/bin/chromium", shutil.which("chromium")):
        if name and os.path.exists(name):
            return name
    print("skipped: there is no chromium ('scripts/install-deps check' installs it)")
    sys.exit(77)


def find_playwright():
    folder = os.path.join(BUILD, "browser")
    code = subprocess.run([os.path.join(SOURCE, "scripts", "get-playwright"), folder],
                          timeout=900).returncode
    if code == 77:
        print("skipped: playwright-core, which drives the browser, cannot be had")
        sys.exit(77)
    assert code == 0
    return folder


def make_photos(folder):
    """Images whose names and classes want to be more than text."""
    rng = np.random.default_rng(0)
    for c, name in enumerate(CLASSES):
        os.makedirs(os.path.join(folder, name))
        for i in range(15):
            x = rng.integers(0, 90, (16, 16, 3), dtype=np.uint8)
            x[:, :, c % 3] += np.uint8(100 + 10 * (c // 3))
            x[:: c + 2] //= 2
            Image.fromarray(x).save(os.path.join(folder, name, '"><b>%d\n&amp;.png' % i))


def make_list(folder, out):
    """A list may name classes in ways that no folder can."""
    labels = ["</script><script>window.bad=1</script>", "--><svg onload=window.bad=1>", "plain"]
    paths = []
    for i in range(60):
        path = os.path.join(folder, "%d.png" % i)
        Image.fromarray(np.full((12, 20, 3), 4 * i, np.uint8)).save(path)
        paths.append("%s\t%s\n" % (path, labels[i % 3]))
    with open(out, "w", encoding="utf-8") as f:
        f.writelines(paths)


def test_run(pages):
    make_photos("photos")
    coke("train", "photos", *SMALL, "--epochs", "4", "-o", "run <i>", "-q")
    coke("report", "run <i>", "-o", "run.html", "-q")
    shown = [c.replace("\n", "\u240a") for c in CLASSES] + ["run <i>", "\"><b>"]
    pages.append({"name": "training, hostile names", "path": "run.html", "pictures": True,
                  "vectors": True, "texts": shown + ["complete"]})
    # A line that is being written is not there yet, nor is its checksum.
    os.remove("run <i>/checksums.xxh3")
    with open("run <i>/metrics.jsonl", "a", encoding="utf-8") as f:
        f.write('{"epoch": 4, "st')
    coke("report", "run <i>", "-o", "half.html", "-q", "--images-dir", "pics <&'1>")
    pages.append({"name": "pictures in a folder", "path": "half.html", "pictures": True,
                  "vectors": True})


def wait_for(job, happened):
    while not happened() and job.poll() is None:
        time.sleep(0.05)
    assert job.poll() is None


def test_progress(pages):
    """A training that runs while it is looked at."""
    job = subprocess.Popen([COKE, "train", "synthetic:n=400,size=16", *SMALL, "--epochs", "400", "-o",
                            "going", "-q"], stdout=subprocess.DEVNULL)
    try:
        wait_for(job, lambda: os.path.exists("going/last.safetensors"))
        coke("report", "going", "-o", "start.html", "-q")
        wait_for(job, lambda: glob.glob("going/checkpoint-00000[2-9]-*"))
        coke("report", "going", "-o", "going.html", "-q")
        assert job.poll() is None, "the training ended too early to be looked at"
    finally:
        job.terminate()
        job.wait(60)
    pages.append({"name": "training in progress", "path": "going.html", "pictures": True,
                  "vectors": True, "texts": ["in progress"]})


def test_clusters(pages):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 6)).astype("f4")
    np.save("x.npy", x)
    os.mkdir("listed")
    make_list("listed", "list.tsv")
    coke("cluster", "x.npy", "-k", "5,8", "-o", "out", "-q")
    coke("report", "out", "-o", "plain.html", "-q")
    coke("report", "out", "--vectors", "x.npy", "--images", "list.tsv", "-o", "listed.html", "-q")
    pages.append({"name": "clustering alone", "path": "plain.html"})
    pages.append({"name": "clustering with images", "path": "listed.html", "pictures": True,
                  "vectors": True, "texts": ["</script><script>window.bad=1</script>"]})


def test_large(pages):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(900, 16))[rng.integers(0, 900, 12000)] + 0.5 * rng.normal(size=(12000, 16))
    np.save("large.npy", x.astype("f4"))
    coke("cluster", "large.npy", "-k", "5000", "--epochs", "1", "--ratio", "0", "--no-repair", "-o",
         "large", "-q")
    for budget in (20, 2):
        name = "large-%d.html" % budget
        told = json.loads(coke("report", "large", "--vectors", "large.npy", "--images",
                               "synthetic:n=12000,size=24", "--budget", str(budget), "-o", name, "-q",
                               "--json"))
        print("5000 clusters, budget %d MB: page %.1f MB, %d pictures of %d pixels" % (
            budget, told["page_bytes"] / 1e6, told["pictures"], told["picture_side"]))
        assert told["page_bytes"] == os.path.getsize(name)
        assert told["clusters"] == 5000 and told["picture_bytes"] * 4 / 3 <= budget * 1e6
        assert told["page_bytes"] < 1e6 * (budget + 12)
    pages.append({"name": "5000 clusters", "path": "large-20.html", "pictures": True,
                  "vectors": True})


def main():
    browser, playwright = find_browser(), find_playwright()
    home = os.getcwd()
    pages = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (test_run, test_progress, test_clusters, test_large):
            start = time.time()
            test(pages)
            print("%s: %.1f s" % (test.__name__, time.time() - start))
        for page in pages:
            page["path"] = os.path.abspath(page["path"])
        with open("pages.json", "w", encoding="utf-8") as f:
            json.dump(pages, f)
        sys.stdout.flush()
        code = subprocess.run(["node", os.path.join(SOURCE, "tests", "py", "report.mjs"),
                               os.path.abspath(os.path.join(home, playwright)), browser,
                               "pages.json"], timeout=600).returncode
        os.chdir(home)
    return code


if __name__ == "__main__":
    sys.exit(main())
