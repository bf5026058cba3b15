"""test_train_learns.py - the demo finds the classes of the built-in images, which k-means on their
pixels does not, and nothing is said to go wrong on the way.

usage: test_train_learns.py COKE DATASET_IMAGES_DRIVER short|long     exit code 77: no numpy or scipy here"""
import json
import os
import subprocess
import sys
import tempfile

import test_synthetic_images as pixels

np = pixels.np
# images, further options, least ACC. long is the preset as it stands.
PARTS = {"short": (2000, ["--epochs", "26"], 0.5), "long": (3000, [], 0.9)}


def main():
    coke, driver = sys.argv[1:3]
    n, options, least = PARTS[sys.argv[3]]
    images, labels = pixels.read(driver, "synthetic:n=%d" % n, n)
    found = pixels.kmeans(images.reshape(n, -1).astype(np.float32) / 255, 3)
    of_pixels = pixels.accuracy(found, labels)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([coke, "train", "synthetic:n=%d" % n, "--preset", "demo", "--json",
                               "--quiet", "-o", os.path.join(folder, "run")] + options,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("exit %d: %s" % (done.returncode, done.stderr))
    result = json.loads(done.stdout)
    print("k-means on pixels: ACC %.3f" % of_pixels)
    print("coke: ACC %.3f, NMI %.3f, ARI %.3f, k-NN %.3f in %.0f s" % tuple(
        result[k] for k in ("acc", "nmi", "ari", "knn20", "seconds")))
    if done.stderr:
        sys.exit("a healthy run has no warnings: " + done.stderr)
    if result["acc"] <= max(least, of_pixels + 0.15):
        sys.exit("ACC above %.3f is asked" % max(least, of_pixels + 0.15))


if __name__ == "__main__":
    main()
